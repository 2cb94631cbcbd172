"""Every member of the interface, in Python and from the command line, while its worker is replaced at every step."""

import asyncio
import subprocess
from typing import Any

import pytest

from tests.support import Harness
from tests.worker.gmi import script
from tests.worker.gmi.script import STEPS, TRIGGER, Run, Step
from worker.gmi import IGMI

APP = "tests.worker.gmi.script:app"
PAUSE = next(place for place, step in enumerate(STEPS) if step.member == "process_turn_stream")


def test_the_script_goes_through_every_member() -> None:
    members = {name for name in dir(IGMI) if not name.startswith("_")} | {TRIGGER}

    # The id that a caller has without asking is `get_gmi_id` of the instance.
    assert {step.member for step in STEPS} == members - {"gmi_id"}


@pytest.mark.parametrize("way", [script.in_python, script.by_cli], ids=["python", "cli"])
async def test_replaced_and_killed_workers_change_nothing_that_is_seen(harness: Harness, way: Any) -> None:
    """One worker plays the script; then one that is replaced between every two steps, and killed at the pause."""
    harness.model.handler = script.replies
    await harness.work(script.app)

    async def nothing(place: int, step: Step) -> None:
        return

    victims: list[subprocess.Popen[bytes]] = []

    async def replace(place: int, step: Step) -> None:
        if place == PAUSE:
            victims[0].kill()
            await asyncio.to_thread(victims[0].wait)
        else:
            await harness.workers[-1].stop()
        if place == PAUSE - 1:
            victims.append(harness.work_apart(APP))
        else:
            await harness.work()

    plain, replaced = Run(f"{harness.task_queue}-a"), Run(f"{harness.task_queue}-b")
    without = await script.play(way(harness, plain), plain, nothing)
    with_restarts = await script.play(way(harness, replaced), replaced, replace)

    differences = [pair for pair in zip(without, with_restarts, strict=True) if pair[0] != pair[1]]
    assert differences == []
