"""`python -m worker.rows` prints what was too long for a history."""

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.support import Harness, external

ROOT = Path(__file__).resolve().parents[2]


async def row(database_url: str, ref: str) -> tuple[int, str, str]:
    """Run the command."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker.rows", ref),
        cwd=ROOT,
        env={**os.environ, "TURNHOLD_DATABASE_URL": database_url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_long_texts_and_arguments_are_found_by_their_references(harness: Harness) -> None:
    """The history has the beginning, the store the whole."""
    await harness.work()
    letter, essay = "ä" * 20_000, "word " * 5_000
    harness.model.call([("send", {"letter": letter})])
    harness.model.say(essay)
    turn = await harness.turns.start("Write", externalTools=[external("send")])
    await harness.pause(turn)
    pending = await turn.pending()
    assert pending is not None
    (call,) = pending.tool_calls
    assert call.arguments_cut
    assert call.arguments_ref is not None
    await turn.signal([{"toolCallId": call.id, "output": "sent"}])
    output = await turn.result()
    assert output.text_ref is not None
    assert len(output.response_text or "") == 8_000

    _, calls, _ = await row(harness.settings.database_url, call.arguments_ref)
    _, text, _ = await row(harness.settings.database_url, output.text_ref)

    assert json.loads(calls)["toolCalls"][0]["arguments"] == {"letter": letter}
    assert text == f"{essay}\n"


async def test_what_does_not_exist_is_said(tmp_path: Path) -> None:
    """With exit code 1 and no traceback."""
    for ref in ("nowhere/1", "nonsense", "/", "a/b/c"):
        code, _, err = await row(f"sqlite:///{tmp_path}/t.db", ref)
        assert code == 1
        assert err.startswith("no row: ")
