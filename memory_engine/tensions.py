"""Open contradictions: two claims are one tension whichever is named first, and it may be raised again once resolved."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256

from .knowledge import Claim, KnowledgeTension, Resolution
from .self_model import WEAK_BELOW
from .text import normalise
from .wire import TensionImpact, plain

MOST_SETTLED = 2_000
"""Of resolved tensions without a pattern to reuse at most so many are kept, the newest."""

MOST_OPEN = 5_000
"""Statements raise no further contradictions while so many are open: nobody could decide them."""

_IMPACT_ORDER = {"critical": 0, "medium": 1, "low": 2}


@lru_cache(maxsize=1024)
def tension_key(claim_a: str, claim_b: str) -> str:
    """24 hex digits for a pair of claims in either order."""
    first, second = sorted((_normalised(claim_a), _normalised(claim_b)))
    return sha256(f"{first}\0{second}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def new_tension(
    claim_a: Claim, claim_b: Claim, impact: TensionImpact, question: str, *, task_relevance: float = 1.0
) -> KnowledgeTension:
    """An active tension whose id follows from its claims."""
    return KnowledgeTension(
        id=tension_key(claim_a.statement, claim_b.statement),
        status="active",
        claim_a=claim_a,
        claim_b=claim_b,
        impact=impact,
        task_relevance=task_relevance,
        actionable_question=question,
    )


class TensionBook:
    """All tensions by id, resolved ones included: their pattern may be of use again."""

    def __init__(self, tensions: list[KnowledgeTension] | None = None) -> None:
        self.by_id: dict[str, KnowledgeTension] = {}
        """For reading only: their JSON is kept."""
        self._id_of_key: dict[str, str] = {}
        # Plans ask for these at every turn, while those that are resolved grow with the years.
        self._active: dict[str, KnowledgeTension] = {}
        self._settled: dict[str, None] = {}
        self._texts: dict[str, str] = {}
        for tension in tensions or []:
            self._put(copy_of(tension))

    def add(self, tension: KnowledgeTension) -> bool:
        """Takes a copy. True if it is new; the same pair of claims refreshes an active tension or reopens a resolved one."""
        known = self.by_id.get(self._id_of_key.get(_key(tension), ""))
        if known is None:
            self._put(copy_of(tension))
            return True
        _refresh(known, tension)
        self._texts.pop(known.id, None)
        if known.status == "resolved" and tension.status == "active":
            _reopen(known)
            self._file(known)
        return False

    def resolve(self, tension_id: str, resolution: Resolution) -> bool:
        """Ends a tension. False if the id is unknown; a second resolution does not move the time of the first."""
        tension = self.by_id.get(tension_id)
        if tension is None:
            return False
        if tension.resolution is None or tension.status != "resolved":
            tension.resolution = resolution
        tension.status = "resolved"
        self._file(tension)
        return True

    def forget_source(self, source: str) -> None:
        """Drops the tensions that quote a memory which is being removed."""
        for tension_id, tension in list(self.by_id.items()):
            if source in (tension.claim_a.source, tension.claim_b.source):
                self._drop(tension_id)

    def active(self) -> list[KnowledgeTension]:
        """What is undecided: critical before medium before low, then the newest, then by id."""
        return sorted(
            self._active.values(), key=lambda tension: (_IMPACT_ORDER[tension.impact], -_newest(tension), tension.id)
        )

    @property
    def active_count(self) -> int:
        """How many are undecided."""
        return len(self._active)

    def has_room(self, claim_a: str, claim_b: str) -> bool:
        """Whether a contradiction between two claims may be raised: it is known, or few enough are open."""
        return len(self._active) < MOST_OPEN or tension_key(claim_a, claim_b) in self._id_of_key

    def texts(self) -> list[str]:
        """The canonical JSON of each tension, in the order in which they were raised. Raises ValueError for NaN."""
        for tension_id, tension in self.by_id.items():
            if tension_id not in self._texts:
                self._texts[tension_id] = json.dumps(plain(tension), allow_nan=False, separators=(",", ":"))
        return [self._texts[tension_id] for tension_id in self.by_id]

    def _put(self, tension: KnowledgeTension) -> None:
        if tension.id in self.by_id:
            # An id that stands twice, in a snapshot made elsewhere: the key of the first must not lead to the second.
            self._drop(tension.id)
        self.by_id[tension.id] = tension
        self._id_of_key[_key(tension)] = tension.id
        self._file(tension)

    def _file(self, tension: KnowledgeTension) -> None:
        self._active.pop(tension.id, None)
        self._settled.pop(tension.id, None)
        self._texts.pop(tension.id, None)
        if tension.status == "active":
            self._active[tension.id] = tension
        elif tension.status == "resolved" and not (tension.resolution and tension.resolution.pattern):
            self._settled[tension.id] = None
            if len(self._settled) > MOST_SETTLED:
                self._drop(next(iter(self._settled)))

    def _drop(self, tension_id: str) -> None:
        tension = self.by_id.pop(tension_id)
        if self._id_of_key.get(_key(tension)) == tension_id:
            del self._id_of_key[_key(tension)]
        for filed in (self._active, self._settled, self._texts):
            filed.pop(tension_id, None)


def question_between(first: str, second: str) -> str:
    """What to ask a person who can decide between two statements."""
    return f"Which of the two holds now: {first} / {second}?"


def impact_of(scores: list[float], is_identifying: bool) -> TensionImpact:
    """Critical where work is already unreliable or an exact value is at stake, else medium."""
    return "critical" if is_identifying or any(score < WEAK_BELOW for score in scores) else "medium"


def _key(tension: KnowledgeTension) -> str:
    return tension_key(tension.claim_a.statement, tension.claim_b.statement)


@lru_cache(maxsize=1024)
def _normalised(claim: str) -> str:
    # A new statement may contradict many held ones, and each pair has a key of its own.
    return normalise(claim)


def copy_of(tension: KnowledgeTension) -> KnowledgeTension:
    """A tension that shares nothing that can change."""
    parts = (tension.claim_a, tension.claim_b, tension.resolution)
    if tension.model_extra or any(part is not None and part.model_extra for part in parts):
        return tension.model_copy(deep=True)
    first, second, resolution = (None if part is None else part.model_copy() for part in parts)
    return tension.model_copy(update={"claim_a": first, "claim_b": second, "resolution": resolution})


def _newest(tension: KnowledgeTension) -> int:
    return max(tension.claim_a.timestamp, tension.claim_b.timestamp)


def _refresh(known: KnowledgeTension, seen: KnowledgeTension) -> None:
    is_swapped = normalise(known.claim_a.statement) != normalise(seen.claim_a.statement)
    pairs = (
        ((known.claim_a, seen.claim_b), (known.claim_b, seen.claim_a))
        if is_swapped
        else (
            (known.claim_a, seen.claim_a),
            (known.claim_b, seen.claim_b),
        )
    )
    for held, fresh in pairs:
        held.timestamp = max(held.timestamp, fresh.timestamp)


def _reopen(tension: KnowledgeTension) -> None:
    history = list((tension.model_extra or {}).get("history", ()))
    if tension.resolution is not None:
        history.append(plain(tension.resolution))
    tension.status = "active"
    tension.resolution = None
    if tension.__pydantic_extra__ is not None:
        tension.__pydantic_extra__["history"] = history
