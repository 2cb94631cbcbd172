"""What a reconciler's verdict may do to two statements, and when it is refused because something would be lost.

A model that is asked for the fuller of two statements tends to summarise. So a rewrite is taken only if it shows every word,
number and name of both, and says nothing that neither of them said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from .asks import Reconciled
from .evaluation import MemoryReconciliation, ReconcileItem
from .grounding import ungrounded
from .lossy import is_lossy_rewrite, similarity
from .text import normalise

_RELATED = 0.5
"""How similar the nearest held statement must be for a replacement that names no target to mean it."""
_CLAUSE = re.compile(r"[,;]\s++(?:and\s++)?|\.\s++")
_MOST_CLAUSES = 16


@dataclass(frozen=True, slots=True)
class Ruling:
    """One verdict with the held statements it was shown: (id, hash of the text), nearest first."""

    verdict: MemoryReconciliation
    shown: tuple[tuple[str, str], ...]

    def targets(self) -> list[tuple[str, str]]:
        """The held statements it is about; only those it was shown count."""
        if not self.verdict.target_ids:
            return list(self.shown[:1])
        named = set(self.verdict.target_ids)
        return [target for target in self.shown if target[0] in named]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a rewrite is not written."""

    reason: str


def content_hash(content: str) -> str:
    """16 hex digits that change with every change of a text."""
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def rulings_by_candidate(reconciled: Reconciled) -> tuple[dict[str, Ruling], list[str]]:
    """The rulings by normalised candidate, and what was wrong with the verdicts. An item without a verdict has no ruling."""
    items = reconciled.items
    rulings: dict[str, Ruling] = {}
    problems: list[str] = []
    for at, verdict in enumerate(reconciled.verdicts):
        place = at if verdict.index is None else verdict.index
        if not 0 <= place < len(items):
            problems.append(f"verdict {at + 1} is about item {place}, which does not exist")
            continue
        key = normalise(items[place].candidate)
        # An explicit index counts for more than the place in the list.
        if key not in rulings or (verdict.index is not None and rulings[key].verdict.index is None):
            rulings[key] = Ruling(verdict, _shown(items[place]))
    missing = sum(normalise(item.candidate) not in rulings for item in items)
    if missing and reconciled.verdicts:
        problems.append(f"{missing} of {len(items)} statements got no verdict and were added")
    return rulings, problems


def _shown(item: ReconcileItem) -> tuple[tuple[str, str], ...]:
    hashes = item.remember_hashes or [content_hash(text) for text in item.remember]
    return tuple(zip(item.remember_ids, hashes, strict=False))


def merged_text(survivor: str, candidate: str, proposal: str | None) -> str | Refused:
    """The one text that says what both say: the proposal, else whichever of the two covers the other."""
    if proposal is not None and proposal.strip():
        text = " ".join(proposal.split())
        if is_lossy_rewrite(survivor, text) or is_lossy_rewrite(candidate, text):
            return Refused("lossy: the merged text drops something")
        added = ungrounded(text, f"{survivor}\n{candidate}")
        return Refused(f"the merged text invents {added[0]!r}") if added else text
    if not is_lossy_rewrite(candidate, survivor):
        return survivor
    if not is_lossy_rewrite(survivor, candidate):
        return candidate
    return Refused("lossy: neither statement covers the other")


def replacing_text(candidate: str, proposal: str | None) -> str:
    """The text of the statement that takes another's place: the proposal if it keeps and invents nothing."""
    if proposal is None or not proposal.strip():
        return candidate
    text = " ".join(proposal.split())
    return candidate if is_lossy_rewrite(candidate, text) or ungrounded(text, candidate) else text


def refused_replacement(old: str, new: str, *, is_named: bool) -> str | None:
    """Why a held statement is not retired for a new one, or None.

    Of several clauses only one can be meant; the others would go with it unless the new statement repeats them.
    """
    if not is_named and similarity(old, new) < _RELATED:
        return "the verdict names no target, and the nearest is hardly related"
    clauses = [clause for clause in _CLAUSE.split(old) if clause.strip()]
    if len(clauses) > _MOST_CLAUSES or (len(clauses) > 1 and len(_uncovered(clauses, new)) > 1):
        return "the held statement says more than the new one replaces"
    return None


def _uncovered(clauses: Sequence[str], new: str) -> list[str]:
    return [clause for clause in clauses if is_lossy_rewrite(clause, new)]
