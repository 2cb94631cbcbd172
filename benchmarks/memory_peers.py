"""The engine beside its peers on the same rows and questions, each in a process of its own, one after the other in one run.

    /tmp/peers/venv/bin/python -m benchmarks.memory_peers [--sizes 1000,10000]

`memory_rankers` says how to make that environment. Times are CPU time of the whole process, as some peers work in threads;
memory is what the process grew by while it was built.
"""

import argparse
import json
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import psutil

from benchmarks.memory_clock import machine, spent
from benchmarks.memory_corpus import Row, memories, questions
from benchmarks.memory_rankers import BY_MEANING, RANKERS
from benchmarks.tables import Line, table

COLUMNS = ("build", "memory", "add p50", "search p50", "search p99", "medians", "an added row is found")
PACKAGES = ("bm25s", "rank-bm25", "tantivy", "langgraph", "chromadb", "mem0ai")
PATIENCE_S = 900
SLOW_ABOVE = {"mem0": 1_000, "memory_engine, ranking=overlap": 10_000}
"""Rows up to which a peer is measured, where more would take an hour."""

_AFTER = {"bm25s": "after building anew", "rank-bm25": "after building anew", "tantivy": "after a commit"}


def main() -> None:
    """Prints one table a size; with `--one`, the figures of one peer as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.one:
        print(json.dumps(_measured(given.one, sizes[0])))
        return
    print(f"# The memory engine beside its peers\n\n{machine()}; {_versions()}\n", flush=True)
    for size in sizes:
        lines = [_line(name, size) for name in RANKERS if name not in (*BY_MEANING, "memory_engine, neighbours=1")]
        print(table(f"{size:,} rows", COLUMNS, lines), flush=True)
    print(machine())


def _versions() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found)


def _line(name: str, size: int) -> Line:
    if size > SLOW_ABOVE.get(name, size):
        return Line(name, ("not run",) + ("",) * (len(COLUMNS) - 1))
    program = [sys.executable, "-m", "benchmarks.memory_peers", "--one", name, "--sizes", str(size)]
    try:
        ran = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        told = str(getattr(failure, "stderr", "") or failure).strip().splitlines()[-1:]
        return Line(name, (f"not run: {(told or ['?'])[0][:90]}",) + ("",) * (len(COLUMNS) - 1))
    return Line(name, tuple(json.loads(ran.stdout.strip().splitlines()[-1])))


def _measured(name: str, size: int) -> list[str]:
    rows, extra = memories(size), [Row(f"x{at}", f"kumquat{at} is an added row") for at in range(30)]
    asked = questions(rows)
    ranker = RANKERS[name]()
    ranker.search("warm", 1) if name == "SQLite FTS5" else None
    process = psutil.Process()
    before, started = process.memory_info().rss, time.process_time()
    ranker.build(rows)
    built, grown = time.process_time() - started, process.memory_info().rss - before
    searched = spent(
        lambda at: ranker.search(asked[at % len(asked)], 8), 60 if size > 1_000 else 150, every_thread=True
    )
    added = spent(lambda at: ranker.add(extra[at]), 9 if size > 1_000 else 30, every_thread=True)
    is_found = "x1" in ranker.search(extra[1].text, 8)
    visible = _AFTER.get(name, "at once") if is_found else "no"
    return [
        f"{built:.2f} s",
        f"{grown / 1e6:.0f} MB",
        f"{added.p50:.2f} ms",
        f"{searched.p50:.3f} ms",
        f"{searched.p99:.3f} ms",
        f"{searched.low:.3f} to {searched.high:.3f}",
        visible,
    ]


if __name__ == "__main__":
    main()
