"""Many writers of one memory, stored as one version.

Every write of a memory stores the whole of it. So those that wait for the same one are applied together and stored once, each
with the record of its answer: sent again after a crash, a request is answered from there and changes nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import uniform
from time import sleep

from sqlalchemy import Connection

from activities.memory_keeper import MemoryKeeper
from activities.store.database import Database
from activities.store.errors import SnapshotConflict
from activities.store.idempotency import Recorded, add_records, find_records, forget_in_records
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from memory_engine import SCHEMA_VERSION, CognitiveMemory, CognitiveMemoryOptions

TRIES = 20
_LONGEST_PAUSE = 0.05  # seconds


class Refusal(Exception):
    """A change that is not made. It costs the others of its group nothing, and must be raised before anything is changed."""


class KeyReused(Refusal):
    """A request came under the key of another one."""


class AnswerForgotten(Refusal):
    """The request was done, and a memory that stood in its answer was removed since."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a change is answered: a status and a JSON text. `removed` are the ids of the memories it took away."""

    status: int
    body: str
    changed: bool = True
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeatable:
    """Under which key a request may be sent again, and what tells it from another request under that key."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Change:
    """One writer's wish. `work` gets the engine and the time in milliseconds; it may be called again on another engine."""

    work: Callable[[CognitiveMemory, int], Reply]
    request: Repeatable | None = None


Outcome = Reply | Refusal


@dataclass(slots=True)
class _Group:
    """One attempt at a group: what is known of each change so far, and what is to be stored with it."""

    outcomes: list[Outcome] = field(default_factory=list)
    answers: dict[str, Recorded] = field(default_factory=dict)
    fresh: list[Recorded] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Ids of removed memories, as they stand in JSON."""
    changed: bool = False


class GroupKeeper(MemoryKeeper):
    """The memories of all scopes, for many writers. Blocking; safe to share between threads."""

    def __init__(self, database: Database, options: CognitiveMemoryOptions | None = None) -> None:
        super().__init__(SnapshotStore(database), options)
        self._database = database

    def version(self, scope: Scope) -> int:
        """The newest stored version of a memory, 0 when there is none."""
        return self._snapshots.version(scope)

    def answered(self, scope: Scope, request: Repeatable, now_ms: int) -> Outcome | None:
        """What a request was answered that was done before; None for one that was not. A change finds out by itself."""
        found = find_records(self._database, scope, [request.key], now_ms).get(request.key)
        return None if found is None else _repeated(found, request)

    def commit(self, scope: Scope, changes: Sequence[Change], now_ms: int) -> list[Outcome]:
        """Apply the changes in their order and store them as one version; what became of each.

        Raises:
            SnapshotConflict: other processes kept being faster.
            Exception: what a change raised that is no `Refusal`. Then none of them is stored.
        """
        keys = {change.request.key for change in changes if change.request}
        for attempt in range(TRIES):
            group = _Group(answers=find_records(self._database, scope, keys, now_ms))
            with self._newest(scope) as held:
                try:
                    for change in changes:
                        group.outcomes.append(_apply(group, change, held.engine, now_ms))
                    if not group.changed:
                        return group.outcomes
                    blob = held.engine.dump()
                    held.version = self._snapshots.save(
                        scope, held.version, blob, SCHEMA_VERSION, now_ms, _recording(scope, group, now_ms)
                    )
                except SnapshotConflict as conflict:
                    held.version = -1
                    if conflict.newer_schema or attempt == TRIES - 1:
                        raise
                except BaseException:
                    # The engine has changed and was not saved: it must not be taken for the stored state.
                    held.version = -1
                    raise
                else:
                    return group.outcomes
            # Not all who lost at the same moment try again at the same moment.
            sleep(uniform(0, _LONGEST_PAUSE))
        raise AssertionError("unreachable: the last attempt returns or raises")


def _apply(group: _Group, change: Change, engine: CognitiveMemory, now_ms: int) -> Outcome:
    request = change.request
    if request is not None and (answer := group.answers.get(request.key)):
        return _repeated(answer, request)
    try:
        reply = change.work(engine, now_ms)
    except Refusal as refusal:
        return refusal
    group.changed |= reply.changed
    if reply.removed:
        _forget(group, reply.removed)
    if request is not None and reply.changed:
        recorded = Recorded(request.key, request.fingerprint, reply.status, reply.body)
        group.answers[request.key] = recorded
        group.fresh.append(recorded)
    return reply


def _forget(group: _Group, memory_ids: Sequence[str]) -> None:
    """No answer of the group that was made before shows a removed memory."""
    words = [json.dumps(memory_id, ensure_ascii=False) for memory_id in memory_ids]
    group.removed += words
    for place, recorded in enumerate(group.fresh):
        if recorded.body is not None and any(word in recorded.body for word in words):
            group.fresh[place] = group.answers[recorded.key] = replace(recorded, body=None)


def _repeated(answer: Recorded, request: Repeatable) -> Outcome:
    if answer.fingerprint != request.fingerprint:
        return KeyReused("this Idempotency-Key was used for another request")
    if answer.body is None:
        return AnswerForgotten("this request was done before, and what it stored has been removed since")
    return Reply(answer.status, answer.body, changed=False)


def _recording(scope: Scope, group: _Group, now_ms: int) -> Callable[[Connection], None]:
    def record(connection: Connection) -> None:
        forget_in_records(connection, scope, group.removed)
        add_records(connection, scope, group.fresh, now_ms)

    return record
