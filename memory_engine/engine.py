"""The engine: one memory with its plan, its search, and what turns teach it.

It does no input or output, reads no clock and makes no random number. The same calls on the same state give the same bytes,
so that a step that is run again after a crash ends where it ended before.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence

from .asks import STAGES, PostTurnAnswers, Reconciled, Stage
from .callbacks import learn_with_callbacks
from .collector import collector_paused
from .decisions import apply_evaluation
from .domains import extract_domains
from .embedding import give_vectors
from .evaluation import ArbiterEvaluationResult
from .gist import bookmark_of
from .knowledge import DomainCapability, KnowledgeTension, Resolution
from .ledger import removal
from .moments import Instant
from .post_turn import PostTurn, asked_stages
from .records import MemoryItem, record_of
from .reports import PostTurnResult
from .self_model import record_outcome, reset_domain
from .snapshot import CognitiveMemoryStateSnapshot, validated
from .state import LoadReport, loaded
from .turns import Turn, remember, remember_strategy
from .view import MemoryView
from .wire import MemoryTier


class CognitiveMemory(MemoryView):
    """Memories in four tiers, tensions between them, and a model of the agent's own reliability."""

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
        turn = Turn(user_message, assistant_response, detected_domains, turn_id, self._moment(now), session_id)
        return PostTurn(lambda: self._state, self.options, turn, (), None).finish()

    def begin_post_turn(
        self,
        user_message: str,
        assistant_response: str,
        detected_domains: Sequence[str] | None = None,
        *,
        turn_id: str | None = None,
        now: Instant | None = None,
        session_id: str | None = None,
        asks: Collection[Stage] = STAGES,
        answers: PostTurnAnswers | None = None,
    ) -> PostTurn:
        """A turn whose learning may ask models in between; see `PostTurn`. The memory changes when it is finished.

        Args:
            asks: What may be asked; the rest is left to rules.
            answers: What was answered before, perhaps in another process; it is not asked again.
        """
        turn = Turn(user_message, assistant_response, detected_domains, turn_id, self._moment(now), session_id)
        return PostTurn(lambda: self._state, self.options, turn, asks, answers)

    async def post_turn_async(
        self,
        user_message: str,
        assistant_response: str,
        detected_domains: Sequence[str] | None = None,
        *,
        turn_id: str | None = None,
        now: Instant | None = None,
        session_id: str | None = None,
    ) -> PostTurnResult:
        """`post_turn` that asks the callbacks of the options. A failed one costs its own step and is named in `errors`."""
        turn = Turn(user_message, assistant_response, detected_domains, turn_id, self._moment(now), session_id)
        asking = PostTurn(lambda: self._state, self.options, turn, asked_stages(self.options), None)
        return await learn_with_callbacks(asking, self.options, self.get_snapshot)

    def remember(
        self,
        contents: Iterable[str | tuple[str, Sequence[str]]],
        *,
        tier: MemoryTier = "L1",
        turn_id: str | None = None,
        now: Instant | None = None,
        session_id: str | None = None,
        reconciled: Reconciled | None = None,
    ) -> PostTurnResult:
        """Takes in statements a caller vouches for, each a text or (text, domains), under the same rules as a turn's.

        `reconciled` is the answer to `reconcile_ask`, if a model was asked; it counts only for what is held unchanged.
        """
        # A turn and a request to remember may carry one id; each is recorded under its own.
        request_id = None if turn_id is None else f"remember {turn_id}"
        recorded = None if request_id is None else self._state.ledger.recorded(request_id)
        if recorded is not None:
            return recorded
        statements = [(entry, ()) if isinstance(entry, str) else entry for entry in contents]
        return remember(
            self._state, self.options, statements, tier, request_id, self._moment(now), session_id, reconciled
        )

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

    def remove_memory(self, memory_id: str, *, request_id: str | None = None) -> bool:
        """Forgets a memory: its row, the tensions that quote it, and its words in recorded results. False if it is not held.

        Args:
            request_id: Marks the removal; `has_removed` tells later that it was made.
        """
        if self._state.store.remove(memory_id) is None:
            return False
        self._state.tensions.forget_source(memory_id)
        self._state.ledger.forget(memory_id)
        if request_id is not None:
            self._state.ledger.record(removal(request_id), PostTurnResult())
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
        self,
        tension_id: str,
        resolved_by: str,
        pattern: str = "",
        *,
        now: Instant | None = None,
        remember_pattern: bool = False,
    ) -> bool:
        """Ends a contradiction; it stays on record but leaves the prompt. False if the id is unknown.

        Args:
            remember_pattern: Whether the pattern, which tells how to decide the next time, becomes a memory too.
        """
        moment = self._moment(now)
        tension = self._state.tensions.by_id.get(tension_id)
        if tension is None:
            return False
        resolution = Resolution(resolved_at=moment, resolved_by=resolved_by, pattern=pattern)
        self._state.tensions.resolve(tension_id, resolution)
        if remember_pattern and pattern.strip():
            claims = f"{tension.claim_a.statement} {tension.claim_b.statement}"
            remember_strategy(self._state, self.options, pattern, tuple(extract_domains(claims)), moment)
        return True

    def reset_domain(self, domain: str) -> bool:
        """Forgets how reliable work in a domain has been. False if nothing was known of it."""
        return reset_domain(self._state.self_model, domain)

    def record_domain_outcome(
        self, domain: str, success: bool, failure_pattern: str | None = None, strategy: str | None = None
    ) -> DomainCapability:
        """Counts how a task in a domain went, and returns a copy of the domain's record."""
        capability = record_outcome(self._state.self_model, domain, success, failure_pattern, strategy)
        return capability.model_copy(deep=True)

    def fork(self) -> CognitiveMemory:
        """A memory of its own with the same contents, for trying something out."""
        other = CognitiveMemory(self.options)
        with collector_paused():
            other._state = self._state.fork()
        return other

    def load_snapshot(self, snapshot: CognitiveMemoryStateSnapshot | dict[str, object] | None) -> LoadReport:
        """Replaces everything by a copy of a snapshot; None and `{}` empty the memory.

        Raises:
            SnapshotCorruptError: the value is no snapshot. The engine then keeps what it had.
        """
        if snapshot is None:
            snapshot = {}
        checked = snapshot if isinstance(snapshot, CognitiveMemoryStateSnapshot) else validated(copy.deepcopy(snapshot))
        with collector_paused():
            state, report = loaded(checked)
        self._state = state
        return report

    def embed_memories(self, most: int = 256) -> int:
        """Lets the embedder make vectors for at most `most` memories that have none of its present size, the hottest first.

        They are no part of a snapshot. Returns how many got one; call it again until it returns 0. Whatever the embedder
        raises passes through.
        """
        embedder = self.options.embedder
        if embedder is None:
            return 0
        made, self.embedding_size = give_vectors(self._state.store, embedder, self.embedding_size, most)
        return made
