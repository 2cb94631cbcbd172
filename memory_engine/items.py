"""The memories of one tier in a snapshot: a list of models that are made only when somebody looks at them.

Most snapshots are only carried from an engine to a store, or from a store to an engine. For those the rows stay texts, or
stay rows, and ten thousand of them cost little.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Any, overload

from .records import MemoryItem, Record, item_of, record_of
from .rows import encoded, record_of_json


class Items(MutableSequence[MemoryItem]):
    """Behaves as a list of its own; once looked at, the models are what counts."""

    __slots__ = ("_items", "_records", "_texts")

    def __init__(self, items: Iterable[MemoryItem] = ()) -> None:
        self._items: list[MemoryItem] | None = list(items)
        self._records: Sequence[Record] = ()
        self._texts: Sequence[str] | None = None

    @classmethod
    def of_rows(cls, records: Iterable[Record]) -> Items:
        """The present state of an engine's rows."""
        made = cls()
        made._items, made._texts = None, [encoded(record) for record in records]
        return made

    @classmethod
    def of_json(cls, values: Any) -> Items | None:
        """The items of a JSON list; None if not every one of them is plainly right."""
        if type(values) is not list:
            return None
        made = cls()
        records = [record_of_json(value) for value in values]
        if not all(records):
            return None
        made._items, made._records = None, [record for record in records if record is not None]
        return made

    def texts(self) -> Sequence[str]:
        """The canonical JSON of each item."""
        if self._items is not None:
            return [encoded(record_of(item)) for item in self._items]
        return self._texts if self._texts is not None else [encoded(record) for record in self._records]

    def rows(self) -> list[Record]:
        """A row of its own for each item."""
        if self._items is not None:
            return [record_of(item) for item in self._items]
        return [record.clone() for record in self._kept()]

    def _kept(self) -> Sequence[Record]:
        if self._texts is not None:
            read = [record_of_json(value) for value in json.loads(f"[{','.join(self._texts)}]")]
            self._records, self._texts = [record for record in read if record is not None], None
        return self._records

    def _looked_at(self) -> list[MemoryItem]:
        if self._items is None:
            self._items = [item_of(record) for record in self._kept()]
            self._records = ()
        return self._items

    def __len__(self) -> int:
        if self._items is not None:
            return len(self._items)
        return len(self._records if self._texts is None else self._texts)

    @overload
    def __getitem__(self, at: int) -> MemoryItem: ...
    @overload
    def __getitem__(self, at: slice) -> list[MemoryItem]: ...
    def __getitem__(self, at: int | slice) -> MemoryItem | list[MemoryItem]:
        return self._looked_at()[at]

    def __setitem__(self, at: Any, item: Any) -> None:
        self._looked_at()[at] = item

    def __delitem__(self, at: int | slice) -> None:
        del self._looked_at()[at]

    def insert(self, at: int, item: MemoryItem) -> None:
        """Puts an item before a place."""
        self._looked_at().insert(at, item)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Items) and self._looked_at() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Items({self._looked_at()!r})"


def items_in(value: MutableSequence[MemoryItem]) -> Items:
    """The items of a snapshot's field, which a host may have filled with a plain list."""
    return value if isinstance(value, Items) else Items(value)
