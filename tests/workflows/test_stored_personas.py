"""Personas of the database: named by turns and instances, which end with the version they began with."""

import json
import sys
from pathlib import Path

import pytest

from activities.errors import GMI_PERSONA_NOT_FOUND
from tests.support import Harness, external
from worker import personas
from worker.app import AgentApp, Persona, tool
from worker.client import TurnFailed
from worker.gmi import GMI


@tool(side_effects=False)
def look() -> str:
    """Look."""
    return "seen"


@tool(side_effects=False)
def burn() -> str:
    """Burn."""
    return "burnt"


class Console:
    """`python -m worker.personas` on a harness's database."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("TURNHOLD_DATABASE_URL", harness.settings.database_url)
        self._monkeypatch, self._capsys, self._folder = monkeypatch, capsys, harness.folder

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What it prints."""
        self._monkeypatch.setattr(sys, "argv", ["worker.personas", *arguments])
        assert personas.main() == code
        said = self._capsys.readouterr()
        return said.err if code else said.out

    def put(self, text: str, *options: str, code: int = 0, **fields: object) -> str:
        """Put the persona `shelf` with this prompt."""
        file = Path(self._folder) / "shelf.json"
        file.write_text(json.dumps({"id": "shelf", "baseSystemPrompt": text, **fields}))
        return self("put", str(file), *options, code=code)


@pytest.fixture
def console(harness: Harness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Console:
    return Console(harness, monkeypatch, capsys)


def prompts(harness: Harness) -> list[str]:
    return [request["messages"][0]["content"].split("\n\n")[0] for request in harness.model.requests]


async def test_a_turn_ends_with_the_version_it_began_with(harness: Harness, console: Console) -> None:
    """A version put, or the persona removed, while it is paused is the next turn's affair; tools are those granted."""
    await harness.work(AgentApp(personas=[Persona(id="app", tool_ids=("look",))], tools=[look, burn]))
    assert console.put("First.", documents=[{"id": "d", "text": "A refund takes five days."}]) == "shelf: version 1\n"
    harness.model.call([("ask", {})])
    harness.model.script("Done.", "Second done.")

    turn = await harness.turns.start("Refund?", personaId="shelf", externalTools=[external("ask")])
    stop = await harness.pause(turn)
    assert console.put("Second.") == "shelf: version 2\n"
    await turn.signal([{"toolCallId": (stop.tool_calls or ())[0].id, "output": 1}])
    output = await turn.result()
    await (await harness.turns.start("Again", personaId="shelf")).result()

    assert prompts(harness) == ["First.", "First.", "Second."]
    assert [each.id for each in output.rag_sources or ()] == ["d#0"]
    offered = [each["function"]["name"] for each in harness.model.requests[-1]["tools"]]
    assert "look" in offered
    assert "burn" not in offered

    assert console("remove", "shelf") == "shelf: removed\n"
    with pytest.raises(TurnFailed, match="there is no persona 'shelf'; there are: app") as gone:
        await (await harness.turns.start("Still there?", personaId="shelf")).result()
    assert gone.value.code == GMI_PERSONA_NOT_FOUND


async def test_an_instance_keeps_its_copy(harness: Harness, console: Console) -> None:
    await harness.work(AgentApp())
    console.put("First.", personalityTraits={"wit": 0.4})
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize("shelf")
    console.put("Second.")
    await gmi.process_turn("Hi")

    assert prompts(harness) == ["First."]
    assert (await gmi.get_persona()).personality_traits == {"wit": 0.4}


async def test_the_command_lists_reads_back_and_refuses(harness: Harness, console: Console, tmp_path: Path) -> None:
    """Of two who saw the same version the second is refused; files of the worker and large texts are no part of it."""
    assert console.put("One.") == "shelf: version 1\n"
    assert console.put("Two.", "--expect", "1") == "shelf: version 2\n"
    assert "at version 2 now" in console.put("Late.", "--expect", "1", code=1)
    assert console("list").startswith("shelf\tversion 2\t20")
    assert json.loads(console("get", "shelf")) == {"id": "shelf", "baseSystemPrompt": "Two."}
    assert "documents[0].path" in console.put("x", documents=[{"id": "d", "path": "x.md"}], code=1)
    assert "promt: is no field" in console.put("x", promt=1, code=1)
    for command in ("get", "remove"):
        assert "there is no persona 'nobody'" in console(command, "nobody", code=1)
    schema = json.loads(console("schema"))
    assert {"baseSystemPrompt", "memoryConfig", "requiredSecrets"} <= schema["properties"].keys()
    assert console("check", str(harness.folder / "shelf.json"), code=1).startswith("nothing was done: ")
