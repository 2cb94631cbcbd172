from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine import CognitiveMemory, CognitiveMemoryOptions, MemoryItem, Profile, new_item
from memory_engine.wire import MemoryTier

TS = CognitiveMemoryOptions(profile=Profile.TS, ranking="overlap")


def engine_of(
    *contents: str, options: CognitiveMemoryOptions | None = None, tier: MemoryTier = "L2"
) -> CognitiveMemory:
    engine = CognitiveMemory(options)
    for at, content in enumerate(contents):
        engine.add_memory(new_item(content, id=f"m{at:04d}", now=at), tier)
    return engine


def found(engine: CognitiveMemory, query: str, limit: int = 8) -> list[str]:
    return [hit.item.content for hit in engine.search(query, limit)]


@pytest.mark.parametrize("options", [None, TS])
def test_a_query_in_the_words_of_a_fact_scores_one(options: CognitiveMemoryOptions | None) -> None:
    engine = engine_of("The staging build id is ZQ7X4M2K", options=options)
    (hit,) = engine.search("staging build id")
    assert hit.score == 1.0
    assert engine.search("quarterly revenue") == []


@pytest.mark.parametrize(
    ("contents", "query", "ts", "v1"),
    [
        (["Deploys go out on Tuesdays and Thursdays only"], "where do we deploy", 0, 1),
        (["file naming is kebab-case", "file naming should be kebab-case"], "file naming kebab case", 1, 1),
        (["User-provided URL: https://a.io/xy", "User-provided URL: https://b.io/yz"], "user provided url", 1, 2),
        (["部署端口是 8080"], "端口", 0, 1),
        (["今日は成語しりとりをした"], "しりとり", 0, 1),
        (["记录用户身份"], "用户身份", 0, 1),
        (["Deploys happen on Friday", "Deploys never happen on Friday"], "deploys friday", 1, 2),
        (["host is 10.0.0.1", "host is 10.0.1.0"], "host", 1, 2),
    ],
)
def test_restatements_collapse_and_different_facts_do_not(contents: list[str], query: str, ts: int, v1: int) -> None:
    assert len(engine_of(*contents, options=TS).search(query)) == ts
    assert len(engine_of(*contents).search(query)) == v1


def test_two_values_in_two_tiers_come_in_a_fixed_order() -> None:
    engine = CognitiveMemory()
    engine.add_memory(new_item("port is 9090", id="b", now=5), "L3")
    engine.add_memory(new_item("port is 8080", id="a", now=5), "L1")
    assert found(engine, "port") == ["port is 8080", "port is 9090"]


def test_the_oldest_of_many_is_found_by_its_id() -> None:
    engine = engine_of("ticket ZQ7X4M2K is open", *(f"ticket number{at} is open" for at in range(1200)), tier="L3")
    assert found(engine, "ZQ7X4M2K") == ["ticket ZQ7X4M2K is open"]
    assert found(engine, "tell me of ticket ZQ7X4M2K being open")[0] == "ticket ZQ7X4M2K is open"


@pytest.mark.parametrize("limit", [0, -3, 1])
def test_a_limit_under_one_gives_one(limit: int) -> None:
    assert len(engine_of("port 80 open", "port 81 open", "port 82 open").search("port", limit)) == 1


@pytest.mark.parametrize("query", ["", "the of and", "!!!", "火星"])
def test_a_query_without_known_words_finds_nothing(query: str) -> None:
    assert engine_of("The port is 80").search(query) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("台北", "我叫陳美玲，住在台北，養了兩隻柴犬"),
        ("柴犬", "我叫陳美玲，住在台北，養了兩隻柴犬"),
        ("データベース", "田中さんは東京でデータベース移行を担当"),
        ("부산", "서버는 부산 데이터센터에 있다"),
        ("K7报表", "模块 K7报表 uses port 7001"),
    ],
)
def test_words_of_other_scripts_find_their_fact_first(query: str, expected: str) -> None:
    engine = engine_of(
        "我叫陳美玲，住在台北，養了兩隻柴犬",
        "田中さんは東京でデータベース移行を担当",
        "서버는 부산 데이터센터에 있다",
        "模块 K7报表 uses port 7001",
        "unrelated English fact",
    )
    assert found(engine, query)[0] == expected


def test_collapse_happens_before_the_limit() -> None:
    engine = engine_of(*(["deploy on friday please"] * 3), "deploy on monday please")
    assert found(engine, "deploy", 2) == ["deploy on monday please", "deploy on friday please"]


def test_many_restatements_do_not_hide_what_ranks_after_them() -> None:
    engine = engine_of(*(["deploy deploy deploy"] * 300), "the deploy of harbor with a longer text around it")
    assert len(found(engine, "deploy", 2)) == 2


def test_a_superseded_memory_is_found_only_on_request() -> None:
    engine = CognitiveMemory()
    engine.post_turn("My editor is Vim.", "", now=1)
    engine.post_turn("My editor is Zed.", "", now=2)
    assert found(engine, "editor") == ["My editor is Zed"]
    assert len(engine.search("editor", include_superseded=True)) == 2


def test_the_ts_order_prefers_the_shorter_then_the_hotter() -> None:
    engine = CognitiveMemory(TS)
    for memory_id, content, tier in (
        ("a", "port numbers listed here", "L1"),
        ("b", "port 9090 open", "L3"),
        ("c", "port 8080 open", "L2"),
    ):
        engine.add_memory(
            new_item(content, id=memory_id, now=0), "L1" if tier == "L1" else "L3" if tier == "L3" else "L2"
        )
    assert [hit.item.id for hit in engine.search("port")] == ["c", "b", "a"]


WORDS = st.lists(
    st.sampled_from(["deploy", "port", "host", "friday", "8080", "never", "部署", "harbor"]), min_size=1, max_size=5
)


@given(st.lists(st.tuples(WORDS, st.integers(0, 3)), min_size=1, max_size=12), WORDS, st.randoms())
def test_the_order_of_insertion_changes_nothing(
    rows: list[tuple[list[str], int]], query: list[str], shuffler: random.Random
) -> None:
    items = [new_item(" ".join(row), id=f"m{at}", now=now) for at, (row, now) in enumerate(rows)]
    assert ids(items, query) == ids(shuffler.sample(items, len(items)), query)


def ids(items: list[MemoryItem], query: list[str]) -> list[str]:
    engine = CognitiveMemory()
    for item in items:
        engine.add_memory(item)
    return [hit.item.id for hit in engine.search(" ".join(query), 20)]


def test_searching_changes_nothing() -> None:
    engine = engine_of("The port is 80")
    before = engine.get_snapshot()
    engine.search("port")
    assert engine.get_snapshot() == before
