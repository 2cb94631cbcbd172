"""How often a search finds what answers a question, each ranker beside the others, on LoCoMo conversations.

    /tmp/peers/venv/bin/python -m benchmarks.memory_quality path/to/locomo.json

`memory_rankers` says how to make that environment; without the peers, the engine's own rankings are measured alone. One pool
a conversation, one row a turn. any@k: some turn of the evidence is among the first k; evid@5: the share of the evidence that is.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory_clock import machine
from benchmarks.memory_locomo import Conversation, conversations
from benchmarks.memory_rankers import BY_MEANING, BY_WORDS, RANKERS
from benchmarks.tables import Line, table

COLUMNS = ("any@1", "any@5", "any@10", "evid@5", "MRR")
DEFAULT_TARGET, NEIGHBOURS_TARGET = 0.62, 0.68
DEPTH = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one question: the place of the first turn of the evidence, and the share of it among the first five."""

    place: int | None
    share: float


def main() -> None:
    """Prints one table without dates in the rows and one with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="a LoCoMo file")
    path = parser.parse_args().path
    print(f"# Retrieval quality\n\n{machine()}, {path.name}\n", flush=True)
    for with_dates in (False, True):
        pools = list(conversations(path, with_dates=with_dates))
        asked = sum(len(pool.questions) for pool in pools)
        rows = sum(len(pool.rows) for pool in pools)
        title = f"{'Turns with their date as text' if with_dates else 'Turns'}: {asked} questions, {rows:,} rows"
        print(table(title, COLUMNS, [_line(name, pools, with_dates) for name in (*BY_WORDS, *BY_MEANING)]), flush=True)
    print(machine())


def _line(name: str, pools: Sequence[Conversation], with_dates: bool) -> Line:
    try:
        outcomes = [outcome for pool in pools for outcome in _outcomes(name, pool)]
    except ImportError as missing:
        return Line(name, (f"not run: {missing}",) + ("",) * (len(COLUMNS) - 1))
    any_at = {count: _share_found(outcomes, count) for count in (1, 5, 10)}
    figures = (
        f"{any_at[1]:.3f}",
        f"{any_at[5]:.3f}",
        f"{any_at[10]:.3f}",
        f"{sum(outcome.share for outcome in outcomes) / len(outcomes):.3f}",
        f"{sum(1 / (outcome.place + 1) for outcome in outcomes if outcome.place is not None) / len(outcomes):.3f}",
    )
    target = {("memory_engine", False): DEFAULT_TARGET, ("memory_engine, neighbours=1", True): NEIGHBOURS_TARGET}.get(
        (name, with_dates)
    )
    if target is None:
        return Line(name, figures)
    return Line(name, figures, f"any@5 >= {target}", any_at[5] >= target)


def _outcomes(name: str, pool: Conversation) -> list[Outcome]:
    ranker = RANKERS[name]()
    ranker.build(pool.rows)
    outcomes = []
    for question, evidence in pool.questions:
        found = ranker.search(question, DEPTH)
        place = next((at for at, memory_id in enumerate(found) if memory_id in evidence), None)
        outcomes.append(Outcome(place, len(evidence & set(found[:5])) / len(evidence)))
    return outcomes


def _share_found(outcomes: Sequence[Outcome], count: int) -> float:
    return sum(outcome.place is not None and outcome.place < count for outcome in outcomes) / len(outcomes)


if __name__ == "__main__":
    main()
