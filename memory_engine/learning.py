"""Taking statements in, one at a time: refuse, recognise, replace, or add.

A statement that replaces another is added before the other is retired, and both happen in this one call on one state, so
there is no moment in which neither is held.
"""

from __future__ import annotations

from .adjudication import adjudicate, is_told_again
from .conflicts import certain_replacements
from .lesson import Lesson
from .rulings import Ruling
from .statements import Statement


def learn(lesson: Lesson, statement: Statement, ruling: Ruling | None = None) -> None:
    """Takes one statement in. A ruling counts only where the rules themselves do not know what it does."""
    content, refusal, suspicion = lesson.examine(statement)
    if refusal:
        lesson.reject(content, refusal)
    elif not lesson.recognise(content, lesson.store.index.same_text(content), "exact restatement"):
        _settle(lesson, statement, content, suspicion, ruling)


def _settle(lesson: Lesson, statement: Statement, content: str, suspicion: str | None, ruling: Ruling | None) -> None:
    verdicts = [] if suspicion else lesson.verdicts(content, statement.is_correction)
    repeated = [record.id for record, verdict in verdicts if verdict.effect == "repeats"]
    if lesson.recognise(content, repeated or _told_again(lesson, statement, content), "the same in other words"):
        return
    replaced = certain_replacements(content, verdicts)
    reason = suspicion
    if ruling is not None and not suspicion and not replaced:
        outcome = adjudicate(lesson, statement, content, ruling)
        if outcome.is_settled:
            return
        reason = outcome.reason
    row = lesson.add(statement, content, suspicion, [record for record, _ in replaced], reason)
    resolved_by = "user correction" if statement.is_correction else "newer statement"
    for record, verdict in replaced:
        lesson.retire(record, row, verdict.remainder, resolved_by)
    for record, verdict in verdicts:
        if verdict.effect == "contradicts":
            lesson.record_tension(record, row, None)


def _told_again(lesson: Lesson, statement: Statement, content: str) -> list[str]:
    """Rows of this turn that say what a model's statement says, in the user's own words."""
    if statement.source != "model":
        return []
    rows = [row for memory_id in lesson.met if (row := lesson.store.get(memory_id))]
    return [row.id for row in rows if is_told_again(content, [row.content])]
