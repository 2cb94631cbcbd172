"""What is told of guardrails: by the step that judges a message, and with each reply."""

from typing import Literal

from pydantic import Field

from activities.conversation import ErrorDetails
from activities.wire import Sparse, Wire


class GuardNote(Wire):
    """One verdict other than a pass. It never holds the text that was judged.

    `failed` says that the guardrail could not judge; the text went on all the same if it is one that may fail.
    """

    guardrail: str
    stage: Literal["input", "result", "output"]
    verdict: Literal["sanitised", "blocked", "failed"]
    reason: str = ""
    tool: Sparse[str] = None


class JudgeInput(Wire):
    """Judge the user's message of a turn that has begun."""

    turn_id: str


class InputJudged(Wire):
    """What became of the message. `text` is the beginning of what stands now where that differs; `error` ends the turn."""

    notes: tuple[GuardNote, ...] = Field(default=())
    text: str | None = None
    error: ErrorDetails | None = None
