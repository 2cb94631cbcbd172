from __future__ import annotations

from memory_engine import CognitiveMemory, dump_snapshot, parse_snapshot
from memory_engine.ledger import LEDGER_SIZE, TurnLedger
from memory_engine.reports import PostTurnResult


def test_a_turn_reported_twice_is_learned_once() -> None:
    engine = CognitiveMemory()
    first = engine.post_turn("My order is #1042.", "ok", turn_id="t", now=1)
    before = dump_snapshot(engine.get_snapshot())
    assert engine.post_turn("My order is #1042.", "ok", turn_id="t", now=2) == first
    assert dump_snapshot(engine.get_snapshot()) == before


def test_the_record_survives_a_snapshot() -> None:
    engine, other = CognitiveMemory(), CognitiveMemory()
    first = engine.post_turn("My order is #1042. just note this", "ok", turn_id="t", now=1)
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert other.post_turn("My order is #1042. just note this", "ok", turn_id="t", now=2) == first
    assert other.stats.total_turns_processed == 1


def test_a_turn_run_again_on_the_old_state_makes_the_same_ids() -> None:
    def run() -> bytes:
        engine = CognitiveMemory()
        engine.post_turn("My order is #1042. Call me Ren.", "ok", turn_id="t", now=1)
        return dump_snapshot(engine.get_snapshot())

    assert run() == run()


def test_a_removed_memory_leaves_no_word_in_the_record() -> None:
    engine = CognitiveMemory()
    engine.post_turn("My order is #1042.", "ok", turn_id="a", now=1)
    result = engine.post_turn("My order is #1042.", "ok", turn_id="b", now=2)
    assert engine.remove_memory(result.merged_into[0].id)
    assert b"1042" not in dump_snapshot(engine.get_snapshot())


def test_only_the_newest_turns_are_recorded() -> None:
    ledger = TurnLedger()
    for at in range(LEDGER_SIZE + 3):
        ledger.record(f"t{at}", PostTurnResult())
    assert len(ledger) == LEDGER_SIZE
    assert ledger.recorded("t2") is None
    assert ledger.recorded("t3") == PostTurnResult()


def test_a_damaged_record_is_no_record() -> None:
    assert TurnLedger({"t": {"stored": 3}, "u": 5}).recorded("t") is None
    assert len(TurnLedger("damaged")) == 0
