"""`python -m worker.rows` prints what was too long for a history."""

import json
from pathlib import Path

from tests.commands import run_main, run_module
from tests.support import Harness, external
from worker.rows import main


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

    url = harness.settings.database_url
    calls = await run_module("worker.rows", call.arguments_ref, TURNHOLD_DATABASE_URL=url)
    text = await run_main(main, output.text_ref, TURNHOLD_DATABASE_URL=url)

    assert json.loads(calls.out)["toolCalls"][0]["arguments"] == {"letter": letter}
    assert text.told == (0, f"{essay}\n", "")


async def test_what_does_not_exist_is_said(tmp_path: Path) -> None:
    """With exit code 1 and no traceback."""
    for ref in ("nowhere/1", "nonsense", "/", "a/b/c"):
        ran = await run_main(main, ref, TURNHOLD_DATABASE_URL=f"sqlite:///{tmp_path}/t.db")
        assert ran.code == 1
        assert ran.err.startswith("no row: ")
