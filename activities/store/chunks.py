"""The chunks of a turn that streams: numbered from 1 without a gap, the terminal one last.

Whoever writes holds the turn's lock, which makes the numbers. Of the writers of one reply the one that began last is the
only one that counts: its beginning withdraws what the others have shown, and they are refused from then on.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, exists, func, insert, select, text, update

from activities.conversation import AssistantMessage, ToolMessage
from activities.json_values import clean_json
from activities.store import message_rows
from activities.store.errors import ReplyTaken
from activities.store.records import PlacedMessage
from activities.store.tables import messages, turn_chunks, turns
from activities.streaming_chunks import (
    ChunkBody,
    Draft,
    GMIOutputChunk,
    command_drafts,
    interaction_of,
    reply_drafts,
    result_draft,
    text_drafts,
)

CHANNEL = "turnhold_chunks"
# A turn tells this many at most; its end is told in any case.
MAX_CHUNKS = 20_000
KEPT_MS = 24 * 60 * 60 * 1000
# Turns whose chunks one ending turn removes. More than one, so that what is too old does not pile up.
PRUNED_AT_ONCE = 4

_of_turn = turn_chunks.c.turn_id == bindparam("of_turn")
_standing_text = (turn_chunks.c.type == "text_delta") & ~turn_chunks.c.withdrawn & turn_chunks.c.row.is_not(None)
_from_row = turn_chunks.c.row >= bindparam("first_row")
_without_message = ~exists().where(messages.c.turn_id == turn_chunks.c.turn_id, messages.c.row == turn_chunks.c.row)

_LAST = select(func.coalesce(func.max(turn_chunks.c.sequence), 0)).where(_of_turn)
_WRITER = (
    select(turn_chunks.c.row, turn_chunks.c.attempt)
    .where(_of_turn, turn_chunks.c.attempt > 0)
    .order_by(turn_chunks.c.sequence.desc())
    .limit(1)
)
_WRITTEN = select(
    func.max(case((turn_chunks.c.row == bindparam("at_row"), turn_chunks.c.attempt), else_=0)),
    func.max(turn_chunks.c.row),
).where(_of_turn)
_DETACH = (
    update(turn_chunks)
    .where(_of_turn, turn_chunks.c.row > bindparam("at_row"), turn_chunks.c.type == "tool_result")
    .values(row=None)
)
_HAS_MESSAGE = select(messages.c.row).where(
    messages.c.turn_id == bindparam("of_turn"), messages.c.row == bindparam("at_row")
)
_TOLD = select(turn_chunks.c.row).where(
    _of_turn, turn_chunks.c.row >= bindparam("first_row"), turn_chunks.c.type.in_(("tool_result", "step_finished"))
)
_REQUESTS = select(turn_chunks.c.body).where(
    _of_turn, turn_chunks.c.type == "tool_call_request", turn_chunks.c.row.is_(None)
)
_INSERT = insert(turn_chunks)
_NOTIFY = text("SELECT pg_notify(:channel, :turn_id)")
_STREAMS = update(turns).where(turns.c.id == bindparam("of_turn")).values(streams=True)
_REOPEN = (
    update(turn_chunks)
    .where(_of_turn, turn_chunks.c.type.in_(("error", "final_response_marker")))
    .values(type="text_delta", body="{}")
)
_FORGET = delete(turn_chunks).where(_of_turn)
_TOO_OLD = (
    select(turn_chunks.c.turn_id)
    .where(turn_chunks.c.type == "final_response_marker", turn_chunks.c.created_ms < bindparam("before"))
    .order_by(turn_chunks.c.created_ms)
    .limit(PRUNED_AT_ONCE)
    .with_for_update(skip_locked=True)
)
_AFTER = (
    select(turn_chunks)
    .where(_of_turn, turn_chunks.c.sequence > bindparam("after"))
    .order_by(turn_chunks.c.sequence)
    .limit(bindparam("most"))
)
_STATUS = select(
    turns.c.state,
    turns.c.streams,
    select(func.max(turn_chunks.c.sequence)).where(turn_chunks.c.turn_id == turns.c.id).scalar_subquery().label("last"),
).where(turns.c.id == bindparam("of_turn"))


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """What there is to read of a turn: whether it is open, whether it streams, its last number (0: none stands)."""

    is_open: bool
    streams: bool
    last: int


def append(connection: Connection, turn_id: str, drafts: Sequence[Draft], *, attempt: int = 0) -> None:
    """Write chunks with the next numbers. The turn must be locked by this transaction."""
    last: int = connection.execute(_LAST, {"of_turn": turn_id}).scalar_one()
    drafts = _within_room(last, drafts)
    if not drafts:
        return
    now = time.time_ns() // 1_000_000
    values = [
        {
            "turn_id": turn_id,
            "sequence": last + place,
            "row": draft.row,
            "attempt": attempt,
            "type": draft.type,
            "withdrawn": False,
            "body": _to_text(draft.body),
            "created_ms": now,
        }
        for place, draft in enumerate(drafts, start=1)
    ]
    connection.execute(_INSERT, values)
    if connection.dialect.name == "postgresql":
        # Delivered when this transaction commits.
        connection.execute(_NOTIFY, {"channel": CHANNEL, "turn_id": turn_id})


def told_apart(connection: Connection, turn_id: str) -> set[str]:
    """Ids of the calls that were told in chunks of their own, outside any reply."""
    bodies = connection.execute(_REQUESTS, {"of_turn": turn_id}).scalars()
    return {call["id"] for body in bodies for call in ChunkBody.model_validate_json(body).content or ()}


def begin_reply(connection: Connection, turn_id: str, row: int, *, streams: bool) -> int:
    """Become the writer of the reply at `row`; gives the number of this attempt. What earlier ones showed is withdrawn.

    Raises:
        ReplyTaken: the reply stands already.
    """
    check_unwritten(connection, turn_id, row)
    if not streams:
        # An answer asked for it in the middle of the turn: what went before is told now.
        connection.execute(_STREAMS, {"of_turn": turn_id})
        tell_rows(connection, turn_id, message_rows.read(connection, turn_id, row))
    withdraw_from(connection, turn_id, row)
    attempts, last_row = connection.execute(_WRITTEN, {"of_turn": turn_id, "at_row": row}).one()
    if last_row is not None and last_row > row:
        # The run was reset and takes another way: results at these rows will be other ones, and are told anew.
        connection.execute(_DETACH, {"of_turn": turn_id, "at_row": row})
    return (attempts or 0) + 1


def check_writer(connection: Connection, turn_id: str, row: int, attempt: int) -> None:
    """Refuse a writer that another one has followed.

    Raises:
        ReplyTaken.
    """
    writer = connection.execute(_WRITER, {"of_turn": turn_id}).one_or_none()
    if writer is None or tuple(writer) == (row, attempt):
        return
    # A turn that has told all it may shows no further writer; then only the reply itself says that there was one.
    if connection.execute(_LAST, {"of_turn": turn_id}).scalar_one() < MAX_CHUNKS:
        raise ReplyTaken(turn_id, row)
    check_unwritten(connection, turn_id, row)


def check_unwritten(connection: Connection, turn_id: str, row: int) -> None:
    """Refuse to write a reply that stands.

    Raises:
        ReplyTaken.
    """
    if connection.execute(_HAS_MESSAGE, {"of_turn": turn_id, "at_row": row}).first() is not None:
        raise ReplyTaken(turn_id, row)


def withdraw_from(connection: Connection, turn_id: str, first_row: int) -> None:
    """Withdraw the text of replies at `first_row` and after it."""
    _withdraw(connection, _from_row, {"of_turn": turn_id, "first_row": first_row})


def tell_rows(connection: Connection, turn_id: str, placed: Iterable[PlacedMessage]) -> None:
    """Write the chunks of messages that were just stored, unless they are told already."""
    rows = sorted(placed, key=lambda item: item[0])
    if not rows:
        return
    told = set(connection.execute(_TOLD, {"of_turn": turn_id, "first_row": rows[0][0]}).scalars())
    drafts: list[Draft] = []
    for row, message in rows:
        if row in told:
            continue
        if isinstance(message, ToolMessage):
            parts = message.result.parts
            drafts += [result_draft(message.result, row), *command_drafts(parts.ui_commands if parts else (), row)]
        elif isinstance(message, AssistantMessage):
            drafts += [*text_drafts(message.told_text or "", row), *reply_drafts(message, row, None, ())]
    append(connection, turn_id, drafts)


def end(connection: Connection, turn_id: str, drafts: Sequence[Draft], now_ms: int) -> None:
    """Write the last chunks of a turn whose rows are final, and remove chunks of turns that ended long before."""
    _withdraw(connection, _without_message, {"of_turn": turn_id})
    standing = message_rows.read(connection, turn_id, None)
    tell_rows(connection, turn_id, [(row, message) for row, message in standing if isinstance(message, ToolMessage)])
    append(connection, turn_id, drafts)
    for old in connection.execute(_TOO_OLD, {"before": now_ms - KEPT_MS}).scalars().all():
        connection.execute(_FORGET, {"of_turn": old})


def reopen(connection: Connection, turn_id: str) -> None:
    """The turn goes on after its end: its terminal chunk keeps its number and says nothing any more."""
    connection.execute(_REOPEN, {"of_turn": turn_id})


def forget(connection: Connection, turn_id: str) -> None:
    """Delete the turn's chunks."""
    connection.execute(_FORGET, {"of_turn": turn_id})


def read(connection: Connection, turn_id: str, after: int, most: int) -> list[GMIOutputChunk]:
    """The first `most` chunks behind number `after`, in order."""
    found = connection.execute(_AFTER, {"of_turn": turn_id, "after": after, "most": most})
    return [_chunk(turn_id, row) for row in found]


def status(connection: Connection, turn_id: str) -> StreamStatus | None:
    """What there is to read of the turn; None when it was never claimed."""
    row = connection.execute(_STATUS, {"of_turn": turn_id}).one_or_none()
    return None if row is None else StreamStatus(row.state == "open", row.streams, row.last or 0)


def _withdraw(connection: Connection, which: ColumnElement[bool], parameters: dict[str, Any]) -> None:
    range_ = select(func.min(turn_chunks.c.sequence), func.max(turn_chunks.c.sequence))
    first, last = connection.execute(range_.where(_of_turn, _standing_text, which), parameters).one()
    if first is None:
        return
    # The text itself goes too: whoever reads from the beginning later never sees it.
    gone = update(turn_chunks).where(_of_turn, _standing_text, which).values(withdrawn=True, body="{}")
    connection.execute(gone, parameters)
    body = ChunkBody(content="", metadata={"replaces": [first, last]})
    append(connection, parameters["of_turn"], [Draft("text_delta", body)])


def _within_room(last: int, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """What still fits, and at the last place a chunk that says that the rest is left out. The end and withdrawals always fit."""
    room = max(0, MAX_CHUNKS - 1 - last)
    rest = drafts[room:]
    if all(draft.row is None for draft in rest):
        return drafts
    notice = [Draft("text_delta", ChunkBody(content="", metadata={"truncated": True}))] if last < MAX_CHUNKS else []
    return [*drafts[:room], *notice, *(draft for draft in rest if draft.row is None)]


def _to_text(body: ChunkBody) -> str:
    try:
        return body.model_dump_json(by_alias=True, exclude_defaults=True)
    except PydanticSerializationError:
        return to_json(clean_json(body)).decode()


def _chunk(turn_id: str, row: Any) -> GMIOutputChunk:
    body = ChunkBody.model_validate_json(row.body)
    content = "" if row.type == "text_delta" and body.content is None else body.content
    metadata = {**body.metadata, "withdrawn": True} if row.withdrawn else body.metadata
    return GMIOutputChunk(
        sequence=row.sequence,
        type=row.type,
        chunk_id=f"gmi-chunk-{uuid5(NAMESPACE_OID, f'{turn_id}#{row.sequence}')}",
        interaction_id=interaction_of(turn_id),
        timestamp=datetime.fromtimestamp(row.created_ms / 1000, UTC),
        is_final=row.type == "final_response_marker",
        content=content,
        finish_reason=body.finish_reason,
        usage=body.usage,
        error_details=body.error_details,
        metadata=metadata,
    )
