"""What each operation of the memory engine costs: `python -m benchmarks.memory_speed [--sizes 1000,10000,100000]`.

CPU time of the calling thread; p50 and p99 over all calls, and the spread of the medians of three rounds.
"""

import argparse
from collections.abc import Callable

from benchmarks.memory_clock import Spent, machine, once, spent
from benchmarks.memory_corpus import Row, memories, messages, questions
from benchmarks.tables import Line, table
from memory_engine import (
    CognitiveMemory,
    dump_snapshot,
    extract_deterministic,
    extract_domains,
    extract_identifiers,
    has_secret,
    is_interaction_scoped,
    is_lossy_rewrite,
    new_item,
    normalise,
    parse_snapshot,
    relevance_tokens,
    render_safe,
    run_fast_gate,
    screen_injection,
    similarity,
)

COLUMNS = ("p50", "p99", "medians")
TIERS = ("L1", "L2", "L3")
ADVERSARIAL = ("a-", "0f-", "a.", "aa.", "a/", "aA", "A_", "  ", "x is ", "always ", "http://", "actually, we ")
PRIMITIVES: dict[str, Callable[[str], object]] = {
    "run_fast_gate": run_fast_gate,
    "extract_deterministic": extract_deterministic,
    "extract_identifiers": extract_identifiers,
    "extract_domains": extract_domains,
    "relevance_tokens": relevance_tokens,
    "normalise": normalise,
    "render_safe": render_safe,
    "screen_injection": screen_injection,
    "has_secret": has_secret,
    "is_interaction_scoped": is_interaction_scoped,
    "is_lossy_rewrite": lambda text: is_lossy_rewrite(text, text + " x"),
    "similarity": lambda text: similarity(text, text + " x"),
}


def main() -> None:
    """Prints one table a size, and one for what does not depend on it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    print(f"# Speed of the memory engine\n\n{machine()}\n", flush=True)
    for size in sizes:
        print(table(f"{size:,} memories", COLUMNS, _of_size(memories(size))), flush=True)
    print(table("Any size", COLUMNS, _of_text()), flush=True)
    print(machine())


def _line(name: str, cost: Spent, p50: float | None = None, p99: float | None = None) -> Line:
    wanted = [f"{what} < {limit:g} ms" for what, limit in (("p50", p50), ("p99", p99)) if limit is not None]
    met = (p50 is None or cost.p50 < p50) and (p99 is None or cost.p99 < p99)
    return Line(name, cost.shown, ", ".join(wanted) or "none", met if wanted else None)


def _of_size(rows: list[Row]) -> list[Line]:
    engine = CognitiveMemory()
    items = [new_item(row.text, id=row.id, now=at + 1) for at, row in enumerate(rows)]
    added = spent(lambda at: engine.add_memory(items[at], TIERS[at % 3]), len(rows))  # type: ignore[arg-type]
    asked, said = questions(rows), messages(rows)
    engine.plan_injection("warm")
    is_small = len(rows) <= 10_000
    lines = [
        _line("add", added, 0.2),
        _line("plan, message names a host", spent(lambda at: engine.plan_injection(said[at % 200]), 600), 0.2, 1.0),
        _line("plan, no message", spent(lambda at: engine.plan_injection(), 600), 0.2, 1.0),
        _line("search, 8 hits", spent(lambda at: engine.search(asked[at % 200]), 300), 1.0 if is_small else 3.0),
        _line("search with neighbours", spent(lambda at: engine.search(asked[at % 200], neighbours=1), 300)),
        _line("recall_similar", spent(lambda at: engine.recall_similar(f"{rows[at].text} more"), 300)),
    ]
    data = dump_snapshot(engine.get_snapshot())
    lines += _snapshots(engine, data, is_small)
    fork = engine.fork()
    fork.post_turn("hello", "hi", now=10**9)
    learn = spent(lambda at: fork.post_turn(_said(at, said), asked[at % 200], turn_id=f"t{at}", now=10**9 + at), 150)
    lines.append(_line("post_turn, rules only", learn, 5.0 if is_small else None))
    warm = once(lambda: dump_snapshot(fork.get_snapshot()))
    return [*lines, _line("save after a turn", warm, 100.0 if is_small else None)]


def _snapshots(engine: CognitiveMemory, data: bytes, is_small: bool) -> list[Line]:
    def save_cold() -> None:
        for record in engine._state.store.all_rows():
            record.encoded = None
        dump_snapshot(engine.get_snapshot())

    def load() -> CognitiveMemory:
        other = CognitiveMemory()
        other.load_snapshot(parse_snapshot(data))
        return other

    return [
        _line(f"save, {len(data) / 1e6:.1f} MB, no row encoded yet", once(save_cold), 100.0 if is_small else None),
        _line("parse and load", once(load)),
        _line("parse, load, and first search", once(lambda: load().search("host"))),
        _line("fork", once(engine.fork)),
    ]


def _said(at: int, said: list[str]) -> str:
    return f"My editor {at} is Zed{at}. Never deploy to host-{at}.acme.example on Fridays. {said[at % 200]}"


def _of_text() -> list[Line]:
    typical = messages(memories(200))
    long = ("the login page actually works well today. " * 500)[:20_000]
    lines = [
        _line("gate, 15 words", spent(lambda at: run_fast_gate(typical[at % 200]), 600), 0.1),
        _line("gate, 20,000 characters", spent(lambda at: run_fast_gate(long), 60), None, 5.0),
    ]
    for name, primitive in PRIMITIVES.items():
        worst = max(once(lambda: primitive((unit * 20_000)[:20_000]), 3).p50 for unit in ADVERSARIAL)  # noqa: B023
        cost = Spent(worst, worst, worst, worst)
        lines.append(_line(f"{name}, worst of {len(ADVERSARIAL)} texts of 20 kB", cost, 50.0))
    return lines


if __name__ == "__main__":
    main()
