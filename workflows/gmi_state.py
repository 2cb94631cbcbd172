"""Everything an instance knows, in the one value that it hands itself when it continues as new. Pure; time is a parameter.

What happens to it is decided beside: its turns in `gmi_turn_book`, what it becomes in `gmi_adaptation`.

Every part has a bound, so that the whole stays under what the server takes.
"""

import hashlib
import json
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from activities.contracts import Patience
from activities.conversation import CostAggregator, ErrorDetails
from activities.instance_contracts import InstanceOpened, InstanceScope
from activities.json_values import encoded_size
from activities.persona_character import Mood
from activities.personas import InstanceTurn, Persona
from activities.sources import RagRetrievedChunk
from activities.wire import Wire
from workflows import gmi_character as character
from workflows import gmi_trace as tracing
from workflows.gmi_contracts import (
    Feedback,
    InstanceStatus,
    LastTurn,
    OpenTurn,
    PrimeState,
    QueuedTurn,
    RejectedMessage,
    StartInstance,
    TraceEntry,
    TurnOutcome,
    UnassessedMessage,
)
from workflows.gmi_lifecycle import LifecycleActionResponse
from workflows.gmi_start import same_start

KEPT_EVENTS, EVENT_BYTES = 100, 32_000
KEPT_REJECTED = 32
MEMORY_KEYS, MEMORY_BYTES = 256, 128_000
CARRIED_BYTES = 1_400_000
MOOD, USER_CONTEXT, TASK_CONTEXT = "currentGmiMood", "currentUserContext", "currentTaskContext"


class InstanceState(Wire):
    """One instance. `persona` is None until it has been found; `held` are the turns its history still holds, by id, with a
    digest of what was said. `rag_sources` are those of the open or the last turn, `given_sources` those the host gave for the
    next one."""

    model_config = ConfigDict(frozen=False)

    start: StartInstance
    gmi_id: str
    created_at: datetime
    conversation_id: str
    persona: Persona | None = None
    persona_is_own: bool = False
    patience: Patience = Patience()
    session_id: str | None = None
    organization_id: str | None = None
    rag_sources: tuple[RagRetrievedChunk, ...] | None = None
    given_sources: tuple[RagRetrievedChunk, ...] | None = None
    traits: dict[str, float] = Field(default_factory=dict)
    mood: Mood = "neutral"
    working_memory: dict[str, Any] = Field(default_factory=dict)
    trace: list[TraceEntry] = Field(default_factory=list)
    feedback: list[Feedback] = Field(default_factory=list)
    answered_events: list[LifecycleActionResponse] = Field(default_factory=list)
    rejected: list[RejectedMessage] = Field(default_factory=list)
    queue: list[QueuedTurn] = Field(default_factory=list)
    open: OpenTurn | None = None
    outcomes: list[TurnOutcome] = Field(default_factory=list)
    last_turn: LastTurn | None = None
    held: dict[str, str] = Field(default_factory=dict)
    usage: CostAggregator = CostAggregator()
    turns: int = 0
    failed: int = 0
    error: ErrorDetails | None = None
    counters: dict[str, int] = Field(default_factory=dict)
    events: list[str] = Field(default_factory=list)
    reflections: list[str] = Field(default_factory=list)
    unassessed: list[UnassessedMessage] = Field(default_factory=list)
    is_reflecting: bool = False
    shutting_down: bool = False
    is_shut_down: bool = False

    @classmethod
    def of(cls, start: StartInstance, now: datetime) -> "InstanceState":
        """The state of an instance whose persona is still to be found."""
        gmi_id, config = start.gmi_id or "", start.config
        return cls(
            start=start,
            gmi_id=gmi_id,
            created_at=now,
            conversation_id=config.conversation_id or f"gmi-{gmi_id}",
            session_id=config.session_id,
            organization_id=config.organization_id,
        )

    def open_with(self, opened: InstanceOpened, now: datetime) -> None:
        """The persona is found: the instance begins to live."""
        persona = self.persona = opened.persona
        self.persona_is_own, self.patience = opened.is_own, opened.patience
        self.traits, self.mood = persona.adaptable_traits, character.default_mood(persona)
        for key, value in persona.starting_memory.items():
            self.remember(key, value)
        for imprint in persona.initial_memory_imprints:
            self.remember(imprint.key, imprint.value)
        self.remember(MOOD, self.mood)
        self.note("LIFECYCLE", f"The instance is ready with the persona {persona.id}", now)
        for name in tracing.limits_of(persona, self.start.config).ignored:
            self.note("WARNING", f"{name} is no positive integer; the default holds", now)

    @property
    def own_persona(self) -> Persona:
        """The persona; only once it is found."""
        assert self.persona is not None
        return self.persona

    @property
    def user_id(self) -> str:
        """Whose instance it is."""
        return self.start.config.user_id

    @property
    def scope(self) -> InstanceScope:
        """Whose conversations and memory it uses."""
        return InstanceScope(
            user_id=self.user_id,
            persona_id=self.own_persona.id,
            organization_id=self.organization_id,
            session_id=self.session_id,
        )

    @property
    def prime_state(self) -> PrimeState:
        """The state as AgentOS names it."""
        if self.shutting_down:
            return "shutdown" if self.is_shut_down else "shutting_down"
        if self.persona is None:
            return "initializing"
        if self.open is not None:
            return "awaiting_tool_result" if self.open.is_paused else "processing"
        if self.queue:
            return "processing"
        return "reflecting" if self.is_reflecting else "errored" if self.error is not None else "ready"

    @property
    def digest(self) -> str:
        """What tells this instance's start from another."""
        return same_start(self.start)

    def note(self, kind: str, message: str, now: datetime, details: Any = None, turn_id: str | None = None) -> None:
        """One entry of the reasoning trace."""
        limits = (
            tracing.Limits(tracing.DEFAULT_ENTRIES, tracing.DEFAULT_CHARS)
            if self.persona is None
            else tracing.limits_of(self.persona, self.start.config)
        )
        tracing.note(self.trace, limits, kind, message, now, details, turn_id)

    def remember(self, key: str, value: Any) -> bool:
        """Set a key of working memory; False when there is no room for it."""
        wanted = {**self.working_memory, key: value}
        if len(wanted) > MEMORY_KEYS or encoded_size(wanted) > MEMORY_BYTES:
            return False
        self.working_memory = wanted
        return True

    def reject(self, name: str, reason: str, now: datetime) -> None:
        """Keep a signal that was not used."""
        self.rejected.append(RejectedMessage(at=now, name=name[:100], reason=reason[:500]))
        del self.rejected[:-KEPT_REJECTED]

    def instance_turn(self) -> InstanceTurn:
        """What a turn that starts now is told of the instance."""
        persona = self.own_persona
        return InstanceTurn(
            gmi_id=self.gmi_id,
            persona=persona if self.persona_is_own else None,
            manner=character.manner(persona, self.traits, self.mood),
            rag_sources=self.rag_sources or None,
        )

    def find(self, turn_id: str) -> QueuedTurn | OpenTurn | TurnOutcome | None:
        """The turn of that id, wherever it stands."""
        if self.open is not None and self.open.turn_id == turn_id:
            return self.open
        waiting = next((each for each in self.queue if each.turn_id == turn_id), None)
        return waiting or next((each for each in reversed(self.outcomes) if each.turn_id == turn_id), None)

    def keep_event(self, response: LifecycleActionResponse) -> None:
        """Keep what was answered, so that an event that comes twice is answered twice alike."""
        self.answered_events.append(response)
        keep_newest(self.answered_events, KEPT_EVENTS, EVENT_BYTES)

    def trimmed(self) -> "InstanceState":
        """The state as the next run gets it. Were it ever too large for the server, what can be missed is left out."""
        for part in (self.outcomes, self.trace, self.feedback):
            if encoded_size(self) > CARRIED_BYTES:
                part.clear()
        return self

    def status(self) -> InstanceStatus:
        """Where the instance stands."""
        turn = self.open
        shown = None
        if turn is not None:
            calls = [call.id for call in (turn.output.tool_calls or ())] if turn.output else []
            shown = {
                "turnId": turn.turn_id,
                "workflowId": turn.workflow_id,
                "since": turn.started_at.isoformat(),
                "waitingFor": calls,
            }
        return InstanceStatus(
            gmi_id=self.gmi_id,
            state=self.prime_state,
            persona_id=self.persona.id if self.persona else None,
            mood=self.mood,
            conversation_id=self.conversation_id,
            user_id=self.user_id,
            open_turn=shown,
            queued=tuple(each.turn_id for each in self.queue),
            turns=self.turns,
            failed=self.failed,
            usage=self.usage,
            error=self.error,
        )


def digest_of(said: Any) -> str:
    """What tells one message from another."""
    told = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def keep_newest(entries: list[Any], most: int, room: int) -> None:
    """Drop the oldest entries of more than `most`, or of more than `room` bytes together; the newest one stays."""
    del entries[:-most]
    while len(entries) > 1 and encoded_size(entries) > room:
        del entries[0]
