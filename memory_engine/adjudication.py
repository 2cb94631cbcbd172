"""Carrying out a reconciler's verdict on one statement, by id, and only where nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .candidates import recall_similar
from .conflicts import certain_replacements
from .evaluation import ReconcileItem
from .gist import bookmark_of
from .grounding import without_user
from .lesson import Lesson
from .lossy import is_lossy_rewrite
from .records import Record
from .reports import memory_of
from .rulings import Refused, Ruling, content_hash, merged_text, refused_replacement, replacing_text
from .statements import Statement
from .store import TIERS
from .text import normalise


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the verdict settled the statement; if not it is added, for the reason given."""

    is_settled: bool
    reason: str | None = None


_SETTLED = Outcome(is_settled=True)


def adjudicate(lesson: Lesson, statement: Statement, content: str, ruling: Ruling) -> Outcome:
    """Merges, replaces or turns down a statement as a verdict says; whatever would lose something adds it instead."""
    verdict = ruling.verdict
    if verdict.action == "reject":
        lesson.reject(content, f"turned down by the reconciler: {verdict.reason or 'nothing new'}")
        return _SETTLED
    if verdict.action == "add":
        return Outcome(is_settled=False, reason=verdict.reason)
    targets = _standing_targets(lesson, ruling)
    if not targets:
        return Outcome(is_settled=False, reason=f"{verdict.action}: no held statement it names is unchanged")
    if verdict.action == "merge":
        return _merge(lesson, statement, content, targets[0], verdict.content)
    return _replace(lesson, statement, content, targets, ruling)


def _standing_targets(lesson: Lesson, ruling: Ruling) -> list[Record]:
    """The targets that still say what the reconciler saw: another turn may have been saved in between."""
    held = [(lesson.store.get(memory_id), seen) for memory_id, seen in ruling.targets()]
    return [record for record, seen in held if record and record.is_injectable and content_hash(record.content) == seen]


def _merge(lesson: Lesson, statement: Statement, content: str, survivor: Record, proposal: str | None) -> Outcome:
    if proposal is not None and len(proposal) > lesson.longest:
        return Outcome(is_settled=False, reason=f"kept beside {survivor.id}; the merged text is too long")
    text = merged_text(survivor.content, content, proposal)
    if isinstance(text, Refused):
        return Outcome(is_settled=False, reason=f"kept beside {survivor.id}; {text.reason}")
    refusal = lesson.refusal(text) if text not in (survivor.content, content) else None
    if refusal:
        return Outcome(is_settled=False, reason=f"kept beside {survivor.id}; the merged text is {refusal}")
    domains = tuple(dict.fromkeys((*survivor.domains, *statement.domains)))
    if text != survivor.content:
        lesson.store.rewrite(survivor, text, bookmark_of(text), None, domains)
    elif domains != survivor.domains:
        lesson.store.rewrite(survivor, text, survivor.bookmark, survivor.gist, domains)
    hotter = min(survivor.tier, statement.tier, key=TIERS.index)
    if hotter != survivor.tier:
        lesson.store.move(survivor, hotter)
    lesson.store.touch(survivor, lesson.now)
    lesson.met[survivor.id] = None
    lesson.result.merged_into.append(memory_of(survivor))
    lesson.note(content, "merged", survivor.id, [survivor.id], "one fact in two wordings")
    return _SETTLED


def _replace(lesson: Lesson, statement: Statement, content: str, targets: list[Record], ruling: Ruling) -> Outcome:
    proposal = ruling.verdict.content
    text = replacing_text(content, proposal if proposal and len(proposal) <= lesson.longest else None)
    if text != content and lesson.refusal(text):
        text = content
    is_named = bool(ruling.verdict.target_ids)
    reasons = {record.id: refused_replacement(record.content, text, is_named=is_named) for record in targets}
    retired = [record for record in targets if reasons[record.id] is None]
    if not retired:
        return Outcome(is_settled=False, reason=f"kept beside {targets[0].id}; {reasons[targets[0].id]}")
    row = lesson.add(statement, text, None, retired, ruling.verdict.reason)
    for record in retired:
        lesson.retire(record, row, None, "reconciler")
    return _SETTLED


def open_items(lesson: Lesson, statements: Iterable[Statement]) -> list[ReconcileItem]:
    """The statements whose effect the rules do not know, each with the held ones it resembles. Changes nothing."""
    items: dict[str, ReconcileItem] = {}
    before: list[str] = []
    for statement in statements:
        content, refusal, suspicion = lesson.examine(statement)
        key = normalise(content)
        if refusal or suspicion or key in items or _is_held(lesson, content):
            continue
        if statement.source == "model" and is_told_again(content, before):
            continue
        before.append(content)
        verdicts = lesson.verdicts(content, statement.is_correction)
        if any(verdict.effect == "repeats" for _, verdict in verdicts) or certain_replacements(content, verdicts):
            continue
        similar = [record for record in recall_similar(lesson.store, content) if record.is_injectable]
        if similar:
            items[key] = ReconcileItem(
                candidate=content,
                remember=[record.content for record in similar],
                remember_ids=[record.id for record in similar],
                remember_hashes=[content_hash(record.content) for record in similar],
                index=len(items),
            )
    return list(items.values())


def is_told_again(content: str, before: Iterable[str]) -> bool:
    """Whether what a model wrote about the user is in one of the statements in the user's own words."""
    bare = without_user(content)
    return any(not is_lossy_rewrite(bare, other) for other in before)


def _is_held(lesson: Lesson, content: str) -> bool:
    held = (lesson.store.get(memory_id) for memory_id in lesson.store.index.same_text(content))
    return any(record is not None and record.superseded_by is None for record in held)
