"""What a stored reply of a model has besides its text and calls."""

from pydantic import Field

from activities.completions import Completion
from activities.conversation import ErrorDetails, ModelUsage
from activities.guard_contracts import GuardNote
from activities.model_settings import ModelSettings
from activities.output_parts import OutputParts
from activities.wire import Sparse, Wire


class ReplyFacts(Wire):
    """What a reply has besides text and calls, kept beside the stored message so that a retry can give the same reply.

    `problems` are by call id. `usage_details` says of which kind tokens were, where the provider says so (see `USAGE_PARTS`).
    """

    finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    usage: ModelUsage | None = None
    error: ErrorDetails | None = None
    hint: str | None = None
    problems: dict[str, ErrorDetails] = Field(default_factory=dict)
    usage_details: dict[str, int] | None = None
    guardrails: Sparse[tuple[GuardNote, ...]] = None
    parts: Sparse[OutputParts] = None


def facts_of(completion: Completion, usage: ModelUsage | None, asked: str, settings: ModelSettings) -> ReplyFacts:
    """What a completion of the model that was `asked` says of itself, and what it cost."""
    model = completion.model or asked
    return ReplyFacts(
        finish_reason=completion.finish_reason,
        model=model,
        provider=settings.provider,
        usage=settings.prices.priced(usage, model, asked),
        error=completion.error,
        hint=completion.hint,
        usage_details=completion.usage_details,
        guardrails=completion.guardrails or None,
    )
