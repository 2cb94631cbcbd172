"""Personas as turns use them."""

import pytest
from pydantic import ValidationError

from activities.persona_prompt import ContextualElement, additions
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


@pytest.mark.parametrize("value", [-0.1, 1.1, "x" * 501, None])
def test_a_trait_is_a_number_from_0_to_1_or_words(value: object) -> None:
    with pytest.raises(ValidationError):
        Persona.model_validate({"id": "a", "personalityTraits": {"wit": value}})


def test_a_base_prompt_has_three_forms() -> None:
    def told(prompt: object, **fields: object) -> str:
        return Persona.model_validate({"id": "a", "name": "Ada", "baseSystemPrompt": prompt, **fields}).system_prompt

    assert told("As it {{stands}}.") == "As it {{stands}}."
    template = {"template": "{{ name }}, {{team}}, {{other}}", "variables": ["name", "team"]}
    assert told(template, customFields={"team": 7, "name": "never"}) == "Ada, 7, {{other}}"
    parts = [{"content": "last", "priority": 5}, {"content": "first"}, {"content": "second"}]
    assert told(parts) == "first\n\nsecond\n\nlast"


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"baseSystemPrompt": {"template": "{{x}}", "variables": ["x"]}}, "fill x"),
        ({"documents": [{"id": "d", "text": "a"}, {"id": "d", "text": "b"}]}, "d stands twice"),
        ({"defaultModelId": "a", "model": "b"}, "defaultModelId"),
        ({"requiredSecret": ["A"]}, "requiredSecret"),
        ({"memoryConfig": {"enabld": True}}, "enabld"),
        ({"metaPrompts": [{"id": "m", "promptTemplate": {"text": "x"}}]}, "promptTemplate"),
        ({"contextualPromptElements": [{"id": "e"}]}, "content"),
        ({"allowedInputModalities": ["smell"]}, "allowedInputModalities"),
    ],
)
def test_what_a_persona_cannot_mean_is_refused_by_name(fields: dict[str, object], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        Persona.model_validate({"id": "a", **fields})


def test_limits_of_the_past_come_from_the_nearest_place_that_names_them() -> None:
    def limits(**fields: object) -> tuple[int, int | None]:
        return Persona.model_validate({"id": "a", **fields}).history_limits

    within = {"memoryConfig": {"conversationContext": {"maxMessages": 4, "maxTokens": 40}}}
    assert limits() == (32_000, None)
    assert limits(historyTokens=9) == (9, None)
    assert limits(**within) == (40, 4)
    assert limits(**within, conversationContextConfig={"maxMessages": 2}) == (40, 2)


def test_a_personas_own_fields_count_before_the_nested_ones() -> None:
    persona = Persona.model_validate({"id": "a", "temperature": 0, "defaultModelCompletionOptions": {"temperature": 1}})
    assert (persona.completion.temperature, persona.completion.max_tokens) == (0, None)


def test_what_is_said_of_a_situation_is_added_only_in_it() -> None:
    elements = [
        ContextualElement(id="a", content="Late.", priority=2),
        ContextualElement(id="b", content={"k": 1}, criteria={"language": ["cs", "sk"], "taskDomain": "shop"}),
        ContextualElement(id="c", content="Never.", criteria={"moon": "full"}),
    ]
    assert additions(elements, {"preferences": {"language": "cs"}}, {"domain": "shop"}) == ['{"k": 1}', "Late."]
    assert additions(elements, {"language": "de"}, {"domain": "shop"}) == ["Late."]
    assert additions(elements, None, None) == ["Late."]
