"""`python -m worker.histories` keeps a large history that a turn then begins with."""

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.support import Harness

ROOT = Path(__file__).resolve().parents[2]


async def keep(database_url: str, file: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker.histories", str(file), *arguments),
        cwd=ROOT,
        env={**os.environ, "TURNHOLD_DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode().strip(), err.decode()


async def test_a_turn_begins_with_a_history_too_large_to_send(harness: Harness, tmp_path: Path) -> None:
    """Three megabytes, of which the model reads the newest that fit."""
    worker = await harness.work()
    file = tmp_path / "history.json"
    entries = [
        {"type": "text", "role": role, "text": "x" * 15_000} for _ in range(100) for role in ("user", "assistant")
    ]
    file.write_text(json.dumps([*entries, {"type": "text", "role": "user", "text": "Call me Ren."}]))
    code, ref, err = await keep(harness.settings.database_url, file, "--user", "ren")
    assert code == 0, err
    harness.model.say("Ren.")
    turn = await harness.turns.start("My name?", conversationId="h", userId="ren", historyRef=ref)
    await turn.result()

    sent = harness.model.requests[-1]["messages"]
    assert [message["content"] for message in sent[-2:]] == ["Call me Ren.", "My name?"]
    assert sum(len(message["content"]) for message in sent) < 200_000
    assert worker


async def test_a_file_that_is_no_history_is_refused(tmp_path: Path) -> None:
    """With the reason, and no traceback."""
    url = f"sqlite:///{tmp_path}/t.db"
    for text in ("not json", '{"a": 1}', '[{"type": "strange"}]'):
        (tmp_path / "bad.json").write_text(text)
        code, _, err = await keep(url, tmp_path / "bad.json")
        assert code == 1
        assert err.startswith("nothing was kept: ")
        assert "Traceback" not in err
