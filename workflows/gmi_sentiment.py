"""How the user of an instance feels, over some messages, and which events that raises. Pure.

Source: sentimentTracking of AgentOS. One message raises an event when it is intense, several in a row do when they are not; what
has raised an event is not counted for the next one of its kind.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from activities.json_values import clean_text
from activities.personas import Persona
from activities.sentiment import EXCERPT_CHARS, SENTIMENT_HISTORY, MessageAssessed, Sentiment, SentimentTracking
from workflows.gmi_adaptation import raise_event
from workflows.gmi_contracts import QueuedTurn, SentimentRecord, UnassessedMessage
from workflows.gmi_state import InstanceState
from workflows.usage import add_usage

FRUSTRATED_AT_ONCE, SATISFIED_AT_ONCE = 0.6, 0.5
UNENGAGED_TURNS = 4
KEPT_EXCERPT_CHARS = 100
MAX_UNASSESSED = 16


def tracking_of(persona: Persona | None) -> SentimentTracking | None:
    """What the persona wants to be watched for; None when nothing."""
    tracking = persona.sentiment_tracking if persona is not None else None
    return tracking if tracking is not None and tracking.enabled else None


def watch(state: InstanceState, turn: QueuedTurn) -> None:
    """The user's message of a turn that began waits to be assessed, where the persona wants that."""
    said = _text_of(turn.body.get("content"))
    of_user = turn.body.get("type", "text") in ("text", "multimodal_content")
    if tracking_of(state.persona) is not None and of_user and said.strip():
        state.unassessed.append(UnassessedMessage(turn_id=turn.turn_id, text=said))
        del state.unassessed[:-MAX_UNASSESSED]


def take_sentiment(state: InstanceState, message: UnassessedMessage, assessed: MessageAssessed, now: datetime) -> None:
    """Put an assessed message into the window, and raise what follows from it."""
    tracking = tracking_of(state.persona)
    if assessed.usage is not None:
        state.usage = add_usage(state.usage, assessed.usage, assessed.provider, assessed.model)
    if assessed.error is not None or tracking is None:
        state.note("WARNING", f"How the user feels is not known: {assessed.error and assessed.error.message}", now)
        return
    record = SentimentRecord(
        turn_id=message.turn_id,
        at=now,
        sentiment=assessed.sentiment,
        excerpt=message.text[:KEPT_EXCERPT_CHARS] if message.turn_id in state.held else None,
    )
    window = [*window_of(state), record]
    events = events_of(tracking, window)
    window[-1] = record.model_copy(update={"events": events})
    _keep(
        state, window[-max(tracking.history_window, tracking.consecutive_turns_for_trigger + 1, UNENGAGED_TURNS) :], now
    )
    for event in events:
        raise_event(state, event)
        told = {"event": event, "score": record.sentiment.score, "excerpt": record.excerpt}
        state.note("DEBUG", f"The user's message raises {event}", now, told, message.turn_id)


def events_of(tracking: SentimentTracking, window: Sequence[SentimentRecord]) -> tuple[str, ...]:
    """What the newest message of the window raises, the ones before it considered."""
    newest, in_a_row = window[-1].sentiment, tracking.consecutive_turns_for_trigger

    def is_bad(told: Sentiment) -> bool:
        return told.is_known and told.score < tracking.frustration_threshold

    def is_good(told: Sentiment) -> bool:
        return told.is_known and told.score > tracking.satisfaction_threshold

    def is_indifferent(told: Sentiment) -> bool:
        return told.is_known and told.is_short and not (told.is_confused or is_bad(told) or is_good(told))

    def run(event: str, holds: Callable[[Sentiment], bool]) -> int:
        return _run(window, event, holds)

    raised = {
        "user_frustrated": is_bad(newest)
        and (newest.intensity > FRUSTRATED_AT_ONCE or run("user_frustrated", is_bad) >= in_a_row),
        "user_satisfied": is_good(newest)
        and (newest.intensity > SATISFIED_AT_ONCE or run("user_satisfied", is_good) > in_a_row),
        "user_confused": newest.is_known and newest.is_confused,
        "low_engagement": run("low_engagement", is_indifferent) >= UNENGAGED_TURNS,
    }
    return tuple(event for event, is_so in raised.items() if is_so)


def window_of(state: InstanceState) -> list[SentimentRecord]:
    """The assessed messages, the newest last. What a host put there that is none is left out."""
    held = state.working_memory.get(SENTIMENT_HISTORY)
    return [found for each in (held if isinstance(held, list) else []) if (found := _record(each)) is not None]


def forget_excerpts(state: InstanceState, kept: Collection[str], now: datetime) -> None:
    """Messages that the history does not hold any more keep how they felt and lose what they said."""
    window = window_of(state)
    if any(each.excerpt is not None and each.turn_id not in kept for each in window):
        cut = [each if each.turn_id in kept else each.model_copy(update={"excerpt": None}) for each in window]
        _keep(state, cut, now)


def _keep(state: InstanceState, window: Sequence[SentimentRecord], now: datetime) -> None:
    told = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in window]
    if not state.remember(SENTIMENT_HISTORY, told):
        state.note("WARNING", "Working memory has no room for how the user feels", now)


def _run(window: Sequence[SentimentRecord], event: str, holds: Callable[[Sentiment], bool]) -> int:
    """How many messages in a row hold, back from the newest, none of which has raised the event."""
    count = 0
    for record in reversed(window):
        if not holds(record.sentiment) or event in record.events:
            break
        count += 1
    return count


def _record(value: Any) -> SentimentRecord | None:
    try:
        return SentimentRecord.model_validate(value)
    except ValidationError:
        return None


def _text_of(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    told = content if isinstance(content, str) else "\n".join(text for text in texts if isinstance(text, str))
    return clean_text(told)[:EXCERPT_CHARS]
