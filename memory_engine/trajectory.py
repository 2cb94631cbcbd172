"""Guessing what the next turn is about, and keeping count of how often the guess was right.

The guess lives in the snapshot's `ext` until the next turn judges it, and every value read from there may be damaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from .evaluation import ArbiterEvaluationResult
from .identifiers import extract_identifiers, identifier_keys
from .knowledge import TrajectoryPrediction
from .ranking import leading
from .state import State
from .stems import ranking_terms
from .tokens import overlap_score, relevance_tokens
from .wire import plain

PENDING = "pendingPrediction"
FOLLOWERS = "domainFollowers"

_HIT_OVERLAP = 0.12
_MOST_FILES = 8
_MOST_NAMES = 32
_LONGEST_NAME = 300
_MOST_DOMAINS = 64
_MOST_PREFETCHED = 3
_MOST_FOLLOWERS = 3
_GUESS = 0.1
"""The confidence of a prediction that no promoted memory supports."""
_SUFFIXES = (
    *(".py", ".ts", ".tsx", ".js", ".jsx", ".go", ".rs", ".java", ".rb", ".sh", ".sql", ".css", ".html", ".md"),
    *(".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".txt", ".csv", ".lock", ".proto", ".tf"),
)


def score_prediction(state: State, user_message: str, domains: Sequence[str]) -> None:
    """Judges the pending prediction by the turn that followed it, and forgets it."""
    pending = _pending(state.ext.pop(PENDING, None))
    if pending is None:
        return
    prediction, former_domains = pending
    _count_followers(state, former_domains, domains)
    if prediction.confidence <= 0.0:
        return
    state.stats.predictions_total += 1
    state.stats.predictions_hit += _is_hit(state, prediction, user_message, domains)


def predict(
    state: State,
    user_message: str,
    assistant_response: str,
    domains: Sequence[str],
    evaluation: ArbiterEvaluationResult,
) -> TrajectoryPrediction:
    """The prediction of rules after a turn whose evaluation is known."""
    promoted = [promotion.memory_id for promotion in evaluation.promotions]
    followers = _followers(state)
    following: dict[str, int] = {}
    for domain in domains:
        for follower, count in followers.get(domain, {}).items():
            following[follower] = following.get(follower, 0) + count
    likely = sorted(following, key=lambda domain: (-following[domain], domain))[:_MOST_FOLLOWERS]
    predicted = list(dict.fromkeys((*domains, *likely)))
    contents = [record.content for memory_id in promoted if (record := state.store.get(memory_id))]
    files = _files(user_message, assistant_response, *contents)
    prefetched = dict.fromkeys((*promoted, *_about(state, predicted)))
    urgency = max((promotion.urgency for promotion in evaluation.promotions), default=0.0)
    return TrajectoryPrediction(
        predicted_domains=predicted,
        predicted_files=files,
        prefetch_memory_ids=list(prefetched),
        confidence=urgency or (_GUESS if predicted or files else 0.0),
    )


def keep_prediction(state: State, prediction: TrajectoryPrediction, domains: Sequence[str]) -> None:
    """Leaves a prediction, which may be a model's, for the next turn to judge."""
    bounded = TrajectoryPrediction(
        predicted_domains=_bounded(prediction.predicted_domains),
        predicted_files=_bounded(prediction.predicted_files),
        prefetch_memory_ids=_bounded(prediction.prefetch_memory_ids),
        confidence=min(1.0, max(0.0, prediction.confidence)),
    )
    state.ext[PENDING] = {**plain(bounded), "turnDomains": list(domains)}


def pending_prediction(state: State) -> TrajectoryPrediction | None:
    """The prediction that no turn has judged yet."""
    pending = _pending(state.ext.get(PENDING))
    return None if pending is None else pending[0]


def _bounded(names: Sequence[str]) -> list[str]:
    return [name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]


def _pending(value: Any) -> tuple[TrajectoryPrediction, list[str]] | None:
    if not isinstance(value, dict):
        return None
    try:
        prediction = TrajectoryPrediction.model_validate({key: value[key] for key in value if key != "turnDomains"})
    except ValidationError:
        return None
    domains = value.get("turnDomains")
    return prediction, [domain for domain in domains if isinstance(domain, str)] if isinstance(domains, list) else []


def _is_hit(state: State, prediction: TrajectoryPrediction, user_message: str, domains: Sequence[str]) -> bool:
    if set(prediction.predicted_domains) & set(domains):
        return True
    lowered = user_message.lower()
    if any(file and file.lower() in lowered for file in prediction.predicted_files):
        return True
    said, named = relevance_tokens(user_message), identifier_keys(user_message)
    for memory_id in prediction.prefetch_memory_ids[: _MOST_FILES * 2]:
        record = state.store.get(memory_id)
        if record is None:
            continue
        if named & identifier_keys(record.content):
            return True
        if overlap_score(said, relevance_tokens(record.content)) > _HIT_OVERLAP:
            return True
    return False


def _files(*texts: str) -> list[str]:
    named = (identifier for text in texts for identifier in extract_identifiers(text))
    files = (name for name in named if "://" not in name and ("/" in name or name.lower().endswith(_SUFFIXES)))
    return [file for file, _ in zip(dict.fromkeys(files), range(_MOST_FILES), strict=False)]


def _about(state: State, domains: Sequence[str]) -> list[str]:
    if not domains:
        return []
    matches = state.store.index.rank(ranking_terms(" ".join(domains)))
    best = leading(matches, state.store.index.created, 8 * _MOST_PREFETCHED)
    ids = map(state.store.index.id_at, best.slots[: 32 * _MOST_PREFETCHED].tolist())
    cold = [i for i in ids if (row := state.store.get(i)) and row.tier in ("L2", "L3") and row.is_injectable]
    return cold[:_MOST_PREFETCHED]


def _followers(state: State) -> dict[str, dict[str, int]]:
    held = state.ext.get(FOLLOWERS)
    if not isinstance(held, dict):
        return {}
    return {
        domain: {name: n for name, n in counts.items() if isinstance(n, int) and not isinstance(n, bool)}
        for domain, counts in held.items()
        if isinstance(counts, dict)
    }


def _count_followers(state: State, former: Sequence[str], domains: Sequence[str]) -> None:
    followers = _followers(state)
    for domain in former:
        for follower in domains:
            if follower != domain:
                counts = followers.setdefault(domain, {})
                counts[follower] = counts.get(follower, 0) + 1
                while len(counts) > _MOST_DOMAINS:
                    del counts[min(counts, key=lambda name: (counts[name], name))]
    while len(followers) > _MOST_DOMAINS:
        del followers[next(iter(followers))]
    if followers:
        state.ext[FOLLOWERS] = followers
