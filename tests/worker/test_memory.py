"""`python -m worker.memory` shows a scope's memory to people, takes it out and puts it in."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from activities.memory_keeper import MemoryKeeper
from activities.store.database import open_database
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from memory_engine import Claim, CognitiveMemory, new_item, new_tension
from tests.commands import run_main, run_module
from tests.support import Harness
from worker.memory import main

REN = Scope("local", "ren", "default")


async def run(database_url: str, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """One command: exit code, what it printed, what it complained of."""
    return (await run_main(main, *arguments, TURNHOLD_DATABASE_URL=database_url, **environment)).told


def remember(database_url: str, change: Callable[[CognitiveMemory], Any], scope: Scope = REN) -> None:
    """Change a scope's memory."""
    database = open_database(database_url)
    MemoryKeeper(SnapshotStore(database)).change(scope, 1_767_225_600_000, change)
    database.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/turnhold.db"


async def test_a_person_sees_what_is_held_and_why_the_last_prompt_said_it(harness: Harness) -> None:
    """After two turns: the index, the bodies, the last plan with reasons and price."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    for content in ("My staging host is blue-7.", "What is up with blue-7?"):
        await (await harness.turns.start(content, userId="ren")).result()
    arguments = ("show", "--user", "ren", "--query", "deploy to blue-7")
    ran = await run_module("worker.memory", *arguments, TURNHOLD_DATABASE_URL=harness.settings.database_url)
    code, out, err = ran.told

    assert code == 0, err
    assert "Memory of user ren, persona default, organization local\nversion 2, memories: 1" in out
    index, bodies, *_ = out.split("\n## ")[1:]
    assert "[hot]" in index
    assert "staging host is blue-7" in bodies
    assert "from the user's words" in bodies
    [last] = [part for part in out.split("\n## ") if part.startswith("Last prompt")]
    assert "entries: 1, tokens: " in last
    assert "a line of the index" in last
    [planned] = [part for part in out.split("\n## ") if part.startswith("A message that says 'deploy to blue-7'")]
    assert "tokens) " in planned
    assert "A search for it finds" in out


async def test_contradictions_and_weak_domains_are_shown(url: str) -> None:
    """With the question that would settle them, and the mistakes to look out for."""

    def change(engine: CognitiveMemory) -> None:
        first, second = (Claim(source="user", statement=f"It is in {city}.", timestamp=1) for city in ("Graz", "Linz"))
        engine.add_tension(new_tension(first, second, "critical", "Where is it?"))
        for _ in range(3):
            engine.record_domain_outcome("database", success=False, failure_pattern="forgets the index")

    remember(url, change)
    _, out, _ = await run(url, "show", "--user", "ren")
    assert "[critical] It is in Graz. / It is in Linz.\n  asks: Where is it?" in out
    assert "- database: reliability 32%, outcomes: 3" in out
    assert "beware: forgets the index" in out


async def test_what_is_remembered_cannot_move_the_cursor(url: str) -> None:
    """A terminal obeys escape sequences."""
    remember(
        url, lambda engine: engine.add_memory(new_item("red \x1b[31m\nnew line \u202e end", id="m1\x1b[2J", now=1))
    )
    code, out, _ = await run(url, "show", "--user", "ren", "--query", "\x1b]0;title\x07")
    assert code == 0
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "new line" in out


async def test_an_empty_memory_is_shown_and_not_exported(url: str, tmp_path: Path) -> None:
    """Nothing is there to take out."""
    code, out, _ = await run(url, "show", "--user", "nobody")
    assert (code, "version 0, memories: 0" in out) == (0, True)
    code, _, err = await run(url, "export", str(tmp_path / "out.json"), "--user", "nobody")
    assert code == 1
    assert err == "export: nothing is remembered for this user, persona and organization\n"
    assert not (tmp_path / "out.json").exists()


async def test_an_exported_memory_is_imported_elsewhere_as_it_was(url: str, tmp_path: Path) -> None:
    """In the original engine's JSON shape, readable by its owner alone."""
    remember(url, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    file = tmp_path / "ren.json"
    code, out, err = await run(url, "export", str(file), "--user", "ren")
    assert code == 0, err
    assert out == f"version 1 is in {file}, memories: 1\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    snapshot = json.loads(file.read_bytes())
    assert set(snapshot) == {"l0", "l1", "l2", "l3", "stats", "ext"}
    code, out, err = await run(url, "import", str(file), "--user", "ana", "--organization", "acme")
    assert (code, out) == (0, "the file is version 1 now, memories: 1\n"), err
    again = tmp_path / "ana.json"
    await run(url, "export", str(again), "--user", "ana", "--organization", "acme")
    assert again.read_bytes() == file.read_bytes()


async def test_a_memory_is_replaced_only_on_request(url: str, tmp_path: Path) -> None:
    """And what it was before is one of the versions that are kept."""
    remember(url, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    file = tmp_path / "other.json"
    item = new_item("The staging host is green-2.", id="m1", now=1).model_dump(by_alias=True, exclude_none=True)
    file.write_text(json.dumps({"l2": [item]}))
    code, _, err = await run(url, "import", str(file), "--user", "ren")
    assert code == 1
    assert "--replace" in err
    code, out, _ = await run(url, "import", str(file), "--user", "ren", "--replace")
    assert (code, out) == (0, "the file is version 2 now, memories: 1\n")
    _, out, _ = await run(url, "show", "--user", "ren")
    assert "green-2" in out
    assert "blue-7" not in out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a JSON text"),
        ('{"l1": [', "not a JSON text"),
        ("[1]", "a snapshot is an object"),
        ('{"l1": [{"id": 5}]}', "wrong values"),
        ('{"stats": {"totalTurnsProcessed": NaN}}', "NaN"),
        ('{"ext": {"schemaVersion": 99}}', "newer"),
        ("[" * 100_000, "not a JSON text"),
    ],
)
async def test_a_file_that_is_no_snapshot_is_refused_with_the_reason(
    url: str, tmp_path: Path, text: str, why: str
) -> None:
    """What is remembered stays as it is, with --replace too."""
    remember(url, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    file = tmp_path / "bad.json"
    file.write_text(text)
    code, out, err = await run(url, "import", str(file), "--user", "ren", "--replace")
    assert (code, out) == (1, "")
    assert err.startswith("import: ")
    assert why in err
    database = open_database(url)
    assert SnapshotStore(database).version(REN) == 1
    database.close()


async def test_what_cannot_be_done_is_said_in_one_line(url: str, tmp_path: Path) -> None:
    """A missing file, a folder that does not exist, a database that cannot be opened, a wrong command line."""
    remember(url, lambda engine: engine.remember(["The staging host is blue-7."], now=5))
    for address, app, arguments in (
        (url, "", ["import", str(tmp_path / "missing.json")]),
        (url, "", ["export", str(tmp_path / "missing" / "out.json"), "--user", "ren"]),
        ("mysql://nowhere", "", ["show"]),
        (url, "nosuch:app", ["show"]),
    ):
        code, out, err = await run(address, *arguments, TURNHOLD_APP=app)
        assert (code, out, err.count("\n")) == (1, "", 1)
    assert (await run(url))[0] == 2
    assert (await run(url, "show", "--nonsense"))[0] == 2
