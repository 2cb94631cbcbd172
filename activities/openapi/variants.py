"""`oneOf`, `anyOf` and discriminators: values that may have one of several forms.

A discriminator is shown to the model as the fixed values of the property it names, branch by branch. In Swagger 2 and often in
3.0 the branches are not listed at all: a base schema has a discriminator, and other schemas name that base in their `allOf`.
"""

import json
from typing import TYPE_CHECKING, Any

from activities.openapi.keywords import nullable, reference_to, referred, types_of, with_types
from activities.openapi.merging import merged
from activities.openapi.notes import Notes
from activities.openapi.operation import Schema
from activities.openapi.reading import Unfit, list_at
from activities.openapi.references import Source

if TYPE_CHECKING:
    from activities.openapi.schemas import SchemaReader

MAX_SUBTYPES = 200
MAX_DEPTH = 20
_LISTS = ("oneOf", "anyOf")
_COMPONENTS = ("components/schemas", "definitions")


def any_of(branches: list[Schema]) -> Schema:
    """The schema of a value that fits one of the branches, as simply as it can be said."""
    distinct = list({json.dumps(each, sort_keys=True): each for each in branches}.values())
    with_null = {"type": "null"} in distinct
    distinct = [each for each in distinct if each != {"type": "null"}]
    if not distinct:
        return {"type": "null"} if with_null else {}
    made = distinct[0] if len(distinct) == 1 else _choices(distinct) or {"anyOf": distinct}
    return nullable(made) if with_null else made


def _choices(branches: list[Schema]) -> Schema | None:
    """One list of values for branches that are nothing but values."""
    if any(not (each.keys() & {"const", "enum"}) or each.keys() - {"const", "enum", "type"} for each in branches):
        return None
    values = [value for each in branches for value in each.get("enum", [each.get("const")])]
    types = list(dict.fromkeys(name for each in branches for name in types_of(each)))
    made: Schema = {"enum": list({json.dumps(value): value for value in values}.values())}
    return with_types(made, types) if types and all("type" in each for each in branches) else made


class Variants:
    """The branches of schemas of one document, and the subtypes of its base schemas."""

    def __init__(self, main: Source, reader: "SchemaReader") -> None:
        self._main = main
        self._reader = reader
        self._subtypes: dict[str, list[str]] | None = None
        self._values: Notes[frozenset[str] | None] = Notes(meanwhile=None)

    def added(self, made: Schema, node: dict[str, Any], source: Source) -> Schema:
        """The schema so far together with the branches the raw schema lists."""
        for keyword in _LISTS:
            if branches := list_at(node, keyword):
                read = [self._branch(branch, node, source) for branch in branches if branch is not False]
                made = merged(made, any_of(read))
        return made

    def is_base(self, name: str) -> bool:
        node, _ = self._reader.definitions.place(name)
        return _property_of(node) is not None and not any(node.get(keyword) for keyword in _LISTS)

    def of_base(self, name: str, node: dict[str, Any], source: Source) -> Schema | None:
        """The subtypes of a base schema as branches, and the base itself; None when it is none, or has none."""
        if not self.is_base(name) or not (subtypes := self._all_subtypes(name)):
            return None
        branches = []
        for subtype in subtypes:
            try:
                self._reader.definitions.definition(subtype)
            except Unfit as fault:
                self._reader.warnings.append(f"{subtype} is left out of the forms of {name}: {fault}")
            else:
                branches.append(self._with_value(reference_to(subtype), subtype, node, source))
        own = self._reader.definitions.definition(name, own=True) or {}
        if len(branches) < len(subtypes):
            return any_of([*branches, own]) if branches else own
        chosen = self._with_value(own, name, node, source)
        # A base whose own values leave out its name is never meant itself.
        return any_of([*branches, *([] if chosen is own else [chosen])])

    def _branch(self, branch: Any, node: dict[str, Any], source: Source) -> Schema:
        read = self._reader.read(branch, source)
        reference = branch.get("$ref") if isinstance(branch, dict) else None
        if _property_of(node) is None or not isinstance(reference, str):
            return read
        name = self._reader.definitions.name_of(reference, source)
        if name is None or referred(read) != name:
            return read
        return merged(self._with_value(reference_to(name), name, node, source), read)

    def _with_value(self, schema: Schema, name: str, node: dict[str, Any], source: Source) -> Schema:
        """The branch with the values of the discriminator that choose it."""
        tag = _property_of(node)
        assert tag is not None
        values = self._mapped(name, node, source)
        raw, place = self._reader.definitions.place(name)
        if isinstance(raw.get("x-discriminator-value"), str):
            values = [raw["x-discriminator-value"]]
        values = values or [self._reader.definitions.label(name)]
        allowed = self._own_values(raw, place, tag, 0)
        if allowed is not None and not set(values) <= allowed:
            return schema
        key = self._reader.key(tag)
        chosen: Schema = {"properties": {key: {"type": "string", "enum": values}}, "required": [key]}
        return merged(schema, chosen)

    def _mapped(self, name: str, node: dict[str, Any], source: Source) -> list[str]:
        discriminator = node["discriminator"]
        mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
        if not isinstance(mapping, dict):
            return []
        return [value for value, target in mapping.items() if self._is_target(target, name, source)]

    def _is_target(self, target: Any, name: str, source: Source) -> bool:
        """Whether a mapping's target, a reference or the bare name of a component, is the schema of this name."""
        if not isinstance(target, str):
            return False
        spelled = (target,) if target.startswith("#") else (f"#/components/schemas/{target}", target)
        for reference in spelled:
            try:
                return self._reader.definitions.name_of(reference, source) == name
            except Unfit:
                continue
        return False

    def _own_values(self, node: Any, source: Source, tag: str, depth: int) -> frozenset[str] | None:
        """The values a branch itself allows for the property, None when it does not say."""
        if not isinstance(node, dict) or depth > MAX_DEPTH:
            return None
        return self._values.about(node, lambda: self._found_values(node, source, tag, depth), tag)

    def _found_values(self, node: dict[str, Any], source: Source, tag: str, depth: int) -> frozenset[str] | None:
        if isinstance(reference := node.get("$ref"), str):
            return self._own_values(*source.look_up(reference), tag, depth + 1)
        properties = node.get("properties")
        found = properties.get(tag) if isinstance(properties, dict) else None
        if isinstance(found, dict) and isinstance(reference := found.get("$ref"), str):
            found, _ = source.look_up(reference)
        if isinstance(found, dict):
            values = found.get("enum", [found["const"]] if "const" in found else None)
            if isinstance(values, list):
                return frozenset(value for value in values if isinstance(value, str))
        parts = node.get("allOf")
        allowed = (
            self._own_values(part, source, tag, depth + 1) for part in (parts if isinstance(parts, list) else ())
        )
        return next((each for each in allowed if each is not None), None)

    def _all_subtypes(self, base: str) -> list[str]:
        if self._subtypes is None:
            self._subtypes = self._found_subtypes()
        found: dict[str, None] = {}
        pending = list(self._subtypes.get(base, ()))
        while pending and len(found) < MAX_SUBTYPES:
            name = pending.pop(0)
            if name not in found and name != base:
                found[name] = None
                pending.extend(self._subtypes.get(name, ()))
        return list(found)

    def _found_subtypes(self) -> dict[str, list[str]]:
        """The schemas of the document by the bases their `allOf` names."""
        found: dict[str, list[str]] = {}
        for place in _COMPONENTS:
            try:
                schemas, source = self._main.look_up(f"#/{place}")
            except Unfit:
                continue
            for name, node in schemas.items() if isinstance(schemas, dict) else ():
                for base in self._bases(node, source):
                    pointer = name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
                    subtype = self._reader.definitions.name_of(f"#/{place}/{pointer}", source)
                    if subtype is not None:
                        found.setdefault(base, []).append(subtype)
        return found

    def _bases(self, node: Any, source: Source) -> list[str]:
        parts = node.get("allOf") if isinstance(node, dict) else None
        bases = []
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
                try:
                    bases.append(self._reader.definitions.name_of(reference, source))
                except Unfit:
                    continue
        return [name for name in bases if name is not None]


def _property_of(node: dict[str, Any]) -> str | None:
    """The property a discriminator names: an object in 3.x, bare text in Swagger 2."""
    discriminator = node.get("discriminator")
    named = discriminator.get("propertyName") if isinstance(discriminator, dict) else discriminator
    return named if isinstance(named, str) and named else None
