"""What an instance says when memory is to go."""

import pytest

from activities.persona_memory import MemoryLifecycle, PersonaMemory
from activities.personas import Persona
from tests.worker.gmi.instances import event
from workflows.gmi_lifecycle import answer_event, read_event
from workflows.gmi_refusal import Refused

KEEPS = Persona(id="p", memory_config=PersonaMemory(lifecycle_config=MemoryLifecycle(negotiation_enabled=True)))


def test_it_agrees_to_what_is_proposed() -> None:
    response = answer_event(read_event(event("g1", proposedAction="ARCHIVE"), "g1"), Persona(id="p"))

    assert (response.action_taken, response.event_id) == ("ARCHIVE", "e1")


@pytest.mark.parametrize(
    ("fields", "persona", "action"),
    [
        ({}, KEEPS, "PREVENT_ACTION"),
        ({"type": "EVICTION_PROPOSED"}, KEEPS, "PREVENT_ACTION"),
        ({"type": "ARCHIVAL_PROPOSED"}, KEEPS, "DELETE"),
        ({"proposedAction": "ARCHIVE"}, KEEPS, "ARCHIVE"),
        ({"category": "chat"}, KEEPS, "DELETE"),
        ({"negotiable": False}, KEEPS, "DELETE"),
        ({}, Persona(id="p"), "DELETE"),
    ],
)
def test_a_persona_that_negotiates_keeps_what_its_user_asked_for(
    fields: dict[str, object], persona: Persona, action: str
) -> None:
    asked = read_event(event("g1", **{"category": "user_explicit_memory", **fields}), "g1")

    assert answer_event(asked, persona).action_taken == action


@pytest.mark.parametrize(
    "wrong", [event("g2"), event("g1", type="WISH"), event("g1", proposedAction="BURN"), event("g1", eventId=""), {}]
)
def test_another_instances_or_a_malformed_event_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Refused):
        read_event(wrong, "g1")
