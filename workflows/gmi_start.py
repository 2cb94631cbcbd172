"""Reading what started an instance. Pure: a StartInstance, or a refusal that names the field."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from activities.conversation import ErrorDetails
from activities.documents import inline_fault
from activities.errors import GMI_INITIALIZATION_ERROR
from activities.json_values import encoded_size
from workflows.gmi_contracts import InstanceConfig, StartInstance
from workflows.gmi_refusal import Refused, read_model, read_object
from workflows.names import gmi_workflow_id
from workflows.start import read_turn_input

MAX_START_BYTES = 128_000
MAX_WORKING_MEMORY_BYTES = 64_000


def read_start(arguments: Sequence[Any], workflow_id: str) -> StartInstance:
    """The instance's start; its id is that of the workflow, without the prefix.

    Raises:
        Refused: the input is invalid, or the id is another's.
    """
    given = read_object(arguments, "input", MAX_START_BYTES)
    start = read_model(StartInstance, given, "input")
    prefix = gmi_workflow_id("")
    own = workflow_id.removeprefix(prefix) if workflow_id.startswith(prefix) else None
    gmi_id = start.gmi_id or own
    if gmi_id is None or gmi_workflow_id(gmi_id) != workflow_id:
        raise Refused(
            f"gmiId: an instance {gmi_id!r} is started with the workflow id {gmi_workflow_id(gmi_id or '…')!r}"
        )
    start = read_model(StartInstance, {**given, "gmiId": gmi_id}, "input")
    _check(start)
    return start


def same_start(start: StartInstance) -> str:
    """What tells one start from another: a digest of persona and config."""
    told = start.model_dump(mode="json", by_alias=True, exclude={"gmi_id"})
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def already_started() -> Refused:
    """Another persona or config for an instance that runs."""
    return Refused(
        "the instance runs with another persona or config; shut it down first, or take another gmiId",
        GMI_INITIALIZATION_ERROR,
    )


def _check(start: StartInstance) -> None:
    if start.persona is not None and start.persona_id not in (None, start.persona.id):
        raise Refused("personaId: stands for `persona`, so only one of them may be given")
    if start.persona is not None:
        _check_persona(start)
    # Refused now, not at the first turn.
    wrong = read_turn_input([{"content": "any", **turn_defaults(start.config)}])
    if isinstance(wrong, ErrorDetails):
        raise Refused(f"config.{wrong.message}", wrong.code)


def turn_defaults(config: InstanceConfig) -> dict[str, Any]:
    """What the config says of every turn, as fields of a turn's input."""
    defaults: dict[str, Any] = {}
    for name, value in (("options", config.options), ("pause", config.pause), ("limits", config.limits)):
        if value is not None:
            defaults[name] = value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if config.external_tools:
        defaults["externalTools"] = [tool.model_dump(mode="json", by_alias=True) for tool in config.external_tools]
    if config.default_llm_model_id is not None:
        defaults["options"] = {"model": config.default_llm_model_id, **defaults.get("options", {})}
    if config.max_tool_loop_iterations is not None:
        defaults["limits"] = {"maxToolRounds": config.max_tool_loop_iterations, **defaults.get("limits", {})}
    return defaults


def _check_persona(start: StartInstance) -> None:
    persona = start.persona
    assert persona is not None
    if encoded_size(persona.default_working_memory) > MAX_WORKING_MEMORY_BYTES:
        raise Refused(f"persona.defaultWorkingMemory: has more than {MAX_WORKING_MEMORY_BYTES:,} bytes")
    if fault := inline_fault(persona.documents):
        raise Refused(f"persona.{fault}")
    ids = [each.id for each in persona.meta_prompts]
    if twice := next((each for each in ids if ids.count(each) > 1), None):
        raise Refused(f"persona.metaPrompts: {twice} stands twice")
    adaptation = persona.mood_adaptation
    if adaptation and adaptation.allowed_moods is not None and adaptation.default_mood not in adaptation.allowed_moods:
        raise Refused("persona.moodAdaptation.defaultMood: is not among the allowed moods")
