"""Personas as turns use them."""

import pytest
from pydantic import ValidationError

from activities.personas import InstanceTurn, Persona, Personas
from activities.prompt import system_messages
from activities.turn_input import TurnInput

APP = Personas([Persona(id="a", tool_ids=("look",)), Persona(id="b", tool_ids=("look", "book"))])
OPEN = Personas([Persona(id="a"), Persona(id="b", tool_ids=())])


def test_a_turn_without_an_instance_uses_the_apps() -> None:
    assert APP.of_turn("b", None) == APP.get("b")
    assert APP.of_turn(None, None) == APP.get("a")
    assert APP.of_turn("nobody", None) is None


def test_the_manner_of_an_instance_stands_behind_the_prompt() -> None:
    persona = APP.of_turn("b", InstanceTurn(gmi_id="g", manner="Your mood: curious."))

    assert persona is not None
    assert persona.base_system_prompt == "You are a helpful assistant.\n\nYour mood: curious."
    assert APP.get("b") == Persona(id="b", tool_ids=("look", "book"))


def test_a_persona_of_the_instances_own_has_no_more_tools_than_the_apps_have_together() -> None:
    def tools(own: Persona, app: Personas = APP) -> tuple[str, ...] | None:
        used = app.of_turn(own.id, InstanceTurn(gmi_id="g", persona=own))
        assert used is not None
        return used.tool_ids

    assert tools(Persona(id="own")) == ("look", "book")
    assert tools(Persona(id="own", tool_ids=("book", "burn"))) == ("book",)
    assert tools(Persona(id="own"), OPEN) is None
    assert tools(Persona(id="own", tool_ids=("burn",)), OPEN) == ("burn",)


def test_an_instances_persona_does_not_stand_for_another() -> None:
    own = InstanceTurn(gmi_id="g", persona=Persona(id="own"))

    assert APP.of_turn("a", own) == APP.get("a")


def test_hard_limits_are_the_last_of_the_system_message() -> None:
    persona = Persona(id="a", base_system_prompt="Help.", hard_limits=("No refunds.", "No names."))
    said = system_messages(persona, "- a memory", TurnInput(content="x"), "told")

    assert said[0]["content"].endswith("told\n\n- No refunds.\n- No names.")


@pytest.mark.parametrize("value", [-0.1, 1.1, "high"])
def test_a_trait_is_a_number_from_0_to_1(value: object) -> None:
    with pytest.raises(ValidationError):
        Persona.model_validate({"id": "a", "personalityTraits": {"wit": value}})
