"""Claiming: one open turn a conversation, its owner's alone, resumed by its own runs and restarted by others."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from activities.contracts import MemoryPlan
from activities.store.errors import ConversationBusy, Holder, NotOwner, TurnAlreadyRan
from activities.store.turn_store import TurnStore
from tests.activities.store.racing import race
from tests.activities.store.values import answer, asked, begin, calls, commit, said


def test_claim_opens_a_turn_with_the_users_message(store: TurnStore) -> None:
    claimed = store.claim(begin(userId="ada", organizationId="acme", sessionId="s"), "support")
    turn = store.turn("t1")

    assert (claimed.position, claimed.rows, claimed.resumed, claimed.plan) == (0, 1, False, None)
    assert store.rows("t1") == [(0, asked("question of t1"))]
    assert turn is not None
    assert (turn.state, turn.organization_id, turn.user_id, turn.persona_id) == ("open", "acme", "ada", "support")
    assert (turn.workflow_id, turn.run_id, turn.first_run_id, turn.created_ms) == ("turn-t1", "r1", "r1", 1_000)
    assert turn.input == begin(userId="ada", organizationId="acme", sessionId="s").input


def test_turn_that_was_never_claimed_is_none(store: TurnStore) -> None:
    assert store.turn("t1") is None
    assert store.rows("t1") == []


def test_retried_claim_answers_as_at_first(store: TurnStore) -> None:
    first = store.claim(begin(), "p")

    assert store.claim(begin(), "p") == first


def test_retried_claim_of_a_reset_run_answers_as_at_first(store: TurnStore) -> None:
    store.claim(begin(), "p")
    reset = store.claim(begin(run="r2", first="r1"), "p")

    assert reset.resumed
    assert store.claim(begin(run="r2", first="r1"), "p") == reset


def test_second_turn_meets_the_holder(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")

    with pytest.raises(ConversationBusy) as refused:
        store.claim(begin("t2", "r2"), "p")

    assert refused.value.holder == Holder("t1", "turn-t1", "r1", "r1")
    assert store.turn("t2") is None


def test_other_conversations_are_not_in_the_way(store: TurnStore) -> None:
    store.claim(begin("t1", "r1", at="c1"), "p")

    assert store.claim(begin("t2", "r2", at="c2"), "p").position == 0


def test_positions_count_up(store: TurnStore) -> None:
    for number in range(3):
        assert store.claim(begin(f"t{number}", f"r{number}"), "p").position == number
        store.commit(commit(f"t{number}"))


@pytest.mark.parametrize(
    "stranger",
    [{"userId": "eve"}, {"userId": "ada", "organizationId": "other"}, {"userId": "ada"}],
    ids=["user", "organization", "no organization"],
)
def test_strangers_conversation_is_refused(store: TurnStore, stranger: dict[str, str]) -> None:
    store.claim(begin("t1", "r1", userId="ada", organizationId="acme"), "p")
    store.commit(commit("t1"))

    with pytest.raises(NotOwner):
        store.claim(begin("t2", "r2", **stranger), "p")


def test_strangers_turn_id_is_refused(store: TurnStore) -> None:
    store.claim(begin("t1", "r1", at="c1", userId="ada"), "p")

    with pytest.raises(NotOwner):
        store.claim(begin("t1", "r2", at="c2", userId="eve"), "p")
    assert store.claim(begin("t2", "r3", at="c2", userId="zoe"), "p").position == 0, "nothing of the refused is left"


def test_blank_organization_is_none(store: TurnStore) -> None:
    store.claim(begin("t1", "r1", organizationId=""), "p")
    store.commit(commit("t1"))

    assert store.claim(begin("t2", "r2"), "p").position == 1


def test_turn_id_of_another_conversation_is_refused(store: TurnStore) -> None:
    store.claim(begin("t1", "r1", at="c1"), "p")

    with pytest.raises(TurnAlreadyRan, match="c1"):
        store.claim(begin("t1", "r2", at="c2"), "p")


def test_completed_turn_does_not_run_again(store: TurnStore) -> None:
    store.claim(begin(run="r1"), "p")
    store.commit(commit())

    with pytest.raises(TurnAlreadyRan):
        store.claim(begin(run="r2"), "p")


def test_completed_turn_is_named_even_when_another_is_open(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))
    store.claim(begin("t2", "r2"), "p")

    with pytest.raises(TurnAlreadyRan):
        store.claim(begin("t1", "r3"), "p")


def test_open_turn_of_another_first_run_is_busy(store: TurnStore) -> None:
    store.claim(begin(run="r1"), "p")

    with pytest.raises(ConversationBusy) as refused:
        store.claim(begin(run="r2"), "p")
    assert refused.value.holder.first_run_id == "r1"


@pytest.mark.parametrize("state", ["failed", "cancelled", "superseded"])
def test_turn_that_did_not_complete_is_restarted(store: TurnStore, state: str) -> None:
    store.claim(begin("t0", "r0"), "p")
    store.commit(commit("t0"))
    store.claim(begin("t1", "r1"), "p")
    store.save_plan("t1", "memory", MemoryPlan(entries=1))
    store.put_rows("t1", [(1, said("half"))])
    store.commit(commit("t1", state))  # type: ignore[arg-type]

    claimed = store.claim(begin("t1", "r2", content="again"), "p2")
    turn = store.turn("t1")

    assert (claimed.position, claimed.rows, claimed.resumed, claimed.plan) == (1, 1, False, None)
    assert store.rows("t1") == [(0, asked("again"))]
    assert turn is not None
    assert (turn.state, turn.first_run_id, turn.persona_id, turn.input.content) == ("open", "r2", "p2", "again")
    assert (turn.memory_text, turn.output, turn.usage, turn.ended_ms) == (None, None, None, None)


def test_reset_run_reopens_a_closed_turn_with_its_rows(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.save_plan("t1", "memory", MemoryPlan(entries=2))
    store.put_rows("t1", [(1, said("half"))])
    store.commit(commit("t1"))
    store.claim(begin("t2", "r2"), "p")
    store.commit(commit("t2"))

    claimed = store.claim(begin("t1", "r3", first="r1"), "p")
    turn = store.turn("t1")

    assert (claimed.position, claimed.rows, claimed.resumed) == (0, 2, True)
    assert claimed.plan == MemoryPlan(entries=2)
    assert turn is not None
    assert (turn.state, turn.run_id, turn.ended_ms, turn.memory_text) == ("open", "r3", None, "memory")


def test_reset_run_waits_its_turn(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))
    store.claim(begin("t2", "r2"), "p")

    with pytest.raises(ConversationBusy):
        store.claim(begin("t1", "r3", first="r1"), "p")


def test_text_no_database_likes_is_stored_cleaned(store: TurnStore) -> None:
    store.claim(begin("t1", "r1", content="a\0b \ud83d", userId="ada\0"), "p")
    store.save_plan("t1", "memory\0 \udc00", MemoryPlan())
    store.put_rows("t1", [(1, calls("k1")), (2, answer("k1", {"a\0": "b\0", "half": "\ud83d"}))])
    store.commit(commit("t1", text="\ud83d"))
    store.claim(begin("t2", "r2", userId="ada\0"), "p")
    turn = store.turn("t1")

    assert turn is not None
    assert (turn.user_id, turn.memory_text) == ("ada\ufffd", "memory\ufffd \ufffd")
    assert store.rows("t1")[0] == (0, asked("a\0b \ufffd"))
    assert store.rows("t1")[2] == (2, answer("k1", {"a\0": "b\0", "half": "\ufffd"}))
    with pytest.raises(NotOwner):
        store.claim(begin("t3", "r3", userId="ada"), "p")


def test_histories_come_first_in_a_new_conversation(store: TurnStore) -> None:
    histories = [
        {"type": "text", "role": "user", "text": "hello"},
        {"type": "text", "role": "assistant", "text": "hi"},
    ]
    claimed = store.claim(begin("t1", "r1", histories=histories), "p")
    turn = store.turn("t1")

    assert claimed.position == 1
    assert store.history("c1", 1, 100, 100_000) == [[asked("hello"), said("hi")]]
    assert store.claim(begin("t1", "r1", histories=histories), "p") == claimed
    assert turn is not None
    assert turn.input.histories is None, "they are not stored twice"


def test_histories_do_not_change_a_conversation_that_exists(store: TurnStore) -> None:
    store.claim(begin("t1", "r1"), "p")
    store.commit(commit("t1"))

    claimed = store.claim(begin("t2", "r2", histories=[{"type": "text", "role": "user", "text": "x"}]), "p")

    assert claimed.position == 1
    assert store.history("c1", 1, 100, 100_000) == [[asked("question of t1")]]


def test_malformed_histories_leave_nothing_behind(store: TurnStore) -> None:
    with pytest.raises(ValueError, match=r"histories\[0\]"):
        store.claim(begin("t1", "r1", histories=[{"type": "dance"}]), "p")

    assert store.turn("t1") is None


@pytest.mark.parametrize("known", [True, False], ids=["known conversation", "new conversation"])
def test_one_of_many_racing_threads_wins(store: TurnStore, known: bool) -> None:
    if known:
        store.claim(begin("t0", "r0"), "p")
        store.commit(commit("t0"))
    racers = 8
    start = Barrier(racers)

    def claim(number: int) -> str:
        start.wait()
        try:
            store.claim(begin(f"racer{number}", f"run{number}"), "p")
        except ConversationBusy as busy:
            return busy.holder.turn_id
        return "won"

    with ThreadPoolExecutor(racers) as pool:
        outcomes = list(pool.map(claim, range(racers)))

    winner = f"racer{outcomes.index('won')}"
    assert sorted(outcomes) == sorted(["won"] + [winner] * (racers - 1))


def test_one_of_many_racing_processes_wins(store: TurnStore, address: str) -> None:
    store.claim(begin("t0", "r0"), "p")
    store.commit(commit("t0"))
    preparation = """
from activities.store.database import open_database
from activities.store.errors import ConversationBusy
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin
store = TurnStore(open_database(sys.argv[1]))
"""
    action = """
try:
    store.claim(begin(sys.argv[2], sys.argv[2]), "p")
    print("won")
except ConversationBusy as busy:
    print(busy.holder.turn_id)
"""
    outcomes = race(preparation, action, [[address, f"racer{number}"] for number in range(3)])

    winner = f"racer{outcomes.index('won')}"
    assert sorted(outcomes) == sorted(["won", winner, winner])


def test_same_turn_id_raced_in_two_conversations_is_claimed_once(store: TurnStore) -> None:
    start = Barrier(2)

    def claim(number: int) -> str:
        start.wait()
        try:
            store.claim(begin("same", f"run{number}", at=f"c{number}"), "p")
        except TurnAlreadyRan:
            return "refused"
        return "won"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(claim, range(2))) == ["refused", "won"]
