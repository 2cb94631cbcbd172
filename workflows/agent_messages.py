"""What a turn and its sub-agents say to each other: read, and made small enough to be sent. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from activities.conversation import GMIOutput
from activities.json_values import encoded_size
from activities.turn_input import ExternalTool
from workflows.contracts import PendingCall, PendingRequest
from workflows.gmi_contracts import TurnNotice
from workflows.gmi_refusal import Refused, read_model, read_object
from workflows.names import TURN_STOPPED
from workflows.pause import FillReason

NOTICE_BYTES = 1_000_000
PENDING_BYTES = 600_000
MAX_FILLS = 1_000


@dataclass(frozen=True, slots=True)
class Fill:
    """Calls to close as not run, and why."""

    call_ids: tuple[str, ...]
    reason: FillReason


def read_notice(arguments: Sequence[Any]) -> TurnNotice | str:
    """The notice of a sub-agent, or why it is none."""
    try:
        return read_model(TurnNotice, read_object(arguments, TURN_STOPPED, NOTICE_BYTES), TURN_STOPPED)
    except Refused as refused:
        return str(refused)


def read_fill(arguments: Sequence[Any]) -> Fill | None:
    """Which calls are to be closed, or None when the message does not say."""
    given = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
    ids, told = given.get("toolCallIds"), given.get("reason")
    reasons: tuple[FillReason, ...] = get_args(FillReason)
    reason = next((each for each in reasons if each == told), None)
    if reason is None or not isinstance(ids, list) or not 0 < len(ids) <= MAX_FILLS:
        return None
    return Fill(tuple(ids), reason) if all(isinstance(each, str) for each in ids) else None


def told_pending(request: PendingRequest | None, host_tools: Sequence[ExternalTool]) -> PendingRequest | None:
    """The pause of a sub-agent as its caller is told: whole but for the schemas of the host's tools, which the caller has.

    Where that is still too much, further schemas are left out, and then arguments.
    """
    if request is None:
        return None
    names = {tool.name for tool in host_tools}
    bare = {"input_schema": None, "output_schema": None}
    calls = [
        call.model_copy(update=bare) if call.kind == "external" and call.name in names else call
        for call in request.tool_calls
    ]
    for smaller in (bare, {"arguments": {}, "arguments_cut": True}):
        if encoded_size(calls) <= PENDING_BYTES:
            break
        calls = [_without(call, smaller) for call in calls]
    return request.model_copy(
        update={"tool_calls": tuple(calls), "rationale": (request.rationale or "")[:1_000] or None}
    )


def told_output(output: GMIOutput) -> GMIOutput:
    """The output without what the caller gets by another way: words with the result, calls with the pause."""
    return GMIOutput(
        is_final=output.is_final,
        usage=output.usage,
        error=output.error,
        conversation_id=output.conversation_id,
        turn_id=output.turn_id,
        model_calls=output.model_calls,
    )


def _without(call: PendingCall, fields: dict[str, Any]) -> PendingCall:
    # What asks for more budget is answered by its arguments and its schema.
    return call if call.kind == "budget" else call.model_copy(update=fields)
