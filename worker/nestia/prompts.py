"""The entries of a Nestia agent's history, as JSON. Source: `INestiaAgentProps.histories`."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from activities.conversation import ToolCallResult
from activities.http_function import NO_RESPONSE_STATUS
from activities.openapi.response import UNSHOWN_HEADERS
from activities.wire import Wire

Prompt = dict[str, Any]
ChoiceKind = Literal["select", "cancel"]

COMPLETE = "complete"
# An answer too long to be kept whole is kept as the beginning of its text.
_CUT_ANSWER = re.compile(r'\{"status":(\d{3}),')


class Operation(Wire):
    """A controller's function. `name` is what the model calls it, which may differ from `function`, its name there.

    Histories know the protocols `http` and `class`; a function of an MCP server gives any value, as a class does, and is
    written as one.
    """

    protocol: Literal["http", "class"]
    controller: str
    function: str
    name: str

    @classmethod
    def of(cls, protocol: str | None, controller: str | None, function: str | None, name: str) -> "Operation | None":
        """The operation, or None for what is no function of a controller."""
        if controller is None or function is None:
            return None
        known: Literal["http", "class"] = "http" if protocol == "http" else "class"
        return cls(protocol=known, controller=controller, function=function, name=name)

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it whatever the model calls it."""
        return self.controller, self.function


def text_prompt(role: Literal["user", "assistant"], text: str) -> Prompt:
    """What was said."""
    return {"type": "text", "role": role, "text": text}


def choice_prompt(kind: ChoiceKind, choice_id: str, chosen: Sequence[tuple[Operation, str]]) -> Prompt:
    """Functions that were selected or cancelled, each with the reason."""
    operations = [{**operation.model_dump(by_alias=True), "reason": reason} for operation, reason in chosen]
    return {"type": kind, "id": choice_id, "operations": operations}


def execute_prompt(call_id: str, operation: Operation, arguments: Any, result: ToolCallResult) -> Prompt:
    """A call and what came of it."""
    return {
        "type": "execute",
        **operation.model_dump(by_alias=True),
        "id": call_id,
        "arguments": arguments,
        "value": _http_value(result) if operation.protocol == "http" else _class_value(result),
    }


def describe_prompt(executions: Sequence[Prompt], text: str) -> Prompt:
    """Results in words, with full copies of what they are about."""
    return {"type": "describe", "executions": [dict(each) for each in executions], "text": text}


def shown_headers(headers: Any) -> dict[str, Any]:
    """The headers of an answer without cookies: secrets that are no part of a history."""
    given = headers if isinstance(headers, dict) else {}
    return {name: value for name, value in given.items() if name.lower() not in UNSHOWN_HEADERS}


def _class_value(result: ToolCallResult) -> Any:
    return _fault(result) if result.is_error else result.output


def _http_value(result: ToolCallResult) -> Any:
    """An HTTP answer. What brought none has the status that the seed gives to any failure of the client."""
    output = result.output
    status = output.get("status") if isinstance(output, dict) else None
    if isinstance(status, int) and not isinstance(status, bool):
        return {"status": status, "headers": shown_headers(output.get("headers")), "body": output.get("body")}
    if result.is_error:
        return {"status": NO_RESPONSE_STATUS, "headers": {}, "body": _fault(result)}
    cut = _CUT_ANSWER.match(output) if isinstance(output, str) else None
    return {"status": int(cut[1]) if cut else 200, "headers": {}, "body": output}


def _fault(result: ToolCallResult) -> dict[str, Any]:
    details = result.error_details if isinstance(result.error_details, dict) else {}
    return {"name": str(details.get("code", "Error")), "message": str(details.get("message", ""))}
