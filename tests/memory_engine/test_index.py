from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from memory_engine import new_item
from memory_engine.index import LexicalIndex
from memory_engine.lossy import CANDIDATE_FLOOR
from memory_engine.ranking import K1, B
from memory_engine.records import Record, record_of
from memory_engine.stems import ranking_terms
from tests.memory_engine.fact_set import facts_and_questions


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
    np.testing.assert_allclose(matches.scores, [1.0])


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


def grown(records: Sequence[Record]) -> LexicalIndex:
    index = LexicalIndex()
    for row in records:
        index.add(row)
    return index


MADE = {"in bulk": LexicalIndex, "one by one": grown}
WORDS = [f"{head}{tail}" for head in ("port", "host", "mail", "vault", "cache") for tail in ("", "ing", "ory", "ant")]


def plain_scores(records: Sequence[Record], terms: set[str], wholes: Sequence[set[str]]) -> dict[str, float]:
    """BM25 by reading every memory for every word."""
    texts = {row.id: ranking_terms(row.content) for row in records}
    mean = sum(map(len, texts.values())) / len(texts)
    scores = dict.fromkeys(texts, 0.0)
    groups = [({term}, {term}) for term in terms] + [(whole - terms, whole - terms) for whole in wholes]
    for group, needed in groups:
        for memory_id, words in texts.items():
            for term in group if needed <= set(words) else ():
                held = sum(term in other for other in texts.values())
                rarity = math.log(1 + (len(texts) - held + 0.5) / (held + 0.5))
                count = words.count(term)
                norm = K1 * (1 - B + B * len(words) / mean)
                scores[memory_id] += rarity * count * (K1 + 1) / (count + norm)
    return {memory_id: score for memory_id, score in scores.items() if score > 0}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_the_scores_are_those_of_a_plain_scan(make: Callable[[Sequence[Record]], LexicalIndex]) -> None:
    chance = random.Random(5)
    records = [record(f"m{at}", " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))) for at in range(300)]
    index = make(records[:200])
    for row in records[200:]:
        index.add(row)
    gone = set(range(0, 300, 7))
    for at in gone:
        index.remove(records[at])
    left = [row for at, row in enumerate(records) if at not in gone]
    for _ in range(40):
        terms = set(ranking_terms(" ".join(chance.choices(WORDS, k=chance.randint(0, 4)))))
        wholes = [set(ranking_terms(" ".join(chance.choices(WORDS, k=3)))) for _ in range(chance.randint(0, 2))]
        matches = index.rank(terms, wholes)
        told = dict(zip(map(index.id_at, matches.slots.tolist()), matches.scores.tolist(), strict=True))
        # A word of two groups, or of a group and the query, counts for each.
        assert told == pytest.approx(plain_scores(left, terms, wholes), rel=1e-4)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_it_does_not_matter_how_memories_came_in(make: Callable[[Sequence[Record]], LexicalIndex]) -> None:
    facts, questions = facts_and_questions()
    facts += [
        "Plan A. I use it",
        "I am Ana\0 and B",
        "",
        "User requirement (never): force push",
        "x" * 30_000,
        "don't, café",
    ]
    records = [record(f"m{at}", content, at) for at, content in enumerate(facts)]
    records[3].gist, records[4].domains, records[5].superseded_by = "a gist of its own", ("git", "api"), "m6"
    index, other = make(records), grown(records)
    for query in [*(question.text for question in questions[::5]), *facts[-6:]]:
        assert ranked(index, query) == ranked(other, query)
        assert similar(index, query) == similar(other, query)
        assert index.same_text(query) == other.same_text(query)
        assert index.with_subject(query) == other.with_subject(query)
    assert index.with_identifiers(["force", "billing-2201.acme.example"]) == other.with_identifiers(
        ["force", "billing-2201.acme.example"]
    )


def test_a_fork_of_what_came_in_bulk_goes_its_own_way() -> None:
    records = [record(f"m{at}", f"alpha number{at}") for at in range(100)]
    index = LexicalIndex(records)
    fork = index.fork()
    for row in records[:90]:
        fork.remove(row)
    fork.add(record("new", "alpha again"))
    assert (len(index), len(fork)) == (100, 11)
    assert set(ranked(fork, "alpha")) == {*(f"m{at}" for at in range(90, 100)), "new"}
    assert len(ranked(index, "alpha")) == 100
