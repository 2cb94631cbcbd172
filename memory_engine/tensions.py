"""Open contradictions: two claims are one tension whichever is named first, and it may be raised again once resolved."""

from __future__ import annotations

from hashlib import sha256

from .knowledge import Claim, KnowledgeTension, Resolution
from .self_model import WEAK_BELOW
from .text import normalise
from .wire import TensionImpact, plain

MOST_SETTLED = 2_000
"""Of resolved tensions without a pattern to reuse at most so many are kept, the newest."""

_IMPACT_ORDER = {"critical": 0, "medium": 1, "low": 2}


def tension_key(claim_a: str, claim_b: str) -> str:
    """24 hex digits for a pair of claims in either order."""
    first, second = sorted((normalise(claim_a), normalise(claim_b)))
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
        self._id_of_key: dict[str, str] = {}
        # Plans ask for these at every turn, while those that are resolved grow with the years.
        self._active: dict[str, KnowledgeTension] = {}
        self._settled: dict[str, None] = {}
        for tension in tensions or []:
            self._put(tension.model_copy(deep=True))

    def add(self, tension: KnowledgeTension) -> bool:
        """Takes a copy. True if it is new; the same pair of claims refreshes an active tension or reopens a resolved one."""
        known = self.by_id.get(self._id_of_key.get(_key(tension), ""))
        if known is None:
            self._put(tension.model_copy(deep=True))
            return True
        _refresh(known, tension)
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

    def _put(self, tension: KnowledgeTension) -> None:
        self.by_id[tension.id] = tension
        self._id_of_key[_key(tension)] = tension.id
        self._file(tension)

    def _file(self, tension: KnowledgeTension) -> None:
        self._active.pop(tension.id, None)
        self._settled.pop(tension.id, None)
        if tension.status == "active":
            self._active[tension.id] = tension
        elif tension.status == "resolved" and not (tension.resolution and tension.resolution.pattern):
            self._settled[tension.id] = None
            if len(self._settled) > MOST_SETTLED:
                self._drop(next(iter(self._settled)))

    def _drop(self, tension_id: str) -> None:
        tension = self.by_id.pop(tension_id)
        self._id_of_key.pop(_key(tension), None)
        self._active.pop(tension_id, None)
        self._settled.pop(tension_id, None)


def question_between(first: str, second: str) -> str:
    """What to ask a person who can decide between two statements."""
    return f"Which of the two holds now: {first} / {second}?"


def impact_of(scores: list[float], is_identifying: bool) -> TensionImpact:
    """Critical where work is already unreliable or an exact value is at stake, else medium."""
    return "critical" if is_identifying or any(score < WEAK_BELOW for score in scores) else "medium"


def _key(tension: KnowledgeTension) -> str:
    return tension_key(tension.claim_a.statement, tension.claim_b.statement)


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
