"""A conversation as a whole, for those who show it: its turns in order, what it has chosen, the runs of its tools."""

from dataclasses import dataclass

from sqlalchemy import bindparam, select

from activities.selection import Selection
from activities.store import tool_runs as runs
from activities.store.database import Database
from activities.store.records import ToolRunRecord
from activities.store.tables import conversations, tool_runs, turns

_TURNS = (
    select(turns.c.id, turns.c.position, turns.c.workflow_id, turns.c.state)
    .where(turns.c.conversation_id == bindparam("conversation_id"), turns.c.position > bindparam("after"))
    .order_by(turns.c.position)
)
_CONVERSATION = select(conversations.c.organization_id, conversations.c.user_id, conversations.c.selection).where(
    conversations.c.id == bindparam("conversation_id")
)
_RUNS = select(tool_runs.c.key, tool_runs.c.call_id).where(tool_runs.c.turn_id == bindparam("turn_id"))


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """A turn and its place in the conversation. One that was imported with a history has no `workflow_id`."""

    id: str
    position: int
    workflow_id: str
    state: str

    @property
    def is_imported(self) -> bool:
        """Whether it came with a history and was never run here."""
        return not self.workflow_id


@dataclass(frozen=True, slots=True)
class ConversationFacts:
    """Whose conversation it is, and what it has chosen."""

    organization_id: str | None
    user_id: str
    selection: Selection


class ConversationStore:
    """Conversations, to be read. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def turns(self, conversation_id: str, after: int = -1) -> list[TurnPlace]:
        """The turns behind a position, in order; an open one is the last."""
        with self._database.read() as connection:
            found = connection.execute(_TURNS, {"conversation_id": conversation_id, "after": after})
            return [TurnPlace(*row) for row in found]

    def facts(self, conversation_id: str) -> ConversationFacts | None:
        """What is known of the conversation, or None when there is none of that id."""
        with self._database.read() as connection:
            row = connection.execute(_CONVERSATION, {"conversation_id": conversation_id}).one_or_none()
        if row is None:
            return None
        selection = Selection.model_validate_json(row.selection) if row.selection else Selection()
        return ConversationFacts(row.organization_id, row.user_id, selection)

    def tool_runs(self, turn_id: str) -> dict[str, ToolRunRecord]:
        """The runs of a turn's tools by the id of their call; of a call that ran anew after a reset, the last."""
        with self._database.read() as connection:
            found = [
                (row.call_id, runs.read(connection, row.key)) for row in connection.execute(_RUNS, {"turn_id": turn_id})
            ]
        return {call_id: record for call_id, record in found if record is not None}
