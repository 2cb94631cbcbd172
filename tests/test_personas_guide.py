"""The code of the guides to personas and to sources runs as it stands there."""

import re
from pathlib import Path

from tests.support import ROOT
from worker.app import AgentApp, Persona, load_personas

DOCS = ROOT / "docs"


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_persona_of_the_guide_is_one(tmp_path: Path) -> None:
    [text] = blocks("personas.md", "yaml")
    (tmp_path / "support.yaml").write_text(text)
    (tmp_path / "refunds.md").write_text("A refund takes five days.")
    [persona] = load_personas(tmp_path)
    assert persona.system_prompt == "You are Ada. You help the customers of Harbor."
    assert persona.completion.max_tokens == 800


def test_the_apps_of_the_guide_to_sources_are_apps(tmp_path: Path) -> None:
    first, second = blocks("sources.md", "python")
    (tmp_path / "refunds.md").write_text("A refund takes five days.")
    space: dict[str, object] = {}
    exec(first.replace("docs/refunds.md", str(tmp_path / "refunds.md")), space)
    app = space["app"]
    assert isinstance(app, AgentApp)
    persona = app.personas.get("support")
    assert isinstance(persona, Persona)
    assert [document.id for document in persona.documents] == ["refunds", "hours"]
    exec(second.replace("[...]", "[]"), space)
    assert isinstance(space["app"], AgentApp)
    assert space["app"].retriever is not None
