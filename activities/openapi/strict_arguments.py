"""Arguments that were written in strict mode, as the function itself takes them.

Strict mode has no optional properties: what may be left out is asked for and may be null. Such nulls say that nothing was
given, while a null that the function's own schema allows is a value.
"""

from typing import Any

from activities.conversation import Arguments
from activities.json_schema import schema_fault
from activities.openapi.keywords import referred, types_of
from activities.openapi.operation import Schema

# Each alternative of a value is tried; a hostile value may have very many of them inside one another.
MAX_TRIALS = 1_000
MAX_CHAIN = 50


def without_left_out(schema: Schema, arguments: Arguments) -> Arguments:
    """The arguments without the nulls that stand for what was left out. `schema` is the one that is not strict."""
    made: Arguments = _LeftOut(schema).taken_from(arguments, schema)
    return made


class _LeftOut:
    def __init__(self, root: Schema) -> None:
        self._definitions = root.get("$defs", {})
        self._trials = MAX_TRIALS

    def taken_from(self, value: Any, schema: Schema) -> Any:
        schema = self._resolved(schema)
        if "anyOf" in schema:
            value = self._of_alternative(value, schema["anyOf"])
        match value:
            case dict():
                return self._of_object(value, schema)
            case list() if isinstance(schema.get("items"), dict):
                return [self.taken_from(item, schema["items"]) for item in value]
        return value

    def _of_object(self, value: dict[str, Any], schema: Schema) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        return {
            key: self.taken_from(item, properties[key]) if key in properties else item
            for key, item in value.items()
            if item is not None or key not in properties or key in required or self._takes_null(properties[key], 0)
        }

    def _of_alternative(self, value: Any, branches: list[Schema]) -> Any:
        """The value as the first branch takes it that it fits then."""
        if not isinstance(value, dict | list):
            return value
        for branch in branches:
            self._trials -= 1
            if self._trials < 0:
                break
            made = self.taken_from(value, branch)
            if self._fits(branch, made):
                return made
        return value

    def _fits(self, branch: Schema, value: Any) -> bool:
        try:
            return schema_fault({**branch, "$defs": self._definitions}, value, "") is None
        except ValueError:
            return False

    def _takes_null(self, schema: Schema, depth: int) -> bool:
        schema = self._resolved(schema)
        if depth > MAX_CHAIN or "null" in types_of(schema) or None in schema.get("enum", ()):
            return True
        return any(self._takes_null(branch, depth + 1) for branch in schema.get("anyOf", ()))

    def _resolved(self, schema: Schema) -> Schema:
        for _ in range(MAX_CHAIN):
            name = referred(schema)
            if name is None:
                break
            schema = self._definitions.get(name, {})
        return schema
