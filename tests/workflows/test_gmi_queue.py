"""Messages for an instance: read, placed, refused."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.conversation import GMIOutput
from activities.instance_contracts import InstanceOpened
from activities.json_values import Undecodable
from activities.personas import Persona
from workflows.gmi_contracts import InstanceConfig, OpenTurn, QueuedTurn, StartInstance
from workflows.gmi_message import Message, read_message, turn_id_of
from workflows.gmi_queue import MAX_QUEUED, check_place, enqueue, key_of, repeats
from workflows.gmi_refusal import Refused
from workflows.gmi_state import InstanceState
from workflows.gmi_turn_book import keep_outcome

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def state(**config: Any) -> InstanceState:
    found = InstanceState.of(StartInstance(gmi_id="g1", config=InstanceConfig.model_validate(config)), NOW)
    found.open_with(InstanceOpened(persona=Persona(id="p")), NOW)
    return found


def message(at: InstanceState, update_id: str = "u1", **fields: Any) -> Message:
    return read_message([{"content": "Hi", **fields}], at, update_id)


def busy(at: InstanceState) -> InstanceState:
    at.open = OpenTurn(turn_id="t0", conversation_id="c", workflow_id="w", key="k", digest="d", started_at=NOW)
    return at


def test_a_message_is_a_turn_of_the_instances_conversation_and_user() -> None:
    read = message(state(userId="ren", sessionId="s", conversationId="c1"))

    assert (read.turn.turn_id, read.turn.workflow_id) == ("u1", "turn-c1-u1")
    assert (read.given.user_id, read.given.session_id, read.given.conversation_id) == ("ren", "s", "c1")
    assert key_of(read.turn) == "c1/u1"


def test_what_is_said_wins_over_the_config_field_by_field() -> None:
    at = state(options={"temperature": 0.1, "model": "m1"}, maxToolLoopIterations=7)
    read = message(at, options={"temperature": 0.9})

    assert (read.given.options.temperature, read.given.options.model) == (0.9, "m1")
    assert read.given.limits.max_tool_rounds == 7


def test_contexts_are_remembered_and_merged() -> None:
    at = state()
    at.remember("currentUserContext", {"skillLevel": "novice", "preferences": {"tone": "dry", "unit": "m"}})
    read = message(at, userContextOverride={"preferences": {"unit": "ft"}})

    assert read.given.user_context_override == {
        "skillLevel": "novice",
        "preferences": {"tone": "dry", "unit": "ft"},
    }


def test_an_id_of_strange_characters_becomes_a_plain_one() -> None:
    assert turn_id_of("a-B_9") == "a-B_9"
    strange = turn_id_of("ü/…")
    assert strange == turn_id_of("ü/…")
    assert strange.isalnum()


def test_a_busy_instance_lets_wait_or_refuses_by_option() -> None:
    at = busy(state())
    check_place(at, message(at))
    check_place(at, message(at, onBusy="supersede"))
    with pytest.raises(Refused) as refused:
        check_place(at, message(at, onBusy="refuse"))

    assert refused.value.code == "SYS_INVALID_STATE"
    assert refused.value.details == {"currentGMIState": "processing", "turnId": "t0"}


def test_the_queue_has_an_end() -> None:
    at = busy(state())
    for number in range(MAX_QUEUED):
        enqueue(at, message(at, f"u{number}").turn)
    with pytest.raises(Refused) as refused:
        check_place(at, message(at, "late"))

    assert refused.value.code == "SYS_RATE_LIMIT_EXCEEDED"


def test_large_messages_fill_it_sooner_and_one_alone_goes_through() -> None:
    at = state()
    large = message(at, content="x" * 300_000)
    check_place(at, large)
    with pytest.raises(Refused):
        check_place(busy(at), large)


def test_what_supersedes_goes_before_what_waits_in_order() -> None:
    at = busy(state())
    for name, how in (("a", "wait"), ("b", "supersede"), ("c", "wait"), ("d", "supersede")):
        enqueue(at, message(at, name, onBusy=how).turn)

    assert [each.turn_id for each in at.queue] == ["b", "d", "a", "c"]


def test_the_same_id_with_other_words_is_refused_wherever_the_turn_stands() -> None:
    at = state()
    first = message(at, interactionId="t1")
    assert not repeats(at, first)
    enqueue(at, first.turn)
    assert repeats(at, message(at, "u2", interactionId="t1"))
    at.queue.clear()
    keep_outcome(at, "t1", "c", first.turn.digest, GMIOutput(is_final=True))
    assert repeats(at, first)
    with pytest.raises(Refused) as refused:
        repeats(at, message(at, interactionId="t1", content="Other"))

    assert refused.value.code == "TURN_ALREADY_RAN"


def test_a_persona_takes_only_what_it_allows() -> None:
    at = state()
    at.persona = Persona(id="p", allowed_input_modalities=("audio",))

    with pytest.raises(Refused):
        message(at)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("content", "options", "waitSeconds", "onBusy", "interactionId", "userContextOverride", "limits", "instance")


@given(JSON | st.dictionaries(st.sampled_from(NAMES), JSON))
def test_whatever_comes_is_a_message_or_a_refusal(sent: Any) -> None:
    at = state()
    try:
        read = read_message([sent], at, "u")
    except Refused:
        return
    assert isinstance(read.turn, QueuedTurn)
    assert read.turn.turn_id


def test_what_is_not_json_is_refused() -> None:
    for arguments in ([Undecodable("not JSON")], [{"content": "x"}, 2], [], [float("nan")]):
        with pytest.raises(Refused):
            read_message(arguments, state(), "u")
