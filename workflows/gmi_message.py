"""A message for the agent, read and made a turn's input; and those that go to its open turn. Pure."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from activities import errors
from activities.conversation import ErrorDetails
from activities.json_values import Undecodable
from activities.modalities import persona_fault
from activities.turn_input import SECRET_NAME, TurnInput
from workflows.gmi_contracts import Feedback, OnBusy, QueuedTurn
from workflows.gmi_feedback import read_feedback
from workflows.gmi_refusal import Refused, only, read_object
from workflows.gmi_start import turn_defaults
from workflows.gmi_state import TASK_CONTEXT, USER_CONTEXT, InstanceState, digest_of
from workflows.names import turn_workflow_id
from workflows.start import read_turn_input

# Source: the metadata of GMITurnInput of AgentOS.
PERSONA_SWITCH, USER_FEEDBACK = "explicitPersonaSwitchId", "userFeedback"
DEFAULT_WAIT, LONGEST_WAIT = 60.0, 300.0
_TURN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Message:
    """A message as read: its turn, what to do when the instance is busy, how long its sender waits."""

    turn: QueuedTurn
    given: TurnInput
    on_busy: OnBusy
    wait: float
    feedback: Feedback | None = None


def read_message(arguments: Sequence[Any], state: InstanceState, update_id: str) -> Message:
    """The message, with what the instance adds to every turn.

    Raises:
        Refused: it is invalid, another user's, or of a kind the persona does not take.
    """
    if len(arguments) == 1 and isinstance(arguments[0], str):
        arguments = [{"content": arguments[0]}]
    if len(arguments) == 1 and isinstance(arguments[0], Undecodable):
        raise Refused(f"process_turn: {arguments[0].reason}")
    given = dict(read_object(arguments, "process_turn"))
    wait = read_wait(given.pop("waitSeconds", None))
    on_busy = given.pop("onBusy", state.start.config.on_busy)
    if on_busy not in get_args(OnBusy):
        raise Refused("process_turn: onBusy must be wait, refuse or supersede")
    if "instance" in given:
        raise Refused("process_turn: instance is the instance's own to say")
    check_key_names("process_turn", given)
    body = _body(given, state, update_id) | ({"onBusy": "supersede"} if on_busy == "supersede" else {})
    turn_input = read_turn_input([body])
    if isinstance(turn_input, ErrorDetails):
        raise Refused(f"process_turn: {turn_input.message}", turn_input.code)
    _check_owner(turn_input, state)
    _check_persona(turn_input, state)
    _check_modalities(turn_input, state)
    conversation_id, turn_id = turn_input.conversation_id or "", turn_input.interaction_id or ""
    queued = QueuedTurn(
        turn_id=turn_id,
        conversation_id=conversation_id,
        workflow_id=turn_workflow_id(conversation_id, turn_id),
        body=body,
        digest=digest_of(_said(given)),
        superseding=on_busy == "supersede",
    )
    return Message(queued, turn_input, on_busy, wait, _feedback_in(turn_input, state))


def read_wait(value: Any) -> float:
    """`waitSeconds` of a message.

    Raises:
        Refused: no number from 0 to `LONGEST_WAIT`.
    """
    if value is None:
        return DEFAULT_WAIT
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_WAIT:
        raise Refused(f"waitSeconds: must be a number from 0 to {LONGEST_WAIT:g}")
    return float(value)


def turn_id_of(update_id: str) -> str:
    """The turn id of a message that brings none: its sender's id, so that a message sent twice is one turn."""
    if _TURN_ID.fullmatch(update_id):
        return update_id
    return hashlib.sha256(update_id.encode("utf-8", "replace")).hexdigest()[:16]


def read_pass_on(arguments: Sequence[Any], what: str) -> tuple[dict[str, Any], float, str | None]:
    """A message to the open turn: what is passed on, how long its sender waits, and which turn is meant."""
    given = dict(read_object(arguments, what))
    wait, turn_id = read_wait(given.pop("waitSeconds", None)), given.pop("turnId", None)
    if turn_id is not None and not isinstance(turn_id, str):
        raise Refused(f"{what}: turnId must be a text")
    return given, wait, turn_id


def read_turn_id(arguments: Sequence[Any], what: str) -> str | None:
    """The turn that is asked for, by its id or as `{"turnId": …}`; None for the last one.

    Raises:
        Refused: anything else.
    """
    if len(arguments) == 1 and isinstance(arguments[0], str):
        return arguments[0]
    turn_id = only(read_object(arguments, what), what, "turnId").get("turnId")
    if turn_id is not None and not isinstance(turn_id, str):
        raise Refused(f"{what}: turnId must be a text")
    return turn_id


def read_control(arguments: Sequence[Any], what: str) -> tuple[float, str | None]:
    """A message that ends the pause or the turn and says nothing else."""
    given, wait, turn_id = read_pass_on(arguments, what)
    only(given, what)
    return wait, turn_id


def check_key_names(what: str, given: dict[str, Any], names: Sequence[str] = ()) -> None:
    """Keys are named, never sent. A key that was sent all the same must not be repeated, and not be written down.

    Raises:
        Refused: there is one.
    """
    metadata = given.get("metadata")
    sent = "userApiKeys" in given or (isinstance(metadata, dict) and "userApiKeys" in metadata)
    if sent or any(SECRET_NAME.fullmatch(name) is None for name in names):
        raise Refused(f"{what}: options.userApiKeys holds names of the worker's secrets; keys are never sent")


def _said(given: dict[str, Any]) -> dict[str, Any]:
    """What makes a message another one. How its turn is told does not."""
    options = given.get("options")
    if not isinstance(options, dict) or "stream" not in options:
        return given
    others = {name: value for name, value in options.items() if name != "stream"}
    return {**given, "options": others} if others else {name: given[name] for name in given if name != "options"}


def _body(given: dict[str, Any], state: InstanceState, update_id: str) -> dict[str, Any]:
    """The input of the turn: what was sent, over what the config says of every turn."""
    config = state.start.config
    body = {**turn_defaults(config), **given}
    for name in ("options", "limits", "pause"):
        default = turn_defaults(config).get(name)
        if default and isinstance(given.get(name), dict):
            body[name] = {**default, **given[name]}
    body.setdefault("conversationId", state.conversation_id)
    body.setdefault("interactionId", turn_id_of(update_id))
    body.setdefault("userId", state.user_id)
    if state.organization_id is not None:
        body.setdefault("organizationId", state.organization_id)
    if state.session_id is not None:
        body.setdefault("sessionId", state.session_id)
    for name, key in (("userContextOverride", USER_CONTEXT), ("taskContextOverride", TASK_CONTEXT)):
        said, held = body.get(name), state.working_memory.get(key)
        if isinstance(held, dict) and (said is None or isinstance(said, dict)):
            body[name] = _merged(held, said or {})
    return body


def _merged(held: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What was said over what is held; preferences one by one."""
    merged = {**held, **said}
    if isinstance(held.get("preferences"), dict) and isinstance(said.get("preferences"), dict):
        merged["preferences"] = {**held["preferences"], **said["preferences"]}
    return merged


def _check_owner(given: TurnInput, state: InstanceState) -> None:
    if given.user_id != state.user_id or given.organization_id != state.organization_id:
        # The same words as for an instance that does not exist: a stranger learns nothing.
        raise Refused(f"there is no instance {state.gmi_id!r} for this user", errors.SYS_RESOURCE_NOT_FOUND)


def _check_persona(given: TurnInput, state: InstanceState) -> None:
    """An instance is one persona: its memory, its traits and its mood are those of that one."""
    persona, switch = state.persona, given.metadata.get(PERSONA_SWITCH)
    for name, wanted in (("personaId", given.persona_id), (f"metadata.{PERSONA_SWITCH}", switch)):
        if wanted is not None and persona is not None and wanted != persona.id:
            raise Refused(
                f"{name}: this instance is {persona.id!r}; start another one for {str(wanted)[:200]!r}",
                errors.GMI_PERSONA_NOT_FOUND,
            )


def _feedback_in(given: TurnInput, state: InstanceState) -> Feedback | None:
    """What the message says of the answers before it. It is no reason to refuse the message that it says nothing."""
    said = given.metadata.get(USER_FEEDBACK)
    if said in (None, {}):
        return None
    if not isinstance(said, dict):
        raise Refused(f"metadata.{USER_FEEDBACK}: must be an object", errors.GMI_FEEDBACK_ERROR)
    return read_feedback(said, state.user_id)


def _check_modalities(given: TurnInput, state: InstanceState) -> None:
    if state.persona is not None and (fault := persona_fault(given.content, state.persona)):
        raise Refused(fault)
