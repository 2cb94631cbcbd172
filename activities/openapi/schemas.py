"""Schemas of Swagger 2.0, OpenAPI 3.0 and 3.1 in one dialect that model providers take: a part of JSON Schema 2020-12.

References to named schemas stay references here (`closing.py` decides which of them are written out), so a schema used in a
thousand places is read once, and one that contains itself is no danger. `oneOf` becomes `anyOf`: a value that fits two
branches is a problem of the document, not of the call. Conditions (`not`, `if`, `dependentSchemas`, …) are left out; without
them more is accepted, and the server has the last word.
"""

from collections.abc import Callable, Collection
from typing import Any

from activities.openapi.constraints import allows_null, scalars
from activities.openapi.definitions import Definitions
from activities.openapi.keywords import nullable, reference_to, referred
from activities.openapi.merging import merged
from activities.openapi.notes import Notes
from activities.openapi.operation import Schema
from activities.openapi.property_keys import key_for
from activities.openapi.reading import Unfit, list_at, object_at, texts_at
from activities.openapi.references import Source
from activities.openapi.variants import Variants, any_of

HUMAN = "x-human"
MAX_EXPANDED = 3_000
MAX_EXPANDED_TOTAL = 500_000
MAX_HIDDEN_DEPTH = 20
MAX_PARTS = 200
# Parts that references share are read again for each operation; a small document may ask for that without end.
MAX_READ_TOTAL = 500_000
_JOINING = ("allOf", "anyOf", "oneOf")
# What counts beside a reference where the version says that nothing does.
_TEXTS_BESIDE = ("title", "description", "deprecated", "default", "example")

Separate = Callable[[dict[str, Any]], bool]


class SchemaReader:
    """Reads the schemas of one document for one direction: what is sent (`request`), or what comes back.

    `siblings` says whether keywords beside `$ref` count, as in 3.1. `separate` marks schemas that a person fills.
    """

    def __init__(self, main: Source, *, request: bool, siblings: bool, separate: Separate | None = None) -> None:
        self.definitions = Definitions(self._define)
        self.names: dict[str, str] = {}
        self.warnings: list[str] = []
        self._request = request
        self._siblings = siblings
        self._separate = separate
        self._hiding = "readOnly" if request else "writeOnly"
        self._left = MAX_EXPANDED_TOTAL
        self._unread = MAX_READ_TOTAL
        self._hidden = Notes(meanwhile=False)
        self._hidden_in: Notes[frozenset[str]] = Notes(meanwhile=frozenset())
        self._variants = Variants(main, self)

    def read(self, node: Any, source: Source) -> Schema:
        """A raw schema in the dialect.

        Raises:
            Unfit: it is not a schema, or a reference in it leads nowhere.
        """
        self._unread -= 1
        if self._unread < 0:
            raise Unfit("the schemas of the document are too large together")
        if node is None or isinstance(node, bool):
            return {}
        if not isinstance(node, dict):
            raise Unfit("a schema is not an object")
        made = self._reference(node, source) if isinstance(node.get("$ref"), str) else self._plain(node, source)
        if self._separate and self._separate(node):
            made = {**made, HUMAN: True}
        return made

    def key(self, name: str) -> str:
        """What a property is called in the dialect; `names` has the way back. Nothing is renamed in what comes back."""
        if not self._request:
            return name
        key = key_for(name)
        if key != name:
            self.names[key] = name
        return key

    def _define(self, name: str, node: dict[str, Any], source: Source, own: bool) -> Schema:
        subtypes = None if own else self._variants.of_base(name, node, source)
        return subtypes or self.read(node, source)

    def _reference(self, node: dict[str, Any], source: Source) -> Schema:
        name = self.definitions.name_of(node["$ref"], source)
        target = {} if name is None else reference_to(name)
        beside = {word: value for word, value in node.items() if word != "$ref"}
        if not beside:
            return target
        null = allows_null(beside)
        if not self._siblings:
            beside = {word: beside[word] for word in _TEXTS_BESIDE if word in beside}
        elif null:
            beside = {word: value for word, value in beside.items() if word not in ("type", "nullable")}
        made = merged(self._plain(beside, source), target)
        return nullable(made) if null else made

    def _plain(self, node: dict[str, Any], source: Source) -> Schema:
        made = scalars(node)
        types = made.get("type", ())
        if "object" in types:
            made |= self._object(node, source)
        if "array" in types:
            made |= self._array(node, source)
        made = self._with_all_of(made, node, source)
        made = self._variants.added(made, node, source)
        if any(keyword in node for keyword in _JOINING):
            made = _open_to_alternatives(self._without_hidden(made, node, source))
        return nullable(made) if allows_null(node) else made

    def _object(self, node: dict[str, Any], source: Source) -> Schema:
        made: Schema = {}
        hidden = set()
        properties = {}
        for name, value in object_at(node, "properties").items():
            if value is False or self._is_hidden(value, source):
                hidden.add(name)
            else:
                properties[self.key(name)] = self.read(value, source)
        if properties or "properties" in node:
            made["properties"] = properties
        if required := [self.key(name) for name in dict.fromkeys(texts_at(node, "required")) if name not in hidden]:
            made["required"] = required
        return made | self._additional(node, source)

    def _additional(self, node: dict[str, Any], source: Source) -> Schema:
        patterns = node.get("patternProperties")
        more = node.get("additionalProperties")
        if isinstance(patterns, dict) and patterns and not more:
            return {"additionalProperties": any_of([self.read(each, source) for each in patterns.values()])}
        if isinstance(more, dict) and more:
            return {"additionalProperties": self.read(more, source)}
        return {} if more is None else {"additionalProperties": more is not False}

    def _array(self, node: dict[str, Any], source: Source) -> Schema:
        items, rest = node.get("items"), node.get("additionalItems")
        first = node.get("prefixItems")
        if isinstance(items, list):
            first, items = items, rest
        if not isinstance(first, list) or not first:
            return {"items": self.read(items, source)}
        read = [self.read(each, source) for each in first]
        if items is False:
            # Every array shown to a model names its items, even one whose places are all spoken for.
            return {"prefixItems": read, "items": any_of(read), "maxItems": len(read)}
        return {"prefixItems": read, "items": self.read(items, source)}

    def _with_all_of(self, made: Schema, node: dict[str, Any], source: Source) -> Schema:
        parts = list_at(node, "allOf")
        if not parts:
            return made
        if len(parts) > MAX_PARTS:
            raise Unfit(f"a schema is made of {len(parts):,} others; at most {MAX_PARTS} are joined")
        alone = len(parts) == 1 and not made.keys() & {"properties", "required", "additionalProperties"}
        for part in parts:
            made = merged(made, self.read(part, source) if alone else self._written_out(part, source))
        return _opened(made) if made.keys() & {"$ref", "allOf"} else made

    def _written_out(self, part: Any, source: Source) -> Schema:
        """A part of `allOf`, with the definition it names in place of the reference where that is not too large."""
        read = self.read(part, source)
        name = referred(read)
        if name is None:
            return read
        beside = {word: value for word, value in read.items() if word != "$ref"}
        own = self._variants.is_base(name)
        target = self.definitions.definition(name, own)
        if target is None:
            # It is being read: it contains itself in a property, or is said to be a part of itself.
            return beside if own else read
        size = self.definitions.size(name, own)
        if size > MAX_EXPANDED or size > self._left:
            return read
        self._left -= size
        return merged(beside, target)

    def _without_hidden(self, made: Schema, node: dict[str, Any], source: Source) -> Schema:
        """Parts of `allOf` and alternatives may require, or describe again, what another part hides."""
        hidden = {self.key(name) for name in self._hidden_names(node, source, 0)}
        if not hidden:
            return made
        made = _without_names(made, hidden)
        if "anyOf" in made:
            made["anyOf"] = [_without_names(branch, hidden) for branch in made["anyOf"]]
        return made

    def _hidden_names(self, node: Any, source: Source, depth: int) -> frozenset[str]:
        if not isinstance(node, dict) or depth > MAX_HIDDEN_DEPTH:
            return frozenset()

        def find() -> frozenset[str]:
            if isinstance(to := node.get("$ref"), str):
                names = self._hidden_names(*source.look_up(to), depth + 1)
            else:
                properties = object_at(node, "properties")
                names = frozenset(name for name, value in properties.items() if self._is_hidden(value, source))
            return names.union(*(self._hidden_names(part, source, depth + 1) for part in list_at(node, "allOf")))

        return self._hidden_in.about(node, find)

    def _is_hidden(self, node: Any, source: Source, depth: int = 0) -> bool:
        """Whether a property takes no part in this direction."""
        if not isinstance(node, dict) or depth > MAX_HIDDEN_DEPTH:
            return False

        def find() -> bool:
            if node.get(self._hiding) is True:
                return True
            if isinstance(to := node.get("$ref"), str) and self._is_hidden(*source.look_up(to), depth + 1):
                return True
            parts = node.get("allOf")
            return isinstance(parts, list) and any(self._is_hidden(part, source, depth + 1) for part in parts)

        return self._hidden.about(node, find)


def _open_to_alternatives(made: Schema) -> Schema:
    """The schema without `additionalProperties: false` where that would forbid what an alternative, or the schema around the
    alternatives, describes: no value could have both."""
    if "anyOf" not in made:
        return made
    own = made.get("properties", {}).keys()
    made = {
        **made,
        "anyOf": [_opened(each) if own - each.get("properties", {}).keys() else each for each in made["anyOf"]],
    }
    says_more = any("$ref" in each or each.get("properties", {}).keys() - own for each in made["anyOf"])
    return _opened(made) if says_more else made


def _opened(schema: Schema) -> Schema:
    if schema.get("additionalProperties") is not False:
        return schema
    return {word: value for word, value in schema.items() if word != "additionalProperties"}


def _without_names(schema: Schema, names: Collection[str]) -> Schema:
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: each for name, each in made["properties"].items() if name not in names}
    if "required" in made:
        made["required"] = [name for name in made["required"] if name not in names]
    return made
