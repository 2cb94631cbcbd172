"""When an instance thinks about itself."""

from activities.persona_character import MetaPrompt, MetaPromptTrigger
from activities.personas import Persona
from workflows.gmi_reflection import MAX_PENDING, add_pending, due_prompts

PERSONA = Persona(
    id="p",
    meta_prompts=(
        MetaPrompt(id="often", prompt_template="?", trigger=MetaPromptTrigger(type="turn_interval", interval_turns=2)),
        MetaPrompt(
            id="sorry", prompt_template="?", trigger=MetaPromptTrigger(type="event_based", event_name="user_frustrated")
        ),
        MetaPrompt(id="asked", prompt_template="?"),
    ),
)


def test_an_interval_of_two_is_due_with_the_third_turn_and_every_third_after() -> None:
    counters: dict[str, int] = {}
    due = [due_prompts(PERSONA, counters, (), user_turn=True) for _ in range(6)]

    assert due == [[], [], ["often"], [], [], ["often"]]


def test_a_note_of_the_system_does_not_count() -> None:
    counters: dict[str, int] = {}
    for _ in range(9):
        assert due_prompts(PERSONA, counters, (), user_turn=False) == []


def test_an_event_makes_its_prompt_due_and_no_other() -> None:
    assert due_prompts(PERSONA, {}, ("user_frustrated",), user_turn=False) == ["sorry"]
    assert due_prompts(PERSONA, {}, ("user_satisfied",), user_turn=False) == []


def test_what_is_due_twice_waits_once_and_the_line_has_an_end() -> None:
    pending = ["often"]
    add_pending(pending, ["often", *(f"p{number}" for number in range(40))])

    assert pending[:2] == ["often", "p0"]
    assert len(pending) == MAX_PENDING
