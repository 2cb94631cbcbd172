"""What goes into a prompt, and the account of it."""

from __future__ import annotations

from .wire import FrozenModel, MemoryInclusionReason, MemoryTier, Text


class MemoryInjectionEntry(FrozenModel):
    """One line of the prompt block. `body` is absent where a gist was enough; `tokens` counts gist, tags and body."""

    id: Text
    tier: MemoryTier
    reason: MemoryInclusionReason
    gist: Text
    body: Text | None = None
    tokens: int


class MemoryInjectionReport(FrozenModel):
    """The prompt block and the account of it. `truncated` says that the budget kept something out."""

    text: Text
    entries: list[MemoryInjectionEntry]
    total_tokens: int
    truncated: bool
