"""How reliable the agent has been, domain by domain, moved by recorded outcomes and by nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from .knowledge import DomainCapability, ProprioceptiveSelfModel
from .text import normalise

WEAK_BELOW = 0.75
"""A domain under this score puts a guardrail into every prompt while it is active."""

_PRIOR_SCORE = 0.8
_PRIOR_SAMPLES = 2
_MOST_SAMPLES = 10
_MOST_PATTERNS = 10
_MOST_ACTIVE = 64
_CALIBRATION_WEIGHT = 0.1


def domain_key(domain: str) -> str:
    """One spelling for a domain: "Database " and "database" are the same field of work."""
    return normalise(domain).replace(" ", "-")


def record_outcome(
    model: ProprioceptiveSelfModel,
    domain: str,
    success: bool,
    failure_pattern: str | None = None,
    strategy: str | None = None,
) -> DomainCapability:
    """Counts one outcome. The weight of a new one is 1 / (n + 2) for n outcomes, at least 1/12, on a prior of 0.8.

    A pattern is kept on failure only, a strategy on success only, the newest ten of each.
    """
    key = domain_key(domain)
    if not key:
        raise ValueError("a domain must have a name")
    capability = model.domains.setdefault(
        key,
        DomainCapability(
            reliability_score=_PRIOR_SCORE, sample_count=0, known_failure_patterns=[], recommended_strategies=[]
        ),
    )
    before = capability.reliability_score
    capability.sample_count += 1
    weight = 1.0 / (min(capability.sample_count, _MOST_SAMPLES) + _PRIOR_SAMPLES)
    outcome = 1.0 if success else 0.0
    capability.reliability_score = _rounded(before * (1.0 - weight) + outcome * weight)
    _remember(capability.known_failure_patterns, None if success else failure_pattern)
    _remember(capability.recommended_strategies, strategy if success else None)
    model.calibration_factor = _calibrated(model.calibration_factor, before, outcome)
    activate(model, [key])
    return capability


def reset_domain(model: ProprioceptiveSelfModel, domain: str) -> bool:
    """Forgets a domain's score, samples, patterns and guardrail together. False if nothing was known of it."""
    key = domain_key(domain)
    # A peer may have stored another spelling of the same field.
    names = [name for name in model.domains if domain_key(name) == key]
    for name in names:
        del model.domains[name]
    was_active = len(model.active_domains)
    model.active_domains[:] = [name for name in model.active_domains if domain_key(name) != key]
    return bool(names) or len(model.active_domains) < was_active


def activate(model: ProprioceptiveSelfModel, domains: Iterable[str]) -> None:
    """Adds domains to the active ones, the newest last; only the newest 64 stay."""
    for domain in domains:
        if domain not in model.active_domains:
            model.active_domains.append(domain)
    del model.active_domains[:-_MOST_ACTIVE]


def weak_domains(model: ProprioceptiveSelfModel) -> list[str]:
    """Active domains with a score under 0.75, the worst first."""
    scored = [
        (model.domains[domain].reliability_score, domain)
        for domain in dict.fromkeys(model.active_domains)
        if domain in model.domains
    ]
    return [domain for score, domain in sorted(scored, key=lambda pair: pair[0]) if score < WEAK_BELOW]


def percent(score: float) -> int:
    """A score in whole percent, halves rounded up."""
    return math.floor(score * 100 + 0.5)


def _calibrated(factor: float, predicted: float, outcome: float) -> float:
    confidence_was_right = 1.0 - max(0.0, predicted - outcome)
    moved = factor * (1.0 - _CALIBRATION_WEIGHT) + confidence_was_right * _CALIBRATION_WEIGHT
    return _rounded(min(1.0, max(0.0, moved)))


def _remember(patterns: list[str], pattern: str | None) -> None:
    if pattern and pattern.strip() and pattern not in patterns:
        patterns.append(pattern)
        del patterns[:-_MOST_PATTERNS]


def _rounded(value: float) -> float:
    # JavaScript's toFixed(3) looks at the exact binary value, so the decimal is made from the float and not its repr.
    return float(Decimal(value).quantize(Decimal("0.001"), ROUND_HALF_UP))
