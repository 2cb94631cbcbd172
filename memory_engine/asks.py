"""What a turn's learning may ask of a model, and the answers as they are kept.

The engine calls nobody. It says what it would like to know, as plain values that can cross a process, and goes on with
whatever comes back: an answer, half of one, or the reason why there is none.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .evaluation import (
    ArbiterEvaluationResult,
    ArbiterInput,
    ExtractionResult,
    MemoryReconciliation,
    ReconcileInput,
    ReconcileItem,
)
from .wire import FrozenModel, Text, WireModel

Stage = Literal["extract", "reconcile", "arbitrate"]
STAGES: tuple[Stage, ...] = ("extract", "reconcile", "arbitrate")
"""The order in which they are asked: what was said, how it relates to what is held, what moves."""


class Extract(FrozenModel):
    """Which lasting statements does the user make in this turn?

    A very long message is cut in its middle; `omitted_characters` says by how much.
    """

    kind: Literal["extract"] = "extract"
    user_message: Text
    assistant_response: Text
    omitted_characters: int = 0


class Reconcile(FrozenModel):
    """What does each new statement do to the held ones it resembles?"""

    kind: Literal["reconcile"] = "reconcile"
    input: ReconcileInput


class Arbitrate(FrozenModel):
    """Which memories should the next prompts show?"""

    kind: Literal["arbitrate"] = "arbitrate"
    input: ArbiterInput


Ask = Annotated[Extract | Reconcile | Arbitrate, Field(discriminator="kind")]


class Extracted(WireModel):
    """The answer to `Extract`; `problems` tells what of it could not be used, or why there is none."""

    result: ExtractionResult | None = None
    problems: list[Text] = Field(default_factory=list)


class Reconciled(WireModel):
    """The answer to `Reconcile`, beside what was asked: by then the memory may hold something else."""

    items: list[ReconcileItem] = Field(default_factory=list)
    verdicts: list[MemoryReconciliation] = Field(default_factory=list)
    problems: list[Text] = Field(default_factory=list)


class Arbitrated(WireModel):
    """The answer to `Arbitrate`."""

    result: ArbiterEvaluationResult | None = None
    problems: list[Text] = Field(default_factory=list)


class PostTurnAnswers(WireModel):
    """Everything a model said about one turn. The same answers on the same memory teach the same."""

    extract: Extracted | None = None
    reconcile: Reconciled | None = None
    arbitrate: Arbitrated | None = None
