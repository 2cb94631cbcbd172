"""The ledger of turns: every method is one transaction. What happens in each stands in the module it names."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, select, update

from activities.contracts import BeginTurn, CommitTurn, MemoryPlan, TurnCommitted
from activities.conversation import Message, ToolCallResult, UserMessage
from activities.media import MediaItem
from activities.sources import RagRetrievedChunk
from activities.store import chunks, claims, closing, message_rows, tool_runs, turn_sources
from activities.store.bodies import to_message, to_text
from activities.store.database import Database
from activities.store.errors import TurnClosed
from activities.store.nestia_histories import import_histories, import_selection
from activities.store.records import Claimed, PlacedMessage, StoredTurn, ToolAttempt, ToolRunRecord
from activities.store.tables import turns
from activities.turn_input import TurnInput

_TURN = select(turns).where(turns.c.id == bindparam("turn_id"))
_SAVE_PLAN = (
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(memory_text=bindparam("text"), memory_plan=bindparam("plan"))
)


class TurnStore:
    """Conversations, their turns, the turns' messages and the runs of tools. Blocking; safe to share between threads.

    Every method may be called again with the same arguments. Every method raises StoreUnavailable when the database
    cannot serve; its `retryable` says whether trying again makes sense.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, begin: BeginTurn, persona_id: str, said: UserMessage | None = None) -> Claimed:
        """Make the turn the one open turn of its conversation, and store the user's message, or `said` in its place, as row 0.

        A new conversation belongs to the input's organisation and user, and starts with the input's `histories`; one that
        exists has a history of its own, and `histories` are then ignored. A turn id that exists is resumed by its own
        first run, restarted by another one if it did not complete.

        Raises:
            NotOwner: the conversation or the turn id is somebody else's.
            ConversationBusy: another turn, or another first run of this one, is open.
            TurnAlreadyRan: another first run completed this turn id, or it belongs to another conversation.
            ValueError: an entry of `histories` is malformed.
        """
        histories = begin.input.histories or ()
        imported = import_histories(histories, begin.conversation_id)
        selection = import_selection(histories, begin.conversation_id)
        chosen = None if selection is None else selection.model_dump_json(by_alias=True, exclude_none=True)
        first = said or UserMessage(content=begin.input.content)
        return self._database.transact(
            lambda connection: claims.claim(connection, begin, persona_id, first, imported, chosen)
        )

    def take_over(
        self, conversation_id: str, holder_turn_id: str, holder_run_id: str, now_ms: int, reason: str
    ) -> bool:
        """Close the turn of a workflow that is gone as abandoned, its open calls filled with `reason`.

        False, and nothing is done, when that run does not hold the conversation any more.
        """
        with self._database.write() as connection:
            return closing.take_over(connection, conversation_id, holder_turn_id, holder_run_id, now_ms, reason)

    def save_plan(self, turn_id: str, text: str, plan: MemoryPlan) -> None:
        """Keep what memory puts into the prompts of this turn.

        Raises:
            TurnNotFound, TurnClosed.
        """
        with self._database.write() as connection:
            closing.lock_open_turn(connection, turn_id)
            connection.execute(_SAVE_PLAN, {"turn_id": turn_id, "text": text, "plan": to_text(plan)})

    def save_sources(self, turn_id: str, sources: Sequence[RagRetrievedChunk]) -> tuple[RagRetrievedChunk, ...]:
        """Keep what the turn retrieved, and give what stands: the first that was saved.

        Raises:
            TurnNotFound, TurnClosed.
        """
        with self._database.write() as connection:
            return turn_sources.save(connection, turn_id, sources)

    def turn(self, turn_id: str) -> StoredTurn | None:
        """The turn as the ledger has it, or None."""
        with self._database.read() as connection:
            row = connection.execute(_TURN, {"turn_id": turn_id}).one_or_none()
        return None if row is None else _stored_turn(row)

    def turn_and_rows(self, turn_id: str, upto: int | None = None) -> tuple[StoredTurn | None, list[PlacedMessage]]:
        """`turn` and `rows` of it, as they stand together."""
        with self._database.read() as connection:
            row = connection.execute(_TURN, {"turn_id": turn_id}).one_or_none()
            rows = message_rows.read(connection, turn_id, upto)
        return (None if row is None else _stored_turn(row)), rows

    def put_rows(self, turn_id: str, placed: Sequence[PlacedMessage]) -> None:
        """Write messages at their rows.

        The same message again has no effect. Another one replaces what stands, and what followed from that is deleted.

        Raises:
            TurnNotFound, TurnClosed.
        """
        with self._database.write() as connection:
            turn = closing.lock_open_turn(connection, turn_id)
            message_rows.put(connection, turn_id, placed)
            if turn.streams:
                chunks.tell_rows(connection, turn_id, placed)

    def row_count(self, turn_id: str) -> int:
        """How many rows the turn has."""
        with self._database.read() as connection:
            return message_rows.count(connection, turn_id)

    def replace_input(self, turn_id: str, message: UserMessage) -> None:
        """Put another message in the place of what the user said, in the turn's rows and in its input.

        Raises:
            TurnNotFound, TurnClosed.
        """
        with self._database.write() as connection:
            closing.lock_open_turn(connection, turn_id)
            claims.replace_input(connection, turn_id, message)

    def rows(self, turn_id: str, upto: int | None = None) -> list[PlacedMessage]:
        """The turn's rows in order: all, or those below `upto`."""
        with self._database.read() as connection:
            return message_rows.read(connection, turn_id, upto)

    def history(
        self, conversation_id: str, before_position: int, max_messages: int, max_chars: int
    ) -> list[list[Message]]:
        """The messages of the closed turns before a position, a list for each, oldest first.

        Whole turns only: the newest ones that fit both bounds. Characters are those of the stored JSON.
        """
        return list(self.newest_turns(conversation_id, before_position, max_messages, max_chars))[::-1]

    def newest_turns(
        self,
        conversation_id: str,
        before_position: int,
        max_messages: int,
        max_chars: int,
        enough: int | None = None,
    ) -> Iterator[list[Message]]:
        """`history` with the newest turn first, each turn read as it is taken.

        Args:
            enough: Of so many messages the oldest one's turn is the last.
        """
        with self._database.read() as connection:
            turns = message_rows.history(connection, conversation_id, before_position, max_messages, max_chars, enough)
        return ([to_message(body) for body in bodies] for bodies in turns)

    def commit(self, commit: CommitTurn) -> TurnCommitted:
        """Close the turn: its rows become the conversation's, each call of it has a result, the next turn may start.

        A turn that is closed already, by this workflow or by a takeover, stays as it is.

        Raises:
            TurnNotFound.
        """
        with self._database.write() as connection:
            return closing.commit(connection, commit)

    def start_tool_run(self, turn_id: str, call_id: str, arguments_digest: str) -> ToolRunRecord:
        """Announce that a tool is about to run. Of all callers exactly one gets `first`.

        Raises:
            TurnNotFound, TurnClosed.
        """
        with self._database.write() as connection:
            return tool_runs.start(connection, turn_id, call_id, arguments_digest)

    def note_tool_attempt(self, key: str, attempt: ToolAttempt) -> None:
        """Keep how an attempt of a run ended that will be followed by another.

        Raises:
            ToolRunNotFound.
        """
        with self._database.write() as connection:
            tool_runs.note_attempt(connection, key, attempt)

    def finish_tool_run(
        self,
        key: str,
        result: ToolCallResult,
        row: int,
        attempt: ToolAttempt | None = None,
        media: Sequence[MediaItem] = (),
    ) -> ToolCallResult:
        """Keep a run's result and write it at its row. Returns the result that stands: the first one that was kept.

        Raises:
            ToolRunNotFound.
            MediaFull: nothing was kept.
            TurnClosed: the turn has ended. The run is marked finished, the row is not written.
        """
        with self._database.write() as connection:
            stands, turn_id, state = tool_runs.finish(connection, key, result, row, attempt, media)
        if state != "open":
            raise TurnClosed(turn_id, state)
        return stands

    def tool_run(self, key: str) -> ToolRunRecord | None:
        """The run under that key, or None."""
        with self._database.read() as connection:
            return tool_runs.read(connection, key)


def _stored_turn(row: Row[Any]) -> StoredTurn:
    return StoredTurn(
        id=row.id,
        conversation_id=row.conversation_id,
        position=row.position,
        workflow_id=row.workflow_id,
        run_id=row.run_id,
        first_run_id=row.first_run_id,
        organization_id=row.organization_id,
        user_id=row.user_id,
        persona_id=row.persona_id,
        state=row.state,
        input=TurnInput.model_validate_json(row.input),
        memory_text=row.memory_text,
        plan=MemoryPlan.model_validate_json(row.memory_plan) if row.memory_plan else None,
        output_json=row.output,
        usage_json=row.usage,
        created_ms=row.created_ms,
        ended_ms=row.ended_ms,
        sources=turn_sources.read(row.sources),
    )
