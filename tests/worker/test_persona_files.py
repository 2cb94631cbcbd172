"""Personas as files: read from JSON, YAML and TOML, and refused with the place of what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from activities.persona_prompt import PromptTemplate
from worker.app import AgentApp, Persona, load_personas, tool

ANALYST = {
    "analyst.json": '{"id": "analyst", "toolIds": ["look"], "baseSystemPrompt": "Read figures."}',
    "helpers.yaml": """
- id: support
  baseSystemPrompt: {template: "You are {{name}}.", variables: [name]}
  name: Ada
  version: "1.10"
  defaultLanguage: no
  documents:
    - {id: rules, path: texts/rules.md}
""",
    "shop.toml": """
[[personas]]
id = "shop"
defaultModelId = "m-1"
memoryConfig = { enabled = false }
""",
    "notes.txt": "no persona",
}


def folder(tmp_path: Path, files: dict[str, str]) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "rules.md").write_text("A refund takes five days.")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@tool(side_effects=False)
def look() -> str:
    """Look."""
    return ""


def test_a_folder_holds_personas_in_three_notations(tmp_path: Path) -> None:
    found = {persona.id: persona for persona in load_personas(folder(tmp_path, ANALYST))}

    assert list(found) == ["analyst", "support", "shop"]
    assert found["analyst"].tool_ids == ("look",)
    assert found["support"].base_system_prompt == PromptTemplate(template="You are {{name}}.", variables=("name",))
    assert found["support"].system_prompt == "You are Ada."
    assert found["support"].default_language == "no"
    assert found["support"].documents[0].path == str(tmp_path / "texts" / "rules.md")
    assert found["shop"].model == "m-1"
    assert not found["shop"].remembers


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.json", '{\n"id": }', r"a\.json: line 2: Expecting value"),
        ("a.yaml", "id: a\nid: b", r"a\.yaml: line 2: the key 'id' stands twice"),
        ("a.yaml", "id: [", r"a\.yaml: line 2: did not find"),
        ("a.toml", 'id = "a"\nid = "b"\n[x]', r"a\.toml: .*line 2"),
        ("a.json", '{"id": "a", "promt": 1}', r"a\.json: promt: is no field of a persona"),
        ("a.json", '[{"id": "a"}, {"id": ""}]', r"a\.json: personas\[1\]: id: "),
        (
            "a.json",
            '{"id": "a", "metaPrompts": [{"id": "m"}]}',
            r"a\.json: metaPrompts\.0\.promptTemplate: Field required",
        ),
        ("a.json", "5", r"a\.json: is no object"),
        ("a.json", "[]", "holds no persona"),
        ("a.json", '["x"]', r"personas\[0\]: is no object"),
        ("a.json", "[" * 100_000, r"a\.json: "),
        ("a.json", '[{"id": "a"}, {"id": "a"}]', "the persona a stands in .* too"),
        ("a.md", "# A", "is told by its name to be none of"),
        ("a.json", '{"id": "a", "customFields": {"key": "sk-secret"}, "x": 1}', "x: is no field"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, name: str, text: str, wrong: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ValueError, match=wrong) as refused:
        load_personas(file)
    assert "sk-secret" not in str(refused.value)


def test_what_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b'{"id": "\xff"}')
    for path, wrong in ((tmp_path / "none.json", "no such file"), (tmp_path / "bytes.json", "utf-8")):
        with pytest.raises(ValueError, match=wrong):
            load_personas(path)


def test_an_app_takes_personas_beside_its_own_or_alone(tmp_path: Path) -> None:
    found = load_personas(folder(tmp_path, ANALYST))
    beside, alone = AgentApp(personas=[Persona(id="own")], tools=[look]), AgentApp(tools=[look])
    beside.add_personas(found)
    alone.add_personas(found)

    assert beside.personas.ids == ("own", "analyst", "support", "shop")
    assert alone.personas.ids == ("analyst", "support", "shop")
    for app, wrong in ((beside, "two personas"), (AgentApp(), "tools that do not exist: look")):
        with pytest.raises(ValueError, match=wrong):
            app.add_personas(found)


def test_a_persona_written_out_is_read_back_the_same(tmp_path: Path) -> None:
    found: list[Any] = load_personas(folder(tmp_path, ANALYST))
    file = tmp_path / "again.json"
    for persona in found:
        file.write_text(persona.model_dump_json(by_alias=True, exclude_unset=True))
        assert load_personas(file) == [persona]
