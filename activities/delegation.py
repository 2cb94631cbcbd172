"""Handing a task to another persona: the tool by which the model does it, and what it may ask for.

Pure. No worker runs the call: the workflow starts a turn of the other persona, and its words are the result.
"""

from collections.abc import Sequence
from typing import Any

from activities.contracts import ToolFacts
from activities.conversation import Arguments, ErrorDetails
from activities.errors import TOOL_ARGUMENTS_INVALID
from activities.json_schema import schema_fault
from activities.personas import Persona, Personas

TOOL_NAME = "delegate"
FACTS = ToolFacts(kind="agent", repeatable=True)
# A task crosses the history whole.
TASK_CHARS = 6_000
_DESCRIPTION = (
    "Hand a task to another agent and get its answer as the result. It sees the task alone, nothing of this conversation, so "
    "say all it needs. Several calls in one reply run side by side. Agents:"
)


def definition(persona: Persona, personas: Personas) -> dict[str, Any]:
    """The tool as Chat Completions takes it, for a persona with sub-agents."""
    function = {
        "name": TOOL_NAME,
        "description": "\n".join([_DESCRIPTION, *(_listed(each, personas) for each in persona.sub_agents)]),
        "parameters": _schema(persona.sub_agents),
    }
    return {"type": "function", "function": function}


def task_fault(persona: Persona, arguments: Arguments) -> ErrorDetails | None:
    """Why a call with these arguments must not run, in words the model can act on; None when it may."""
    fault = schema_fault(_schema(persona.sub_agents), arguments, "arguments")
    if fault is None and not arguments["task"].strip():
        fault = "arguments.task: is empty"
    if fault is None:
        return None
    agents = ", ".join(persona.sub_agents)
    message = f"The arguments of {TOOL_NAME} are invalid. {fault}. The agents are: {agents}"
    return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message=message)


def agents_fault(persona: Persona, personas: Personas, tool_names: Sequence[str]) -> str | None:
    """Why the sub-agents of a persona cannot be used, or None."""
    if missing := [each for each in persona.sub_agents if each not in personas.ids]:
        return f"names sub-agents that are no personas: {', '.join(missing)}"
    if persona.sub_agents and TOOL_NAME in map(str.casefold, tool_names):
        return f"has sub-agents, and a tool has the name of the one that calls them: {TOOL_NAME}"
    return None


def _schema(agents: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "persona": {"type": "string", "enum": list(agents)},
            "task": {"type": "string", "minLength": 1, "maxLength": TASK_CHARS},
        },
        "required": ["persona", "task"],
        "additionalProperties": False,
    }


def _listed(persona_id: str, personas: Personas) -> str:
    persona = personas.get(persona_id)
    told = ", ".join(filter(None, (persona.name, persona.description))) if persona else ""
    return f"- {persona_id}: {told}" if told else f"- {persona_id}"
