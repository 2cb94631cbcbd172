"""Personas as files: JSON, YAML or TOML, one persona a file or several."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from activities.openapi.yaml_text import parse_yaml
from activities.personas import Persona

SUFFIXES = (".json", ".yaml", ".yml", ".toml")
MAX_FILE_BYTES = 8_000_000
SHOWN_FAULTS = 5


class PersonaFileInvalid(ValueError):
    """A file of personas cannot be used; the message names the file, and the line or the field."""


def load_personas(path: str | Path) -> list[Persona]:
    """The personas of a file, or of all JSON, YAML and TOML files of a folder, by their names.

    A file holds a persona, a list of them, or an object whose `personas` is one. Paths of documents count from its folder.

    Raises:
        PersonaFileInvalid: a file cannot be read, holds no persona, or one that is wrong; or an id stands twice.
    """
    place = Path(path)
    found: dict[str, Path] = {}
    personas = []
    for file in _files(place):
        for persona in _read(file):
            if persona.id in found:
                raise PersonaFileInvalid(f"{file}: the persona {persona.id} stands in {found[persona.id]} too")
            found[persona.id] = file
            personas.append(persona)
    if not personas:
        raise PersonaFileInvalid(f"{place}: holds no persona; files are told by {', '.join(SUFFIXES)}")
    return personas


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        if place.suffix.lower() not in SUFFIXES:
            raise PersonaFileInvalid(f"{place}: is told by its name to be none of {', '.join(SUFFIXES)}")
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())


def _read(file: Path) -> Iterator[Persona]:
    given = _parsed(file)
    many = given["personas"] if isinstance(given, dict) and set(given) == {"personas"} else given
    for index, raw in enumerate(many if isinstance(many, list) else [many]):
        where = f"{file}: personas[{index}]" if isinstance(many, list) else str(file)
        if not isinstance(raw, dict):
            raise PersonaFileInvalid(f"{where}: is no object")
        try:
            yield Persona.model_validate(_from_folder(raw, file.parent))
        except ValidationError as invalid:
            raise PersonaFileInvalid(f"{where}: {faults_of(invalid)}") from None


def _parsed(file: Path) -> Any:
    try:
        raw = file.read_bytes()
    except OSError as fault:
        raise PersonaFileInvalid(f"{file}: {(fault.strerror or 'cannot be read').lower()}") from None
    if len(raw) > MAX_FILE_BYTES:
        raise PersonaFileInvalid(f"{file}: has more than {MAX_FILE_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
        match file.suffix.lower():
            case ".json":
                return json.loads(text)
            case ".toml":
                return tomllib.loads(text)
        return parse_yaml(text)
    except json.JSONDecodeError as fault:
        raise PersonaFileInvalid(f"{file}: line {fault.lineno}: {fault.msg}") from None
    except (ValueError, RecursionError) as fault:
        raise PersonaFileInvalid(f"{file}: {str(fault) or 'is nested too deeply'}") from None


def faults_of(invalid: ValidationError) -> str:
    """Each wrong field and what is wrong with it. Values are left out."""
    faults = invalid.errors(include_input=False, include_url=False, include_context=False)[:SHOWN_FAULTS]
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'persona'}: {_said(fault)}" for fault in faults)


def _said(fault: Any) -> str:
    return "is no field of a persona" if fault["type"] == "extra_forbidden" else str(fault["msg"])


def _from_folder(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    documents = raw.get("documents")
    if not isinstance(documents, list):
        return raw
    return {**raw, "documents": [_placed(document, folder) for document in documents]}


def _placed(document: Any, folder: Path) -> Any:
    if not isinstance(document, dict) or not isinstance(document.get("path"), str):
        return document
    return {**document, "path": str(folder / document["path"])}
