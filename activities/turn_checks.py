"""What only the worker can check of a turn's input: it knows the tools, the secrets, the models and the persona."""

from typing import Any

from activities.errors import SYS_CONFIGURATION_ERROR, SYS_VALIDATION_ERROR
from activities.input_media import media_fault
from activities.modalities import model_fault, persona_fault
from activities.model_failures import final
from activities.personas import Persona
from activities.phases import is_time_zone
from activities.registry import ToolRegistry
from activities.turn_input import TurnInput
from activities.turn_settings import TurnSettings


def check_input(given: TurnInput, persona: Persona, model: str, tools: ToolRegistry, settings: TurnSettings) -> None:
    """Refuse an input that this worker cannot serve.

    Raises:
        ApplicationError: SYS_VALIDATION_ERROR, naming the field; SYS_CONFIGURATION_ERROR for a secret the persona needs.
    """
    if missing := [name for name in persona.required_secrets or () if name not in settings.secrets]:
        message = f"persona {persona.id} needs secrets that this worker does not have: {', '.join(missing)}"
        raise final(SYS_CONFIGURATION_ERROR, message)
    faults = (
        media_fault(given.content),
        persona_fault(given.content, persona),
        model_fault(given.content, model, settings.modalities.get(model)),
        _tools_fault(given, persona, tools),
        _answer_fault(given, persona),
        _options_fault(given, settings),
    )
    if fault := next(filter(None, faults), None):
        raise final(SYS_VALIDATION_ERROR, fault)
    if given.limits.max_cost_usd is not None and not settings.has_price(model):
        message = f"limits.maxCostUSD: the settings have no price for the model {model}"
        raise final(SYS_VALIDATION_ERROR, message)


def _tools_fault(given: TurnInput, persona: Persona, tools: ToolRegistry) -> str | None:
    if clashes := tools.clashes(persona, given.external_tools):
        return f"externalTools: the worker has a tool of that name: {', '.join(clashes)}"
    if given.options.tool_selection == "all" and (excess := tools.excess(persona, given.external_tools)):
        return f"options.toolSelection: {excess}"
    chosen = _chosen_tool(given.options.tool_choice)
    if chosen is not None and tools.facts(persona, given.external_tools, chosen) is None:
        return f"options.toolChoice: there is no tool {chosen!r} in this turn"
    return None


def _answer_fault(given: TurnInput, persona: Persona) -> str | None:
    for modality in given.options.modalities or ():
        if modality != "text" and not persona.may_answer_with(modality):
            return f"options.modalities: persona {persona.id} may not answer with {modality}"
    return None


def _options_fault(given: TurnInput, settings: TurnSettings) -> str | None:
    if any(name not in settings.secrets for name in given.options.user_api_keys):
        # The name is not repeated: it may be a key that was put here by mistake.
        known = ", ".join(sorted(settings.secrets)) or "none"
        return f"options.userApiKeys: names a secret this worker does not have; it has: {known}"
    zone = given.options.selection.timezone
    if zone is not None and not is_time_zone(zone):
        return f"options.selection.timezone: there is no time zone {zone!r}"
    return None


def _chosen_tool(choice: Any) -> str | None:
    """The tool that an OpenAI-style `tool_choice` object names."""
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None
