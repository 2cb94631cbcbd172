"""A scope's memory as text for a person: what is held, what is in doubt, and why the last prompt said what it said."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from activities.memory_keeper import open_tensions
from activities.store.memory_plans import LastPlan
from activities.store.records import Scope
from memory_engine import CognitiveMemory, KnowledgeTension, MemoryItem, gist_of, weak_domains

TIERS = {"L0": "pinned", "L1": "hot", "L2": "warm", "L3": "archived"}
REASONS = {
    "index": "a line of the index",
    "trigger": "the message names something in it",
    "tension": "an open contradiction",
    "guardrail": "a weak domain is active",
}
SHOWN_MEMORIES = 200
BODY_CHARS = 600


def memory_report(engine: CognitiveMemory, scope: Scope, version: int, last: LastPlan | None, query: str | None) -> str:
    """The whole report. With a query also what that message would put into a prompt, and what a search for it finds."""
    parts = [
        _summary(engine, scope, version),
        _section("Index: what every prompt may show", _index(engine)),
        _section("Memories", _bodies(engine)),
        _section("Open contradictions", map(_tension, open_tensions(engine))),
        _section("Weak domains", _weak(engine)),
        _section("Last prompt", _last(last)),
    ]
    if query is not None:
        parts += [
            _section(f"A message that says {_line(query)!r} would put into the prompt", _plan(engine, query)),
            _section("A search for it finds", _found(engine, query)),
        ]
    return "\n\n".join(parts)


def _summary(engine: CognitiveMemory, scope: Scope, version: int) -> str:
    counts = ", ".join(f"{len(engine.memories(tier))} {name}" for tier, name in TIERS.items())  # type: ignore[arg-type]
    stats = engine.stats
    return (
        f"Memory of user {_line(scope.user_id)}, persona {_line(scope.persona_id)}, "
        f"organization {_line(scope.organization_id)}\n"
        f"version {version}, memories: {len(engine)} ({counts}), turns learned: {stats.total_turns_processed}, "
        f"predictions right: {stats.predictions_hit} of {stats.predictions_total}"
    )


def _section(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {heading}", "", *(list(lines) or ["none"])])


def _index(engine: CognitiveMemory) -> Iterator[str]:
    for item in (*engine.memories("L0"), *engine.memories("L1")):
        if item.superseded_by is None and not item.quarantined:
            yield f"- {_line(item.id)} [{TIERS[item.tier]}] {_line(gist_of(item), 120)}"


def _bodies(engine: CognitiveMemory) -> Iterator[str]:
    items = engine.memories()
    for item in items[:SHOWN_MEMORIES]:
        yield f"- {_line(item.id)}: {_line(item.content, BODY_CHARS)}"
        yield f"  {'; '.join(_facts(item))}"
    if len(items) > SHOWN_MEMORIES:
        yield f"- and {len(items) - SHOWN_MEMORIES} more; an export has all of them"


def _facts(item: MemoryItem) -> Iterator[str]:
    about = item.metadata
    yield TIERS[item.tier]
    yield f"from {_ORIGINS.get(item.source or '', _line(item.source or 'elsewhere'))} on {_day(about.created_at)}"
    yield f"uses: {about.access_count}, last on {_day(about.last_accessed_at)}"
    if about.domains:
        yield f"domains {_line(', '.join(about.domains))}"
    if item.superseded_by:
        yield f"no longer holds: see {_line(item.superseded_by)}"
    if item.quarantined:
        yield "reads like an instruction: never shown unless searched for"


_ORIGINS = {"rules": "the user's words", "model": "a model's reading of them", "api": "a request to remember"}


def _tension(tension: KnowledgeTension) -> str:
    claims = " / ".join(_line(claim.statement) for claim in (tension.claim_a, tension.claim_b))
    return f"- {_line(tension.id)} [{tension.impact}] {claims}\n  asks: {_line(tension.actionable_question)}"


def _weak(engine: CognitiveMemory) -> Iterator[str]:
    model = engine.self_model
    for name in weak_domains(model):
        known = model.domains[name]
        yield f"- {_line(name)}: reliability {known.reliability_score:.0%}, outcomes: {known.sample_count}"
        yield from (f"  beware: {_line(pattern)}" for pattern in known.known_failure_patterns)


def _last(last: LastPlan | None) -> Iterator[str]:
    if last is None:
        return
    plan = last.plan
    yield f"turn {_line(last.turn_id)} on {_moment(last.created_ms)}: entries: {plan.entries}, tokens: {plan.tokens}"
    yield from (_entry(line.id, line.reason, line.tokens, line.gist) for line in plan.lines)
    if plan.truncated:
        yield "the budget kept something out"


def _plan(engine: CognitiveMemory, query: str) -> Iterator[str]:
    report = engine.plan_injection(query)
    yield f"entries: {len(report.entries)}, tokens: {report.total_tokens}"
    yield from (_entry(entry.id, entry.reason, entry.tokens, entry.body or entry.gist) for entry in report.entries)
    if report.truncated:
        yield "the budget kept something out"


def _entry(memory_id: str, reason: str, tokens: int, text: str) -> str:
    return f"- {_line(memory_id)} ({REASONS.get(reason, reason)}, {tokens} tokens) {_line(text, 200)}"


def _found(engine: CognitiveMemory, query: str) -> Iterator[str]:
    for hit in engine.search(query):
        yield f"- {_line(hit.item.id)} ({hit.score:.2f}) {_line(hit.item.content, 200)}"


def _line(text: str, limit: int = 200) -> str:
    """The text on one line, for a terminal: nothing in it can move the cursor or hide what follows."""
    shown = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text[: 2 * limit]).split())
    return shown if len(shown) <= limit and len(text) <= 2 * limit else f"{shown[:limit]}…"


def _day(milliseconds: int) -> str:
    return _moment(milliseconds)[:10]


def _moment(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return "an unknown day"
