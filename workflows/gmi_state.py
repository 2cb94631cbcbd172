"""Everything an instance knows, in the one value that it hands itself when it continues as new. Pure; time is a parameter.

Every part has a bound, so that the whole stays under what the server takes.
"""

import hashlib
import json
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from activities.contracts import Patience
from activities.conversation import CostAggregator, CostEntry, ErrorDetails, GMIOutput, ModelUsage
from activities.errors import SYS_NOT_INITIALIZED
from activities.instance_contracts import InstanceOpened, InstanceScope, Reflection
from activities.json_values import encoded_size
from activities.personas import InstanceTurn, Mood, Persona
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
    TurnNotice,
    TurnOutcome,
)
from workflows.gmi_lifecycle import LifecycleActionResponse
from workflows.gmi_reflection import add_pending, due_prompts
from workflows.gmi_start import same_start
from workflows.rounds import add_usage

# More than may wait at once: a sender whose wait was cut off by a new run asks again, and must find its turn.
KEPT_OUTCOMES, OUTCOME_BYTES = 128, 256_000
KEPT_FEEDBACK, FEEDBACK_BYTES = 100, 64_000
KEPT_EVENTS, EVENT_BYTES = 100, 32_000
KEPT_REJECTED = 32
KEPT_TURNS = 64
MEMORY_KEYS, MEMORY_BYTES = 256, 128_000
PENDING_BYTES = 64_000
CARRIED_BYTES = 1_400_000
MOOD, USER_CONTEXT, TASK_CONTEXT = "currentGmiMood", "currentUserContext", "currentTaskContext"


class InstanceState(Wire):
    """One instance. `persona` is None until it has been found; `held` are the turns its history still holds, by id, with a
    digest of what was said."""

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
    rag_sources: tuple[dict[str, Any], ...] | None = None
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
        self.traits, self.mood = dict(persona.personality_traits), character.default_mood(persona)
        for key, value in persona.default_working_memory.items():
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
        )

    def find(self, turn_id: str) -> QueuedTurn | OpenTurn | TurnOutcome | None:
        """The turn of that id, wherever it stands."""
        if self.open is not None and self.open.turn_id == turn_id:
            return self.open
        waiting = next((each for each in self.queue if each.turn_id == turn_id), None)
        return waiting or next((each for each in reversed(self.outcomes) if each.turn_id == turn_id), None)

    def begin_turn(self, queued: QueuedTurn, key: str, now: datetime) -> None:
        """The turn is about to start."""
        self.open = OpenTurn(
            turn_id=queued.turn_id,
            conversation_id=queued.conversation_id,
            workflow_id=queued.workflow_id,
            key=key,
            digest=queued.digest,
            started_at=now,
        )
        said = queued.body.get("content")
        self.conversation_id, self.error = queued.conversation_id, None
        self.last_turn = LastTurn(
            turn_id=queued.turn_id,
            conversation_id=queued.conversation_id,
            key=key,
            said=digest_of(said),
            is_user_turn=queued.body.get("type", "text") in ("text", "multimodal_content"),
        )
        self.held[queued.turn_id] = digest_of(said)
        while len(self.held) > KEPT_TURNS:
            del self.held[next(iter(self.held))]
        shown = said[:100] if isinstance(said, str) else "a message of several parts"
        self.note("INTERACTION_START", f"Turn {queued.turn_id}", now, {"input": shown}, queued.turn_id)

    def heard(self, notice: TurnNotice, now: datetime) -> bool:
        """Take a notice of the open turn. False when it is another's, or an old one."""
        turn = self.open
        if turn is None or notice.workflow_id != turn.workflow_id or notice.number <= turn.number:
            return False
        if notice.output.is_final:
            self.end_turn(notice.output, now)
            return True
        pending = notice.pending if encoded_size(notice.pending) <= PENDING_BYTES else None
        self.open = turn.model_copy(update={"number": notice.number, "output": notice.output, "pending": pending})
        names = ", ".join(call.name for call in notice.output.tool_calls or ())
        self.note("TOOL_CALL_REQUESTED", f"The turn waits for its host: {names}", now, turn_id=turn.turn_id)
        return True

    def answered(self, turn: OpenTurn) -> None:
        """The host has answered the turn's pause: it goes on. By now it may have stopped again, or ended."""
        if self.open is not None and (self.open.workflow_id, self.open.number) == (turn.workflow_id, turn.number):
            self.open = self.open.model_copy(update={"output": None, "pending": None})

    def end_turn(self, output: GMIOutput, now: datetime) -> None:
        """The open turn has ended."""
        turn = self.open
        assert turn is not None
        self.open = None
        self.keep_outcome(turn.turn_id, turn.conversation_id, turn.digest, output)
        self.turns += 1
        self.usage = _sum(self.usage, output.usage)
        failed = output.error
        if failed is not None:
            self.failed += 1
            self.error = failed
            self.note("ERROR", failed.message, now, {"code": failed.code}, turn.turn_id)
        self.note("INTERACTION_END", f"Turn {turn.turn_id} ended", now, turn_id=turn.turn_id)
        if failed is not None and sum(entry.type == "ERROR" for entry in self.trace[-20:]) >= 2:
            self.raise_event("error_threshold_exceeded")
        if failed is None:
            self._reflect_when_due()

    def refuse_turn(self, output: GMIOutput, now: datetime) -> None:
        """The turn that was about to start did not: its sender is told, and nothing else comes of it."""
        turn = self.open
        assert turn is not None
        self.open, self.last_turn = None, None
        self.held.pop(turn.turn_id, None)
        self.keep_outcome(turn.turn_id, turn.conversation_id, turn.digest, output)
        self.note("WARNING", output.error.message if output.error else "The turn did not start", now)

    def keep_outcome(self, turn_id: str, conversation_id: str, digest: str, output: GMIOutput) -> None:
        """Keep how a turn ended, in place of the oldest."""
        self.outcomes.append(
            TurnOutcome(turn_id=turn_id, conversation_id=conversation_id, digest=digest, output=output)
        )
        _keep_newest(self.outcomes, KEPT_OUTCOMES, OUTCOME_BYTES)

    def drop_queue(self) -> None:
        """Turns that will not run: their senders are told."""
        error = ErrorDetails(code=SYS_NOT_INITIALIZED, message="the instance was shut down before the turn could begin")
        for each in self.queue:
            output = GMIOutput(is_final=True, error=error, turn_id=each.turn_id, conversation_id=each.conversation_id)
            self.keep_outcome(each.turn_id, each.conversation_id, each.digest, output)
        self.queue = []

    def take_feedback(self, feedback: Feedback, now: datetime) -> None:
        """Record what the user said about the agent."""
        self.feedback.append(feedback)
        _keep_newest(self.feedback, KEPT_FEEDBACK, FEEDBACK_BYTES)
        details = feedback.model_dump(mode="json", by_alias=True, exclude_none=True)
        kind = "WARNING" if feedback.polarity == "negative" else "DEBUG"
        self.note(kind, f"User feedback: {feedback.polarity}", now, details)
        if feedback.polarity != "neutral":
            self.raise_event("user_frustrated" if feedback.polarity == "negative" else "user_satisfied")

    def raise_event(self, name: str) -> None:
        """Something that a meta prompt may wait for; it is looked at after the next turn."""
        if name not in self.events:
            self.events.append(name)

    def keep_event(self, response: LifecycleActionResponse) -> None:
        """Keep what was answered, so that an event that comes twice is answered twice alike."""
        self.answered_events.append(response)
        _keep_newest(self.answered_events, KEPT_EVENTS, EVENT_BYTES)

    def forget_turns(self, kept_inputs: list[str]) -> None:
        """The history was replaced: of a turn whose message it does not hold any more, only that it ran is kept.

        One message keeps one turn, the newest first.
        """
        left = list(kept_inputs)
        held: dict[str, str] = {}
        for turn_id, said in reversed(list(self.held.items())):
            if said in left:
                left.remove(said)
                held[turn_id] = said
        self.held = dict(reversed(held.items()))
        tracing.forget_turns(self.trace, self.held)
        if self.last_turn is not None and self.last_turn.turn_id not in self.held:
            self.last_turn = None

    def move_to(self, conversation_id: str) -> None:
        """Go on in another conversation: what was kept for the last turn of this one is dropped."""
        if conversation_id != self.conversation_id:
            self.conversation_id, self.rag_sources, self.last_turn = conversation_id, None, None

    def take_reflection(self, prompt_id: str, reflection: Reflection, now: datetime) -> None:
        """Grant what a reflection wishes for, within bounds."""
        if reflection.usage is not None:
            self.usage = add_usage(self.usage, reflection.usage, reflection.provider, reflection.model)
        if reflection.error is not None:
            self.note("WARNING", f"{prompt_id}: {reflection.error.message}", now)
            return
        changed: dict[str, Any] = {}
        if traits := character.adapted_traits(self.own_persona, self.traits, reflection.traits):
            self.traits = {**self.traits, **traits}
            changed["traits"] = traits
        if mood := character.adapted_mood(self.own_persona, reflection.mood):
            self.mood = mood
            self.remember(MOOD, mood)
            changed["mood"] = mood
        skill, complexity = reflection.skill_level, reflection.task_complexity
        if skill is not None and self._remember_in(USER_CONTEXT, "skillLevel", skill):
            changed["skillLevel"] = skill
        if complexity is not None and self._remember_in(TASK_CONTEXT, "complexity", complexity):
            changed["complexity"] = complexity
        kept = [key for key, value in reflection.working_memory.items() if key != MOOD and self.remember(key, value)]
        if kept:
            changed["imprints"] = kept
        self.note("STATE_CHANGE", f"{prompt_id}: {reflection.rationale or 'no reason given'}", now, changed or None)

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

    def _remember_in(self, key: str, field_name: str, value: str) -> bool:
        held = self.working_memory.get(key)
        return self.remember(key, {**(held if isinstance(held, dict) else {}), field_name: value})

    def _reflect_when_due(self) -> None:
        user_turn = self.last_turn is not None and self.last_turn.is_user_turn
        due = due_prompts(self.own_persona, self.counters, self.events, user_turn=user_turn)
        self.events = []
        add_pending(self.reflections, due)


def digest_of(said: Any) -> str:
    """What tells one message from another."""
    told = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def _keep_newest(entries: list[Any], most: int, room: int) -> None:
    del entries[:-most]
    while len(entries) > 1 and encoded_size(entries) > room:
        del entries[0]


def _sum(total: CostAggregator, more: CostAggregator | None) -> CostAggregator:
    """Both, model by model."""
    if more is None:
        return total
    for entry in more.breakdown:
        total = add_usage(total, _as_usage(entry), entry.provider_id, entry.model_id)
    missing = total.calls_without_usage + more.calls_without_usage
    return total.model_copy(update={"calls_without_usage": missing})


def _as_usage(entry: CostEntry) -> ModelUsage:
    return ModelUsage(
        prompt_tokens=entry.prompt_tokens,
        completion_tokens=entry.completion_tokens,
        total_tokens=entry.tokens,
        cost_usd=entry.cost_usd,
    )
