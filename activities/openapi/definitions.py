"""The schemas a document refers to, each named once and read once."""

import re
from collections.abc import Callable
from typing import Any

from activities.openapi.keywords import referred, walk
from activities.openapi.operation import Schema
from activities.openapi.property_keys import short_hash
from activities.openapi.reading import Unfit
from activities.openapi.references import Source

MAX_NAME_CHARS = 60
MAX_SCHEMAS = 10_000
MAX_SCHEMAS_TOTAL = 1_000_000
# Definitions read within one another. Far below what the interpreter's stack takes, so that the result never depends on it.
MAX_OPEN = 25
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")

Define = Callable[[str, dict[str, Any], Source, bool], Schema]


class Definitions:
    """Named schemas, read when first asked for. A name stands for one place of a document, however it is spelled."""

    def __init__(self, define: Define) -> None:
        self._define = define
        self._places: dict[str, tuple[dict[str, Any], Source]] = {}
        self._names: dict[int, str] = {}
        self._read: dict[tuple[str, bool], Schema | Unfit] = {}
        self._open: set[tuple[str, bool]] = set()
        self._referred: dict[str, list[str]] = {}
        self._sizes: dict[tuple[str, bool], int] = {}
        self._labels: dict[str, str] = {}
        self._left = MAX_SCHEMAS_TOTAL

    def name_of(self, reference: str, source: Source) -> str | None:
        """The name of the schema referred to; None when it takes anything, as one that refers only to itself does.

        Raises:
            Unfit: the reference leads nowhere, or to something else than a schema.
        """
        passed = set()
        while True:
            node, source = source.look_up(reference)
            if isinstance(node, bool):
                return None
            if not isinstance(node, dict):
                raise Unfit(f"it refers to {reference[:200]}, which is not a schema")
            if node.keys() != {"$ref"} or not isinstance(node["$ref"], str):
                return self._named(node, source, reference)
            if id(node) in passed:
                return None
            passed.add(id(node))
            reference = node["$ref"]

    def _named(self, node: dict[str, Any], source: Source, reference: str) -> str:
        # Places are told apart by identity: the library keeps every document alive.
        if id(node) not in self._names:
            readable = _ILLEGAL.sub("_", reference.rpartition("/")[2])[:MAX_NAME_CHARS] or "schema"
            name = readable if readable not in self._places else f"{readable}_{short_hash(source.base + reference)}"
            self._names[id(node)] = name
            self._places[name] = (node, source)
            self._labels[name] = reference.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        return self._names[id(node)]

    def place(self, name: str) -> tuple[dict[str, Any], Source]:
        """The raw schema and where it was found."""
        return self._places[name]

    def label(self, name: str) -> str:
        """What the document calls a schema."""
        return self._labels[name]

    def definition(self, name: str, own: bool = False) -> Schema | None:
        """The schema of a name, None while it is being read, and while too many others are: then it is read later.

        With `own` it is what the schema says itself, without its subtypes.

        Raises:
            Unfit: it cannot be read; the same fault each time.
        """
        key = (name, own)
        if key in self._open:
            return None
        if key not in self._read and len(self._open) >= MAX_OPEN:
            if own:
                raise Unfit("its schemas extend one another too often")
            return None
        if key not in self._read:
            self._open.add(key)
            try:
                self._read[key] = self._define(name, *self._places[name], own)
            except Unfit as fault:
                self._read[key] = fault
            finally:
                self._open.discard(key)
        found = self._read[key]
        if isinstance(found, Unfit):
            raise found
        return found

    def complete(self, name: str, own: bool = False) -> Schema:
        """The schema of a name, asked for when it is not being read."""
        found = self.definition(name, own)
        assert found is not None, f"{name} is still being read"
        return found

    def references_in(self, name: str) -> list[str]:
        """The names that a definition refers to, as often as it does."""
        if name not in self._referred:
            self._referred[name] = references(self.complete(name))
        return self._referred[name]

    def size(self, name: str, own: bool = False) -> int:
        """How many schemas a definition consists of."""
        key = (name, own)
        if key not in self._sizes:
            self._sizes[key] = sum(1 for _ in walk(self.complete(name, own)))
        return self._sizes[key]

    def admit(self, size: int) -> None:
        """Refuse what consists of more schemas than a function, or all functions together, may have.

        Raises:
            Unfit: it does.
        """
        if size > MAX_SCHEMAS:
            raise Unfit(f"its schema consists of {size:,} parts; at most {MAX_SCHEMAS:,} are shown to a model")
        self._left -= size
        if self._left < 0:
            raise Unfit("the schemas of the document's functions are too large together")


def references(schema: Schema) -> list[str]:
    """The names a schema refers to, as often as it does, in no promised order."""
    return [name for node in walk(schema) if (name := referred(node))]
