"""What a user says about the agent, made uniform. Pure. Source: normalizeUserFeedback of AgentOS.

A label in `rating` or `type` decides the polarity, else a number (4 and more is positive, 2 and less negative). Unlike there,
feedback that says nothing, or two opposite things at once, is refused: nobody could learn from it.
"""

import math
from datetime import datetime
from typing import Any, Literal

from activities.errors import GMI_FEEDBACK_ERROR
from workflows.gmi_contracts import Feedback
from workflows.gmi_refusal import Refused

Polarity = Literal["positive", "negative", "neutral"]
LABELS: tuple[Polarity, ...] = ("positive", "negative", "neutral")
FIELDS = (
    *("polarity", "rating", "type", "score", "text", "comment", "correctedContent", "targetMessageId", "tags"),
    *("userId", "customData"),
)
TEXT_CHARS = 8_000
SHORT_CHARS = 200
MAX_TAGS = 32


def read_feedback(given: dict[str, Any], owner: str, now: datetime | None = None) -> Feedback:
    """The feedback, normalised.

    Raises:
        Refused: GMI_FEEDBACK_ERROR: it says nothing, contradicts itself, has a wrong type, or comes from another user.
    """
    if unknown := [name for name in given if name not in FIELDS]:
        raise _wrong(f"{unknown[0][:100]} is no field of feedback; its fields: {', '.join(FIELDS)}")
    user_id = given.get("userId", owner)
    if user_id != owner:
        raise _wrong("userId: this instance belongs to another user")
    labels = {name: label for name in ("polarity", "rating", "type") if (label := _label(given, name)) is not None}
    score = _score(given)
    feedback = Feedback(
        polarity=_polarity(labels, score),
        user_id=owner,
        score=score,
        text=_text(given, "text") or _text(given, "comment"),
        corrected_content=_text(given, "correctedContent"),
        target_message_id=_text(given, "targetMessageId", SHORT_CHARS),
        tags=_tags(given.get("tags")),
        at=now,
    )
    if not labels and score is None and not (feedback.text or feedback.corrected_content or feedback.tags):
        raise _wrong("it is empty; send a rating, a score, a text, a correctedContent or tags")
    return feedback


def statements(feedback: Feedback) -> tuple[str, ...]:
    """What memory is to keep of it, in words; nothing of a bare rating."""
    said = []
    if feedback.text:
        said.append(f"The user's feedback on the assistant ({feedback.polarity}): {feedback.text[:1_000]}")
    if feedback.corrected_content:
        said.append(f"The user corrected the assistant: {feedback.corrected_content[:1_000]}")
    return tuple(said)


def _polarity(labels: dict[str, Polarity], score: float | None) -> Polarity:
    said = list(dict.fromkeys(labels.values()))
    counted: Polarity | None = None if score is None else _polarity_of(score)
    if len(said) > 1 or sorted({*said, counted or "neutral"} - {"neutral"}) == ["negative", "positive"]:
        told = ", ".join(
            [*(f"{name} {label}" for name, label in labels.items()), *([f"score {score:g}"] if counted else [])]
        )
        raise _wrong(f"it contradicts itself: {told}")
    return next(iter(labels.values()), None) or counted or "neutral"


def _polarity_of(score: float) -> Polarity:
    return "positive" if score >= 4 else "negative" if score <= 2 else "neutral"


def _label(given: dict[str, Any], name: str) -> Polarity | None:
    value = given.get(name)
    if value is None or (name == "rating" and _is_number(value)):
        return None
    label = value.strip().lower() if isinstance(value, str) else None
    if label not in LABELS:
        raise _wrong(f"{name}: must be positive, negative or neutral{', or a number' if name == 'rating' else ''}")
    return label


def _score(given: dict[str, Any]) -> float | None:
    rating: Any = given.get("rating")
    score: Any = given.get("score")
    if score is not None and not _is_number(score):
        raise _wrong("score: must be a number")
    if _is_number(rating) and _is_number(score) and _polarity_of(rating) != _polarity_of(score):
        raise _wrong(f"it contradicts itself: rating {rating:g}, score {score:g}")
    value = rating if _is_number(rating) else score
    return None if value is None else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e9


def _text(given: dict[str, Any], name: str, most: int = TEXT_CHARS) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong(f"{name}: must be a text")
    if len(value) > most:
        raise _wrong(f"{name}: has more than {most:,} characters")
    return value.strip() or None


def _tags(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > MAX_TAGS or not all(isinstance(tag, str) for tag in value):
        raise _wrong(f"tags: must be a list of at most {MAX_TAGS} texts")
    if any(len(tag) > SHORT_CHARS for tag in value):
        raise _wrong(f"tags: a tag has at most {SHORT_CHARS} characters")
    return tuple(dict.fromkeys(tag.strip() for tag in value if tag.strip())) or None


def _wrong(message: str) -> Refused:
    return Refused(f"feedback: {message}", GMI_FEEDBACK_ERROR)
