"""Work that must not grow with the number of memories, compared within one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from memory_engine import CognitiveMemory, dump_snapshot, new_item, parse_snapshot


def engine_of(size: int) -> CognitiveMemory:
    engine = CognitiveMemory()
    for at in range(size):
        item = new_item(f"Service {at} runs on host-{at}.acme.example with name{at % 977}", id=f"m{at}", now=at)
        engine.add_memory(item, "L1" if at % 2 else "L3")
    return engine


def best_of(work: Callable[[], object], times: int = 15) -> float:
    spent = []
    for _ in range(times):
        started = time.thread_time()
        work()
        spent.append(time.thread_time() - started)
    return min(spent)


def test_a_plan_of_twenty_thousand_costs_about_what_one_of_a_thousand_does() -> None:
    small, large = engine_of(1_000), engine_of(20_000)
    message = "look at host-7.acme.example please"
    large.plan_injection(message)
    small.plan_injection(message)
    assert best_of(lambda: large.plan_injection(message)) < 10 * best_of(lambda: small.plan_injection(message))
    query = "which host has name7"
    assert best_of(lambda: large.search(query)) < 10 * best_of(lambda: small.search(query))


def test_a_loaded_memory_answers_like_the_one_it_was_saved_from() -> None:
    engine = engine_of(300)
    other = CognitiveMemory()
    other.load_snapshot(parse_snapshot(dump_snapshot(engine.get_snapshot())))
    assert other.plan_injection() == engine.plan_injection()
    assert other.plan_injection("see host-8.acme.example") == engine.plan_injection("see host-8.acme.example")
    assert other.search("service name7") == engine.search("service name7")
    assert other.remove_memory("m3") is True
    assert "m3" not in {hit.item.id for hit in other.search("service host-3.acme.example", 50)}


def test_threads_that_read_at_once_read_the_same() -> None:
    other = CognitiveMemory()
    other.load_snapshot(engine_of(2_000).get_snapshot())
    queries = [f"service host name{at}" for at in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: [hit.item.id for hit in other.search(query)], queries))
    assert together == [[hit.item.id for hit in other.search(query)] for query in queries]
