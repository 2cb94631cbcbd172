"""A chat completion as providers really send it, read into one shape. Pure: a decoded body in, a `Completion` out.

What is said is decided by what is there, not by `finish_reason`: calls count when there are calls. Thinking that a provider
reports in fields of its own stays out of the text.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from activities.completion_media import RawMedia, read_media, transcript_of
from activities.conversation import ErrorDetails, ModelUsage
from activities.errors import CONTENT_FILTERED, EMPTY_MODEL_RESPONSE, MODEL_REFUSAL
from activities.guard_contracts import GuardNote
from activities.json_values import clean_text
from activities.provider_errors import ProviderFault, fault_of_body, readable

CUT_REASONS = ("length", "max_tokens", "max_output_tokens", "model_length")
FILTER_REASONS = ("content_filter", "safety", "prohibited_content", "recitation", "blocklist")
# Error codes of a provider whose filter stops a request before any model reads it.
REQUEST_FILTERED = ("content_filter", "content_policy_violation")
MAX_TOKENS_REPORTED = 10**12
EXCERPT_CHARS = 200
# Kinds of tokens, and where a provider's usage has their number.
USAGE_PARTS = {
    "prompt_audio": ("prompt", "audio"),
    "cached": ("prompt", "cached"),
    "accepted_prediction": ("completion", "accepted_prediction"),
    "completion_audio": ("completion", "audio"),
    "reasoning": ("completion", "reasoning"),
    "rejected_prediction": ("completion", "rejected_prediction"),
}

_CALL_IN_TEXT = re.compile(
    r"<tool_call>|<function[=_]|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool|<｜tool|```tool_(call|code)"
    r"|\A\s*(```json\s*)?\[?\s*\{[^{}]{0,80}?\"name\"\s*:\s*\"[^\"]{1,64}\"\s*,\s*\"(arguments|parameters)\"\s*:"
)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as the provider sent it: nothing of it is certain. `arguments` may be any JSON value, or None when absent."""

    name: str
    arguments: Any = None
    provider_id: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What one completion said. `cut` means that it stopped at its output limit; with an `error` there are no calls.

    `guardrails` are their verdicts, where they changed it or ended the turn.
    """

    text: str | None
    calls: tuple[RawCall, ...]
    finish_reason: str | None
    model: str
    usage: ModelUsage | None
    cut: bool = False
    error: ErrorDetails | None = None
    hint: str | None = None
    usage_details: dict[str, int] | None = None
    guardrails: tuple[GuardNote, ...] = ()
    media: tuple[RawMedia, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Neither text nor calls nor media, and no error that explains it."""
        return self.text is None and not self.calls and not self.media and self.error is None


def read_completion(body: Any, *, calls_allowed: bool = True) -> Completion:
    """The completion in a decoded body of status 200.

    Calls that come although none were allowed are left out; nothing could run them.

    Raises:
        ProviderFault: the body reports an error, or has no choice in it.
    """
    choice = _first_choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {}
    finish = _text_or_none(choice.get("finish_reason"))
    text = _joined_text(message.get("content")) or _visible(transcript_of(message))
    calls = _calls_of(body, message, finish)
    hint = None
    if calls and not calls_allowed:
        calls, hint = (), "the model called tools although it was asked to answer in words; the calls were left out"
    elif not calls and text and _CALL_IN_TEXT.search(text):
        hint = "the text looks like a tool call that the server did not recognise; it was not run"
    error = _error_of(finish, _refusal(message))
    if error:
        text = text or _visible(_refusal(message))
        calls = ()
    return Completion(
        text=text,
        calls=calls,
        finish_reason=finish,
        model=_text_or_none(body.get("model")) or "",
        usage=_read_usage(body.get("usage")),
        cut=(finish or "").lower() in CUT_REASONS,
        error=error,
        hint=hint,
        usage_details=_read_details(body.get("usage")),
        media=read_media(message),
    )


def content_text(content: Any) -> str:
    """The text of a message's `content`, in whichever form; parts that are no text for the reader are left out."""
    if isinstance(content, dict):
        content = [content]
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else _part_text(part) for part in content)
    return content if isinstance(content, str) else ""


def filtered_request(fault: ProviderFault) -> Completion | None:
    """What a filter that would not let the request through left of an answer: its error; None for any other fault."""
    if fault.code not in REQUEST_FILTERED:
        return None
    error = ErrorDetails(
        code=CONTENT_FILTERED, message=f"the provider's content filter refused the request: {readable(fault.text)}"
    )
    return Completion(text=None, calls=(), finish_reason="content_filter", model="", usage=None, error=error)


def empty_response(completion: Completion) -> ErrorDetails:
    """The error of a turn whose model says nothing."""
    reason = (
        "it used up its output limit" if completion.cut else f"finish reason {completion.finish_reason or 'unknown'}"
    )
    return ErrorDetails(
        code=EMPTY_MODEL_RESPONSE, message=f"the model answered with neither text nor tool calls ({reason})"
    )


def add_usage(usages: Iterable[ModelUsage | None]) -> ModelUsage | None:
    """The sum of what is known; None when nothing is."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    return ModelUsage(
        prompt_tokens=sum(usage.prompt_tokens for usage in known),
        completion_tokens=sum(usage.completion_tokens for usage in known),
        total_tokens=sum(usage.total_tokens for usage in known),
    )


def _first_choice(body: Any) -> dict[str, Any]:
    given = body.get("choices") if isinstance(body, dict) else None
    choices = [choice for choice in given if isinstance(choice, dict)] if isinstance(given, list) else []
    if not choices:
        raise fault_of_body(body, 200) or ProviderFault(f"the provider's answer has no choices: {_shown(body)}")
    choice = next((choice for choice in choices if choice.get("index") == 0), choices[0])
    if choice.get("finish_reason") == "error" or choice.get("error"):
        raise fault_of_body(choice, 200) or ProviderFault("the provider broke off with finish reason error")
    return choice


def _shown(body: Any) -> str:
    try:
        return json.dumps(body, ensure_ascii=False)[:EXCERPT_CHARS]
    except RecursionError:
        return "nothing but lists in lists"


def _calls_of(body: dict[str, Any], message: dict[str, Any], finish: str | None) -> tuple[RawCall, ...]:
    """The calls of the first choice. Some gateways put the words in it and the calls that it ends with in the next one."""
    calls = _read_calls(message)
    if calls or finish != "tool_calls":
        return calls
    others = (choice.get("message") for choice in body["choices"] if isinstance(choice, dict))
    return next(filter(None, (_read_calls(other) for other in others if isinstance(other, dict))), ())


def _joined_text(content: Any) -> str | None:
    return _visible(content_text(content))


def _part_text(part: Any) -> str:
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "output_text"):
        return ""
    text = part.get("text")
    if isinstance(text, dict):
        text = text.get("value")
    return text if isinstance(text, str) else ""


def _refusal(message: dict[str, Any]) -> str | None:
    refusal = message.get("refusal")
    content = message.get("content")
    if not refusal and isinstance(content, list):
        parts = (part.get("refusal") for part in content if isinstance(part, dict))
        refusal = next((part for part in parts if part), None)
    return _visible(refusal)


def _error_of(finish: str | None, refusal: str | None) -> ErrorDetails | None:
    reason = (finish or "").lower()
    if refusal or reason == "refusal":
        return ErrorDetails(code=MODEL_REFUSAL, message=readable(refusal or "the model refused to answer"))
    # Some gateways append the category: "content_filter: SAFETY".
    if reason.split(":")[0] in FILTER_REASONS:
        return ErrorDetails(
            code=CONTENT_FILTERED, message=f"the provider's content filter stopped the reply ({reason})"
        )
    return None


def _read_calls(message: dict[str, Any]) -> tuple[RawCall, ...]:
    entries = message.get("tool_calls")
    if isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list) or not entries:
        # The form that tool calls replaced; some servers still answer with it.
        entries = [message.get("function_call")]
    return tuple(_read_call(entry) for entry in entries if isinstance(entry, dict))


def _read_call(entry: dict[str, Any]) -> RawCall:
    function = entry.get("function")
    source = function if isinstance(function, dict) else entry
    return RawCall(
        name=(_text_or_none(source.get("name")) or "").strip(),
        arguments=source.get("arguments"),
        provider_id=_text_or_none(entry.get("id")),
    )


def _read_usage(usage: Any) -> ModelUsage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion, total = (_count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    if prompt is None and completion is None and total is None:
        return None
    if completion is None and prompt is not None and total is not None:
        completion = max(0, total - prompt)
    prompt, completion = prompt or 0, completion or 0
    return ModelUsage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion if total is None else total,
    )


def _read_details(usage: Any) -> dict[str, int] | None:
    read = {name: _count(_part(usage, *where)) for name, where in USAGE_PARTS.items()}
    return {name: count for name, count in read.items() if count} or None


def _part(usage: Any, group: str, name: str) -> Any:
    details = usage.get(f"{group}_tokens_details") if isinstance(usage, dict) else None
    return details.get(f"{name}_tokens") if isinstance(details, dict) else None


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS_REPORTED:
        return None
    return int(value)


def _visible(text: Any) -> str | None:
    return clean_text(text) if isinstance(text, str) and text.strip() else None


def _text_or_none(value: Any) -> str | None:
    return clean_text(value)[:200] if isinstance(value, str) and value else None
