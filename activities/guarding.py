"""Asking the model under guardrails: results are judged before it reads them, and its reply before anything of that is kept.

What a turn has read or said once it reads again with each request, in this turn and in later ones, so results are judged where
a prompt is made, whoever wrote them and however their turn ended. Without guardrails none of this costs anything.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activities.asking import Prompt, Provider
from activities.completions import Completion, RawCall
from activities.conversation import ErrorDetails, Message, ModelUsage, ToolCallResult, ToolMessage
from activities.errors import MODEL_REFUSAL
from activities.guard_contracts import GuardNote
from activities.guards import TurnGuards
from activities.json_values import clean_json
from activities.streaming_exchange import OnText
from activities.tool_text import tool_text

WITHHELD_RESULT = "(The result was withheld by a guardrail.)"
MAX_NOTES = 50


@dataclass(slots=True)
class _Notes:
    """Verdicts in order, and the error of the first block."""

    notes: list[GuardNote]
    error: ErrorDetails | None = None

    def add(self, notes: Sequence[GuardNote], error: ErrorDetails | None) -> None:
        self.notes += notes[: MAX_NOTES - len(self.notes)]
        self.error = self.error or error


async def ask_guarded(
    provider: Provider,
    guards: TurnGuards,
    prompt: Prompt,
    key_names: tuple[str, ...] = (),
    on_text: OnText | None = None,
) -> tuple[Completion, ModelUsage | None]:
    """As `Provider.ask`. A block is the error of the completion, which then has neither text nor calls.

    While there are guardrails for the output, streamed text is held until they have judged all of it.

    Raises:
        ProviderFault, UnknownSecretError: as `Provider.ask`.
    """
    messages, read = await judge_results(guards, prompt.messages)
    if read.error is not None:
        # Nothing was asked, so nothing was used.
        return _ended(prompt.model, read), ModelUsage()
    is_held = on_text is not None and bool(guards.at("output"))
    completion, usage = await provider.ask(replace(prompt, messages=messages), key_names, _hold if is_held else on_text)
    completion = await judge_completion(guards, completion)
    return replace(completion, guardrails=(*read.notes, *completion.guardrails)), usage


async def judge_results(guards: TurnGuards, messages: list[Message]) -> tuple[list[Message], _Notes]:
    """The messages as the model may read them. Only what is said of the newest results is noted, and can end the turn.

    An older one that is blocked is left out: it ended a turn before, or no guardrail was there to judge it.
    """
    told = _Notes([])
    if not guards.at("result"):
        return messages, told
    newest = len(messages)
    while newest and isinstance(messages[newest - 1], ToolMessage):
        newest -= 1
    read: list[Message] = []
    for place, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            read.append(message)
            continue
        result = message.result
        judged = await guards.judge("result", tool_text(result), result.tool_name)
        if place >= newest:
            told.add(judged.notes, judged.error)
        changed = WITHHELD_RESULT if judged.error is not None else judged.text
        read.append(message if not judged.notes else _replaced(result, changed))
    return read, told


async def judge_completion(guards: TurnGuards, completion: Completion) -> Completion:
    """The completion after its text, and then the arguments of each call as a text of their own, have been judged."""
    if not guards.at("output"):
        return completion
    told, text, calls = _Notes([]), completion.text, []
    if text is not None:
        judged = await guards.judge("output", text)
        told.add(judged.notes, judged.error)
        text = judged.text
    for call in completion.calls if told.error is None else ():
        judged_call, notes, error = await _judge_call(guards, call)
        told.add(notes, error)
        calls.append(judged_call)
        if error is not None:
            break
    if told.error is not None:
        blocked = _ended(completion.model, told)
        return replace(
            blocked,
            usage=completion.usage,
            usage_details=completion.usage_details,
            finish_reason=completion.finish_reason,
        )
    error = completion.error
    if error is not None and text != completion.text and error.code == MODEL_REFUSAL:
        # Its message is the model's own words.
        error = error.model_copy(update={"message": "the model refused to answer"})
    return replace(completion, text=text, calls=tuple(calls), error=error, guardrails=tuple(told.notes))


async def _judge_call(guards: TurnGuards, call: RawCall) -> tuple[RawCall, tuple[GuardNote, ...], ErrorDetails | None]:
    """Arguments that are no JSON any more once they are sanitised do not run: the model is told that they are malformed."""
    given = call.arguments
    if given is None:
        return call, (), None
    text = given if isinstance(given, str) else json.dumps(clean_json(given), ensure_ascii=False)
    judged = await guards.judge("output", text, call.name)
    return (call if judged.text == text else replace(call, arguments=judged.text)), judged.notes, judged.error


def _ended(model: str, told: _Notes) -> Completion:
    return Completion(
        text=None,
        calls=(),
        finish_reason=None,
        model=model,
        usage=None,
        error=told.error,
        guardrails=tuple(told.notes),
    )


def _replaced(result: ToolCallResult, text: str) -> ToolMessage:
    return ToolMessage(result=ToolCallResult(tool_call_id=result.tool_call_id, tool_name=result.tool_name, output=text))


def _hold(text: str) -> None:
    """Show nothing yet."""
