"""The rules by which the scripted model answers the demo: no model, the same words every time, and real tool calls.

A refund goes through `lookup_order`, then `approve_refund` and `notify_customer`; a question about the past is answered from
what memory put into the prompt, or with `search_memory`; everything else is repeated.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from activities.prompt import MEMORY_HEADING, QUOTE

# A tool and its arguments: an object, or in tests anything a broken provider may send.
Call = tuple[str, Any]

_ORDER = re.compile(
    r"\border\s*(?:number|no\.?|id)?\s*#?\s*([A-Z]{0,4}-?\d{2,12})\b|(?<![\d.,])(\d{3,12})\b(?![.,]\d)", re.IGNORECASE
)
_REFUND = re.compile(r"\brefund", re.IGNORECASE)
_PAST = re.compile(
    r"\bwhich (order|one)\b|\bdo you (know|remember|recall)\b|\bwhat did (i|we)\b|\bremember about\b", re.IGNORECASE
)
_FAILED = re.compile(r"\ATool \S+ failed: (.*)\Z", re.DOTALL)
_AMOUNTS = ("amount", "total", "price", "refundable")
_REPEATED_CHARS = 500


@dataclass(frozen=True, slots=True)
class Saying:
    """What the script says: words, or calls."""

    text: str | None = None
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A request as the rules see it: the newest user message, the results since then by tool name, the tools on offer."""

    said: str
    results: dict[str, str]
    offered: frozenset[str]
    memory: tuple[str, ...]


def answer(request: dict[str, Any]) -> Saying:
    """What the demo's model says to a request in the form of the Chat Completions API."""
    scene = read_scene(request)
    if _PAST.search(scene.said):
        return _recall(scene)
    if _REFUND.search(scene.said):
        return _refund(scene)
    return Saying(f"You said: {scene.said[:_REPEATED_CHARS]}" if scene.said else "I am here. What can I do for you?")


def read_scene(request: dict[str, Any]) -> Scene:
    """The scene of a request. With `tool_choice` none nothing is on offer."""
    messages: list[dict[str, Any]] = request["messages"]
    newest = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
    names: dict[str, str] = {}
    results: dict[str, str] = {}
    for message in messages[newest + 1 :]:
        names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", [])}
        if message["role"] == "tool":
            results[names.get(message["tool_call_id"], "")] = message["content"]
    tools = [] if request.get("tool_choice") == "none" else request.get("tools", [])
    return Scene(
        said=_plain(messages[newest]["content"]) if newest >= 0 else "",
        results=results,
        offered=frozenset(tool["function"]["name"] for tool in tools),
        memory=_memory_lines(messages),
    )


def _refund(scene: Scene) -> Saying:
    order = _order_of(scene.said)
    if order is None:
        return Saying("Which order should be refunded? Please give me its number.")
    found = scene.results.get("lookup_order")
    if found is None and "lookup_order" in scene.offered:
        return Saying(calls=(("lookup_order", {"order_id": order}),))
    if found is not None and _FAILED.match(found):
        return Saying(f"I could not look up order {order}: {_reason(found)}")
    amount = _amount_in(found)
    asked = {"approve_refund", "notify_customer"}
    calls: list[Call] = []
    if "approve_refund" in scene.offered:
        calls.append(("approve_refund", {"order_id": order, "amount": amount}))
    if "notify_customer" in scene.offered:
        message = f"Your refund of {amount} for order {order} is on its way."
        calls.append(("notify_customer", {"order_id": order, "message": message}))
    if calls and not asked & scene.results.keys():
        return Saying(calls=tuple(calls))
    if not asked & scene.results.keys():
        return Saying(f"I would ask for approval to refund order {order}, but I have no tool for that.")
    return Saying(" ".join(filter(None, (_approval_words(scene, order, amount), _notice_words(scene)))))


def _approval_words(scene: Scene, order: str, amount: Any) -> str:
    result = scene.results.get("approve_refund")
    if result is None:
        return f"The refund of order {order} was not decided."
    if _FAILED.match(result):
        return f"The refund of order {order} was not approved: {_reason(result)}"
    decided = _decoded(result)
    refused = (isinstance(decided, dict) and decided.get("approved") is False) or decided is False
    verdict = "was refused" if refused else f"of {amount} was approved"
    return f"The refund of order {order} {verdict} (the answer: {result})."


def _notice_words(scene: Scene) -> str:
    result = scene.results.get("notify_customer")
    if result is None:
        return ""
    if _FAILED.match(result):
        return f"The customer was not notified, notify_customer did not run: {_reason(result)}"
    return f"The customer was notified (the answer: {result})."


def _recall(scene: Scene) -> Saying:
    found = scene.results.get("search_memory")
    if found is not None and not _FAILED.match(found):
        return Saying(f"I searched my memory and found: {found}")
    if scene.memory:
        return Saying(f"I remember: {' '.join(scene.memory)}")
    if found is None and "search_memory" in scene.offered:
        return Saying(calls=(("search_memory", {"query": scene.said[:_REPEATED_CHARS]}),))
    return Saying("I do not remember anything about that.")


def _memory_lines(messages: list[dict[str, Any]]) -> tuple[str, ...]:
    for message in messages:
        text = _plain(message["content"]) if message["role"] == "system" else ""
        if MEMORY_HEADING in text:
            lines = text.split(MEMORY_HEADING, 1)[1].lstrip("\n").splitlines()
            quoted = []
            for line in lines:
                if not line.startswith(QUOTE.rstrip()):
                    break
                quoted.append(line.removeprefix(QUOTE).strip())
            return tuple(line for line in quoted if line)
    return ()


def _order_of(text: str) -> str | None:
    named = _ORDER.search(text)
    return (named[1] or named[2]) if named else None


def _amount_in(text: str | None) -> Any:
    order = _decoded(text or "")
    if isinstance(order, dict):
        return next((order[name] for name in _AMOUNTS if name in order), 0)
    return 0


def _reason(result: str) -> str:
    failed = _FAILED.match(result)
    details = _decoded(failed[1]) if failed else None
    if not isinstance(details, dict):
        return failed[1] if failed else result
    return f"{details.get('message', 'no reason given')} ({details.get('code', 'no code')})"


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content or () if isinstance(part, dict)).strip()
