"""Answers of a host, read from whatever JSON arrived. Pure.

`read_answer` knows shapes only: whether a call exists or is still open is the pause's business. Refusals say what to send.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from activities.conversation import ErrorDetails
from activities.errors import EXTERNAL_TOOL_ERROR
from activities.json_values import Undecodable, encoded_size, json_fault, json_type
from activities.turn_input import TurnOptions
from workflows.contracts import ItemReason

MAX_ANSWER_BYTES = 1_000_000
MAX_RESULTS = 1_000
MAX_NAME_CHARS = 200
MAX_REASONS = 64
MAX_REASON_CHARS = 1_000
Partial = Literal["fill", "wait"]

SHAPE_MANY = '{"results": [{"toolCallId": …, "output": …}], "userId"?, "partial"?: "fill" or "wait"}'
SHAPE_ONE = '{"toolCallId": …, "output": … | "errorDetails": … | "decision": …, "userId"?, "partial"?}'
DECISIONS = ("approve", "reject", "edit")


@dataclass(frozen=True, slots=True)
class Output:
    """The host ran the call: what came out."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """The host's tool failed."""

    error: ErrorDetails
    output: Any = None


@dataclass(frozen=True, slots=True)
class Approve:
    """A person lets the worker run the call as the model asked for it."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A person refuses the call; the reason is theirs, word for word."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class Edit:
    """A person lets the worker run the call with other arguments."""

    arguments: dict[str, Any]


Resolution = Output | Failure | Approve | Reject | Edit


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """One result of an answer. `digest` tells a repeated answer from a different one."""

    call_id: str
    tool_name: str | None
    resolution: Resolution
    digest: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One message of the host: its results, and what becomes of the calls it leaves out."""

    items: tuple[AnsweredCall, ...]
    partial: Partial
    user_id: str | None = None
    options: TurnOptions | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer was not taken; nothing of it was.

    Reasons repeat the words of strangers and are kept and shown, so there are at most `MAX_REASONS` short ones.
    """

    reasons: tuple[ItemReason, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", _bounded(self.reasons))

    @property
    def text(self) -> str:
        """All reasons in one line."""
        return "; ".join(
            f"{reason.tool_call_id}: {reason.reason}" if reason.tool_call_id else reason.reason
            for reason in self.reasons
        )


def refused(reason: str, call_id: str | None = None) -> Refusal:
    """A refusal with one reason."""
    return Refusal((ItemReason(tool_call_id=call_id, reason=reason),))


def read_answer(arguments: Sequence[Any], form: Literal["many", "one"]) -> Answer | Refusal:
    """Read the arguments of a `handle_tool_results` ("many") or `handle_tool_result` ("one") message."""
    shape = SHAPE_MANY if form == "many" else SHAPE_ONE
    if len(arguments) != 1:
        return refused(f"send exactly one argument, {len(arguments)} came; it looks like {shape}")
    raw = arguments[0]
    if isinstance(raw, Undecodable):
        return refused(f"{raw.reason}; send {shape}")
    if not isinstance(raw, dict):
        return refused(f"the argument is a {json_type(raw)}, not an object; send {shape}")
    if fault := json_fault(raw, "answer"):
        return refused(fault)
    if (size := encoded_size(raw)) > MAX_ANSWER_BYTES:
        return refused(
            f"the answer has {size:,} bytes, more than {MAX_ANSWER_BYTES:,}; send a reference or a summary instead"
        )
    return _read_many(raw) if form == "many" else _read_one(raw)


def as_result(call_id: str, resolution: Resolution) -> dict[str, Any]:
    """A result as it is sent: what `read_answer` reads as this resolution of the call."""
    match resolution:
        case Output(value):
            return {"toolCallId": call_id, "output": value}
        case Failure(error, output):
            details = error.model_dump(mode="json", by_alias=True)
            return {"toolCallId": call_id, "errorDetails": details, "output": output}
        case Approve():
            return {"toolCallId": call_id, "decision": "approve"}
        case Reject(reason):
            return {"toolCallId": call_id, "decision": "reject", "reason": reason}
        case Edit(arguments):
            return {"toolCallId": call_id, "decision": "edit", "arguments": arguments}


def _read_many(raw: dict[str, Any]) -> Answer | Refusal:
    results = raw.get("results")
    if isinstance(results, dict):
        results = [results]
    if not isinstance(results, list):
        return refused(f"`results` is missing or not a list; send {SHAPE_MANY}")
    if not results:
        return refused("`results` is empty; to end the pause without answering signal `settle`")
    if len(results) > MAX_RESULTS:
        return refused(f"`results` has {len(results)} entries, more than {MAX_RESULTS}")
    return _assemble(raw, results, "fill")


def _read_one(raw: dict[str, Any]) -> Answer | Refusal:
    if "results" in raw and "toolCallId" not in raw and "tool_call_id" not in raw:
        return refused("`results` belongs to handle_tool_results; handle_tool_result takes one flat result")
    return _assemble(raw, [raw], "wait")


def _assemble(raw: dict[str, Any], results: list[Any], default: Partial) -> Answer | Refusal:
    partial = raw.get("partial", default)
    if partial not in ("fill", "wait"):
        return refused('`partial` must be "fill" or "wait"')
    user_id = raw.get("userId", raw.get("user_id"))
    if user_id is not None and not isinstance(user_id, str):
        return refused("`userId` must be text")
    try:
        options = None if raw.get("options") is None else TurnOptions.model_validate(raw["options"])
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        return refused(f"options.{'.'.join(map(str, first['loc']))}: {first['msg']}")
    if options is not None and options.structured_reply is not None:
        return refused("options.structuredReply: is said when a turn starts, and holds to its end")
    items = [_read_item(index, result) for index, result in enumerate(results)]
    faults = tuple(item for item in items if isinstance(item, ItemReason))
    read = tuple(item for item in items if isinstance(item, AnsweredCall))
    if not faults:
        faults = _duplicates(read)
    return Refusal(faults) if faults else Answer(read, partial, user_id, options)


def _duplicates(items: Sequence[AnsweredCall]) -> tuple[ItemReason, ...]:
    counts = Counter(item.call_id for item in items)
    twice = [call_id for call_id, count in counts.items() if count > 1]
    return tuple(ItemReason(tool_call_id=call_id, reason="stands twice in this answer") for call_id in twice)


def _read_item(index: int, raw: Any) -> AnsweredCall | ItemReason:
    if not isinstance(raw, dict):
        return ItemReason(reason=f"results[{index}] is a {json_type(raw)}, not an object with `toolCallId`")
    call_id = raw.get("toolCallId", raw.get("tool_call_id"))
    if not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_NAME_CHARS:
        return ItemReason(
            reason=f"results[{index}].toolCallId is missing or not text of at most {MAX_NAME_CHARS} letters"
        )
    tool_name = raw.get("toolName", raw.get("tool_name"))
    if tool_name is not None and not (isinstance(tool_name, str) and len(tool_name) <= MAX_NAME_CHARS):
        return ItemReason(tool_call_id=call_id, reason=f"`toolName` must be text of at most {MAX_NAME_CHARS} letters")
    resolution = _read_resolution(raw)
    if isinstance(resolution, str):
        return ItemReason(tool_call_id=call_id, reason=resolution)
    return AnsweredCall(call_id, tool_name, resolution, _digest(resolution))


def _read_resolution(raw: dict[str, Any]) -> Resolution | str:
    is_error = raw.get("isError", raw.get("is_error", False))
    if not isinstance(is_error, bool):
        return "`isError` must be true or false"
    if raw.get("decision") is not None:
        if "output" in raw:
            return "has both `decision` and `output`; an `output` alone substitutes the result"
        return _read_decision(raw)
    details = raw.get("errorDetails", raw.get("error_details"))
    if details is not None:
        return Failure(_read_error(details), raw.get("output"))
    if "output" in raw:
        return _as_failure(raw["output"]) if is_error else Output(raw["output"])
    if raw.get("type") == "success" and "result" in raw:
        return Output(raw["result"])
    if raw.get("type") == "error":
        return Failure(_read_error(raw.get("error")))
    return "has none of `output`, `errorDetails` or `decision`; null is an output too"


def _read_decision(raw: dict[str, Any]) -> Resolution | str:
    decision = raw["decision"]
    reason = raw.get("reason")
    if decision not in DECISIONS:
        return f"`decision` must be one of {', '.join(DECISIONS)}"
    if reason is not None and not isinstance(reason, str):
        return "`reason` must be text"
    if decision == "approve":
        return Approve()
    if decision == "reject":
        return Reject(reason)
    arguments = raw.get("arguments")
    return Edit(arguments) if isinstance(arguments, dict) else '"edit" needs `arguments`, an object'


def _read_error(details: Any) -> ErrorDetails:
    """A host's error keeps its code and words, whatever form they came in."""
    if isinstance(details, dict):
        code = details.get("code")
        message = details.get("message", details.get("error"))
        rest = {key: value for key, value in details.items() if key not in ("code", "message", "error")}
        return ErrorDetails(
            code=code if isinstance(code, str) and code else EXTERNAL_TOOL_ERROR,
            message=message if isinstance(message, str) else "The host's tool failed.",
            details=rest.get("details") if rest.keys() <= {"details"} else rest,
        )
    message = details if isinstance(details, str) and details else "The host's tool failed."
    return ErrorDetails(code=EXTERNAL_TOOL_ERROR, message=message)


def _as_failure(output: Any) -> Failure:
    return Failure(_read_error(output), output)


def _digest(resolution: Resolution) -> str:
    match resolution:
        case Output(value):
            body: Any = ["output", value]
        case Failure(error, output):
            body = ["failure", error.model_dump(), output]
        case Edit(arguments):
            body = ["edit", arguments]
        case Reject(reason):
            body = ["reject", reason]
        case Approve():
            body = ["approve"]
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _bounded(reasons: tuple[ItemReason, ...]) -> tuple[ItemReason, ...]:
    shown = [
        each
        if len(each.reason) <= MAX_REASON_CHARS
        else each.model_copy(update={"reason": f"{each.reason[:MAX_REASON_CHARS]}… (cut)"})
        for each in reasons[:MAX_REASONS]
    ]
    if len(reasons) > MAX_REASONS:
        shown[-1] = ItemReason(reason=f"and {len(reasons) - MAX_REASONS + 1} more")
    return tuple(shown)
