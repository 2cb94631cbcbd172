"""A small chaos run: a worker dies while turns are paused, in a tool, and with a model's answer in hand."""

import random
from pathlib import Path

from tests.chaos.chaos import run_chaos
from tests.chaos.killer import Kill
from tests.chaos.plans import make_plans

KILLS = (Kill("worker", "tool", 0.02), Kill("worker", "paused", 0.02), Kill("worker", "answered", 0.0))


async def test_no_promise_is_broken_by_three_kills_of_the_worker(tmp_path: Path) -> None:
    """It ends every turn, keeps every acknowledged answer, and repeats no effect that may not be repeated."""
    plans = make_plans(random.Random(1), turns=6, kills=len(KILLS))

    report = await run_chaos(tmp_path, plans, KILLS)

    assert report.breaches == [], report.text
    assert report.figures["worker kills"] == "3"
