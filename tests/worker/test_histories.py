"""`python -m worker.histories` keeps a large history that a turn then begins with."""

import json
from pathlib import Path

from tests.commands import run_main, run_module
from tests.support import Harness
from worker.histories import main


async def test_a_turn_begins_with_a_history_too_large_to_send(harness: Harness, tmp_path: Path) -> None:
    """Three megabytes, of which the model reads the newest that fit."""
    worker = await harness.work()
    file = tmp_path / "history.json"
    entries = [
        {"type": "text", "role": role, "text": "x" * 15_000} for _ in range(100) for role in ("user", "assistant")
    ]
    file.write_text(json.dumps([*entries, {"type": "text", "role": "user", "text": "Call me Ren."}]))
    environment = {"TURNHOLD_DATABASE_URL": harness.settings.database_url}
    code, ref, err = (await run_module("worker.histories", str(file), "--user", "ren", **environment)).told
    assert code == 0, err
    harness.model.say("Ren.")
    turn = await harness.turns.start("My name?", conversationId="h", userId="ren", historyRef=ref.strip())
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
        ran = await run_main(main, str(tmp_path / "bad.json"), TURNHOLD_DATABASE_URL=url)
        assert ran.code == 1
        assert ran.err.startswith("nothing was kept: ")
