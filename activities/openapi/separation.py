"""Splitting what a function takes between the model and a person, and joining the two again.

A schema is marked as the person's where a file stands, or where the predicate of the app says so (`is_secret`, for one). An
object is divided member by member and an array within its items. What cannot be cut, a union or a map with a mark anywhere in
it, goes to the person whole: the model must not be asked for a secret in one of its forms.
"""

from typing import Any

from activities.openapi.keywords import reference_to, referred, rewritten, walk
from activities.openapi.operation import Schema
from activities.openapi.schemas import HUMAN

MODEL_SUFFIX, HUMAN_SUFFIX = ".Llm", ".Human"
_EXTENSIONS = ("x-human", "x-secret", "x-sensitive")


def is_secret(schema: dict[str, Any]) -> bool:
    """Whether a raw schema is a secret: a password by its format, write-only text, or marked so by the document."""
    if schema.get("format") == "password" or any(schema.get(word) is True for word in _EXTENSIONS):
        return True
    return schema.get("writeOnly") is True and schema.get("type") in (None, "string")


def separated(schema: Schema) -> tuple[Schema, Schema, Schema | None]:
    """The whole without its marks, the model's part, and the person's; None and the whole for the model when nothing is
    marked. All stand alone."""
    if not any(HUMAN in node for node in walk(schema)):
        return schema, schema, None
    split = _Split(schema.get("$defs", {}))
    body = {word: value for word, value in schema.items() if word != "$defs"}
    model, human = split.parts(body)
    return (
        _unmarked(schema),
        _with_used(model if model is not None else _nothing(), split.named),
        _with_used(human, split.named) if human is not None else None,
    )


def merge_parts(model: Any, human: Any) -> Any:
    """Arguments of the model and of the person as one: objects by key, arrays by index; the person's wins where both speak."""
    if human is None:
        return model
    if isinstance(model, dict) and isinstance(human, dict):
        return {**model, **{key: merge_parts(model.get(key), value) for key, value in human.items()}}
    if isinstance(model, list) and isinstance(human, list):
        longer = model if len(model) > len(human) else human
        pairs = zip(model, human, strict=False)
        return [*(merge_parts(ours, theirs) for ours, theirs in pairs), *longer[min(len(model), len(human)) :]]
    return human


class _Split:
    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.named: dict[str, Schema] = {}
        self._definitions = definitions
        self._marked = _marked_names(definitions)
        self._parts: dict[str, tuple[bool, bool]] = {}

    def parts(self, schema: Schema) -> tuple[Schema | None, Schema | None]:
        """The model's and the person's part of a schema, None where one has none."""
        if schema.get(HUMAN):
            return None, self._whole(schema)
        if not self._has_mark(schema):
            return self._whole(schema), None
        if name := referred(schema):
            return self._of_definition(name)
        if self._can_be_cut(schema):
            return self._of_object(schema) if "properties" in schema else self._of_items(schema)
        return None, self._whole(schema)

    def _can_be_cut(self, schema: Schema) -> bool:
        """Whether all marks are in members that have a name, or in the items of a list."""
        more = schema.get("additionalProperties")
        if schema.keys() & {"anyOf", "allOf", "prefixItems"} or (isinstance(more, dict) and self._has_mark(more)):
            return False
        return "properties" in schema or "items" in schema

    def _of_object(self, schema: Schema) -> tuple[Schema | None, Schema | None]:
        sides: tuple[dict[str, Schema], dict[str, Schema]] = ({}, {})
        for name, inner in schema["properties"].items():
            for side, part in zip(sides, self.parts(inner), strict=True):
                if part is not None:
                    side[name] = part
        model, human = (self._narrowed(schema, side) for side in sides)
        if human is not None:
            human["additionalProperties"] = False
        return model, human

    def _narrowed(self, schema: Schema, properties: dict[str, Schema]) -> Schema | None:
        if not properties:
            return None
        made = {**schema, "properties": properties}
        more = made.get("additionalProperties")
        if isinstance(more, dict):
            made["additionalProperties"] = self._whole(more)
        required = [name for name in schema.get("required", ()) if name in properties]
        return {**made, "required": required} if required else _without(made, "required")

    def _of_items(self, schema: Schema) -> tuple[Schema | None, Schema | None]:
        model, human = self.parts(schema["items"])
        return (
            {**schema, "items": model} if model is not None else None,
            {**schema, "items": human} if human is not None else None,
        )

    def _of_definition(self, name: str) -> tuple[Schema | None, Schema | None]:
        if name not in self._parts:
            # While a definition that contains itself is divided, both parts are taken to exist.
            self._parts[name] = (True, True)
            model, human = self.parts(self._definitions[name])
            self._parts[name] = (model is not None, human is not None)
            if model is not None:
                self.named[name + MODEL_SUFFIX] = model
            if human is not None:
                self.named[name + HUMAN_SUFFIX] = human
        has_model, has_human = self._parts[name]
        return (
            reference_to(name + MODEL_SUFFIX) if has_model else None,
            reference_to(name + HUMAN_SUFFIX) if has_human else None,
        )

    def _whole(self, schema: Schema) -> Schema:
        """The schema undivided, and what it refers to with it."""
        made = _unmarked(schema)
        pending = [made]
        while pending:
            for node in walk(pending.pop()):
                name = referred(node)
                if name and name not in self.named:
                    self.named[name] = _unmarked(self._definitions[name])
                    pending.append(self.named[name])
        return made

    def _has_mark(self, schema: Schema) -> bool:
        return any(HUMAN in node or referred(node) in self._marked for node in walk(schema))


def _marked_names(definitions: dict[str, Schema]) -> frozenset[str]:
    """The definitions that have a mark in them, or in what they refer to."""
    marked = {name for name, schema in definitions.items() if any(HUMAN in node for node in walk(schema))}
    uses = {name: {referred(node) for node in walk(schema)} for name, schema in definitions.items()}
    while more := {name for name in definitions if name not in marked and uses[name] & marked}:
        marked |= more
    return frozenset(marked)


def _with_used(schema: Schema, named: dict[str, Schema]) -> Schema:
    used: dict[str, Schema] = {}
    pending = [schema]
    while pending:
        for node in walk(pending.pop()):
            name = referred(node)
            if name and name not in used:
                # The part of a definition that turned out to be empty takes nothing.
                used[name] = named.get(name, _nothing())
                pending.append(used[name])
    return {**schema, "$defs": used} if used else schema


def _nothing() -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _unmarked(schema: Schema) -> Schema:
    made = rewritten(schema, _unmarked)
    return _without(made, HUMAN) if HUMAN in made else made


def _without(schema: Schema, word: str) -> Schema:
    return {key: value for key, value in schema.items() if key != word}
