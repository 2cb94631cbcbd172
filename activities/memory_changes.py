"""What an agent may do to its memory by itself, and what it may not.

A call of a tool is written by a model, which may have it from a document. So a statement is kept only if the user made it,
and no text that reads like a credential or an order gets in by another way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activities.memory_keeper import open_tensions
from activities.memory_tools import Forget, MemoryChange, RecordOutcome, Remember, ResolveTension
from memory_engine import (
    WEAK_BELOW,
    CognitiveMemory,
    KnowledgeTension,
    LearnedFact,
    MemoryItem,
    PostTurnResult,
    SearchHit,
    Stage,
    distinctive_tokens,
    domain_key,
    extract_identifiers,
    has_secret,
    screen_injection,
    ungrounded,
)

MOST_NAMED = 5
MOST_SEARCHED = 20
MAX_DOMAIN = 40
MAX_DOMAIN_WORDS = 3
OWN_WORDS = 2 / 3
"""How much of a text's vocabulary must stand in one message of the user's."""

NAMING_WORDS = 1 / 3
"""How much of a memory's vocabulary a query must have to name it."""

_STATEMENTS: tuple[Stage, ...] = ("extract",)
# Ways to call the user, which the user does not use.
_ABOUT = frozenset({"user", "they", "their"})


class ChangeRefusedError(Exception):
    """A change that is not made; the message tells the model why, and what it can do instead."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a change stands on. `said` are the user's messages of the conversation, this turn's last.

    `key` names the call: a change that is made again under it has no further effect. With `may_have_run` an attempt before
    this one was cut off and may have made it.
    """

    said: Sequence[str]
    key: str
    now_ms: int
    session_id: str | None = None
    may_have_run: bool = False


def make_change(engine: CognitiveMemory, change: MemoryChange, grounds: Grounds) -> dict[str, Any]:
    """Change the engine; the account of it for the model.

    Raises:
        ChangeRefusedError: nothing was changed.
    """
    match change:
        case Remember(content):
            return _remember(engine, content, grounds)
        case Forget(memory_id, query):
            return _forget(engine, memory_id, query, grounds)
        case ResolveTension():
            return _resolve(engine, change, grounds)
        case RecordOutcome():
            return _record(engine, change, grounds)


def ungrounded_because(content: str, said: Sequence[str]) -> str | None:
    """Why a statement cannot be taken for the user's own, or None when the user made it."""
    # An engine of its own hears the conversation and the statement: it knows questions, suppositions and pasted text from
    # what is stated, and which names and numbers nobody mentioned.
    judge = CognitiveMemory()
    # The newest words first: of a very long text only the beginning is read.
    asking = judge.begin_post_turn("\n".join(reversed(said)), "", asks=_STATEMENTS)
    if asking.ask is None:
        return "the user has stated nothing in this conversation that could be kept"
    asking.answer({"memories": [{"content": content}]})
    if reason := _rejected_because(asking.finish(), content):
        return reason
    return foreign_because(content, said)


def foreign_because(text: str, said: Sequence[str]) -> str | None:
    """Why a text cannot come from the user, or None: names and numbers nobody mentioned, words that were never used."""
    if missing := ungrounded(text, "\n".join(said)):
        return f"the user did not say {', '.join(missing[:3])}"
    words = distinctive_tokens(text) - _ABOUT
    shares = (len(words & distinctive_tokens(message)) / len(words) for message in said if words)
    if words and max(shares, default=0.0) < OWN_WORDS:
        return "no message of the user says this; use the user's own words"
    return None


def _remember(engine: CognitiveMemory, content: str, grounds: Grounds) -> dict[str, Any]:
    if reason := ungrounded_because(content, grounds.said):
        raise ChangeRefusedError(f"Not remembered: {reason}.")
    result = engine.remember([content], turn_id=grounds.key, now=grounds.now_ms, session_id=grounds.session_id)
    if reason := _rejected_because(result, content):
        raise ChangeRefusedError(f"Not remembered: {reason}.")
    fact = result.facts[0]
    told = {"remembered": True, "what": _WHAT.get(fact.action, fact.action), "id": fact.id, "content": fact.content}
    return told | ({"replaced": fact.target_ids} if fact.action == "replaced" else {})


_WHAT = {
    "added": "it is new",
    "merged": "it was known already",
    "replaced": "it takes the place of what was known before",
    "quarantined": "it is kept, but shown only when it is searched for",
}


def _rejected_because(result: PostTurnResult, content: str) -> str | None:
    """Why the engine turned the statement down, or None when some fact of the result holds it."""
    told = [fact for fact in result.facts if _is_about(fact, content)]
    if any(fact.action != "rejected" for fact in told):
        return None
    if has_secret(content):
        return "it holds a password, key or other secret"
    return next((fact.reason for fact in told if fact.reason), "it is no lasting statement")


def _is_about(fact: LearnedFact, content: str) -> bool:
    # What is rejected is shown cut.
    return fact.content == content.strip() or (
        fact.action == "rejected" and fact.content[:150] == content.strip()[:150]
    )


def _forget(engine: CognitiveMemory, memory_id: str | None, query: str | None, grounds: Grounds) -> dict[str, Any]:
    if (memory_id is None) == (query is None):
        raise ChangeRefusedError("Nothing was forgotten: give either id or query, and not both.")
    if engine.has_removed(grounds.key):
        # Looked for again, the query could by now name another memory.
        return {"forgotten": True, "what": "it is not held any more"}
    item = engine.get_memory(memory_id) if memory_id is not None else _only_one(engine, query or "")
    if item is None:
        raise ChangeRefusedError("Nothing was forgotten: there is no memory of this id; search_memory gives ids.")
    engine.remove_memory(item.id, request_id=grounds.key)
    return {"forgotten": True, "id": item.id, "content": item.content}


def _only_one(engine: CognitiveMemory, query: str) -> MemoryItem:
    """The memory that alone has every word of the query, if these are enough to tell which is meant."""
    found = engine.search(query, MOST_SEARCHED)
    if not found:
        raise ChangeRefusedError("Nothing was forgotten: no memory matches the query.")
    words = distinctive_tokens(query)
    whole = [hit for hit in found if words and words <= distinctive_tokens(hit.item.content)]
    if len(whole) == 1 and _tells(words, query, whole[0].item.content):
        return whole[0].item
    near = "; ".join(map(_shown, (whole or found)[:MOST_NAMED]))
    raise ChangeRefusedError(
        f"Nothing was forgotten: the query does not name exactly one memory. If one of these is meant, give its id: {near}"
    )


def _tells(words: set[str], query: str, content: str) -> bool:
    """Whether words that a memory has are more than a passing mention of it: an identifier, or a good part of what it says."""
    if extract_identifiers(query):
        return True
    told = distinctive_tokens(content)
    return words == told or (len(words) > 1 and len(words) >= len(told) * NAMING_WORDS)


def _shown(hit: SearchHit) -> str:
    return f"{hit.item.id}: {hit.item.content[:120]}"


def _resolve(engine: CognitiveMemory, change: ResolveTension, grounds: Grounds) -> dict[str, Any]:
    _screen(change.resolved_by, "resolved_by")
    _screen(change.pattern, "pattern")
    tension = next((each for each in engine.tensions() if each.id == change.id), None)
    if tension is None:
        raise ChangeRefusedError(f"Nothing was resolved: there is no contradiction of this id. {_open(engine)}")
    was_open = tension.status != "resolved"
    engine.resolve_tension(change.id, change.resolved_by, change.pattern, now=grounds.now_ms)
    told = {"resolved": True, "id": change.id, "claims": [tension.claim_a.statement, tension.claim_b.statement]}
    return told if was_open or grounds.may_have_run else told | {"what": "it was resolved before"}


def _open(engine: CognitiveMemory) -> str:
    def shown(tension: KnowledgeTension) -> str:
        return f"{tension.id}: {tension.actionable_question[:120]}"

    tensions = open_tensions(engine)[:MOST_NAMED]
    return f"Open are: {'; '.join(map(shown, tensions))}" if tensions else "None is open."


def _record(engine: CognitiveMemory, change: RecordOutcome, grounds: Grounds) -> dict[str, Any]:
    """Count the outcome. A text that would stand in later prompts must be the user's; one that is not is left out and told."""
    domain = domain_key(change.domain)
    # A domain stands in later prompts too: it is a name there, and no room for a sentence.
    if not domain or len(domain) > MAX_DOMAIN or domain.count("-") >= MAX_DOMAIN_WORDS:
        raise ChangeRefusedError(f"Nothing was recorded: domain must be a name of one to {MAX_DOMAIN_WORDS} words.")
    texts = {"failure_pattern": change.failure_pattern, "strategy": change.strategy}
    left_out = {name: why for name, text in texts.items() if text and (why := _unfit_because(text, grounds.said))}
    kept = {name: None if name in left_out else text for name, text in texts.items()}
    capability = engine.record_domain_outcome(change.domain, change.success, **kept)
    told = {
        "recorded": True,
        "domain": domain,
        "reliability": capability.reliability_score,
        "outcomes": capability.sample_count,
        "weak": capability.reliability_score < WEAK_BELOW,
    }
    return told | ({"leftOut": left_out} if left_out else {})


def _unfit_because(text: str, said: Sequence[str]) -> str | None:
    if has_secret(text):
        return "it holds a password, key or other secret"
    return screen_injection(text) or foreign_because(text, said)


def _screen(text: str, name: str) -> None:
    if has_secret(text):
        raise ChangeRefusedError(f"Nothing was changed: {name} holds a password, key or other secret.")
    if suspicion := screen_injection(text):
        raise ChangeRefusedError(f"Nothing was changed: {name} {suspicion}.")
