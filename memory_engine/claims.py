"""Contradictions that a model names: raised only between claims that somebody made."""

from __future__ import annotations

from collections.abc import Iterable

from .candidates import recall_similar
from .evaluation import DetectedTension
from .grounding import ungrounded
from .knowledge import Claim
from .screening import screen_injection
from .secrecy import has_secret
from .state import State
from .tensions import new_tension
from .text import clip, normalise, without_lone_surrogates

MOST_TENSIONS = 6
"""At most so many contradictions are taken from one answer."""

_LONGEST_CLAIM = 600
_LONGEST_QUESTION = 500


def raise_tensions(state: State, detected: Iterable[DetectedTension], said: str, now: int) -> tuple[int, list[str]]:
    """Raises the tensions whose claims the user stated (`said`) or a memory holds.

    Returns how many are new, and why others were left out.
    """
    new, problems = 0, []
    for at, seen in enumerate(detected):
        if at >= MOST_TENSIONS:
            problems.append(f"more than {MOST_TENSIONS} contradictions")
            break
        first, second = (_claim(state, text, said, now) for text in (seen.claim_a, seen.claim_b))
        question = clip(without_lone_surrogates(seen.actionable_question).strip(), _LONGEST_QUESTION)
        if isinstance(first, str) or isinstance(second, str):
            problems.append(f"contradiction {at + 1} left out: {first if isinstance(first, str) else second}")
        elif normalise(first.statement) == normalise(second.statement):
            problems.append(f"contradiction {at + 1} left out: its claims are the same")
        elif has_secret(question) or screen_injection(question):
            problems.append(f"contradiction {at + 1} left out: its question is not fit to be shown")
        else:
            new += state.tensions.add(new_tension(first, second, seen.impact, question))
    state.stats.tensions_detected += new
    return new, problems


def _claim(state: State, text: str, said: str, now: int) -> Claim | str:
    """The claim with its source, or why it is none."""
    statement = without_lone_surrogates(text).strip()
    if not statement or len(statement) > _LONGEST_CLAIM:
        return "a claim is empty or too long"
    if has_secret(statement):
        return "a claim holds a secret"
    suspicion = screen_injection(statement)
    if suspicion:
        return f"a claim {suspicion}"
    for record in recall_similar(state.store, statement):
        if not ungrounded(statement, record.content):
            return Claim(source=record.id, statement=statement, timestamp=record.created_at)
    missing = ungrounded(statement, said)
    if missing:
        return f"nobody stated {missing[0]}"
    return Claim(source="user", statement=statement, timestamp=now)
