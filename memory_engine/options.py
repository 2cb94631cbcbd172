"""What a host decides when it makes an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .asks import Extract
from .evaluation import ArbiterInput, ReconcileInput
from .knowledge import ProprioceptiveSelfModel
from .profile import Profile
from .search import Ranking
from .snapshot import CognitiveMemoryStateSnapshot
from .vectors import Embedder
from .wire import MemoryTier

ENGINE_HEADING = "## Cognitive Memory State"
SERVICE_HEADING = "## Memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class CognitiveMemoryOptions:
    """Budgets, clock and habits of one engine.

    Attributes:
        max_l0_tokens: Ceiling on guardrails, tensions and pins together, and on the texts of the pins alone.
        max_l1_tokens: Ceiling on the texts of the hot memories; what is over it becomes warm. 0 or less is no ceiling.
        max_l2_items: How many warm memories there may be; the rest is archived. None is no bound.
        max_total_tokens: Ceiling on all that goes into one prompt, headings included.
        max_index_items: How many index lines a plan may have; None leaves it to the budget.
        index_all_tiers: Whether the index goes on behind the hot memories with those of the other tiers, last used first.
        initial_self_model: What is known about reliability before the first turn.
        auto_extract_memories: Whether turns teach.
        learn_mixed_turns: Whether the statements of a message that also asks are learned.
        extraction_tier: Where a statement learned from a turn lands.
        allow_secrets: Whether credentials may be remembered.
        profile: Rules for tokens, ranking and extraction.
        ranking: "idf" (BM25) or "overlap" (the original TypeScript package's).
        embedder: Makes vectors for searches by meaning; without one, words alone count.
        clock_ms: Milliseconds now, where a method is called without `now`. Without a clock the newest time seen counts.
        new_id: Makes an id from (content, turn, counter); must give the same id for the same arguments.
        seed: Goes into default ids; engines that share a place for their memories should differ in it.
        heading: First line of the prompt block.
        extract: Asks a model for the statements of a turn. This and the next two are called by `post_turn_async` alone.
        reconcile: Asks a model what new statements do to held ones.
        arbiter: Asks a model what to show in the next prompts.
        on_persist: Takes the snapshot after a turn was learned by `post_turn_async`.
        callback_timeout_s: How long each of the four may take.
    """

    max_l0_tokens: int = 2000
    max_l1_tokens: int = 8000
    max_l2_items: int | None = None
    max_total_tokens: int = 2000
    max_index_items: int | None = None
    index_all_tiers: bool = False
    initial_self_model: ProprioceptiveSelfModel | None = None
    auto_extract_memories: bool = True
    learn_mixed_turns: bool = True
    extraction_tier: MemoryTier = "L2"
    allow_secrets: bool = False
    profile: Profile = Profile.V1
    ranking: Ranking = "idf"
    embedder: Embedder | None = None
    clock_ms: Callable[[], int] | None = None
    new_id: Callable[[str, str, int], str] | None = None
    seed: int = 0
    heading: str = ENGINE_HEADING
    extract: Callable[[Extract], object] | None = None
    reconcile: Callable[[ReconcileInput], object] | None = None
    arbiter: Callable[[ArbiterInput], object] | None = None
    on_persist: Callable[[CognitiveMemoryStateSnapshot], object] | None = None
    callback_timeout_s: float = 60.0
