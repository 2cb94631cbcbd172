from __future__ import annotations

from memory_engine import MAX_CANDIDATES, CognitiveMemory, new_item


def engine_of(*contents: str) -> CognitiveMemory:
    engine = CognitiveMemory()
    for at, content in enumerate(contents):
        engine.add_memory(new_item(content, id=f"m{at:02d}", now=at), "L3")
    return engine


def similar(engine: CognitiveMemory, content: str) -> list[str]:
    return [item.id for item in engine.recall_similar(content)]


def test_at_most_eight_are_offered_in_a_fixed_order() -> None:
    engine = engine_of(*(f"alpha bravo{at} charlie{at}" for at in range(10)))
    assert similar(engine, "alpha delta foxtrot") == [f"m{at:02d}" for at in range(MAX_CANDIDATES)]


def test_an_exact_restatement_comes_first() -> None:
    engine = engine_of("alpha bravo charlie delta", "alpha bravo")
    assert similar(engine, "ALPHA  bravo") == ["m01", "m00"]


def test_a_changed_number_is_offered_and_the_unrelated_is_not() -> None:
    engine = engine_of("port is 2291", "quarterly revenue")
    assert similar(engine, "port is 2292") == ["m00"]
    assert similar(engine, "completely different") == []


def test_near_duplicates_of_other_scripts_are_offered() -> None:
    assert similar(engine_of("不要部署到生产环境"), "不要部署到测试环境") == ["m00"]


def test_a_statement_without_distinctive_words_is_offered_its_exact_restatement_only() -> None:
    assert similar(engine_of("we do it", "we do so"), "We do it") == ["m00"]


def test_a_superseded_memory_is_not_offered() -> None:
    engine = CognitiveMemory()
    engine.post_turn("My editor is Vim.", "", now=1)
    engine.post_turn("My editor is Zed.", "", now=2)
    assert [item.content for item in engine.recall_similar("My editor is Emacs")] == ["My editor is Zed"]
