from __future__ import annotations

import random

import numpy as np

from memory_engine import new_item
from memory_engine.index import LexicalIndex
from memory_engine.lossy import CANDIDATE_FLOOR
from memory_engine.records import Record, record_of
from memory_engine.stems import ranking_terms


def record(memory_id: str, content: str, now: int = 0) -> Record:
    return record_of(new_item(content, id=memory_id, now=now))


def index_of(*contents: str) -> tuple[LexicalIndex, list[Record]]:
    index = LexicalIndex()
    records = [record(f"m{at}", content) for at, content in enumerate(contents)]
    for row in records:
        index.add(row)
    return index, records


def ranked(index: LexicalIndex, query: str) -> dict[str, float]:
    matches = index.rank(ranking_terms(query))
    return {index.id_at(int(slot)): float(score) for slot, score in zip(matches.slots, matches.scores, strict=True)}


def similar(index: LexicalIndex, content: str) -> set[str]:
    return {index.id_at(int(slot)) for slot in index.resembling(content, CANDIDATE_FLOOR).slots}


def test_a_query_finds_inflected_words() -> None:
    index, _ = index_of("Deploys go out on Tuesdays", "The sky is blue")
    assert set(ranked(index, "where do we deploy")) == {"m0"}


def test_scores_do_not_remember_the_last_query() -> None:
    index, _ = index_of("alpha bravo", "alpha charlie", "delta")
    first = ranked(index, "alpha")
    ranked(index, "bravo charlie delta")
    assert ranked(index, "alpha") == first


def test_a_removed_memory_is_found_by_nothing() -> None:
    index, records = index_of("host is db.acme.io", "host is db2.acme.io")
    index.remove(records[0])
    assert set(ranked(index, "host")) == {"m1"}
    assert index.with_identifiers(["db.acme.io"]) == {}
    assert index.same_text("host is db.acme.io") == []
    assert index.with_subject("host is x") == {"m1": 1}


def test_compaction_changes_no_answer() -> None:
    shuffler = random.Random(3)
    names = [f"name{at}" for at in range(40)]
    contents = [" ".join(shuffler.sample(names, 6)) + f" id{at}" for at in range(400)]
    index, records = index_of(*contents)
    for row in records[::2]:
        index.remove(row)
    fresh = LexicalIndex()
    for row in records[1::2]:
        fresh.add(row)
    for query in ("name1 name2", "name7", "id33", "name39 name3 name5"):
        assert ranked(index, query) == ranked(fresh, query)
        assert similar(index, query) == similar(fresh, query)
    assert len(index) == len(fresh)


def test_a_hidden_memory_is_found_only_on_request() -> None:
    index, _ = index_of("alpha bravo")
    index.hide("m0", True)
    assert ranked(index, "alpha") == {}
    assert len(index.rank({"alpha"}, include_hidden=True).slots) == 1


def test_what_shares_a_third_of_its_words_is_a_candidate() -> None:
    index, _ = index_of("port is 2291", "alpha bravo charlie", "quarterly revenue", "不要部署到生产环境")
    assert similar(index, "port is 2292") == {"m0"}
    assert similar(index, "alpha delta foxtrot") == {"m1"}
    assert similar(index, "不要部署到测试环境") == {"m3"}
    assert similar(index, "unrelated words") == set()


def test_the_share_is_that_of_the_smaller_set() -> None:
    index, _ = index_of("alpha bravo charlie delta echoes")
    matches = index.resembling("alpha bravo", CANDIDATE_FLOOR)
    np.testing.assert_allclose(matches.shared, [1.0])


def test_restatements_are_found_by_normalised_text() -> None:
    index, _ = index_of("The port is 80", "the  PORT is 80")
    assert index.same_text(" The port is 80 ") == ["m0", "m1"]


def test_identifiers_are_matched_without_regard_to_case() -> None:
    index, _ = index_of("build ZQ7X4M2K on db.acme.io", "db.acme.io again")
    assert index.with_identifiers(["zq7x4m2k", "db.acme.io"]) == {"m0": 2, "m1": 1}


def test_a_common_word_is_left_out_when_the_query_has_a_rare_one() -> None:
    index, _ = index_of(*(f"service number{at}" for at in range(3000)))
    assert set(ranked(index, "service number17")) == {"m17"}
    assert len(ranked(index, "service")) == 3000
