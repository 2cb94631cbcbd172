"""What the memory service and its clients say to each other. Nothing here needs a web framework.

Requests are strict: a field that is not known, or not of its type, is refused by name, since a misspelt `limt` must not be
silent. Answers are the engine's own models, some in an envelope. Times are milliseconds since 1970, UTC.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from memory_engine import Impact, LearnResult, Memory, MemoryTier, Scope, Tension, TensionStatus
from memory_engine.wire import WireModel

MAX_RECALLED = 50
"""A recall that asks for more hits gets this many."""
MAX_LISTED = 500
DEFAULT_SCOPES: tuple[Scope, ...] = ("memories:read", "memories:write", "stats:read")

Identity = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Said = Annotated[str, StringConstraints(max_length=20_000)]
ClaimText = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
Note = Annotated[str, StringConstraints(max_length=500)]
Domains = Annotated[list[Identity], Field(max_length=32)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Request(BaseModel):
    """A body. camelCase on the wire; snake_case is understood too. An absent field and null mean the same."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
    )


class Query(BaseModel):
    """Query parameters, which arrive as text."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, hide_input_in_errors=True)


class RememberItem(Request):
    """A statement to keep. Its length is judged with its content, item by item: one bad item does not lose the others."""

    content: str
    domains: Domains | None = None
    tier: MemoryTier | None = None


class RememberRequest(Request):
    """Statements that the caller vouches for. With `reconcile` a model is asked, where there is one, what rules do not know."""

    items: Annotated[list[RememberItem], Field(min_length=1, max_length=500)]
    session_id: Identity | None = None
    reconcile: bool | None = None


class ListMemoriesQuery(Query):
    """Which memories to list: the newest first, `offset` of them left out."""

    limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] = 100
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    tier: MemoryTier | None = None


class EditMemoryRequest(Request):
    """What to change of a memory; at least one of the four."""

    tier: MemoryTier | None = None
    content: Annotated[str, StringConstraints(min_length=3, max_length=4_000)] | None = None
    gist: Identity | None = None
    domains: Domains | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "EditMemoryRequest":
        if self.tier is None and self.content is None and self.gist is None and self.domains is None:
            raise ValueError("give at least one of tier, content, gist, domains")
        return self


class RecallRequest(Request):
    """What to look for. A `limit` over 50 counts as 50."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
    limit: Positive | None = None


class ContextRequest(Request):
    """The message about to be answered, ids whose body is wanted anyway, and a ceiling on the block."""

    user_message: Said | None = None
    force_full: Annotated[list[Identity], Field(max_length=100)] | None = None
    max_tokens: Positive | None = None
    session_id: Identity | None = None


class TurnRequest(Request):
    """A finished exchange to learn from."""

    user_message: Said
    assistant_response: Said
    session_id: Identity | None = None


class ListTensionsQuery(Query):
    """Which contradictions to list; without a status all."""

    status: TensionStatus | None = None


class AddTensionRequest(Request):
    """Two claims that cannot both be true, and the question that would settle it."""

    claim_a: ClaimText
    claim_b: ClaimText
    impact: Impact | None = None
    actionable_question: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class ResolveTensionRequest(Request):
    """Who decided, and what can be learned from it."""

    resolved_by: Identity
    pattern: Annotated[str, StringConstraints(max_length=1_000)] | None = None


class DomainOutcomeRequest(Request):
    """How a task in a domain went."""

    domain: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    success: bool
    failure_pattern: Note | None = None
    strategy: Note | None = None


class MintKeyRequest(Request):
    """A key to make. It carries one memory: that of a user with a persona in an organisation.

    `organizationId` is for the admin token; a key mints for its own organisation.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    organization_id: Identity | None = None
    user_id: Identity = "local"
    persona_id: Identity = "default"
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=8)] = list(DEFAULT_SCOPES)
    expires_in_days: Annotated[int, Field(ge=1, le=3_650)] | None = None


class KeyQuery(Query):
    """Whose keys: only the admin token needs to say it."""

    organization_id: Identity | None = None


class OrganizationLimits(Request):
    """What an organisation has instead of the service's own limits; null inherits."""

    max_total_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    default_recall_limit: Annotated[int, Field(ge=1, le=MAX_RECALLED)] | None = None
    max_index_items: Annotated[int, Field(ge=1, le=10_000)] | None = None


class Learned(LearnResult):
    """What learning did. `errors` tell what a model could not say; the rules did without it."""

    errors: list[str] | None = None


class MemoryAnswer(WireModel):
    """One memory."""

    memory: Memory


class MemoryListingStats(WireModel):
    """What there is beside the listed; times are 0 when there is nothing."""

    total: int
    by_tier: dict[MemoryTier, int]
    sessions: int
    active_tensions: int
    created_at: int
    last_accessed_at: int


class MemoryListing(WireModel):
    """Memories, the newest first. `stats.total` tells whether there are more."""

    memories: list[Memory]
    stats: MemoryListingStats


class MemoryDeleted(WireModel):
    """Whether a memory of this id was held; it is not any more."""

    deleted: bool
    id: str


class TensionAnswer(WireModel):
    """One contradiction."""

    tension: Tension


class TensionListing(WireModel):
    """Contradictions, the newest first."""

    tensions: list[Tension]


class MintedKey(WireModel):
    """A new key. `key` is shown here and never again."""

    key: str
    id: str
    prefix: str
    scopes: list[Scope]
    organization_id: str
    user_id: str
    persona_id: str
    expires_at: int | None = None
    warning: str


class KeyInfo(WireModel):
    """A key without its secret. `status` is active, expired or revoked."""

    id: str
    name: str
    prefix: str
    scopes: list[Scope]
    user_id: str
    persona_id: str
    status: str
    created_at: int
    expires_at: int | None = None
    last_used_at: int | None = None
    revoked_at: int | None = None


class KeyListing(WireModel):
    """The keys of an organisation, the newest first."""

    organization_id: str
    keys: list[KeyInfo]


class KeyRevoked(WireModel):
    """A key that opens nothing any more."""

    id: str
    revoked: bool
    revoked_at: int
