"""A call of a round as its host sees it. Pure; time is a parameter."""

from datetime import datetime
from typing import Any

from activities.contracts import ToolFacts
from activities.durations import parse_duration
from activities.turn_input import ExternalTool
from workflows.contracts import CallKind, PendingCall
from workflows.rounds import PlannedCall, Wait


def pending_call(planned: PlannedCall, row: str, now: datetime) -> PendingCall:
    """The call of a pause that opens now. `row` names the stored reply, for arguments that are too long to be shown."""
    disposition, call = planned.disposition, planned.call
    assert isinstance(disposition, Wait)
    external, facts = disposition.external, disposition.facts
    own = parse_duration(external.timeout) if external and external.timeout else None
    return PendingCall(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        arguments_cut=call.arguments_cut,
        arguments_ref=row if call.arguments_cut else None,
        kind=disposition.kind,
        input_schema=_asked_schema(external, facts, disposition.kind),
        output_schema=external.output_schema if external else None,
        deadline=now + own if own else None,
    )


def _asked_schema(external: ExternalTool | None, facts: ToolFacts, kind: CallKind) -> dict[str, Any] | None:
    if kind == "human":
        return facts.human_schema
    return external.input_schema if external else facts.input_schema
