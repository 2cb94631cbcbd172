"""What can be done with one statement on a state: refuse, recognise, add, retire; and the account of it.

Every statement ends in exactly one of the result's lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .conflicts import Verdict, is_identifying, judge
from .estimate import quarters
from .gist import bookmark_of
from .interaction import interaction_reason
from .knowledge import Claim, ProprioceptiveSelfModel, Resolution
from .records import Record
from .reports import LearnedAction, LearnedFact, PostTurnResult, RejectedStatement, memory_of
from .screening import screen_injection
from .secrecy import REDACTED, has_secret
from .statements import LONGEST_CONTENT, Statement
from .store import TIERS, MemoryStore
from .tensions import MOST_OPEN, TensionBook, impact_of, new_tension, question_between
from .text import clip, without_lone_surrogates
from .wire import MemoryTier

SHORTEST_QUARTERS = 8
"""Eight ASCII characters, or two Chinese ones, which say as much."""

_MOST_RIVALS = 64
_MOST_SHOWN = 600
"""What is repeated of a refused statement is a third of what is searched for a secret, so that none is cut in half."""


@dataclass(slots=True)
class Lesson:
    """One call's work on the state; the result grows with each statement."""

    store: MemoryStore
    tensions: TensionBook
    self_model: ProprioceptiveSelfModel
    new_id: Callable[[str, int], str]
    now: int
    allow_secrets: bool = False
    longest: int = LONGEST_CONTENT
    result: PostTurnResult = field(default_factory=PostTurnResult)
    fresh: set[str] = field(default_factory=set)
    met: dict[str, None] = field(default_factory=dict)
    """Ids of the rows that hold what was said so far, whether they are new or were held before."""
    new_tensions: int = 0
    unraised: int = 0
    """Contradictions for which there was no room."""
    _made: int = 0

    def examine(self, statement: Statement) -> tuple[str, str | None, str | None]:
        """The text as it would be kept, why it is refused, and what is suspicious about it."""
        content = without_lone_surrogates(statement.content.strip())
        reason = self.refusal(content)
        suspicion = None if reason else statement.suspicion or screen_injection(content)
        # What the user typed is theirs to keep; what others wrote must not become an instruction by being remembered.
        if suspicion and statement.source != "rules":
            return content, f"looks like an instruction: {suspicion}", suspicion
        return content, reason, suspicion

    def reject(self, content: str, reason: str) -> None:
        """Notes that a statement is not kept; a secret in it is not repeated."""
        shown = REDACTED if has_secret(content[:_MOST_SHOWN]) else clip(content, _MOST_SHOWN // 3)
        self.result.rejected.append(RejectedStatement(content=shown, reason=reason))
        self.note(shown, "rejected", reason=reason)

    def refusal(self, content: str) -> str | None:
        """Why a text is not kept, or None."""
        if quarters(content) < SHORTEST_QUARTERS:
            return "too short"
        if len(content) > self.longest:
            return f"longer than {self.longest} characters"
        if not self.allow_secrets and has_secret(content):
            return "holds a secret"
        return interaction_reason(content)

    def recognise(self, content: str, ids: Sequence[str], reason: str) -> bool:
        """Counts one more use of the first of these rows that still holds; False if none does."""
        held = [record for memory_id in ids if (record := self.store.get(memory_id))]
        survivor = next((record for record in held if record.superseded_by is None), None)
        if survivor is None:
            return False
        if survivor.id not in self.met:
            self.met[survivor.id] = None
            self.store.touch(survivor, self.now)
        self.result.merged_into.append(memory_of(survivor))
        self.note(content, "merged", survivor.id, [survivor.id], reason)
        return True

    def verdicts(self, content: str, is_correction: bool) -> list[tuple[Record, Verdict]]:
        """What the rules say that a statement does to held ones, the newest first."""
        found = self.store.index.with_subject(content)
        records = [record for memory_id in found if (record := self.store.get(memory_id)) and record.is_injectable]
        records.sort(key=lambda record: (-record.created_at, -record.placed))
        verdicts: list[tuple[Record, Verdict]] = []
        for record in records[:_MOST_RIVALS]:
            verdict = judge(content, record.content, is_correction=is_correction)
            if verdict is not None:
                verdicts.append((record, verdict))
        return verdicts

    def add(
        self,
        statement: Statement,
        content: str,
        suspicion: str | None,
        replaced: list[Record],
        reason: str | None = None,
    ) -> Record:
        """A new row, in the hottest tier of those it replaces."""
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
        self.met[row.id] = None
        self.result.stored.append(memory_of(row))
        action: LearnedAction = "quarantined" if suspicion else "replaced" if replaced else "added"
        self.note(content, action, row.id, row.supersedes or [], reason)
        return row

    def retire(self, record: Record, row: Record, remainder: str | None, resolved_by: str) -> None:
        """Moves a held row to the archive with a link; what of it still holds becomes a row of its own."""
        former_tier = record.tier
        if remainder is not None:
            kept = self._row(remainder, record.domains, former_tier)
            kept.created_at, kept.access_count, kept.source = record.created_at, record.access_count, record.source
            kept.supersedes = [record.id]
            self.store.put(kept)
            self.fresh.add(kept.id)
            self.met[kept.id] = None
            self.result.stored.append(memory_of(kept))
            self.note(remainder, "added", kept.id, [record.id], "what still holds of the replaced statement")
        self.store.supersede(record, row.id)
        self.record_tension(record, row, resolved_by)

    def record_tension(self, record: Record, row: Record, resolved_by: str | None) -> None:
        """Keeps the contradiction between a held row and a new one, as open unless somebody has resolved it."""
        if resolved_by is None and not self.tensions.has_room(record.content, row.content):
            self.unraised += 1
            return
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

    def note(
        self,
        content: str,
        action: LearnedAction,
        memory_id: str | None = None,
        target_ids: list[str] | None = None,
        reason: str | None = None,
    ) -> None:
        """One line of the result about one statement."""
        fact = LearnedFact(content=content, action=action, id=memory_id, target_ids=target_ids or [], reason=reason)
        self.result.facts.append(fact)

    def finish(self) -> PostTurnResult:
        """The result with its counts, each memory as it stands now."""
        result = self.result
        if self.unraised:
            result.errors.append(f"{self.unraised} contradictions were not raised: {MOST_OPEN} are open")
        result.stored = [memory_of(row) for memory in result.stored if (row := self.store.get(memory.id))]
        result.merged_into = [memory_of(row) for memory in result.merged_into if (row := self.store.get(memory.id))]
        result.counts.stored = len(result.stored)
        result.counts.merged = len(result.merged_into)
        result.counts.rejected = len(result.rejected)
        return result
