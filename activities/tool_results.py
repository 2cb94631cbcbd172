"""What a run of a tool means to the turn: whether it failed, whether better arguments could heal it, what must not be told."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from activities.conversation import ToolCallResult
from activities.credentials import REDACTED, redacted
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_CALL_REJECTED, TOOL_ERROR
from activities.media import MediaItem
from activities.output_parts import OutputParts
from activities.outputs import failed_result
from activities.personas import Modality, Persona
from activities.presenting import Presented
from activities.tool import Tool

# What a server says of arguments it cannot use.
CORRECTABLE_STATUSES = frozenset({400, 404, 422})
MIN_VALUE_CHARS = 3

T = TypeVar("T", str, ToolCallResult)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, and the bytes that its parts have the addresses of."""

    result: ToolCallResult
    media: tuple[MediaItem, ...] = ()


def answered(call_id: str, tool: Tool, output: Any) -> ToolCallResult:
    """The result of a run that gave an output. An HTTP answer outside 2xx is a failure whose output is the answer."""
    result = ToolCallResult(tool_call_id=call_id, tool_name=tool.name, output=output)
    status = _http_status(output) if tool.facts is not None and tool.facts.protocol == "http" else None
    if status is None or 200 <= status < 300:
        return result
    error = {"code": TOOL_ERROR, "message": f"HTTP status {status}", "details": {"status": status}}
    return result.model_copy(update={"is_error": True, "error_details": error})


def presented(call_id: str, tool: Tool, shown: Presented, persona: Persona | None) -> Outcome:
    """The outcome of a run that gave parts for the user; where the persona may not answer in this way, what the tool has
    otherwise, or an error."""
    refused = [] if persona is None else [kind for kind in _kinds(shown) if not persona.may_answer_with(kind)]
    if refused and shown.otherwise is not None:
        left = OutputParts(ui_commands=shown.parts.ui_commands) if shown.parts.ui_commands else None
        return Outcome(ToolCallResult(tool_call_id=call_id, tool_name=tool.name, output=shown.otherwise, parts=left))
    if refused:
        message = (
            f"The tool ran, but this persona may not answer with {' or '.join(refused)}; the user gets nothing of it."
        )
        return Outcome(failed_result(call_id, tool.name, TOOL_CALL_REJECTED, message))
    result = ToolCallResult(tool_call_id=call_id, tool_name=tool.name, output=shown.output, parts=shown.parts)
    return Outcome(result, shown.media)


def is_correctable(result: ToolCallResult) -> bool:
    """Whether the call failed for its arguments: they do not fit, or a server could not use them."""
    details = result.error_details
    if not result.is_error or not isinstance(details, dict):
        return False
    if details.get("code") == TOOL_ARGUMENTS_INVALID:
        return True
    about = details.get("details")
    return isinstance(about, dict) and about.get("status") in CORRECTABLE_STATUSES


def without_human_part(told: T, human: Any) -> T:
    """A result or a text without what a person gave: the model must not read it in an echo either.

    Texts and numbers of four characters or more are looked for everywhere, shorter ones, such as the three digits on the back of
    a card, only where they are a value by themselves.
    """
    given = [text for text in map(_text, _leaves(human)) if text is not None and len(text) >= MIN_VALUE_CHARS]
    if not given:
        return told
    if isinstance(told, str):
        return str(redacted(told, given))
    values = frozenset(given)
    clean = {
        name: redacted(_without_values(value, values), given)
        for name, value in (("output", told.output), ("error_details", told.error_details))
    }
    return told.model_copy(update=clean)


def _kinds(shown: Presented) -> Iterator[Modality]:
    if shown.parts.audio_output is not None:
        yield "audio"
    if shown.parts.image_output is not None:
        yield "image"


def _http_status(output: Any) -> int | None:
    status = output.get("status") if isinstance(output, dict) else None
    return status if isinstance(status, int) else None


def _leaves(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case _:
            yield value


def _text(leaf: Any) -> str | None:
    """A text as it is, a number as it is mostly written."""
    match leaf:
        case str():
            return leaf
        case bool():
            return None
        case float() if leaf.is_integer():
            return str(int(leaf))
        case int() | float():
            return str(leaf)
    return None


def _without_values(value: Any, given: Collection[str]) -> Any:
    match value:
        case dict():
            return {key: _without_values(item, given) for key, item in value.items()}
        case list():
            return [_without_values(item, given) for item in value]
    return REDACTED if _text(value) in given else value
