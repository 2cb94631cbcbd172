"""What memory put into the prompts of a turn, line by line: kept beside the turn for people who ask why."""

from dataclasses import dataclass

from pydantic import Field
from sqlalchemy import bindparam, or_, select

from activities.contracts import MemoryPlan
from activities.store.database import Database
from activities.store.records import Scope
from activities.store.tables import turns
from activities.wire import Wire

MAX_LINES = 100

_LAST = (
    select(turns.c.id, turns.c.created_ms, turns.c.memory_plan)
    .where(
        # A turn that named no organisation stands without one, and uses the memory of the default one.
        or_(
            turns.c.organization_id == bindparam("organization"),
            turns.c.organization_id.is_(None) & bindparam("is_default"),
        ),
        turns.c.user_id == bindparam("user"),
        turns.c.persona_id == bindparam("persona"),
        turns.c.memory_plan.is_not(None),
    )
    .order_by(turns.c.created_ms.desc(), turns.c.id.desc())
    .limit(1)
)


class PlannedLine(Wire):
    """One line of a prompt: the memory, contradiction or guardrail it shows, and what it cost in tokens.

    `reason` is `index`, `trigger`, `tension` or `guardrail`; `gist` is the start of what it said.
    """

    id: str
    tier: str
    reason: str
    gist: str
    tokens: int


class KeptPlan(MemoryPlan):
    """A plan with its lines, as the store keeps it. Where a `MemoryPlan` crosses a history, the lines stay behind."""

    lines: tuple[PlannedLine, ...] = Field(default=(), max_length=MAX_LINES)


@dataclass(frozen=True, slots=True)
class LastPlan:
    """The newest turn of a scope that memory had something to say to."""

    turn_id: str
    created_ms: int
    plan: KeptPlan


def last_plan(database: Database, scope: Scope, *, is_default_organization: bool) -> LastPlan | None:
    """What memory put into the scope's newest prompt, or None."""
    given = {
        "organization": scope.organization_id,
        "is_default": is_default_organization,
        "user": scope.user_id,
        "persona": scope.persona_id,
    }
    with database.read() as connection:
        row = connection.execute(_LAST, given).one_or_none()
    return None if row is None else LastPlan(row.id, row.created_ms, KeptPlan.model_validate_json(row.memory_plan))
