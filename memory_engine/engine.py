"""The engine: one memory with its plan, its search, and what turns teach it.

It does no input or output, reads no clock and makes no random number. The same calls on the same state give the same bytes,
so that a step that is run again after a crash ends where it ended before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from .candidates import recall_similar
from .decisions import apply_evaluation
from .evaluation import ArbiterEvaluationResult
from .gist import bookmark_of
from .knowledge import DomainCapability, KnowledgeTension, ProprioceptiveSelfModel, Resolution
from .moments import Instant, milliseconds
from .options import CognitiveMemoryOptions
from .plan import PlanInputs, plan_injection
from .records import MemoryItem, SearchHit, item_of, record_of
from .reports import MemoryInjectionReport, PostTurnResult
from .search import DEFAULT_LIMIT, search
from .self_model import record_outcome
from .snapshot import CognitiveMemoryStateSnapshot, MemoryStats, validated
from .state import LoadReport, State, dumped, loaded
from .turns import Turn, learn_turn, remember
from .wire import MemoryTier


class CognitiveMemory:
    """Memories in four tiers, tensions between them, and a model of the agent's own reliability."""

    def __init__(self, options: CognitiveMemoryOptions | None = None) -> None:
        self.options = options or CognitiveMemoryOptions()
        self._state = State.empty(self.options.initial_self_model)

    def plan_injection(
        self,
        user_message: str | None = None,
        force_full: Iterable[str] = (),
        max_tokens: int | None = None,
        visible_text: str | None = None,
    ) -> MemoryInjectionReport:
        """What to put into the prompt that answers `user_message`, and why each line is there.

        Args:
            user_message: An identifier in it that a memory holds brings that memory's body, whatever its tier.
            force_full: Ids whose body is wanted anyway; unknown ones are ignored.
            max_tokens: Ceiling on the block, in place of the option's.
            visible_text: What the model sees already; its identifiers trigger nothing.
        """
        inputs = PlanInputs(self._state.store, self._state.tensions, self._state.self_model, self.options)
        return plan_injection(inputs, user_message, force_full, max_tokens, visible_text)

    def get_prompt_context(self, current_user_message: str | None = None) -> str:
        """The text of a plan; empty when there is nothing to say."""
        return self.plan_injection(current_user_message).text

    def search(self, query: str, limit: int = DEFAULT_LIMIT, *, include_superseded: bool = False) -> list[SearchHit]:
        """The memories of all tiers that share words with `query`, best first; a limit under 1 counts as 1."""
        return search(
            self._state.store,
            query,
            limit,
            ranking=self.options.ranking,
            profile=self.options.profile,
            include_superseded=include_superseded,
        )

    def recall_similar(self, content: str) -> list[MemoryItem]:
        """Copies of at most eight memories that a statement should be compared with, nearest first."""
        return [item_of(record) for record in recall_similar(self._state.store, content)]

    def get_memory(self, memory_id: str) -> MemoryItem | None:
        """A copy of one memory, superseded ones included."""
        record = self._state.store.get(memory_id)
        return None if record is None else item_of(record)

    def memories(self, tier: MemoryTier | None = None) -> list[MemoryItem]:
        """Copies of all memories, or those of one tier, hottest tier first, in the order in which they were placed."""
        store = self._state.store
        rows = store.all_rows() if tier is None else store.tier(tier).values()
        return [item_of(record) for record in rows]

    def tensions(self) -> list[KnowledgeTension]:
        """Copies of all tensions, resolved ones included, in the order in which they were raised."""
        return [tension.model_copy(deep=True) for tension in self._state.tensions.by_id.values()]

    @property
    def self_model(self) -> ProprioceptiveSelfModel:
        """A copy of the self-model."""
        return self._state.self_model.model_copy(deep=True)

    @property
    def stats(self) -> MemoryStats:
        """A copy of the counters."""
        return self._state.stats.model_copy()

    def __len__(self) -> int:
        return len(self._state.store)

    def post_turn(
        self,
        user_message: str,
        assistant_response: str,
        detected_domains: Sequence[str] | None = None,
        *,
        turn_id: str | None = None,
        now: Instant | None = None,
        session_id: str | None = None,
    ) -> PostTurnResult:
        """Learns from a finished turn, by rules on the user's own words; the reply only helps to see what it was about.

        A `turn_id` that was learned before gives the recorded result and changes nothing.
        """
        state = self._state
        recorded = None if turn_id is None else state.ledger.recorded(turn_id)
        if recorded is not None:
            return recorded
        turn = Turn(user_message, assistant_response, detected_domains, turn_id, self._moment(now), session_id)
        return learn_turn(state, self.options, turn)

    def remember(
        self,
        contents: Iterable[str | tuple[str, Sequence[str]]],
        *,
        tier: MemoryTier = "L1",
        turn_id: str | None = None,
        now: Instant | None = None,
        session_id: str | None = None,
    ) -> PostTurnResult:
        """Takes in statements a caller vouches for, each a text or (text, domains), under the same rules as a turn's."""
        # A turn and a request to remember may carry one id; each is recorded under its own.
        request_id = None if turn_id is None else f"remember {turn_id}"
        recorded = None if request_id is None else self._state.ledger.recorded(request_id)
        if recorded is not None:
            return recorded
        statements = [(entry, ()) if isinstance(entry, str) else entry for entry in contents]
        return remember(self._state, self.options, statements, tier, request_id, self._moment(now), session_id)

    def apply_evaluation(self, evaluation: ArbiterEvaluationResult, *, now: Instant | None = None) -> int:
        """Applies an arbiter's decisions in order: promotions, demotions, pins, tensions, self-model. Unknown ids are ignored.

        Returns how many memories were promoted.
        """
        return apply_evaluation(self._state, evaluation, self._moment(now))

    def add_memory(self, item: MemoryItem, target_tier: MemoryTier = "L2") -> None:
        """Stores a copy in a tier. An id that is held already moves there with its new content."""
        record = record_of(item)
        record.tier = target_tier
        self._state.store.put(record)

    def remove_memory(self, memory_id: str) -> bool:
        """Forgets a memory: its row, the tensions that quote it, and its words in recorded results."""
        if self._state.store.remove(memory_id) is None:
            return False
        self._state.tensions.forget_source(memory_id)
        self._state.ledger.forget(memory_id)
        return True

    def edit_memory(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        gist: str | None = None,
        domains: Sequence[str] | None = None,
    ) -> bool:
        """Changes what a memory says; its age and its uses stay. False if the id is unknown."""
        record = self._state.store.get(memory_id)
        if record is None:
            return False
        text = record.content if content is None else content
        bookmark = record.bookmark if content is None else bookmark_of(content)
        label = gist if gist is not None else record.gist if content is None else None
        tags = record.domains if domains is None else tuple(domains)
        self._state.store.rewrite(record, text, bookmark, label, tags)
        if content is not None:
            self._state.tensions.forget_source(memory_id)
            self._state.ledger.forget(memory_id)
        return True

    def promote(self, memory_id: str, tier: MemoryTier = "L1") -> bool:
        """Moves a memory to a tier. False if the id is unknown."""
        record = self._state.store.get(memory_id)
        if record is None:
            return False
        if record.tier != tier:
            self._state.store.move(record, tier)
        return True

    def touch(self, ids: Iterable[str], now: Instant | None = None) -> int:
        """Counts one use of each memory that a served plan showed. Returns how many of the ids are known."""
        moment = self._moment(now)
        known = [record for memory_id in dict.fromkeys(ids) if (record := self._state.store.get(memory_id))]
        for record in known:
            self._state.store.touch(record, moment)
        return len(known)

    def add_tension(self, tension: KnowledgeTension) -> bool:
        """Keeps a contradiction. True if it is new; the same two claims refresh or reopen the one that is held."""
        is_new = self._state.tensions.add(tension)
        self._state.stats.tensions_detected += is_new
        return is_new

    def resolve_tension(
        self, tension_id: str, resolved_by: str, pattern: str = "", *, now: Instant | None = None
    ) -> bool:
        """Ends a contradiction; it stays on record but leaves the prompt. False if the id is unknown."""
        resolution = Resolution(resolved_at=self._moment(now), resolved_by=resolved_by, pattern=pattern)
        return self._state.tensions.resolve(tension_id, resolution)

    def record_domain_outcome(
        self, domain: str, success: bool, failure_pattern: str | None = None, strategy: str | None = None
    ) -> DomainCapability:
        """Counts how a task in a domain went, and returns a copy of the domain's record."""
        capability = record_outcome(self._state.self_model, domain, success, failure_pattern, strategy)
        return capability.model_copy(deep=True)

    def get_snapshot(self) -> CognitiveMemoryStateSnapshot:
        """A deep copy of everything."""
        return dumped(self._state)

    def load_snapshot(self, snapshot: CognitiveMemoryStateSnapshot | dict[str, object] | None) -> LoadReport:
        """Replaces everything by a copy of a snapshot; None and `{}` empty the memory.

        Raises:
            SnapshotCorruptError: the value is no snapshot. The engine then keeps what it had.
        """
        if snapshot is None:
            snapshot = {}
        checked = snapshot if isinstance(snapshot, CognitiveMemoryStateSnapshot) else validated(copy.deepcopy(snapshot))
        state, report = loaded(checked)
        self._state = state
        return report

    def _moment(self, now: Instant | None) -> int:
        if now is None:
            return self.options.clock_ms() if self.options.clock_ms else self._state.store.latest
        return milliseconds(now)
