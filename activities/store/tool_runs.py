"""Runs of the worker's tools: begun once, finished once, so that a side effect is not repeated by a retry."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, bindparam, insert, select, update

from activities.conversation import ToolCallResult
from activities.media import MediaItem
from activities.store import chunks, media, message_rows
from activities.store.bodies import to_text, tool_message
from activities.store.closing import lock_open_turn, lock_turn
from activities.store.errors import ToolRunNotFound
from activities.store.records import ToolAttempt, ToolRunRecord
from activities.store.tables import tool_runs

_RUN = select(tool_runs).where(tool_runs.c.key == bindparam("run_key"))
_START = insert(tool_runs)
_FINISH = (
    update(tool_runs)
    .where(tool_runs.c.key == bindparam("run_key"))
    .values(state="finished", result=bindparam("new_result"), attempts=bindparam("all_attempts"))
)
_NOTE = update(tool_runs).where(tool_runs.c.key == bindparam("run_key")).values(attempts=bindparam("all_attempts"))
_ATTEMPTS = TypeAdapter(tuple[ToolAttempt, ...])
# The newest are kept: a tool may be tried a hundred times, and how it went in the end is what is asked about.
MAX_ATTEMPTS = 50


def start(connection: Connection, turn_id: str, call_id: str, arguments_digest: str) -> ToolRunRecord:
    """The run of this call with these arguments, made if there is none.

    Raises:
        TurnNotFound, TurnClosed.
    """
    # The turn's lock makes two starters take turns.
    lock_open_turn(connection, turn_id)
    for key in _keys(turn_id, call_id, arguments_digest):
        found = connection.execute(_RUN, {"run_key": key}).one_or_none()
        if found is None:
            connection.execute(
                _START,
                {
                    "key": key,
                    "turn_id": turn_id,
                    "call_id": call_id,
                    "arguments_digest": arguments_digest,
                    "state": "started",
                    "result": None,
                    "attempts": None,
                },
            )
            return ToolRunRecord(key, "started", None, first=True)
        if found.arguments_digest == arguments_digest:
            return _record(found)
    raise AssertionError("the last key holds the whole digest")


def note_attempt(connection: Connection, key: str, attempt: ToolAttempt) -> None:
    """Keep how an attempt ended that will be followed by another.

    Raises:
        ToolRunNotFound.
    """
    lock_turn(connection, find(connection, key).turn_id)
    connection.execute(_NOTE, {"run_key": key, "all_attempts": _with(find(connection, key), attempt)})


def finish(
    connection: Connection,
    key: str,
    result: ToolCallResult,
    row: int,
    attempt: ToolAttempt | None = None,
    items: Sequence[MediaItem] = (),
) -> tuple[ToolCallResult, str, str]:
    """Keep the result with the sound and pictures it has the addresses of, and write its row while the turn is open.

    Gives the result that stands, the turn and its state.

    The first result stands: a tool that ran twice did its work at the first time. A turn that has ended gets no row, but
    the run is marked finished all the same: its outcome is known from now on, should the turn be reset.

    Raises:
        ToolRunNotFound, MediaFull.
    """
    found = find(connection, key)
    turn = lock_turn(connection, found.turn_id)
    # Read again under the lock: another attempt may have finished in between.
    found = find(connection, key)
    if found.result is None:
        finished = {"run_key": key, "new_result": to_text(result), "all_attempts": _with(found, attempt)}
        connection.execute(_FINISH, finished)
        media.put(connection, found.turn_id, items)
    else:
        result = ToolCallResult.model_validate_json(found.result)
    if turn.state == "open":
        message_rows.put(connection, found.turn_id, [(row, tool_message(result))])
        if turn.streams:
            chunks.tell_rows(connection, found.turn_id, [(row, tool_message(result))])
    return result, found.turn_id, turn.state


def find(connection: Connection, key: str) -> Row[Any]:
    """The row of a run.

    Raises:
        ToolRunNotFound.
    """
    found = connection.execute(_RUN, {"run_key": key}).one_or_none()
    if found is None:
        raise ToolRunNotFound(key)
    return found


def read(connection: Connection, key: str) -> ToolRunRecord | None:
    """The run, or None."""
    found = connection.execute(_RUN, {"run_key": key}).one_or_none()
    return None if found is None else _record(found)


def _keys(turn_id: str, call_id: str, digest: str) -> tuple[str, str, str]:
    # A reset run can ask the same call with other arguments: that is another run, and gets another idempotency key.
    plain = f"{turn_id}:{call_id}"
    return plain, f"{plain}:{digest[:8]}", f"{plain}:{digest}"


def _record(row: Row[Any]) -> ToolRunRecord:
    result = None if row.result is None else ToolCallResult.model_validate_json(row.result)
    return ToolRunRecord(row.key, row.state, result, first=False, attempts=_attempts(row))


def _attempts(row: Row[Any]) -> tuple[ToolAttempt, ...]:
    return _ATTEMPTS.validate_json(row.attempts) if row.attempts else ()


def _with(row: Row[Any], attempt: ToolAttempt | None) -> str | None:
    """The attempts of a run with one more, as they are stored; the same attempt again replaces itself."""
    if attempt is None:
        return str(row.attempts) if row.attempts else None
    others = [each for each in _attempts(row) if each.attempt != attempt.attempt]
    return _ATTEMPTS.dump_json((*others, attempt)[-MAX_ATTEMPTS:], by_alias=True, exclude_none=True).decode()
