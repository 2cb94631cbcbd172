"""What the store has for one request to the model: the turn, the conversation before it, and its rows so far."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from activities.contracts import PlacedResult
from activities.conversation import AssistantMessage, Message, ToolMessage
from activities.errors import GMI_PERSONA_NOT_FOUND, HISTORY_UNPAIRED, SYS_RESOURCE_NOT_FOUND
from activities.model_failures import final
from activities.personas import Persona, Personas
from activities.sources import RagRetrievedChunk
from activities.trimming import BYTES_PER_TOKEN, trim_history
from activities.turn_input import TurnInput

HISTORY_MESSAGES = 2_000
HISTORY_READ = 4


class StoredTurn(Protocol):
    """A turn as the store has it. `position` is its place in the conversation."""

    @property
    def input(self) -> TurnInput: ...
    @property
    def persona_id(self) -> str: ...
    @property
    def memory_text(self) -> str | None: ...
    @property
    def sources(self) -> tuple[RagRetrievedChunk, ...] | None: ...
    @property
    def position(self) -> int: ...
    @property
    def conversation_id(self) -> str: ...


class Store(Protocol):
    """The rows of turns, blocking. `rows` gives those below `upto`; `newest_turns` whole turns before a position."""

    def turn_and_rows(self, turn_id: str, upto: int) -> tuple[StoredTurn | None, list[tuple[int, Message]]]: ...
    def put_rows(self, turn_id: str, rows: Sequence[tuple[int, Message]]) -> None: ...
    def rows(self, turn_id: str, upto: int) -> list[tuple[int, Message]]: ...
    def newest_turns(
        self, conversation_id: str, before_position: int, max_messages: int, max_chars: int, enough: int | None
    ) -> Iterable[list[Message]]: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What the store has for one request. `history` is what of earlier turns the persona lets into the prompt.

    `reply` is there when an earlier attempt got that far; then nobody needs the history, and it is empty.
    """

    turn: StoredTurn
    persona: Persona
    history: list[Message]
    rows: list[Message]
    reply: AssistantMessage | None


def read_turn(found: StoredTurn | None, turn_id: str, personas: Personas) -> tuple[StoredTurn, Persona]:
    """The turn that was found, and its persona.

    Raises:
        ApplicationError: not retryable: SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND.
    """
    if found is None:
        raise final(SYS_RESOURCE_NOT_FOUND, f"there is no turn {turn_id}")
    persona = personas.of_turn(found.persona_id, found.input.instance)
    if persona is None:
        raise final(GMI_PERSONA_NOT_FOUND, f"there is no persona {found.persona_id}")
    return found, persona


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads turns, and keeps replies. Blocking."""

    store: Store
    personas: Personas

    def read(self, turn_id: str, rows: int, at: int, results: Sequence[PlacedResult] = ()) -> Reading:
        """The turn with its first `rows` rows, `results` stored among them, and the reply at row `at` if there is one.

        Raises:
            ApplicationError: not retryable: SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND, HISTORY_UNPAIRED.
        """
        found, placed = self.store.turn_and_rows(turn_id, at + 1)
        turn, persona = read_turn(found, turn_id, self.personas)
        if results:
            self.store.put_rows(turn_id, [(placed.row, ToolMessage(result=placed.result)) for placed in results])
            placed = self.store.rows(turn_id, at + 1)
        stored = dict(placed)
        reply = stored.get(at)
        if reply is not None and not isinstance(reply, AssistantMessage):
            raise final(HISTORY_UNPAIRED, f"row {at}, where the reply belongs, is a {reply.role} message")
        if missing := [str(row) for row in range(rows) if row not in stored]:
            raise final(HISTORY_UNPAIRED, f"rows {', '.join(missing[:10])} of the turn are missing")
        standing = [stored[row] for row in range(rows)]
        return Reading(turn, persona, [] if reply else self._history(turn, persona), standing, reply)

    def keep(self, turn_id: str, row: int, message: AssistantMessage, *, first_attempt: bool) -> AssistantMessage:
        """Store a reply at its row; the one that counts, which may be that of an attempt that was given up."""
        if not first_attempt:
            standing = dict(self.store.rows(turn_id, row + 1)).get(row)
            if isinstance(standing, AssistantMessage):
                return standing
        self.store.put_rows(turn_id, [(row, message)])
        return message

    def _history(self, turn: StoredTurn, persona: Persona) -> list[Message]:
        if turn.position == 0:
            return []
        tokens, most = persona.history_limits
        # The store counts whole turns with everything in them; long results are shortened only once they are read.
        chars = tokens * BYTES_PER_TOKEN * HISTORY_READ
        turns = self.store.newest_turns(turn.conversation_id, turn.position, HISTORY_MESSAGES, chars, most)
        return trim_history(turns, tokens, most)
