"""Tokens used, in the structure of `INestiaAgentTokenUsage`."""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.conversation import AssistantMessage, CostAggregator, Message, ModelUsage
from activities.phases import choice_facts
from activities.reply_facts import ReplyFacts
from activities.wire import Wire

Phase = str


class PromptTokens(Wire):
    """Tokens sent. The parts are of `total`."""

    total: int = 0
    audio: int = 0
    cached: int = 0


class CompletionTokens(Wire):
    """Tokens received. The parts are of `total`."""

    total: int = 0
    accepted_prediction: int = 0
    audio: int = 0
    reasoning: int = 0
    rejected_prediction: int = 0


class TokenUsage(Wire):
    """What was used. `total` is what was sent and received together."""

    total: int = 0
    prompt: PromptTokens = PromptTokens()
    completion: CompletionTokens = CompletionTokens()

    def dump(self) -> dict[str, Any]:
        """The JSON of the seed, whose names are not camelCase."""
        return self.model_dump(by_alias=False)


def phases_of(rows: Iterable[Message]) -> dict[Phase, TokenUsage]:
    """What the replies of a turn used, by phase. Without phases everything is `execute`."""
    used: dict[Phase, list[TokenUsage]] = {}
    for row in rows:
        if isinstance(row, AssistantMessage) and row.meta:
            facts, choice = ReplyFacts.model_validate(row.meta), choice_facts(row)
            phase = choice.phase if choice else str(row.meta.get("phase", "execute"))
            if facts.usage is not None:
                used.setdefault(phase, []).append(_of_reply(facts.usage, facts.usage_details or {}))
    return {phase: add_up(each) for phase, each in used.items()}


def of_turn(total: CostAggregator | None, phases: Mapping[Phase, TokenUsage]) -> TokenUsage:
    """What a turn used: by its own count, which knows of replies that left no row, where it has one."""
    told = add_up(phases.values())
    if total is None:
        return told
    return TokenUsage(
        total=total.total_tokens,
        prompt=told.prompt.model_copy(update={"total": total.prompt_tokens}),
        completion=told.completion.model_copy(update={"total": total.completion_tokens}),
    )


def add_up(usages: Iterable[TokenUsage]) -> TokenUsage:
    """The sum."""
    listed = list(usages)
    return TokenUsage(
        total=sum(each.total for each in listed),
        prompt=PromptTokens(
            **{name: sum(getattr(each.prompt, name) for each in listed) for name in PromptTokens.model_fields}
        ),
        completion=CompletionTokens(
            **{name: sum(getattr(each.completion, name) for each in listed) for name in CompletionTokens.model_fields}
        ),
    )


def _of_reply(usage: ModelUsage, details: Mapping[str, int]) -> TokenUsage:
    return TokenUsage(
        total=usage.total_tokens,
        prompt=PromptTokens(
            total=usage.prompt_tokens, audio=details.get("prompt_audio", 0), cached=details.get("cached", 0)
        ),
        completion=CompletionTokens(
            total=usage.completion_tokens,
            accepted_prediction=details.get("accepted_prediction", 0),
            audio=details.get("completion_audio", 0),
            reasoning=details.get("reasoning", 0),
            rejected_prediction=details.get("rejected_prediction", 0),
        ),
    )
