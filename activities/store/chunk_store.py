"""The stream of a turn as its writers and readers use it: every method is one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from activities.conversation import AssistantMessage, ToolCall
from activities.store import chunks, closing, message_rows
from activities.store.chunks import StreamStatus
from activities.store.database import Database
from activities.streaming_chunks import Draft, GMIOutputChunk, pause_draft, text_drafts


@dataclass(frozen=True, slots=True)
class ReplyPlace:
    """Which reply of which turn is streamed: its row, and the number of the model call that gives it."""

    turn_id: str
    row: int
    round: int


class ChunkStore:
    """Chunks of turns. Blocking; safe to share between threads.

    Every method raises StoreUnavailable as those of the turn store do; those that write also TurnNotFound, and TurnClosed
    once the turn has ended.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def show(self, place: ReplyPlace, attempt: int | None, text: str) -> int:
        """Add text to a reply under way; gives the number of the attempt, which the next call passes on.

        With `attempt` None a new one begins: it withdraws what earlier ones showed, and they are refused from then on.

        Raises:
            ReplyTaken: another attempt writes this reply, or has written it.
        """
        with self._database.write() as connection:
            turn = closing.lock_open_turn(connection, place.turn_id)
            if attempt is None:
                attempt = chunks.begin_reply(connection, place.turn_id, place.row, streams=turn.streams)
            else:
                chunks.check_writer(connection, place.turn_id, place.row, attempt)
            drafts = text_drafts(text, place.row, round=place.round, attempt=attempt)
            chunks.append(connection, place.turn_id, drafts, attempt=attempt)
        return attempt

    def withdraw(self, place: ReplyPlace, attempt: int) -> None:
        """The attempt is given up: what it showed is withdrawn.

        Raises:
            ReplyTaken: another attempt has done so already, or the reply stands after all.
        """
        with self._database.write() as connection:
            closing.lock_open_turn(connection, place.turn_id)
            chunks.check_writer(connection, place.turn_id, place.row, attempt)
            chunks.check_unwritten(connection, place.turn_id, place.row)
            chunks.withdraw_from(connection, place.turn_id, place.row)

    def finish(
        self,
        place: ReplyPlace,
        attempt: int | None,
        message: AssistantMessage | None,
        text: str,
        drafts: Sequence[Draft],
        *,
        anew: bool = False,
    ) -> None:
        """Store the reply's message with the rest of its text and what follows it. None: it says nothing, and has no row.

        With `anew` everything shown so far is withdrawn, and `text` is the whole.

        Raises:
            ReplyTaken: another attempt writes this reply, or has written it.
        """
        with self._database.write() as connection:
            turn = closing.lock_open_turn(connection, place.turn_id)
            if attempt is None:
                attempt = chunks.begin_reply(connection, place.turn_id, place.row, streams=turn.streams)
            else:
                chunks.check_writer(connection, place.turn_id, place.row, attempt)
            if anew:
                chunks.withdraw_from(connection, place.turn_id, place.row)
            if message is not None:
                message_rows.put(connection, place.turn_id, [(place.row, message)])
            shown = text_drafts(text, place.row, round=place.round, attempt=attempt)
            chunks.append(connection, place.turn_id, [*shown, *drafts], attempt=attempt)

    def tell_pause(self, turn_id: str, pause_id: str, calls: Sequence[ToolCall]) -> bool:
        """Tell calls that wait, each once; whether the turn streams."""
        with self._database.write() as connection:
            turn = closing.lock_open_turn(connection, turn_id)
            if turn.streams:
                told = chunks.told_apart(connection, turn_id)
                new = [call for call in calls if call.id not in told]
                chunks.append(connection, turn_id, [pause_draft(pause_id, new)] if new else [])
        return turn.streams

    def read(self, turn_id: str, after: int, most: int) -> list[GMIOutputChunk]:
        """The first `most` chunks behind number `after`, in order."""
        with self._database.read() as connection:
            return chunks.read(connection, turn_id, after, most)

    def status(self, turn_id: str) -> StreamStatus | None:
        """What there is to read of the turn; None when it was never claimed."""
        with self._database.read() as connection:
            return chunks.status(connection, turn_id)
