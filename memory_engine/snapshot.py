"""The whole memory as one JSON value, in the shape the original TypeScript package reads and writes.

What only this engine knows stands in `ext`, which a TypeScript peer drops without harm, or on the items, where it survives.
"""

from __future__ import annotations

import json
import math
from collections.abc import MutableSequence
from typing import Any, NoReturn

from pydantic import Field, ValidationError, field_serializer

from .collector import collector_paused
from .errors import SnapshotCorruptError, SnapshotVersionError
from .items import Items, items_in
from .knowledge import KnowledgeTension, ProprioceptiveSelfModel
from .migrations import SCHEMA_VERSION, migrated
from .records import MemoryItem
from .wire import Count, Text, WireModel, plain


class ActiveState(WireModel):
    """Tier L0: what every prompt carries."""

    tensions: list[KnowledgeTension] = Field(default_factory=list)
    self_model: ProprioceptiveSelfModel = Field(default_factory=ProprioceptiveSelfModel)
    active_task_trace: Text = ""


class MemoryStats(WireModel):
    """Counters over the life of a memory; numbers only, since a peer adds to them."""

    total_turns_processed: Count = 0
    predictions_hit: Count = 0
    predictions_total: Count = 0
    tensions_detected: Count = 0


class CognitiveMemoryStateSnapshot(WireModel):
    """Everything needed to go on elsewhere. Pinned memories stand in `l1` with tier L0, as the shape has no list for them."""

    l0: ActiveState = Field(default_factory=ActiveState)
    l1: MutableSequence[MemoryItem] = Field(default_factory=list)
    l2: MutableSequence[MemoryItem] = Field(default_factory=list)
    l3: MutableSequence[MemoryItem] = Field(default_factory=list)
    stats: MemoryStats = Field(default_factory=MemoryStats)
    ext: dict[Text, Any] | None = None

    @field_serializer("l1", "l2", "l3")
    def _serialized(self, items: MutableSequence[MemoryItem]) -> list[MemoryItem]:
        return list(items)


_LISTS = ("l1", "l2", "l3")

Snapshot = CognitiveMemoryStateSnapshot


def parse_snapshot(data: bytes | str) -> CognitiveMemoryStateSnapshot:
    """The snapshot in some JSON text.

    Raises:
        SnapshotCorruptError: it is no JSON, holds NaN or infinities, or has another shape. Nothing is guessed.
    """
    with collector_paused():
        try:
            text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise SnapshotCorruptError(f"not a JSON text: {error}") from error
        return validated(value)


def validated(value: object) -> CognitiveMemoryStateSnapshot:
    """The snapshot a JSON value stands for; `{}` is an empty memory. Raises `SnapshotCorruptError`."""
    if not isinstance(value, dict):
        raise SnapshotCorruptError(f"a snapshot is an object, got {type(value).__name__}")
    try:
        value = migrated(value)
        return _validated_by_rows(value) or CognitiveMemoryStateSnapshot.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SnapshotCorruptError(f"{error.error_count()} wrong values, first at {place}: {first['msg']}") from error


def _validated_by_rows(value: dict[str, Any]) -> CognitiveMemoryStateSnapshot | None:
    """The snapshot if all its memories are plainly right, else None; the models then say what is wrong with which."""
    tiers = {name: Items.of_json(value.get(name, [])) for name in _LISTS}
    if None in tiers.values():
        return None
    rest = {key: member for key, member in value.items() if key not in tiers}
    return CognitiveMemoryStateSnapshot.model_validate(rest).model_copy(update=tiers)


def dump_snapshot(snapshot: CognitiveMemoryStateSnapshot) -> bytes:
    """Canonical JSON in ASCII: fixed order of keys, whole floats as integers, no nulls of ours.

    Raises:
        SnapshotVersionError: a newer program made the snapshot; writing it would lose what that program knows.
        SnapshotCorruptError: a number is not finite.
    """
    must_be_writable(snapshot.ext)
    lists = {name: items_in(getattr(snapshot, name)).texts() for name in _LISTS}
    try:
        members = plain(snapshot.model_copy(update=dict.fromkeys(_LISTS)))
        written = {key: json.dumps(member, allow_nan=False, separators=(",", ":")) for key, member in members.items()}
    except ValueError as error:
        raise SnapshotCorruptError(f"cannot be written as JSON: {error}") from error
    written |= {name: f"[{','.join(texts)}]" for name, texts in lists.items()}
    order = dict.fromkeys(("l0", *_LISTS, "stats", *written))
    return f"{{{','.join(f'{json.dumps(key)}:{written[key]}' for key in order)}}}".encode("ascii")


def schema_version(snapshot: CognitiveMemoryStateSnapshot) -> int:
    """The version a snapshot was written with; 0 for one of the original TypeScript package."""
    return _version_in(snapshot.ext)


def must_be_writable(ext: dict[str, Any] | None) -> None:
    """Raises `SnapshotVersionError` for what a newer program wrote; writing it would lose what that program knows."""
    version = _version_in(ext)
    if version > SCHEMA_VERSION:
        raise SnapshotVersionError(f"schema version {version} is newer than {SCHEMA_VERSION}, it can only be read")


def _version_in(ext: dict[str, Any] | None) -> int:
    version = (ext or {}).get("schemaVersion", 0)
    return math.floor(version) if isinstance(version, int | float) else 0


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
