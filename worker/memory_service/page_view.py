"""What the page shows, gathered in one look at a memory, and written by templates that escape everything."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from activities.memory_keeper import DEFAULT_ORGANIZATION
from activities.store.memory_plans import LastPlan, last_plan
from activities.store.records import Scope
from memory_engine import CognitiveMemory, Memory, Tension, WeakDomain, memory_of_item
from worker.memory_service.authority import Caller
from worker.memory_service.plans import ServedPlan
from worker.memory_service.routes.keys import key_info
from worker.memory_service.service import Service
from worker.memory_service.views import active_tensions, weak_in
from worker.memory_service.wire import KeyInfo

MOST_SHOWN = 100

_TEMPLATES = Path(__file__).parent / "templates"
STYLE = (_TEMPLATES / "page.css").read_text()


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What is held: the newest, or what a query finds, with its share of common words."""

    total: int
    shown: list[tuple[Memory, float | None]]
    tensions: list[Tension]
    weak: list[WeakDomain]


@dataclass(frozen=True, slots=True)
class PageView:
    """All that the page shows. `memory` is None for a key that may not read; `keys` for one that may not manage keys."""

    scope: Scope
    rights: frozenset[str]
    query: str
    memory: MemoryView | None
    plans: list[ServedPlan]
    last_turn: LastPlan | None
    keys: list[KeyInfo] | None


async def gathered(service: Service, caller: Caller, query: str) -> PageView:
    """The page of a caller whose key opens a memory."""
    scope = caller.scope
    assert scope is not None, "the admin token is never in the cookie"
    may_read = "memories:read" in caller.rights
    memory = await service.read(scope, lambda engine: _memory(engine, query)) if may_read else None
    keys = await service.blocking(_keys, service, scope) if "keys:manage" in caller.rights else None
    return PageView(
        scope=scope,
        rights=caller.rights,
        query=query,
        memory=memory,
        plans=service.plans.last(scope) if may_read else [],
        last_turn=await service.blocking(_last_turn, service, scope) if may_read else None,
        keys=keys,
    )


def rendered(template: str, given: dict[str, object]) -> str:
    """A page as HTML."""
    return _environment.get_template(template).render(given)


def _memory(engine: CognitiveMemory, query: str) -> MemoryView:
    shown: list[tuple[Memory, float | None]]
    if query.strip():
        shown = [(memory_of_item(hit.item), hit.score) for hit in engine.search(query, MOST_SHOWN)]
    else:
        shown = [(memory, None) for memory in engine.newest(limit=MOST_SHOWN)]
    return MemoryView(len(engine), shown, active_tensions(engine), weak_in(engine))


def _last_turn(service: Service, scope: Scope) -> LastPlan | None:
    is_default = scope.organization_id == DEFAULT_ORGANIZATION
    return last_plan(service.database, scope, is_default_organization=is_default)


def _keys(service: Service, scope: Scope) -> list[KeyInfo]:
    return [key_info(key) for key in service.authority.listed(scope.organization_id)]


def _moment(milliseconds: int | None) -> str:
    """A time for people, UTC. What no calendar has is shown as it is."""
    if milliseconds is None:
        return "never"
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def _percent(share: float) -> str:
    return f"{share:.0%}"


_environment = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {"moment": _moment, "percent": _percent}
