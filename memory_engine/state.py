"""All that one engine holds, to a snapshot and back."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import Any

from .errors import SnapshotCorruptError
from .items import Items, items_in
from .knowledge import ProprioceptiveSelfModel
from .ledger import TurnLedger
from .migrations import SCHEMA_VERSION
from .records import Record
from .rows import encoded
from .snapshot import ActiveState, CognitiveMemoryStateSnapshot, MemoryStats, must_be_writable
from .store import MemoryStore
from .tensions import TensionBook, copy_of
from .wire import MemoryTier, plain

_LIST_TIERS: tuple[MemoryTier, ...] = ("L1", "L2", "L3")


@dataclass(slots=True)
class State:
    """Memories, tensions, self-model and counters, and what a snapshot carried that this program does not know."""

    store: MemoryStore
    tensions: TensionBook
    self_model: ProprioceptiveSelfModel
    stats: MemoryStats = field(default_factory=MemoryStats)
    ledger: TurnLedger = field(default_factory=TurnLedger)
    active_task_trace: str = ""
    ext: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, Any] = field(default_factory=dict)
    unknown_l0: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def empty(cls, self_model: ProprioceptiveSelfModel | None = None) -> State:
        """Nothing learned yet."""
        model = ProprioceptiveSelfModel() if self_model is None else self_model.model_copy(deep=True)
        return cls(MemoryStore(), TensionBook(), model)

    def fork(self) -> State:
        """A state of its own with the same contents."""
        return State(
            store=self.store.fork(),
            tensions=TensionBook(list(self.tensions.by_id.values())),
            self_model=self.self_model.model_copy(deep=True),
            stats=self.stats.model_copy(deep=True),
            ledger=TurnLedger(copy.copy(self.ledger.dumped())),
            active_task_trace=self.active_task_trace,
            ext=copy.deepcopy(self.ext),
            unknown=self.unknown,
            unknown_l0=self.unknown_l0,
        )


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What was odd about a snapshot that could be loaded all the same."""

    problems: tuple[str, ...] = ()


def loaded(snapshot: CognitiveMemoryStateSnapshot) -> tuple[State, LoadReport]:
    """A state of its own, sharing nothing with the snapshot. Of an id in two tiers the hotter stays, and is reported."""
    state = State.empty(snapshot.l0.self_model)
    problems: list[str] = []
    for tier in _LIST_TIERS:
        for record in items_in(getattr(snapshot, tier.lower())).rows():
            if record.id in state.store:
                problems.append(f"memory {record.id} occurs again in {tier}; the one in the hotter tier is kept")
                continue
            if record.tier != tier and not (tier == "L1" and record.tier == "L0"):
                problems.append(f"memory {record.id} says {record.tier} but stands in {tier}; the list counts")
                record.tier = tier
                record.encoded = None
            state.store.put_unindexed(record)
    state.tensions = TensionBook(snapshot.l0.tensions)
    state.stats = snapshot.stats.model_copy(deep=True)
    state.active_task_trace = snapshot.l0.active_task_trace
    state.ext = copy.deepcopy(snapshot.ext or {})
    state.ledger = TurnLedger(state.ext.pop("turnLedger", None))
    state.unknown = copy.deepcopy(snapshot.model_extra or {})
    state.unknown_l0 = copy.deepcopy(snapshot.l0.model_extra or {})
    return state, LoadReport(tuple(problems))


def written(state: State) -> bytes:
    """The bytes that `dump_snapshot` makes of `dumped`, without the copies: a store asks for them at every turn.

    Raises:
        SnapshotVersionError: a newer program made it.
        SnapshotCorruptError: a number is not finite.
    """
    must_be_writable(state.ext)
    # Rows, tensions and recorded results keep their text from one save to the next; the rest is small.
    lists = {name: f"[{','.join(map(encoded, rows))}]" for name, rows in _listed(state).items()}
    try:
        active = {
            "tensions": f"[{','.join(state.tensions.texts())}]",
            "selfModel": _json(state.self_model),
            "activeTaskTrace": _json(state.active_task_trace),
            **_members(state.unknown_l0),
        }
        ext = {"schemaVersion": str(SCHEMA_VERSION), **_members({key: state.ext[key] for key in sorted(state.ext)})}
        if len(state.ledger):
            ext["turnLedger"] = state.ledger.written()
        rest = {"stats": _json(state.stats), "ext": _object(ext), **_members(state.unknown)}
    except ValueError as error:
        raise SnapshotCorruptError(f"cannot be written as JSON: {error}") from error
    return _object({"l0": _object(active), **lists, **rest}).encode("ascii")


def _listed(state: State) -> dict[str, Collection[Record]]:
    hot = [*state.store.tier("L0").values(), *state.store.tier("L1").values()]
    hot.sort(key=_placed)
    return {"l1": hot, "l2": state.store.tier("L2").values(), "l3": state.store.tier("L3").values()}


_placed = attrgetter("placed")


def _members(values: dict[str, Any]) -> dict[str, str]:
    return {key: _json(value) for key, value in values.items()}


def _json(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))


def _object(members: dict[str, str]) -> str:
    return f"{{{','.join([f'{quoted(key)}:{text}' for key, text in members.items()])}}}"


def dumped(state: State) -> CognitiveMemoryStateSnapshot:
    """A snapshot of its own, sharing nothing with the state."""
    listed = _listed(state)
    # Sorted, so that a state which was saved in between is written with the same bytes as one that was not.
    ext = {"schemaVersion": SCHEMA_VERSION, **{key: copy.deepcopy(state.ext[key]) for key in sorted(state.ext)}}
    if len(state.ledger):
        ext["turnLedger"] = state.ledger.dumped()
    active = ActiveState.model_construct(
        tensions=[copy_of(tension) for tension in state.tensions.by_id.values()],
        self_model=state.self_model.model_copy(deep=True),
        active_task_trace=state.active_task_trace,
        **copy.deepcopy(state.unknown_l0),
    )
    return CognitiveMemoryStateSnapshot.model_construct(
        l0=active,
        l1=Items.of_rows(listed["l1"]),
        l2=Items.of_rows(listed["l2"]),
        l3=Items.of_rows(listed["l3"]),
        stats=state.stats.model_copy(deep=True),
        ext=ext,
        **copy.deepcopy(state.unknown),
    )
