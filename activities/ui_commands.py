"""Commands for the host's user interface: which a persona has, the tool by which the model sends them, and what it may send.

Pure. Sending one has no effect but that the turn tells it, so no worker runs the call: the workflow answers it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from activities.contracts import PREVIEW_CHARS, ToolFacts
from activities.conversation import Arguments, AssistantMessage, ErrorDetails, Message
from activities.errors import TOOL_ARGUMENTS_INVALID
from activities.json_schema import broken_schema, schema_fault
from activities.json_values import encoded_size
from activities.output_parts import UICommand
from activities.personas import UICommandKind

TOOL_NAME = "ui_command"
FACTS = ToolFacts(kind="ui", repeatable=True)
# What the model of one turn may send in all, and what a host shows at once.
TURN_BYTES = 32_000
_DESCRIPTION = "Have the user interface do something, at once and without waiting for an answer. Commands:"


def definition(kinds: Sequence[UICommandKind]) -> dict[str, Any]:
    """The tool as Chat Completions takes it. The payload's schema is that of one of the commands."""
    schemas = [{"description": f"of {kind.name}", **kind.payload_schema} for kind in kinds]
    listed = [f"- {kind.name}: {kind.description}" if kind.description else f"- {kind.name}" for kind in kinds]
    parameters = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": [kind.name for kind in kinds]},
            "targetElementId": {"type": "string", "description": "The element it is about, where it is about one."},
            "payload": schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        },
        "required": ["command"],
    }
    function = {"name": TOOL_NAME, "description": "\n".join([_DESCRIPTION, *listed]), "parameters": parameters}
    return {"type": "function", "function": function}


def kinds_fault(kinds: Sequence[UICommandKind]) -> str | None:
    """Why a persona's commands cannot be used, or None."""
    names = [kind.name for kind in kinds]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"two UI commands are called {', '.join(twice)}"
    for kind in kinds:
        if broken := broken_schema(kind.payload_schema):
            return f"UI command {kind.name}: {broken}"
    return None


def command_of(call_id: str, arguments: Arguments) -> UICommand:
    """The command that a checked call sends."""
    return UICommand(
        command_id=call_id,
        command=arguments["command"],
        target_element_id=arguments.get("targetElementId"),
        payload=arguments.get("payload") or {},
    )


@dataclass(slots=True)
class CommandCheck:
    """Judges the commands of one reply, which may use what is left of `TURN_BYTES` after those of the replies before it."""

    kinds: tuple[UICommandKind, ...]
    used: int = 0

    @classmethod
    def after(cls, kinds: tuple[UICommandKind, ...], rows: Iterable[Message]) -> "CommandCheck":
        """The check of the reply that follows these rows of the turn."""
        calls = (call for row in rows if isinstance(row, AssistantMessage) for call in row.tool_calls)
        return cls(kinds, sum(encoded_size(call.arguments) for call in calls if call.name == TOOL_NAME))

    def fault(self, arguments: Arguments) -> ErrorDetails | None:
        """Why a command is not sent, in words the model can act on; None when it is."""
        why = self._fault(arguments)
        if why is not None:
            return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message=f"The command was not sent. {why}")
        self.used += encoded_size(arguments)
        return None

    def _fault(self, arguments: Arguments) -> str | None:
        name = arguments.get("command")
        kind = next((each for each in self.kinds if each.name == name), None)
        if kind is None:
            return f"command: is one of {', '.join(each.name for each in self.kinds)}"
        target, payload = arguments.get("targetElementId"), arguments.get("payload")
        if not (target is None or (isinstance(target, str) and len(target) <= 500)):
            return "targetElementId: is a text of at most 500 characters"
        if not (payload is None or isinstance(payload, dict)):
            return "payload: is an object"
        if fault := _payload_fault(kind, payload or {}):
            return fault
        if len(json.dumps(arguments, ensure_ascii=False)) > PREVIEW_CHARS:
            return f"A command has at most {PREVIEW_CHARS:,} characters."
        if self.used + encoded_size(arguments) > TURN_BYTES:
            return f"The commands of a turn have at most {TURN_BYTES:,} bytes together, and this one does not fit any more."
        return None


def _payload_fault(kind: UICommandKind, payload: dict[str, Any]) -> str | None:
    try:
        return schema_fault(kind.payload_schema, payload, "payload")
    except ValueError as broken:
        return f"The host's schema of {kind.name} cannot be used: {broken}"
