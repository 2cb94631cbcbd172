"""The rows of a turn: one message each, numbered from 0, written once or as often as a retry likes."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, update

from activities.conversation import AssistantMessage, Message
from activities.store.bodies import same_message, to_message, to_text, tool_message
from activities.store.open_calls import not_run, open_calls
from activities.store.records import PlacedMessage
from activities.store.tables import messages, turns

_of_turn = messages.c.turn_id == bindparam("of_turn")

_COUNT = select(func.count()).select_from(messages).where(_of_turn)
_BETWEEN = select(messages.c.row, messages.c.role, messages.c.body).where(
    _of_turn, messages.c.row.between(bindparam("first"), bindparam("last"))
)
_ALL = select(messages.c.row, messages.c.body).where(_of_turn).order_by(messages.c.row)
_UPTO = _ALL.where(messages.c.row < bindparam("upto"))
# Bodies of assistants only: they have the calls, and results can be long.
_OUTLINE = select(
    messages.c.row, messages.c.role, case((messages.c.role == "assistant", messages.c.body)).label("body")
).where(_of_turn)
_ROUND_END = select(func.min(messages.c.row)).where(
    _of_turn, messages.c.row > bindparam("after"), messages.c.role != "tool"
)
_FORGET_FROM = delete(messages).where(_of_turn, messages.c.row >= bindparam("first"))
_REPLACE = update(messages).where(_of_turn, messages.c.row == bindparam("at_row")).values(body=bindparam("new_body"))
_INSERT = insert(messages)
_closed_before = (
    turns.c.conversation_id == bindparam("conversation_id"),
    turns.c.position < bindparam("before"),
    turns.c.state != "open",
)
_HISTORY = (
    select(turns.c.position, messages.c.body)
    .join_from(turns, messages, turns.c.id == messages.c.turn_id)
    .where(*_closed_before)
    .order_by(turns.c.position.desc(), messages.c.row.desc())
    .limit(bindparam("row_limit"))
)
_SKIPPED = (
    select(turns.c.position)
    .join_from(turns, messages, turns.c.id == messages.c.turn_id)
    .where(*_closed_before)
    .order_by(turns.c.position.desc())
    .limit(1)
    .offset(bindparam("skipped"))
)
_ENOUGH = _HISTORY.where(turns.c.position >= func.coalesce(_SKIPPED.scalar_subquery(), 0))


def count(connection: Connection, turn_id: str) -> int:
    """How many rows of the turn stand."""
    return connection.execute(_COUNT, {"of_turn": turn_id}).scalar_one()


def read(connection: Connection, turn_id: str, upto: int | None) -> list[PlacedMessage]:
    """The rows in order: all, or those below `upto`."""
    if upto is None:
        found = connection.execute(_ALL, {"of_turn": turn_id})
    else:
        found = connection.execute(_UPTO, {"of_turn": turn_id, "upto": upto})
    return [(row, to_message(body)) for row, body in found]


def begin(connection: Connection, turn_id: str, message: Message) -> None:
    """Write row 0 of a turn that has no rows."""
    row = {"turn_id": turn_id, "row": 0, "role": message.role, "body": to_text(message)}
    connection.execute(_INSERT, row)


def replace_first(connection: Connection, turn_id: str, message: Message) -> None:
    """Write row 0 anew, and leave what follows it."""
    connection.execute(_REPLACE, {"of_turn": turn_id, "at_row": 0, "new_body": to_text(message)})


def put(connection: Connection, turn_id: str, placed: Iterable[PlacedMessage]) -> None:
    """Write rows. The same message again has no effect.

    Another message at a row means that the run was reset and took another way: what followed from the old one is deleted.
    That is everything after it, but not the sibling results of a tool's result: they answer calls that still stand.
    """
    wanted = {row: (message.role, to_text(message)) for row, message in sorted(placed, key=lambda item: item[0])}
    if not wanted:
        return
    standing = _standing(connection, turn_id, min(wanted), max(wanted))
    fresh: dict[int, tuple[str, str]] = {}
    for row, (role, body) in wanted.items():
        if row not in standing:
            fresh[row] = (role, body)
            continue
        stood_role, stood_body = standing[row]
        if role == stood_role and same_message(stood_body, body):
            continue
        if role == stood_role == "tool":
            cut = _replace_result(connection, turn_id, row, body)
        else:
            cut = row
            fresh[row] = (role, body)
            connection.execute(_FORGET_FROM, {"of_turn": turn_id, "first": row})
        standing = {at: stood for at, stood in standing.items() if cut is None or at < cut}
    if fresh:
        connection.execute(
            _INSERT,
            [{"turn_id": turn_id, "row": row, "role": role, "body": body} for row, (role, body) in fresh.items()],
        )


def forget(connection: Connection, turn_id: str, first: int = 0) -> None:
    """Delete the turn's rows from `first` on."""
    connection.execute(_FORGET_FROM, {"of_turn": turn_id, "first": first})


def close(
    connection: Connection, turn_id: str, reason: str, *, upto: int | None = None, placed: Iterable[PlacedMessage] = ()
) -> int:
    """Leave the turn with one result for each of its calls, and say how many rows stand then.

    Rows from `upto` on are deleted. `placed` are results that may be missing; what stands is left, since an activity may
    have been faster than its workflow. Calls without a result get one that says they were not run, and why.
    """
    outline = {row: (role, body) for row, role, body in connection.execute(_OUTLINE, {"of_turn": turn_id})}
    if upto is not None and any(row >= upto for row in outline):
        forget(connection, turn_id, upto)
        outline = {row: stood for row, stood in outline.items() if row < upto}
    missing = {row: message for row, message in placed if row not in outline}
    replies = {row: to_message(body) for row, (_, body) in outline.items() if body is not None}
    assistants = {row: said for row, said in replies.items() if isinstance(said, AssistantMessage)}
    answered = {row for row, (role, _) in outline.items() if role == "tool"} | missing.keys()
    missing |= {row: tool_message(result) for row, result in not_run(open_calls(assistants, answered), reason)}
    if not missing:
        return len(outline)
    put(connection, turn_id, missing.items())
    return count(connection, turn_id)


def history(
    connection: Connection, conversation_id: str, before: int, max_messages: int, max_chars: int, enough: int | None
) -> list[list[str]]:
    """The bodies of closed turns before a position, the newest turn first: whole ones that fit both bounds.

    A size is that of the stored JSON. One row more than fits is read, which shows whether the oldest turn is whole. The newest
    turn is what the user speaks about now, so it is given up to `max_messages` whatever its size. With `enough`, turns older
    than that of the so-manieth message are left out.
    """
    if enough == 0:
        return []
    wanted = {"conversation_id": conversation_id, "before": before, "row_limit": max_messages + 1}
    if enough is None:
        rows = connection.execute(_HISTORY, wanted).all()
    else:
        rows = connection.execute(_ENOUGH, {**wanted, "skipped": enough - 1}).all()
    newest_first: dict[int, list[str]] = {}
    chars = 0
    for read_rows, (position, body) in enumerate(rows, start=1):
        chars += len(body)
        is_newest = position == rows[0].position
        if read_rows > max_messages or (chars > max_chars and not is_newest):
            newest_first.pop(position, None)
            break
        newest_first.setdefault(position, []).append(body)
    return [bodies[::-1] for bodies in newest_first.values()]


def _standing(connection: Connection, turn_id: str, first: int, last: int) -> dict[int, tuple[str, str]]:
    found = connection.execute(_BETWEEN, {"of_turn": turn_id, "first": first, "last": last})
    return {row: (role, body) for row, role, body in found}


def _replace_result(connection: Connection, turn_id: str, row: int, body: str) -> int | None:
    cut: int | None = connection.execute(_ROUND_END, {"of_turn": turn_id, "after": row}).scalar_one()
    if cut is not None:
        connection.execute(_FORGET_FROM, {"of_turn": turn_id, "first": cut})
    connection.execute(_REPLACE, {"of_turn": turn_id, "at_row": row, "new_body": body})
    return cut
