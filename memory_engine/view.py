"""The half of the engine that only reads: plans, searches, and copies of what is held."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .asks import Reconcile
from .candidates import recall_similar
from .evaluation import ReconcileInput
from .injection import MemoryInjectionReport
from .knowledge import KnowledgeTension, ProprioceptiveSelfModel, TrajectoryPrediction
from .ledger import removal
from .moments import Instant, milliseconds
from .options import CognitiveMemoryOptions
from .overview import newest, totals
from .plan import PlanInputs, plan_injection
from .post_turn import MOST_ITEMS
from .records import MemoryItem, SearchHit, item_of
from .reports import Memory, memory_of
from .search import DEFAULT_LIMIT, search
from .service_types import MemoryTotals
from .snapshot import CognitiveMemoryStateSnapshot, MemoryStats
from .state import State, dumped, written
from .tensions import copy_of
from .text import SCAN_LIMIT
from .trajectory import pending_prediction
from .turns import doubtful
from .vectors import Vectors, embedded
from .wire import MemoryTier, TensionStatus


class MemoryView:
    """Reading a memory. No method changes what is held."""

    def __init__(self, options: CognitiveMemoryOptions | None = None) -> None:
        self.options = options or CognitiveMemoryOptions()
        self._state = State.empty(self.options.initial_self_model)
        self.embedding_size: int | None = None
        """How many dimensions the embedder's last vectors had."""
        self.embedding_problem: str | None = None
        """Why the last search went by words alone although there is an embedder."""

    def plan_injection(
        self,
        user_message: str | None = None,
        force_full: Iterable[str] = (),
        max_tokens: int | None = None,
        visible_text: str | None = None,
        max_index_items: int | None = None,
    ) -> MemoryInjectionReport:
        """What to put into the prompt that answers `user_message`, and why each line is there.

        Args:
            user_message: An identifier in it that a memory holds brings that memory's body, whatever its tier.
            force_full: Ids whose body is wanted anyway; unknown ones are ignored.
            max_tokens: Ceiling on the block, in place of the option's.
            visible_text: What the model sees already; its identifiers trigger nothing.
            max_index_items: How many index lines there may be, in place of the option's.
        """
        options = self.options
        if max_index_items is not None:
            options = replace(options, max_index_items=max_index_items)
        inputs = PlanInputs(self._state.store, self._state.tensions, self._state.self_model, options)
        return plan_injection(inputs, user_message, force_full, max_tokens, visible_text)

    def get_prompt_context(self, current_user_message: str | None = None) -> str:
        """The text of a plan; empty when there is nothing to say."""
        return self.plan_injection(current_user_message).text

    def search(
        self,
        query: str,
        limit: int = DEFAULT_LIMIT,
        neighbours: int = 0,
        *,
        include_superseded: bool = False,
    ) -> list[SearchHit]:
        """The memories of all tiers that share words with `query`, best first; a limit under 1 counts as 1.

        Args:
            neighbours: How many turns on either side of a hit count with it, within the session it comes from.
            include_superseded: Whether statements that no longer hold are found too.
        """
        return search(
            self._state.store,
            query,
            limit,
            ranking=self.options.ranking,
            profile=self.options.profile,
            include_superseded=include_superseded,
            neighbours=neighbours,
            query_vector=self._vector_of(query),
        )

    def stale_embeddings(self) -> list[str]:
        """Ids of the memories that have no vector of the embedder's present size, in their order."""
        size, store = self.embedding_size, self._state.store
        return [record.id for record in store.all_rows() if size and not store.index.vectors.has(record.id, size)]

    def _vector_of(self, query: str) -> Vectors | None:
        embedder = self.options.embedder
        if embedder is None or not query.strip():
            return None
        try:
            vector: Vectors = embedded(embedder, [query[:SCAN_LIMIT]])[0]
        except Exception as failure:
            # A search by words alone is worth more than none.
            self.embedding_problem = f"{type(failure).__name__}: {failure}"
            return None
        self.embedding_size, self.embedding_problem = len(vector), None
        return vector

    def recall_similar(self, content: str) -> list[MemoryItem]:
        """Copies of at most eight memories that a statement should be compared with, nearest first."""
        return [item_of(record) for record in recall_similar(self._state.store, content)]

    def reconcile_ask(self, contents: Iterable[str], *, now: Instant | None = None) -> Reconcile | None:
        """What a model should be asked about statements before they are remembered; None if rules know it all.

        At most 24 statements are shown to it; those beyond are left to the rules.
        """
        items = doubtful(self._state, self.options, contents, self._moment(now))[:MOST_ITEMS]
        return Reconcile(input=ReconcileInput(items=items)) if items else None

    def get_memory(self, memory_id: str) -> MemoryItem | None:
        """A copy of one memory, superseded ones included."""
        record = self._state.store.get(memory_id)
        return None if record is None else item_of(record)

    def has_removed(self, request_id: str) -> bool:
        """Whether a memory was removed under this id; of the last 256 turns and requests."""
        return self._state.ledger.recorded(removal(request_id)) is not None

    def memories(self, tier: MemoryTier | None = None) -> list[MemoryItem]:
        """Copies of all memories, or those of one tier, hottest tier first, in the order in which they were placed."""
        store = self._state.store
        rows = store.all_rows() if tier is None else store.tier(tier).values()
        return [item_of(record) for record in rows]

    def newest(self, tier: MemoryTier | None = None, offset: int = 0, limit: int = 100) -> list[Memory]:
        """The memories stored last, of all tiers or of one, the newest first; `offset` of them left out."""
        store = self._state.store
        rows = list(store.all_rows()) if tier is None else store.tier(tier).values()
        return [memory_of(record) for record in newest(rows, offset, limit)]

    def totals(self) -> MemoryTotals:
        """How many memories there are, by tier, from how many sessions, and from when."""
        return totals(self._state.store)

    def tensions(self, status: TensionStatus | None = None) -> list[KnowledgeTension]:
        """Copies of all tensions, or those of one status, in the order in which they were raised."""
        held = self._state.tensions.by_id.values()
        return [copy_of(tension) for tension in held if status is None or tension.status == status]

    @property
    def active_tension_count(self) -> int:
        """How many contradictions nobody has decided yet."""
        return self._state.tensions.active_count

    @property
    def self_model(self) -> ProprioceptiveSelfModel:
        """A copy of the self-model."""
        return self._state.self_model.model_copy(deep=True)

    @property
    def stats(self) -> MemoryStats:
        """A copy of the counters."""
        return self._state.stats.model_copy()

    @property
    def pending_prediction(self) -> TrajectoryPrediction | None:
        """What the next turn is expected to be about; that turn judges it."""
        return pending_prediction(self._state)

    def __len__(self) -> int:
        return len(self._state.store)

    def get_snapshot(self) -> CognitiveMemoryStateSnapshot:
        """A deep copy of everything."""
        return dumped(self._state)

    def dump(self) -> bytes:
        """What `dump_snapshot` makes of `get_snapshot`, byte for byte, in a fraction of the time. Raises the same."""
        return written(self._state)

    def _moment(self, now: Instant | None) -> int:
        if now is None:
            return self.options.clock_ms() if self.options.clock_ms else self._state.store.latest
        return milliseconds(now)
