"""Taking statements in, one at a time: refuse, recognise, replace, or add.

Every statement ends in exactly one of the result's lists. A statement that replaces another is added before the other is
retired, and both happen in this one call on one state, so there is no moment in which neither is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .conflicts import Verdict, is_identifying, judge
from .estimate import quarters
from .frames import frame_of
from .gist import bookmark_of
from .interaction import interaction_reason
from .knowledge import Claim, ProprioceptiveSelfModel, Resolution
from .records import Record
from .reports import LearnedAction, LearnedFact, PostTurnResult, RejectedStatement, memory_of
from .screening import screen_injection
from .secrecy import REDACTED, has_secret
from .store import TIERS, MemoryStore
from .tensions import TensionBook, impact_of, new_tension, question_between
from .text import clip, without_lone_surrogates
from .wire import MemorySource, MemoryTier

SHORTEST_QUARTERS = 8
"""Eight ASCII characters, or two Chinese ones, which say as much."""
LONGEST_CONTENT = 600

_MOST_RIVALS = 64
_MOST_RETIRED = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to learn, with who says so and where it should land."""

    content: str
    domains: tuple[str, ...] = ()
    tier: MemoryTier = "L2"
    source: MemorySource = "rules"
    turn_id: str | None = None
    session_id: str | None = None
    is_correction: bool = False
    suspicion: str | None = None
    """What is suspicious about the sentence it was taken from."""


@dataclass(slots=True)
class Lesson:
    """One call's work on the state: the statements go in one after the other and the result grows."""

    store: MemoryStore
    tensions: TensionBook
    self_model: ProprioceptiveSelfModel
    new_id: Callable[[str, int], str]
    now: int
    allow_secrets: bool = False
    longest: int = LONGEST_CONTENT
    result: PostTurnResult = field(default_factory=PostTurnResult)
    fresh: set[str] = field(default_factory=set)
    new_tensions: int = 0
    _made: int = 0

    def learn(self, statement: Statement) -> None:
        """Takes one statement in."""
        content = without_lone_surrogates(statement.content.strip())
        reason = self._refusal(content)
        suspicion = None if reason else statement.suspicion or screen_injection(content)
        # What the user typed is theirs to keep; what others wrote must not become an instruction by being remembered.
        if reason or (suspicion and statement.source != "rules"):
            self.reject(content, reason or f"looks like an instruction: {suspicion}")
            return
        if self._recognise(content, self.store.index.same_text(content), "exact restatement"):
            return
        self._settle(statement, content, suspicion)

    def reject(self, content: str, reason: str) -> None:
        """Notes that a statement is not kept; a secret in it is not repeated."""
        shown = REDACTED if has_secret(content) else clip(content, 200)
        self.result.rejected.append(RejectedStatement(content=shown, reason=reason))
        self._note(shown, "rejected", reason=reason)

    def _refusal(self, content: str) -> str | None:
        if quarters(content) < SHORTEST_QUARTERS:
            return "too short"
        if len(content) > self.longest:
            return f"longer than {self.longest} characters"
        if not self.allow_secrets and has_secret(content):
            return "holds a secret"
        return interaction_reason(content)

    def _recognise(self, content: str, ids: Sequence[str], reason: str) -> bool:
        held = [record for memory_id in ids if (record := self.store.get(memory_id))]
        survivor = next((record for record in held if record.superseded_by is None), None)
        if survivor is None:
            return False
        if survivor.id not in self.fresh:
            self.store.touch(survivor, self.now)
        self.result.merged_into.append(memory_of(survivor))
        self._note(content, "merged", survivor.id, [survivor.id], reason)
        return True

    def _settle(self, statement: Statement, content: str, suspicion: str | None) -> None:
        verdicts = [] if suspicion else self._verdicts(content, statement.is_correction)
        repeated = [record.id for record, verdict in verdicts if verdict.effect == "repeats"]
        if self._recognise(content, repeated, "the same in other words"):
            return
        replaced = [(record, verdict) for record, verdict in verdicts if verdict.effect == "replaces"]
        if not _is_certain(content, replaced):
            replaced = []
        row = self._add(statement, content, suspicion, [record for record, _ in replaced])
        for record, verdict in replaced:
            self._retire(record, row, verdict.remainder, statement.is_correction)
        for record, verdict in verdicts:
            if verdict.effect == "contradicts":
                self._raise_tension(record, row)

    def _verdicts(self, content: str, is_correction: bool) -> list[tuple[Record, Verdict]]:
        found = self.store.index.with_subject(content)
        records = [record for memory_id in found if (record := self.store.get(memory_id)) and record.is_injectable]
        records.sort(key=lambda record: (-record.created_at, -record.placed))
        verdicts: list[tuple[Record, Verdict]] = []
        for record in records[:_MOST_RIVALS]:
            verdict = judge(content, record.content, is_correction=is_correction)
            if verdict is not None:
                verdicts.append((record, verdict))
        return verdicts

    def _add(self, statement: Statement, content: str, suspicion: str | None, replaced: list[Record]) -> Record:
        tiers = [statement.tier, *(record.tier for record in replaced)]
        row = self._row(content, statement.domains, min(tiers, key=TIERS.index))
        row.source = statement.source
        row.turn_id = statement.turn_id
        row.source_session_id = statement.session_id
        row.quarantined = True if suspicion else None
        row.supersedes = [record.id for record in replaced] or None
        row.valid_from = self.now if replaced else None
        self.store.put(row)
        self.fresh.add(row.id)
        self.result.stored.append(memory_of(row))
        action: LearnedAction = "quarantined" if suspicion else "replaced" if replaced else "added"
        self._note(content, action, row.id, row.supersedes or [], suspicion)
        return row

    def _retire(self, record: Record, row: Record, remainder: str | None, is_correction: bool) -> None:
        former_tier = record.tier
        if remainder is not None:
            kept = self._row(remainder, record.domains, former_tier)
            kept.created_at, kept.access_count, kept.source = record.created_at, record.access_count, record.source
            kept.supersedes = [record.id]
            self.store.put(kept)
            self.fresh.add(kept.id)
            self.result.stored.append(memory_of(kept))
            self._note(remainder, "added", kept.id, [record.id], "what still holds of the replaced statement")
        self.store.supersede(record, row.id)
        self._record_tension(record, row, "user correction" if is_correction else "newer statement")

    def _raise_tension(self, record: Record, row: Record) -> None:
        self._record_tension(record, row, None)

    def _record_tension(self, record: Record, row: Record, resolved_by: str | None) -> None:
        scores = [
            self.self_model.domains[name].reliability_score for name in row.domains if name in self.self_model.domains
        ]
        tension = new_tension(
            Claim(source=record.id, statement=record.content, timestamp=record.created_at),
            Claim(source=row.id, statement=row.content, timestamp=self.now),
            impact_of(scores, is_identifying(row.content)),
            question_between(record.content, row.content),
        )
        if resolved_by is not None:
            tension.status = "resolved"
            tension.resolution = Resolution(resolved_at=self.now, resolved_by=resolved_by, pattern="")
        is_new = self.tensions.add(tension)
        self.new_tensions += is_new
        if resolved_by is None:
            self.result.counts.tensions += is_new

    def _row(self, content: str, domains: tuple[str, ...], tier: MemoryTier) -> Record:
        memory_id = self.new_id(content, self._made)
        while memory_id in self.store:
            self._made += 1
            memory_id = self.new_id(content, self._made)
        self._made += 1
        return Record(
            id=memory_id,
            content=content,
            bookmark=bookmark_of(content),
            tier=tier,
            domains=domains,
            created_at=self.now,
            last_accessed_at=self.now,
            access_count=0,
        )

    def _note(
        self,
        content: str,
        action: LearnedAction,
        memory_id: str | None = None,
        target_ids: list[str] | None = None,
        reason: str | None = None,
    ) -> None:
        fact = LearnedFact(content=content, action=action, id=memory_id, target_ids=target_ids or [], reason=reason)
        self.result.facts.append(fact)

    def finish(self) -> PostTurnResult:
        """The result with its counts, each memory as it stands now."""
        result = self.result
        result.stored = [memory_of(row) for memory in result.stored if (row := self.store.get(memory.id))]
        result.merged_into = [memory_of(row) for memory in result.merged_into if (row := self.store.get(memory.id))]
        result.counts.stored = len(result.stored)
        result.counts.merged = len(result.merged_into)
        result.counts.rejected = len(result.rejected)
        return result


def _is_certain(content: str, replaced: list[tuple[Record, Verdict]]) -> bool:
    """Whether it is clear what a statement replaces: "Harbor moved to X" says nothing if two things could have moved."""
    frame = frame_of(content)
    if frame is not None and frame.relation == "moved":
        return len(replaced) <= 1
    return len(replaced) <= _MOST_RETIRED
