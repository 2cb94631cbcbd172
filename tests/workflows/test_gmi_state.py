"""What an instance knows, and its bounds."""

from datetime import UTC, datetime
from typing import Any

import workflows.gmi_turn_book as book
from activities.conversation import CostAggregator, CostEntry, ErrorDetails, GMIOutput, ModelUsage, ToolCall
from activities.instance_contracts import InstanceOpened, Reflection
from activities.json_values import encoded_size
from activities.personas import Persona
from workflows.gmi_adaptation import take_reflection
from workflows.gmi_contracts import QueuedTurn, StartInstance, TurnNotice
from workflows.gmi_display import instance_details
from workflows.gmi_state import MEMORY_BYTES, InstanceState, digest_of
from workflows.gmi_turn_book import OUTCOME_BYTES

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def state(persona: Persona | None = None) -> InstanceState:
    found = InstanceState.of(StartInstance(gmi_id="g1"), NOW)
    found.open_with(InstanceOpened(persona=persona or Persona(id="p", personality_traits={"wit": 0.5})), NOW)
    return found


def begun(at: InstanceState, turn_id: str = "t1", content: str = "Hi") -> InstanceState:
    queued = QueuedTurn(
        turn_id=turn_id, conversation_id="c", workflow_id=f"turn-c-{turn_id}", body={"content": content}, digest="d"
    )
    book.begin_turn(at, queued, f"c/{turn_id}", NOW)
    return at


def notice(number: int, *, turn_id: str = "t1", final: bool = True, **fields: Any) -> TurnNotice:
    calls = None if final else (ToolCall(id="c1", name="ask"),)
    output = GMIOutput(is_final=final, tool_calls=calls, turn_id=turn_id, **fields)
    return TurnNotice(workflow_id=f"turn-c-{turn_id}", turn_id=turn_id, number=number, output=output)


def test_its_state_follows_its_turn() -> None:
    at = begun(state())
    states: list[str] = [at.prime_state]
    book.heard(at, notice(1, final=False), NOW)
    states.append(at.prime_state)
    paused = at.open
    assert paused is not None
    book.answered(at, paused)
    states.append(at.prime_state)
    book.heard(at, notice(2, error=ErrorDetails(code="X", message="no")), NOW)
    states.append(at.prime_state)
    assert (at.turns, at.failed) == (1, 1)
    book.heard(begun(at, "t2"), notice(1, turn_id="t2"), NOW)
    states.append(at.prime_state)

    assert states == ["processing", "awaiting_tool_result", "processing", "errored", "ready"]


def test_a_notice_twice_an_old_one_and_a_strangers_change_nothing() -> None:
    at = begun(state())
    book.heard(at, notice(2, final=False), NOW)
    before = at.model_copy(deep=True)

    assert not book.heard(at, notice(2, final=False), NOW)
    assert not book.heard(at, notice(1), NOW)
    assert not book.heard(at, notice(3, turn_id="t9"), NOW)
    assert at == before


def test_an_answer_that_comes_home_late_does_not_clear_the_next_pause() -> None:
    at = begun(state())
    book.heard(at, notice(1, final=False), NOW)
    answered = at.open
    assert answered is not None
    book.heard(at, notice(2), NOW)
    book.heard(begun(at, "t2"), notice(1, turn_id="t2", final=False), NOW)

    book.answered(at, answered)

    assert at.prime_state == "awaiting_tool_result"


def test_usage_is_the_sum_of_all_turns_by_model() -> None:
    entry = CostEntry(provider_id="openai", model_id="m", tokens=5, prompt_tokens=3, completion_tokens=2)
    usage = CostAggregator(total_tokens=5, prompt_tokens=3, completion_tokens=2, breakdown=(entry,))
    at = state()
    for turn_id in ("t1", "t2"):
        book.heard(begun(at, turn_id), notice(1, turn_id=turn_id, usage=usage), NOW)

    assert at.usage.total_tokens == 10
    assert [each.tokens for each in at.usage.breakdown] == [10]


def test_every_part_has_a_bound_and_the_whole_can_be_carried() -> None:
    at = state()
    for number in range(60):
        at.remember(f"key {number}", "x" * 4_000)
        begun(at, f"t{number}", f"word {number}")
        book.heard(at, notice(1, turn_id=f"t{number}", response_text="y" * 20_000), NOW)
        at.reject("noise", "z" * 5_000, NOW)
        at.note("DEBUG", "w" * 5_000, NOW, {"v": "v" * 7_000})

    assert encoded_size(at.working_memory) <= MEMORY_BYTES
    assert encoded_size(at.outcomes) <= OUTCOME_BYTES
    assert encoded_size(at.trace) <= 256_000
    assert encoded_size(at.trimmed()) < 700_000
    assert InstanceState.model_validate_json(at.model_dump_json(by_alias=True)) == at


def test_a_state_that_grew_too_large_is_carried_without_what_can_be_missed() -> None:
    at = begun(state())
    book.heard(at, notice(1, response_text="y" * 1_500_000), NOW)

    assert encoded_size(at.trimmed()) < 1_400_000
    assert at.turns == 1


def test_a_replaced_history_keeps_the_turns_whose_message_it_holds() -> None:
    at = state()
    for turn_id, said in (("t1", "Hi"), ("t2", "Bye"), ("t3", "Hi")):
        book.heard(begun(at, turn_id, said), notice(1, turn_id=turn_id), NOW)

    book.forget_turns(at, [digest_of("Hi")])

    assert list(at.held) == ["t3"]
    kept = {entry.turn_id for entry in at.trace if entry.details and entry.turn_id}
    assert kept == {"t3"}
    assert at.last_turn is not None
    book.forget_turns(at, [])
    assert at.last_turn is None


def test_a_reflection_changes_what_it_may_and_is_told() -> None:
    at = state()
    usage = ModelUsage(prompt_tokens=1, completion_tokens=1, total_tokens=2)
    wishes = Reflection(
        mood="curious",
        traits={"wit": 1, "haste": 1},
        working_memory={"goal": "ship", "currentGmiMood": "furious"},
        skill_level="expert",
        usage=usage,
    )
    take_reflection(at, "r", wishes, NOW)

    assert (at.mood, at.traits) == ("curious", {"wit": 0.7})
    assert at.working_memory == {
        "currentGmiMood": "curious",
        "goal": "ship",
        "currentUserContext": {"skillLevel": "expert"},
    }
    assert at.usage.total_tokens == 2
    assert at.trace[-1].type == "STATE_CHANGE"
    before = (at.mood, at.traits)
    take_reflection(at, "r", Reflection(error=ErrorDetails(code="X", message="away")), NOW)
    assert (at.mood, at.traits, at.trace[-1].type) == (*before, "WARNING")


def test_those_who_wait_at_a_shutdown_are_told() -> None:
    at = state()
    at.queue.append(QueuedTurn(turn_id="t1", conversation_id="c", workflow_id="w", body={}, digest="d"))
    book.drop_queue(at)

    assert at.outcomes[-1].output.error is not None
    assert at.outcomes[-1].output.error.code == "SYS_NOT_INITIALIZED"


def test_people_see_where_it_stands_and_how_to_answer() -> None:
    at = begun(state())
    book.heard(at, notice(1, final=False), NOW)
    shown = instance_details(at, "gmi-it's")

    assert "awaiting_tool_result" in shown
    assert "handle_tool_results" in shown
    assert """'gmi-it'"'"'s'""" in shown
    assert '"toolCallId": "c1"' in shown
