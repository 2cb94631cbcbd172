"""Making a schema stand alone: what it refers to is written out, or stands beside it under `$defs`.

Written out is what is used once, or is small: many models read that better, and some providers know no `$defs`. What is used
often or contains itself becomes a definition, so that nothing multiplies.
"""

import json
from collections import Counter
from collections.abc import Iterator

from activities.json_values import MAX_DEPTH, json_fault
from activities.openapi.definitions import Definitions, references
from activities.openapi.keywords import referred, rewritten, walk
from activities.openapi.merging import merged
from activities.openapi.operation import Schema
from activities.openapi.reading import Unfit

MAX_CHARS = 256 * 1024
SMALL_SCHEMAS = 3
SMALL_CHARS = 300
MAX_WRITTEN_DEPTH = 30
# Where these stand, a property may be described elsewhere.
_MORE_TO_SAY = frozenset({"$ref", "allOf", "anyOf"})


def closed(schema: Schema, definitions: Definitions) -> Schema:
    """The schema with everything it refers to.

    Raises:
        Unfit: something in it cannot be read, or it is too large or too deep to be shown to a model.
    """
    counts, cyclic = _reached(schema, definitions)
    size = sum(1 for _ in walk(schema)) + sum(definitions.size(name) for name in counts)
    definitions.admit(size)
    kept = {name for name, uses in counts.items() if name in cyclic or (uses > 1 and not _is_small(name, definitions))}
    writing = _Writing(definitions, kept)
    made = writing.written(schema, 0)
    named: dict[str, Schema] = {}
    while missing := [name for name in writing.used if name not in named]:
        for name in missing:
            named[name] = writing.written(definitions.complete(name), 0)
    if named:
        made = {**made, "$defs": _without_empty_circles(named)}
    if json_fault(made) is not None:
        raise Unfit(f"its schema is nested more than {MAX_DEPTH} levels deep")
    if (length := len(json.dumps(made))) > MAX_CHARS:
        raise Unfit(f"its schema has {length:,} characters; at most {MAX_CHARS:,} are shown to a model")
    return made


def _is_small(name: str, definitions: Definitions) -> bool:
    if definitions.size(name) > SMALL_SCHEMAS or definitions.references_in(name):
        return False
    return len(json.dumps(definitions.complete(name))) <= SMALL_CHARS


def _reached(schema: Schema, definitions: Definitions) -> tuple[Counter[str], set[str]]:
    """How often each definition is referred to, and those at which a circle closes."""
    counts: Counter[str] = Counter()
    cyclic: set[str] = set()
    is_open: dict[str, bool] = {}
    path: list[tuple[str, Iterator[str]]] = [("", iter(references(schema)))]
    while path:
        name, ahead = path[-1]
        for inner in ahead:
            counts[inner] += 1
            if inner not in is_open:
                is_open[inner] = True
                path.append((inner, iter(definitions.references_in(inner))))
                break
            if is_open[inner]:
                cyclic.add(inner)
        else:
            is_open[name] = False
            path.pop()
    return counts, cyclic


class _Writing:
    """Writes references out, except those to the names kept; `used` are the names that must stand in `$defs`."""

    def __init__(self, definitions: Definitions, kept: set[str]) -> None:
        self._definitions = definitions
        self._kept = kept
        self.used: dict[str, None] = {}

    def written(self, schema: Schema, depth: int) -> Schema:
        name = referred(schema)
        if name is not None:
            if name in self._kept or depth > MAX_WRITTEN_DEPTH:
                self.used[name] = None
            else:
                beside = {word: value for word, value in schema.items() if word != "$ref"}
                return self.written(merged(beside, self._definitions.complete(name)), depth + 1)
        return _without_unknown(rewritten(schema, lambda inner: self.written(inner, depth + 1)))


def _without_unknown(schema: Schema) -> Schema:
    """The schema without required names that it does not describe: a fault of documents that nobody's value could mend."""
    if "required" not in schema or "properties" not in schema or _MORE_TO_SAY & schema.keys():
        return schema
    known = [name for name in schema["required"] if name in schema["properties"]]
    if len(known) == len(schema["required"]) or schema.get("additionalProperties"):
        return schema
    made = {word: value for word, value in schema.items() if word != "required"}
    return {**made, "required": known} if known else made


def _without_empty_circles(named: dict[str, Schema]) -> dict[str, Schema]:
    """Definitions that are not, by way of references and alternatives alone, a form of themselves.

    Such a circle says nothing about a value, and a validator that follows it never ends.
    """
    made = dict(named)
    ways = {name: set(_in_place(schema)) for name, schema in named.items()}
    for name in made:
        seen: set[str] = set()
        pending = list(ways[name])
        while pending:
            if (each := pending.pop()) not in seen:
                seen.add(each)
                pending.extend(ways.get(each, ()))
        if name in seen:
            made[name] = _cut(made[name])
            ways[name] = set()
    return made


def _in_place(schema: Schema) -> Iterator[str]:
    if name := referred(schema):
        yield name
    for keyword in ("anyOf", "allOf"):
        for branch in schema.get(keyword, ()):
            yield from _in_place(branch)


def _cut(schema: Schema) -> Schema:
    made = {word: value for word, value in schema.items() if word != "$ref"}
    for keyword in ("anyOf", "allOf"):
        if keyword in made:
            made[keyword] = [_cut(branch) for branch in made[keyword] if set(branch) != {"$ref"}]
            if not made[keyword]:
                del made[keyword]
    return made
