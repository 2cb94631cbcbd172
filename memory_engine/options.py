"""What a host decides when it makes an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .knowledge import ProprioceptiveSelfModel
from .profile import Profile
from .search import Ranking
from .wire import MemoryTier

ENGINE_HEADING = "## Cognitive Memory State"
SERVICE_HEADING = "## Memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class CognitiveMemoryOptions:
    """Budgets, clock and habits of one engine.

    Attributes:
        max_l0_tokens: Ceiling on guardrails, tensions and pins together.
        max_total_tokens: Ceiling on all that goes into one prompt, headings included.
        max_index_items: How many index lines a plan may have; None leaves it to the budget.
        initial_self_model: What is known about reliability before the first turn.
        auto_extract_memories: Whether turns teach.
        learn_mixed_turns: Whether the statements of a message that also asks are learned.
        extraction_tier: Where a statement learned from a turn lands.
        allow_secrets: Whether credentials may be remembered.
        profile: Rules for tokens, ranking and extraction.
        ranking: "idf" (BM25) or "overlap" (the original TypeScript package's).
        clock_ms: Milliseconds now, where a method is called without `now`. Without a clock the newest time seen counts.
        new_id: Makes an id from (content, turn, counter); must give the same id for the same arguments.
        seed: Goes into default ids; engines that share a place for their memories should differ in it.
        heading: First line of the prompt block.
    """

    max_l0_tokens: int = 2000
    max_total_tokens: int = 2000
    max_index_items: int | None = None
    initial_self_model: ProprioceptiveSelfModel | None = None
    auto_extract_memories: bool = True
    learn_mixed_turns: bool = True
    extraction_tier: MemoryTier = "L2"
    allow_secrets: bool = False
    profile: Profile = Profile.V1
    ranking: Ranking = "idf"
    clock_ms: Callable[[], int] | None = None
    new_id: Callable[[str, str, int], str] | None = None
    seed: int = 0
    heading: str = ENGINE_HEADING
