"""The conversation of an agent as the store has it: what it began with, and every turn since, told."""

import copy
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activities.contracts import PREVIEW_CHARS
from activities.conversation import Arguments, AssistantMessage, ErrorDetails, Message
from activities.store.conversations import ConversationStore, TurnPlace
from activities.store.database import Database
from activities.store.histories import HistoryStore
from activities.store.records import StoredTurn
from activities.store.turn_store import TurnStore
from worker.nestia.errors import ConversationTaken
from worker.nestia.prompts import Prompt
from worker.nestia.telling import Resolve, TurnTeller
from worker.nestia.usage import TokenUsage, add_up, of_turn, phases_of


@dataclass(frozen=True, slots=True)
class ToldTurn:
    """A turn that has ended, as entries of the history, and what it used.

    `error` is that of a turn which came to its end all the same, at a limit for example.
    """

    place: TurnPlace
    prompts: tuple[Prompt, ...]
    error: ErrorDetails | None
    usage: TokenUsage
    usage_by_phase: dict[str, TokenUsage]


class ConversationLog:
    """Reads one conversation. Blocking. What has ended is read once and kept."""

    def __init__(self, database: Database, conversation_id: str, user_id: str, resolve: Resolve) -> None:
        self.turns = TurnStore(database)
        self.conversations = ConversationStore(database)
        self._histories = HistoryStore(database)
        self._conversation_id = conversation_id
        self._user_id = user_id
        self._resolve = resolve
        self._told: list[ToldTurn] = []
        self.restored: list[Prompt] = []
        self.history_ref: str | None = None

    def open(self, histories: Sequence[Prompt], now_ms: int) -> TurnPlace | None:
        """Read the conversation, or begin it with `histories`; its open turn, if it has one.

        Raises:
            ConversationTaken.
        """
        facts = self.conversations.facts(self._conversation_id)
        if facts is None:
            self.restored = list(histories)
            if histories:
                self.history_ref = self._histories.put(histories, None, self._user_id, now_ms)
            return None
        if (facts.organization_id, facts.user_id) != (None, self._user_id):
            raise ConversationTaken(f"there is no conversation {self._conversation_id!r} of {self._user_id!r}")
        places = self.conversations.turns(self._conversation_id)
        first = next((place for place in places if not place.is_imported), None)
        given = self.turns.turn(first.id) if first is not None else None
        if given is not None and given.input.history_ref is not None:
            self.restored = list(self._histories.get(given.input.history_ref, None, self._user_id) or ())
        self.refresh()
        return next((place for place in places if place.state == "open"), None)

    def refresh(self) -> None:
        """Read the turns that have ended since."""
        last = self._told[-1].place.position if self._told else -1
        for place in self.conversations.turns(self._conversation_id, last):
            if place.state == "open":
                return
            if not place.is_imported:
                self._told.append(self._tell(place))

    def copy(self) -> list[Prompt]:
        """A copy of the history: what the conversation began with, and every turn that has ended."""
        return copy.deepcopy([*self.restored, *(prompt for told in self._told for prompt in told.prompts)])

    @property
    def ended(self) -> Sequence[ToldTurn]:
        """The turns that have ended, oldest first."""
        return tuple(self._told)

    def turn(self, turn_id: str) -> ToldTurn | None:
        """A turn that has ended."""
        return next((told for told in reversed(self._told) if told.place.id == turn_id), None)

    @property
    def usage(self) -> TokenUsage:
        """What all turns used."""
        return add_up(told.usage for told in self._told)

    @property
    def usage_by_phase(self) -> dict[str, TokenUsage]:
        """What all turns used, by phase."""
        phases = dict.fromkeys(phase for told in self._told for phase in told.usage_by_phase)
        return {
            phase: add_up(told.usage_by_phase[phase] for told in self._told if phase in told.usage_by_phase)
            for phase in phases
        }

    def _tell(self, place: TurnPlace) -> ToldTurn:
        turn, placed = self.turns.turn_and_rows(place.id)
        assert turn is not None
        rows = [message for _, message in placed]
        phases = phases_of(rows)
        error = turn.output.error if turn.output is not None and turn.state == "completed" else None
        teller = TurnTeller(turn.input.options.selection, self._resolve, _edited(turn, rows))
        told = [*(each for row in rows for each in teller.take(row)), *teller.close(error)]
        prompts = tuple(each.prompt for each in told if each.prompt is not None)
        return ToldTurn(place, prompts, error, of_turn(turn.usage, phases), phases)


def _edited(turn: StoredTurn, rows: Iterable[Message]) -> dict[str, Arguments]:
    """Arguments that a person changed before a call ran: the output has them, the model's row its own."""
    ran = {call.id: call.arguments for call in (turn.output.tool_calls or () if turn.output else ())}
    calls = [call for row in rows if isinstance(row, AssistantMessage) for call in row.tool_calls]
    return {
        call.id: ran[call.id]
        for call in calls
        # Long ones are only previews in an output, and none at all where there are very many.
        if ran.get(call.id) and ran[call.id] != call.arguments and len(json.dumps(call.arguments)) <= PREVIEW_CHARS
    }
