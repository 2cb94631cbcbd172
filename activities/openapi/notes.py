"""What was found out about raw schemas, so that each is looked at once however often it is referred to."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Notes(Generic[T]):
    """One value for each raw schema and topic, found when first asked for.

    Schemas are told apart by identity, and kept: some are made while reading, and the identity of a dropped one would soon be
    that of another. While a value is being found, a schema that leads back to itself has the value `meanwhile`.
    """

    def __init__(self, meanwhile: T) -> None:
        self._meanwhile = meanwhile
        self._found: dict[tuple[int, str], tuple[dict[str, Any], T]] = {}

    def about(self, node: dict[str, Any], find: Callable[[], T], topic: str = "") -> T:
        """The value for a schema."""
        key = (id(node), topic)
        if key not in self._found:
            self._found[key] = (node, self._meanwhile)
            self._found[key] = (node, find())
        return self._found[key][1]
