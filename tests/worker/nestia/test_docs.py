"""What the page about the agent says to run runs."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from activities.turn_input import SystemPrompts
from tests.support import Harness
from worker.nestia import NestiaConfig

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "nestia-agent.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def run(harness: Harness, block: str) -> str:
    """What a block prints, in a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TEMPORAL_ADDRESS": harness.server.address,
        "TURNHOLD_DATABASE_URL": harness.settings.database_url,
        "OPENAI_API_KEY": "sk-of-the-page",
        "OPENAI_BASE_URL": harness.model.base_url,
        "MODEL": "scripted-1",
    }
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", block],
        cwd=harness.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


async def test_a_session_runs_is_saved_and_goes_on(harness: Harness) -> None:
    first, second = BLOCKS
    harness.model.call([("reserve", {"article": "lamp", "pieces": 2})])
    harness.model.say("Reserved as R-1.")
    printed = await run(harness, first)
    harness.model.say("Two lamps.")
    later = await run(harness, second)

    assert "approved: reserve {'article': 'lamp', 'pieces': 2}" in printed
    assert "describe Reserved as R-1." in printed
    assert later == "Two lamps.\ngone: (('stock', 'reserve'),)\n"


def test_every_setting_is_on_the_page() -> None:
    names = {field.alias or name for name, field in NestiaConfig.model_fields.items()} | set(SystemPrompts.model_fields)
    assert [name for name in sorted(names) if f"`{name}`" not in PAGE] == []
