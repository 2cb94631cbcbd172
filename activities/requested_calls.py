"""The calls of a reply, made safe: each has an id of ours, a name fit for the wire, an arguments object, and maybe a problem.

A problem is the error that the model gets instead of a result. Its call is echoed to the model all the same, so everything in
it must be legal in a later request.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from activities import errors
from activities.arguments import BadArguments, Fault, read_arguments
from activities.call_ids import mint_call_id
from activities.completions import Completion, RawCall
from activities.contracts import PREVIEW_CHARS, RequestedCall, ToolFacts
from activities.conversation import Arguments, ErrorDetails, ToolCall
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_CALL_CUT, TOOL_NOT_FOUND
from activities.json_values import encoded_size

MAX_CALLS = 200
NAME_CHARS = 64
NO_NAME = "unnamed_tool"
NEAR_NAMES = 3
# All calls of a reply together, as they cross a history; the server's limit for one payload is 2 MB.
REPLY_BYTES = 1_000_000
SHORT_PREVIEW = 200


# The arguments of a call of that name as the tool takes them.
Given = Callable[[str, Arguments], Arguments]
# What to know of the tool of that name, for a call with these arguments; None when the turn has no such tool.
Facts = Callable[[str, Arguments | None], ToolFacts | None]


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """A call whole, as its row has it, and why it must not run."""

    call: ToolCall
    problem: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a turn, as far as judging a call needs them."""

    definitions: list[dict[str, Any]]
    facts: Facts
    check: Callable[[str, Arguments], ErrorDetails | None]
    given: Given = lambda name, arguments: arguments

    @property
    def names(self) -> list[str]:
        """The names the model was offered."""
        return [definition["function"]["name"] for definition in self.definitions]


def judge_calls(
    completion: Completion, offer: Offer, *, turn_id: str, round_number: int, max_tokens: int | None
) -> tuple[JudgedCall, ...]:
    """Every call of a completion judged, at most `MAX_CALLS`; with more, the last one kept speaks for those left out."""
    kept = completion.calls[:MAX_CALLS]
    judged = [
        _judge(raw, offer, mint_call_id(turn_id, round_number, place), _is_cut(completion, place, max_tokens))
        for place, raw in enumerate(kept)
    ]
    if left_out := len(completion.calls) - len(kept):
        problem = ErrorDetails(
            code=TOOL_CALL_CUT,
            message=f"a reply may have {MAX_CALLS} calls; this one and the {left_out} after it were not run",
        )
        judged[-1] = JudgedCall(judged[-1].call, problem)
    return tuple(judged)


def cross(judged: Iterable[JudgedCall], facts: Facts) -> tuple[RequestedCall, ...]:
    """The calls as a history carries them: long arguments as a preview, all together within `REPLY_BYTES`."""
    calls = [_crossing(item, _facts_of(item, facts), PREVIEW_CHARS) for item in judged]
    sizes = [encoded_size(call) for call in calls]
    if sum(sizes) <= REPLY_BYTES:
        return tuple(calls)
    allowed = REPLY_BYTES // len(calls)
    return tuple(
        _smaller(call) if size > allowed and not _is_told(call) else call
        for call, size in zip(calls, sizes, strict=True)
    )


def _is_told(call: RequestedCall) -> bool:
    """Whether the turn itself needs the arguments whole. All such calls together are small."""
    return call.tool is not None and call.tool.kind == "ui"


def _facts_of(item: JudgedCall, facts: Facts) -> ToolFacts | None:
    """What is to be known of the tool: for a call that must not run, only how often its arguments may be corrected."""
    if item.problem is None:
        return facts(item.call.name, item.call.arguments)
    return facts(item.call.name, None) if item.problem.code in errors.MENDABLE else None


def _is_cut(completion: Completion, place: int, max_tokens: int | None) -> "_Cut":
    # Only the last thing a reply says can be cut. Servers that hide the cut show it by the number of tokens.
    if place != len(completion.calls) - 1:
        return _Cut(False, False)
    full = bool(max_tokens and completion.usage and completion.usage.completion_tokens >= max_tokens)
    return _Cut(completion.cut, full)


@dataclass(frozen=True, slots=True)
class _Cut:
    certain: bool
    likely: bool


def _judge(raw: RawCall, offer: Offer, call_id: str, cut: _Cut) -> JudgedCall:
    arguments = read_arguments(raw.arguments)
    bad = arguments if isinstance(arguments, BadArguments) else None
    call = ToolCall(
        id=call_id,
        name=raw.name if offer.facts(raw.name, None) else _wire_name(raw.name),
        arguments={} if isinstance(arguments, BadArguments) else offer.given(raw.name, arguments),
        provider_id=raw.provider_id,
    )
    return JudgedCall(call, _problem(raw, call, bad, offer, cut))


def _problem(raw: RawCall, call: ToolCall, bad: BadArguments | None, offer: Offer, cut: _Cut) -> ErrorDetails | None:
    if cut.certain or (bad and (bad.fault is Fault.CUT or cut.likely)):
        return ErrorDetails(code=TOOL_CALL_CUT, message=_cut_message(bad))
    if not raw.name or offer.facts(raw.name, None) is None:
        return _not_found(raw.name, offer.names)
    if bad:
        return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message=bad.message)
    return offer.check(raw.name, call.arguments)


def _cut_message(bad: BadArguments | None) -> str:
    message = (
        "the reply was cut by its output limit inside this call, so it was not run; call again with smaller arguments"
    )
    return f"{message} ({bad.message})" if bad else message


def _not_found(name: str, names: Sequence[str]) -> ErrorDetails:
    if not name:
        return ErrorDetails(code=TOOL_NOT_FOUND, message="the call does not name a tool")
    shown = name[:NAME_CHARS]
    near = get_close_matches(shown, names, n=NEAR_NAMES, cutoff=0.5)
    known = near or list(names)[:NEAR_NAMES]
    advice = f"; did you mean {' or '.join(known)}?" if near else f"; there are {', '.join(known)}" if known else ""
    return ErrorDetails(code=TOOL_NOT_FOUND, message=f"there is no tool {shown!r}{advice}", details={"near": known})


def _wire_name(name: str) -> str:
    """A name every provider takes back in a later request."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:NAME_CHARS] or NO_NAME


def _crossing(item: JudgedCall, facts: ToolFacts | None, preview_chars: int) -> RequestedCall:
    call = item.call
    text = json.dumps(call.arguments, ensure_ascii=False)
    cut = len(text) > preview_chars
    return RequestedCall(
        id=call.id,
        name=call.name,
        arguments={"preview": text[:preview_chars]} if cut else call.arguments,
        arguments_cut=cut,
        provider_id=call.provider_id,
        problem=item.problem,
        tool=facts,
    )


def _smaller(call: RequestedCall) -> RequestedCall:
    tool = call.tool.model_copy(update={"input_schema": None}) if call.tool else None
    text = call.arguments["preview"] if call.arguments_cut else json.dumps(call.arguments, ensure_ascii=False)
    if len(text) <= SHORT_PREVIEW:
        return call.model_copy(update={"tool": tool})
    return call.model_copy(update={"arguments": {"preview": text[:SHORT_PREVIEW]}, "arguments_cut": True, "tool": tool})
