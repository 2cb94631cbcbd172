"""What a model is told in each phase of choosing and calling functions: the prompt, the one tool of the phase, the list.

Source: the phases of the Nestia agent; the names of the three tools and the shape of their arguments are that agent's. The
words are ours.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from string import Template
from typing import Any
from zoneinfo import ZoneInfo

from activities.call_ids import mint_call_id
from activities.controllers.catalogue import ListedFunction
from activities.conversation import AssistantMessage, Message, ToolCall, ToolCallResult, ToolMessage
from activities.selection import CallPhase, ChoiceFacts, ChoicePhase
from activities.turn_input import SelectionOptions

LIST_FUNCTIONS, SELECT_FUNCTIONS, CANCEL_FUNCTIONS = "getApiFunctions", "selectFunctions", "cancelFunctions"
TOOL_OF_PHASE: dict[ChoicePhase, str] = {
    "initialize": LIST_FUNCTIONS,
    "cancel": CANCEL_FUNCTIONS,
    "select": SELECT_FUNCTIONS,
}
LIST_DESCRIPTION_CHARS = 500

_COMMON = Template("Answer in the language of the locale ${locale}. It is ${datetime} in the time zone ${timezone}.")
_PROMPTS: dict[ChoicePhase | CallPhase, str] = {
    "initialize": (
        "Talk with the user. As soon as they seem to want something done, or ask what you can do, call getApiFunctions."
    ),
    "select": (
        "You have functions, listed in the result of getApiFunctions. Decide which of them the user's message needs and name "
        "them by selectFunctions, each with the reason. Mind what one needs of another: a function that gives an id comes "
        "before one that takes it. Name a function as often as it has to run. If you cannot decide between several, name all; "
        "what is too much can be cancelled later. If none fits, call nothing and answer the user."
    ),
    "cancel": (
        "The functions in the result of getApiFunctions were chosen earlier and have not run yet. If the user's message "
        "shows that some are no longer wanted, name those by cancelFunctions, each with the reason, and as often as it is to "
        "be dropped. Otherwise call nothing and say nothing."
    ),
    "execute": (
        "Call the functions that you have, with arguments from the conversation. If something that only the user can tell is "
        "missing, ask for it briefly and call nothing."
    ),
    "describe": (
        "The functions have run. Tell the user what came out: in detail rather than in short, as Markdown, with a table or a "
        "diagram where it helps and pictures shown as pictures. Say what failed. Call nothing."
    ),
}
_PURPOSES: dict[ChoicePhase, str] = {
    "initialize": "Get the list of the functions you can use. Call it when the user wants something done.",
    "select": "Choose the functions that the user's message needs.",
    "cancel": "Drop functions that were chosen earlier and are no longer wanted.",
}
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
# The reason stands before the name, so that a model argues before it decides.
CHOICE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "functions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "reason": {"type": "string", "description": "Why this function."},
                    "name": {"type": "string", "description": "Its name, exactly as listed."},
                },
                "required": ["reason", "name"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["functions"],
    "additionalProperties": False,
}


def phase_prompt(phase: ChoicePhase | CallPhase, options: SelectionOptions, now_ms: int) -> str:
    """The instruction of a phase, after what holds for all of them."""
    own = options.system_prompt
    common = own.common if own.common is not None else _COMMON.template if options.locale else None
    text = getattr(own, phase) or _PROMPTS[phase]
    filled = _values(options, now_ms)
    return "\n\n".join(Template(part).safe_substitute(filled) for part in (common, text) if part)


def phase_tool(phase: ChoicePhase) -> dict[str, Any]:
    """The one tool of a phase, as Chat Completions takes it."""
    schema = _NO_ARGUMENTS if phase == "initialize" else CHOICE_SCHEMA
    named = {"name": TOOL_OF_PHASE[phase], "description": _PURPOSES[phase], "parameters": schema}
    return {"type": "function", "function": named}


def listing(functions: Iterable[ListedFunction], turn_id: str) -> list[Message]:
    """The functions as the result of a call the model never made: it reads them as data, not as instructions."""
    call = ToolCall(id=mint_call_id(turn_id, -1, 0), name=LIST_FUNCTIONS)
    output = json.dumps([_listed(each) for each in functions], ensure_ascii=False)
    result = ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=output)
    return [AssistantMessage(tool_calls=(call,)), ToolMessage(result=result)]


def earlier_tries(rows: Sequence[Message], phase: ChoicePhase) -> list[Message]:
    """Choices of this phase that could not be used, each with what was wrong, so that the model can mend it."""
    messages: list[Message] = []
    for row in rows:
        facts = choice_facts(row)
        if facts is None or facts.phase != phase or not facts.faults:
            continue
        arguments = facts.arguments if isinstance(facts.arguments, dict) else {}
        call = ToolCall(id=facts.call_id, name=TOOL_OF_PHASE[phase], arguments=arguments)
        output = {"errors": list(facts.faults), "instruction": "Correct this and choose again."}
        result = ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=output)
        messages += [AssistantMessage(tool_calls=(call,)), ToolMessage(result=result)]
    return messages


def choice_facts(row: Message) -> ChoiceFacts | None:
    """What a row keeps of a choice; None for any other row."""
    kept = row.meta.get("choice") if isinstance(row, AssistantMessage) and row.meta else None
    return None if kept is None else ChoiceFacts.model_validate(kept)


def is_time_zone(name: str) -> bool:
    """Whether a time zone of that name is known here."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _listed(function: ListedFunction) -> dict[str, Any]:
    about = {"method": function.method, "path": function.path, "tags": list(function.tags) or None}
    return {
        "name": function.name,
        "description": function.description[:LIST_DESCRIPTION_CHARS],
        **{name: value for name, value in about.items() if value is not None},
    }


def _values(options: SelectionOptions, now_ms: int) -> dict[str, str]:
    zone = ZoneInfo(options.timezone) if options.timezone else UTC
    now = datetime.fromtimestamp(now_ms / 1000, zone).replace(microsecond=0)
    return {
        "locale": options.locale or "en-US",
        "timezone": options.timezone or "UTC",
        "datetime": now.isoformat(),
    }
