"""What real providers refuse in a request, all of it at once: a request that passes here is taken by every one of them."""

import json
import re
from collections.abc import Iterable
from typing import Any

CALL_ID = re.compile(r"[A-Za-z0-9]{9}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def refusal(request: Any) -> str | None:
    """Why the strictest provider answers 400 to a decoded request, in the words of such servers; None when it would not."""
    if not isinstance(request, dict) or not isinstance(request.get("model"), str):
        return "you must provide a model parameter"
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
        return "messages must be a list of at least one message"
    faults = (_message_fault(place, message) for place, message in enumerate(messages))
    return next(filter(None, faults), None) or _pairing_fault(messages) or _tools_fault(request)


def _message_fault(place: int, message: dict[str, Any]) -> str | None:
    role, content = message.get("role"), message.get("content")
    if role not in ("system", "user", "assistant", "tool"):
        return f"messages.{place}.role: {role!r} is not a role"
    if "tool_calls" in message and not message["tool_calls"]:
        return f"messages.{place}.tool_calls: [] is too short"
    if role == "assistant":
        return _assistant_fault(place, message)
    if role == "tool" and not isinstance(content, str):
        return f"messages.{place}.content: {content!r} is not of type 'string'"
    return None if content else f"messages.{place}.content: must not be empty"


def _assistant_fault(place: int, message: dict[str, Any]) -> str | None:
    calls = message.get("tool_calls", [])
    if not message.get("content") and not calls:
        return f"messages.{place}: an assistant message must have content or tool_calls"
    for call in calls:
        if not CALL_ID.fullmatch(str(call.get("id"))):
            return f"messages.{place}: tool call id {call.get('id')!r} must be nine letters or digits"
        function = call.get("function") or {}
        if not TOOL_NAME.fullmatch(str(function.get("name"))):
            return f"messages.{place}: {function.get('name')!r} is not a function name"
        if not _is_object(function.get("arguments")):
            return f"messages.{place}: function arguments must be a JSON object in a string"
    return None


def _pairing_fault(messages: Iterable[dict[str, Any]]) -> str | None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message.get("tool_call_id") != waiting.pop(0):
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls", [])]
    if waiting:
        return f"tool_call_ids did not have response messages: {', '.join(waiting)}"
    return None


def _tools_fault(request: dict[str, Any]) -> str | None:
    if "tools" not in request:
        return "tool_choice is only allowed when tools are specified" if "tool_choice" in request else None
    tools = request["tools"]
    if not isinstance(tools, list) or not tools:
        return "tools: [] is too short"
    names = [str((tool.get("function") or {}).get("name")) for tool in tools]
    wrong = [name for name in names if not TOOL_NAME.fullmatch(name)]
    if wrong:
        return f"tools: {wrong[0]!r} is not a function name"
    return "tools: tool names must be unique" if len(set(names)) < len(names) else None


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False
