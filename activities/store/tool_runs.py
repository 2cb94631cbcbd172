"""Runs of the worker's tools: begun once, finished once, so that a side effect is not repeated by a retry."""

from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from activities.conversation import ToolCallResult
from activities.store import message_rows
from activities.store.bodies import to_text, tool_message
from activities.store.closing import lock_open_turn, lock_turn
from activities.store.errors import ToolRunNotFound
from activities.store.records import ToolRunRecord
from activities.store.tables import tool_runs

_RUN = select(tool_runs).where(tool_runs.c.key == bindparam("run_key"))
_START = insert(tool_runs)
_FINISH = (
    update(tool_runs)
    .where(tool_runs.c.key == bindparam("run_key"))
    .values(state="finished", result=bindparam("new_result"))
)


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
                },
            )
            return ToolRunRecord(key, "started", None, first=True)
        if found.arguments_digest == arguments_digest:
            return _record(found)
    raise AssertionError("the last key holds the whole digest")


def finish(connection: Connection, key: str, result: ToolCallResult, row: int) -> tuple[ToolCallResult, str, str]:
    """Keep the result and write its row while the turn is open.

    Gives the result that stands, the turn and its state.

    The first result stands: a tool that ran twice did its work at the first time. A turn that has ended gets no row, but
    the run is marked finished all the same: its outcome is known from now on, should the turn be reset.

    Raises:
        ToolRunNotFound.
    """
    found = find(connection, key)
    turn = lock_turn(connection, found.turn_id)
    # Read again under the lock: another attempt may have finished in between.
    found = find(connection, key)
    if found.result is None:
        connection.execute(_FINISH, {"run_key": key, "new_result": to_text(result)})
    else:
        result = ToolCallResult.model_validate_json(found.result)
    if turn.state == "open":
        message_rows.put(connection, found.turn_id, [(row, tool_message(result))])
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
    return ToolRunRecord(row.key, row.state, result, first=False)
