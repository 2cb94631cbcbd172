"""A finished turn as memory hears it, read from the store."""

from collections.abc import Iterable

from temporalio.exceptions import ApplicationError

from activities import errors
from activities.conversation import AssistantMessage, Message, UserMessage
from activities.guard_input import is_withheld
from activities.memory_keeper import Exchange
from activities.store.records import StoredTurn
from activities.store.turn_store import TurnStore
from activities.texts import text_of

HISTORY_MESSAGES = 400
HISTORY_CHARS = 200_000


def stored_turn(store: TurnStore, turn_id: str) -> StoredTurn:
    """The turn; one that does not exist is a final failure."""
    return _existing(store.turn(turn_id), turn_id)


def _existing(turn: StoredTurn | None, turn_id: str) -> StoredTurn:
    if turn is None:
        raise ApplicationError(f"there is no turn {turn_id!r}", type=errors.SYS_RESOURCE_NOT_FOUND, non_retryable=True)
    return turn


def exchange_of(store: TurnStore, turn_id: str, now_ms: int) -> tuple[StoredTurn, Exchange]:
    """The turn and what was said in it, by whom. Results of tools are not part of it: nobody said them."""
    found, placed = store.turn_and_rows(turn_id)
    turn = _existing(found, turn_id)
    rows = [message for _, message in placed]
    replied = "\n".join(row.told_text for row in rows if isinstance(row, AssistantMessage) and row.told_text)
    said = [] if _is_task(turn) else said_in(rows)
    return turn, Exchange(turn.id, "\n".join(said), replied, turn.input.session_id, now_ms)


def said_in_conversation(store: TurnStore, turn: StoredTurn) -> list[str]:
    """The user's messages of the conversation, those of this turn last; of a very long one the newest."""
    if _is_task(turn):
        return []
    earlier = store.history(turn.conversation_id, turn.position, HISTORY_MESSAGES, HISTORY_CHARS)
    return [
        *(text for messages in earlier for text in said_in(messages)),
        *said_in(message for _, message in store.rows(turn.id, None)),
    ]


def _is_task(turn: StoredTurn) -> bool:
    """Whether another agent gave the task: its words are not the user's, however they sound."""
    return turn.input.delegation is not None


def said_in(messages: Iterable[Message]) -> list[str]:
    """The texts of the user's messages among these, but for those that a guardrail withholds."""
    users = (message for message in messages if isinstance(message, UserMessage) and not is_withheld(message))
    return [text_of(message.content) for message in users]
