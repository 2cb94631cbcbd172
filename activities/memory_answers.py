"""What a model said about a turn, made fit for a history: no credential, nothing endless, no copy of what is held.

What is taken out is told as a problem of its stage; only the copies go without a word, as their ids and hashes stay.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from activities.json_values import encoded_size
from memory_engine import (
    DetectedTension,
    Extracted,
    ExtractedMemory,
    PostTurnAnswers,
    SelfModelUpdate,
    distinctive_tokens,
    has_secret,
    plain,
    screen_injection,
)

MAX_STAGE_BYTES = 32_000
MAX_CONTENT = 600
MAX_TEXT = 300
OWN_WORDS = 2 / 3

_Entry = TypeVar("_Entry")


def read_answers(recorded: dict[str, Any]) -> PostTurnAnswers:
    """The answers that a history has. Those that another version of the code recorded, and this one cannot read, are told."""
    try:
        return PostTurnAnswers.model_validate(recorded)
    except ValidationError as wrong:
        first = wrong.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        return PostTurnAnswers(
            extract=Extracted(problems=[f"recorded answers cannot be read: {place}: {first['msg']}"])
        )


def without_echoes(answers: PostTurnAnswers, said: str, instructions: str) -> PostTurnAnswers:
    """The answers without statements that only repeat the model's instructions.

    All words of such a statement stand there, and the user's message (`said`) has few of them.
    """
    kept = answers.model_copy(deep=True)
    read = kept.extract
    if read is None or read.result is None:
        return kept
    spoken, instructed = distinctive_tokens(said), distinctive_tokens(instructions)

    def echo(memory: ExtractedMemory) -> str | None:
        words = distinctive_tokens(memory.content)
        is_echo = words <= instructed and len(words & spoken) < len(words) * OWN_WORDS
        return "it repeats the instructions" if is_echo else None

    read.result.memories = _kept(read.result.memories, echo, "memory", read.problems)
    return kept


def fit_answers(answers: PostTurnAnswers) -> dict[str, Any]:
    """The answers as JSON for a history, each stage of at most `MAX_STAGE_BYTES` bytes."""
    fit = answers.model_copy(deep=True)
    _fit_extraction(fit)
    _fit_verdicts(fit)
    _fit_evaluation(fit)
    return {name: _bounded(stage) for name, stage in plain(fit).items()}


def _fit_extraction(answers: PostTurnAnswers) -> None:
    read = answers.extract
    if read is None or read.result is None:
        return
    read.result.memories = _kept(
        read.result.memories, lambda memory: _unfit(memory.content, MAX_CONTENT), "memory", read.problems
    )
    if read.result.tensions:
        read.result.tensions = _kept(read.result.tensions, _unfit_tension, "tension", read.problems)


def _fit_verdicts(answers: PostTurnAnswers) -> None:
    read = answers.reconcile
    if read is None:
        return
    for item in read.items:
        item.remember = []
    for at, verdict in enumerate(read.verdicts):
        verdict.reason = None if verdict.reason is None else _short(verdict.reason)
        if verdict.content is not None and (why := _unfit(verdict.content, 2 * MAX_CONTENT)):
            verdict.content = None
            read.problems.append(f"the text of verdict {at + 1} was left out: {why}")


def _fit_evaluation(answers: PostTurnAnswers) -> None:
    read = answers.arbitrate
    if read is None or read.result is None:
        return
    result = read.result
    for demotion in result.demotions:
        demotion.reason = _short(demotion.reason)
    for pin in result.pins:
        pin.reason = _short(pin.reason)
    result.detected_tensions = _kept(result.detected_tensions, _unfit_tension, "tension", read.problems)
    update = result.self_model_update
    if update is not None and (why := _unfit_update(update)):
        result.self_model_update = None
        read.problems.append(f"the outcome was left out: {why}")


def _kept(entries: list[_Entry], unfit: Callable[[_Entry], str | None], name: str, problems: list[str]) -> list[_Entry]:
    reasons = [unfit(entry) for entry in entries]
    problems += [f"{name} {at + 1} was left out: {why}" for at, why in enumerate(reasons) if why]
    return [entry for entry, why in zip(entries, reasons, strict=True) if not why]


def _unfit(text: str, longest: int) -> str | None:
    if len(text) > longest:
        return f"longer than {longest} characters"
    return "holds a secret" if has_secret(text) else None


def _unfit_tension(tension: DetectedTension) -> str | None:
    texts = (tension.claim_a, tension.claim_b, tension.actionable_question)
    return next(filter(None, (_unfit(text, MAX_CONTENT) for text in texts)), None)


def _unfit_update(update: SelfModelUpdate) -> str | None:
    """A pattern stands in prompts as advice, so it must not read like an order."""
    texts = (update.domain, update.failure_pattern_observed or "")
    return next(filter(None, (_unfit(text, MAX_TEXT) or screen_injection(text) for text in texts)), None)


def _short(reason: str) -> str:
    return "" if has_secret(reason) else reason[:MAX_TEXT]


def _bounded(stage: dict[str, Any]) -> dict[str, Any]:
    size = encoded_size(stage)
    if size <= MAX_STAGE_BYTES:
        return stage
    return {"problems": [f"the answer has {size:,} bytes, more than {MAX_STAGE_BYTES:,}, and was not used"]}
