"""What the rows of a turn tell, read one by one: events, and entries of the history. Pure.

Rows come in order and are told once, so what was told never changes: a call that failed for its arguments is told when it
is certain that the model does not send better ones, and the words of a reply after the results of its calls.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from activities.conversation import AssistantMessage, ErrorDetails, Message, ToolCall, ToolCallResult, UserMessage
from activities.errors import (
    EXTERNAL_TOOL_NOT_RUN,
    GUARDRAIL_BLOCKED,
    GUARDRAIL_FAILED,
    TOOL_CALL_CUT,
    TOOL_CALL_REJECTED,
    TOOL_NOT_FOUND,
)
from activities.phases import choice_facts
from activities.selection import ChoiceFacts, ChosenFunction
from activities.texts import text_of
from activities.tool_results import is_correctable
from activities.turn_input import SelectionOptions
from worker.nestia.events import EventType
from worker.nestia.prompts import (
    COMPLETE,
    Operation,
    Prompt,
    choice_prompt,
    describe_prompt,
    execute_prompt,
    text_prompt,
)

# Such calls were never made; the model alone has to know.
_UNTOLD = frozenset({TOOL_NOT_FOUND, TOOL_CALL_CUT})
_LIMIT = "LIMIT_"
_GUARDED = frozenset({GUARDRAIL_BLOCKED, GUARDRAIL_FAILED})

# Which operation a name stands for today, where a row does not say it.
Resolve = Callable[[str], Operation | None]


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a turn told: events (type and fields each), and the entry it adds to the history."""

    events: tuple[tuple[EventType, dict[str, Any]], ...] = ()
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class _Call:
    call: ToolCall
    operation: Operation


@dataclass(slots=True)
class _Round:
    """One reply with calls, while its results come in.

    `left` are the ids of those that are missing, `corrects` how many failed calls of each name its own may correct.
    """

    calls: dict[str, _Call]
    left: set[str]
    text: str | None
    corrects: dict[str, int]


@dataclass(slots=True)
class TurnTeller:
    """Reads the rows of one turn. `edited` are arguments that a person put in the place of the model's, by call id."""

    options: SelectionOptions
    resolve: Resolve
    edited: dict[str, Any] = field(default_factory=dict)
    _round: _Round | None = None
    _failed: dict[str, deque[tuple[_Call, ToolCallResult]]] = field(default_factory=dict)
    _executions: list[Prompt] = field(default_factory=list)
    _groups: list[tuple[str, ChosenFunction]] = field(default_factory=list)
    _has_words: bool = False

    def take(self, message: Message) -> list[Told]:
        """What the next row tells."""
        match message:
            case UserMessage():
                return [_said("user", text_of(message.content))]
            case AssistantMessage():
                facts = choice_facts(message)
                return self._reply(message) if facts is None else self._choice(facts, message.content)
        return self._result(message.result)

    def close(self, error: ErrorDetails | None = None) -> list[Told]:
        """What is left to tell once the turn is over. One that a guardrail ended says why, one at a limit where it has no
        words."""
        told = [*self._rest_of_round(), *self._give_up()]
        if error is None:
            return told
        is_silent = error.code.startswith(_LIMIT) and not self._has_words
        return [*told, self._say(error.message)] if is_silent or error.code in _GUARDED else told

    def _choice(self, facts: ChoiceFacts, text: str | None) -> list[Told]:
        told: list[Told] = []
        if facts.phase == "initialize":
            told += [Told((("initialize", {}),))] if facts.wanted else []
        elif facts.groups == 1:
            told += self._chosen(facts, facts.call_id, facts.chosen)
        elif not self.options.eliticism:
            self._groups += [(facts.call_id, each) for each in facts.chosen]
            if facts.group == facts.groups - 1 and self._groups:
                told += self._chosen(facts, self._groups[0][0], [each for _, each in self._groups])
                self._groups = []
        return [*told, self._say(text)] if text else told

    def _chosen(self, facts: ChoiceFacts, choice_id: str, chosen: Iterable[ChosenFunction]) -> list[Told]:
        operations = [(operation, each.reason) for each in chosen if (operation := self._operation_of(each))]
        if not operations or facts.phase == "initialize":
            return []
        return [_choice_told(facts.phase, choice_id, operations)]

    def _operation_of(self, chosen: ChosenFunction) -> Operation | None:
        kept = Operation.of(chosen.protocol, chosen.controller, chosen.function, chosen.name)
        return kept or self.resolve(chosen.name)

    def _reply(self, message: AssistantMessage) -> list[Told]:
        """A reply that calls, asks, or puts results into words."""
        told = self._rest_of_round()
        meta = message.meta or {}
        if message.is_discarded:
            return told
        if not message.tool_calls:
            if meta.get("phase") == "describe" or self._describes_freely(meta.get("phase")):
                told += self._give_up()
                return [*told, self._describe(message.content)] if message.content else told
            return [*told, self._say(message.content)] if message.content else told
        calls = {}
        for call in message.tool_calls:
            if (operation := self._called(call, message)) is not None:
                calls[call.id] = _Call(call, operation)
        corrects = {name: len(waiting) for name, waiting in self._failed.items()}
        self._round = _Round(calls, {call.id for call in message.tool_calls}, message.content, dict(corrects))
        for each in calls.values():
            if corrects.get(each.call.name, 0) > 0:
                corrects[each.call.name] -= 1
            elif each.call.id not in meta.get("problems", {}):
                arguments = self.edited.get(each.call.id, each.call.arguments)
                fields = {"id": each.call.id, "operation": each.operation, "arguments": arguments}
                told.append(Told((("call", fields),)))
        return told

    def _describes_freely(self, phase: str | None) -> bool:
        """Whether words after results are about these: so it is where no phase is there to say it."""
        return (phase is None or self.options.describe == "off") and bool(
            self._executions or any(self._failed.values())
        )

    def _called(self, call: ToolCall, message: AssistantMessage) -> Operation | None:
        kept = functions_of(message).get(call.id)
        return self.resolve(call.name) if kept is None else Operation.of(name=call.name, **kept)

    def _result(self, result: ToolCallResult) -> list[Told]:
        if self._round is None or result.tool_call_id not in self._round.left:
            return []
        self._round.left.discard(result.tool_call_id)
        called = self._round.calls.get(result.tool_call_id)
        told = [] if called is None else self._outcome(called, result)
        return told if self._round.left else [*told, *self._rest_of_round()]

    def _outcome(self, called: _Call, result: ToolCallResult) -> list[Told]:
        code, name = _code(result), called.call.name
        if code in _UNTOLD or code.startswith(_LIMIT):
            return []
        corrects = self._round.corrects if self._round is not None else {}
        if code in (EXTERNAL_TOOL_NOT_RUN, TOOL_CALL_REJECTED):
            # A function that failed too often is refused too; what stands of it is its last failure.
            return [] if corrects.get(name) else [_cancelled(called, _message(result))]
        if corrects.get(name):
            corrects[name] -= 1
            self._failed[name].popleft()
        if is_correctable(result):
            self._failed.setdefault(name, deque()).append((called, result))
            return []
        return self._executed(called, result)

    def _executed(self, called: _Call, result: ToolCallResult) -> list[Told]:
        call, operation = called.call, called.operation
        arguments = self.edited.get(call.id, call.arguments)
        prompt = execute_prompt(call.id, operation, arguments, result)
        self._executions.append(prompt)
        fields = {"id": call.id, "operation": operation, "arguments": arguments, "value": prompt["value"]}
        return [Told((("execute", fields),), prompt), _choice_told("cancel", call.id, [(operation, COMPLETE)])]

    def _rest_of_round(self) -> list[Told]:
        if self._round is None:
            return []
        text, self._round = self._round.text, None
        return [self._say(text)] if text else []

    def _give_up(self) -> list[Told]:
        """Calls that the model has not corrected: their failures stand."""
        failed, self._failed = self._failed, {}
        return [told for waiting in failed.values() for each in waiting for told in self._executed(*each)]

    def _describe(self, text: str) -> Told:
        executions, self._executions = self._executions, []
        if not executions:
            return self._say(text)
        self._has_words = True
        prompt = describe_prompt(executions, text)
        return Told((("describe", {"executions": prompt["executions"], "text": text}),), prompt)

    def _say(self, text: str) -> Told:
        self._has_words = True
        return _said("assistant", text)


def functions_of(message: AssistantMessage) -> dict[str, dict[str, Any]]:
    """Controller, function and protocol of the calls of a reply, by the call's id, as they were when it was made."""
    kept: dict[str, dict[str, Any]] = (message.meta or {}).get("functions", {})
    return kept


def _said(role: Any, text: str) -> Told:
    return Told((("text", {"role": role, "text": text}),), text_prompt(role, text))


def _choice_told(kind: Any, choice_id: str, chosen: list[tuple[Operation, str]]) -> Told:
    events = tuple((kind, {"operation": operation, "reason": reason}) for operation, reason in chosen)
    return Told(events, choice_prompt(kind, choice_id, chosen))


def _cancelled(called: _Call, reason: str) -> Told:
    return _choice_told("cancel", called.call.id, [(called.operation, reason)])


def _code(result: ToolCallResult) -> str:
    details = result.error_details
    return str(details.get("code", "")) if result.is_error and isinstance(details, dict) else ""


def _message(result: ToolCallResult) -> str:
    details = result.error_details
    return str(details.get("message", "")) if isinstance(details, dict) else ""
