"""Reading what a model answered. Nothing here raises for a bad answer: what can be used is used, the rest is named.

An answer may be the model's text, the JSON value in it, or a finished model of `evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .asks import Arbitrated, Extracted, Reconciled
from .evaluation import (
    ArbiterEvaluationResult,
    Demotion,
    DetectedTension,
    ExtractedMemory,
    ExtractionResult,
    MemoryReconciliation,
    Pin,
    Promotion,
    ReconcileItem,
    SelfModelUpdate,
)
from .knowledge import TrajectoryPrediction
from .salvage import salvage_json
from .text import without_lone_surrogates

MOST_ENTRIES = 64
"""Of one list in an answer at most so many entries are read."""

_MOST_PROBLEMS = 20
_MEMORIES = ("memories", "facts", "items")
_VERDICTS = ("verdicts", "decisions", "results")
_CONTENT = ("content", "text", "fact", "memory", "statement")
_EVALUATION = (
    *("promotions", "demotions", "pins", "detectedTensions", "detected_tensions"),
    *("trajectoryPrediction", "trajectory_prediction", "selfModelUpdate", "self_model_update"),
)
_Model = TypeVar("_Model", bound=BaseModel)


def parse_extraction(answer: object) -> Extracted:
    """The statements of an extractor's answer: a list of them, or an object with `memories` and perhaps `tensions`."""
    if isinstance(answer, ExtractionResult):
        return Extracted(result=answer)
    value, problems = _value_in(answer, (*_MEMORIES, "tensions"), joins=True)
    if value is None:
        return Extracted(problems=problems)
    fields: Mapping[str, Any] = value if isinstance(value, dict) else {"memories": value}
    entries = _list_in(fields, _MEMORIES, problems)
    memories = [memory for at, entry in enumerate(entries) if (memory := _memory(entry, at, problems))]
    tensions = _valid(DetectedTension, _list_in(fields, ("tensions",), problems), "tension", problems)
    result = ExtractionResult(memories=memories, tensions=tensions or None)
    return Extracted(result=result, problems=problems[:_MOST_PROBLEMS])


def parse_verdicts(answer: object, items: Sequence[ReconcileItem]) -> Reconciled:
    """The verdicts of a reconciler's answer beside the items it was asked about."""
    asked = list(items)
    if isinstance(answer, Sequence) and answer and all(isinstance(entry, MemoryReconciliation) for entry in answer):
        return Reconciled(items=asked, verdicts=list(answer))
    value, problems = _value_in(answer, (*_VERDICTS, "action"))
    if value is None:
        return Reconciled(items=asked, problems=problems)
    if isinstance(value, dict) and "action" in value:
        value = [value]
    entries = value if isinstance(value, list) else _list_in(value, _VERDICTS, problems)
    verdicts: list[MemoryReconciliation] = []
    for at, entry in enumerate(entries[:MOST_ENTRIES]):
        read = _valid(MemoryReconciliation, [_lenient_verdict(entry)], "verdict", problems, first=at)
        # The place of an unusable verdict is kept, so that those behind it still belong to their items.
        verdicts.append(read[0] if read else MemoryReconciliation(action="add", reason="the verdict was unusable"))
    return Reconciled(items=asked, verdicts=verdicts, problems=problems[:_MOST_PROBLEMS])


def parse_evaluation(answer: object) -> Arbitrated:
    """The decisions of an arbiter's answer; each unusable one is left out."""
    if isinstance(answer, ArbiterEvaluationResult):
        return Arbitrated(result=answer)
    value, problems = _value_in(answer, _EVALUATION)
    if value is None:
        return Arbitrated(problems=problems)
    if not isinstance(value, dict):
        return Arbitrated(problems=["the answer is a list and no evaluation"])
    moves = [_lenient_move(entry) for entry in _list_in(value, ("promotions",), problems)]
    result = ArbiterEvaluationResult(
        promotions=_valid(Promotion, moves, "promotion", problems),
        demotions=_valid(Demotion, _reasoned(value, "demotions", problems), "demotion", problems),
        pins=_valid(Pin, _reasoned(value, "pins", problems), "pin", problems),
        detected_tensions=_valid(
            DetectedTension, _list_in(value, ("detectedTensions", "detected_tensions"), problems), "tension", problems
        ),
        trajectory_prediction=_one(TrajectoryPrediction, value, "trajectoryPrediction", problems),
        self_model_update=_one(SelfModelUpdate, value, "selfModelUpdate", problems),
    )
    return Arbitrated(result=result, problems=problems[:_MOST_PROBLEMS])


def _value_in(answer: object, keys: Sequence[str], *, joins: bool = False) -> tuple[Any, list[str]]:
    if isinstance(answer, BaseModel):
        answer = answer.model_dump(by_alias=True, exclude_none=True)
    if isinstance(answer, bytes):
        answer = answer.decode("utf-8", "replace")
    if isinstance(answer, str):
        salvaged = salvage_json(answer, keys, joins=joins)
        return _clean(salvaged.value), [salvaged.problem] if salvaged.problem else []
    if isinstance(answer, Mapping):
        if any(key in answer for key in keys):
            return _clean(dict(answer)), []
        return None, ["the answer held no JSON of the expected shape"]
    if isinstance(answer, Sequence):
        return _clean(list(answer)), []
    return None, [f"the answer was {type(answer).__name__} and no JSON value"]


def _clean(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if depth > 8:
        return None
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): _clean(member, depth + 1) for key, member in value.items()}
    return [_clean(member, depth + 1) for member in value] if isinstance(value, list | tuple) else value


def _list_in(fields: Mapping[str, Any], names: Sequence[str], problems: list[str]) -> list[Any]:
    entries: Any = next((fields[name] for name in names if fields.get(name)), [])
    if not isinstance(entries, list):
        problems.append(f"{names[0]} is {type(entries).__name__} and no list")
        return []
    if len(entries) > MOST_ENTRIES:
        problems.append(f"{names[0]} has {len(entries)} entries; the first {MOST_ENTRIES} were read")
    return entries[:MOST_ENTRIES]


def _memory(entry: Any, at: int, problems: list[str]) -> ExtractedMemory | None:
    content, domains = entry, None
    if isinstance(entry, dict):
        content = next((entry[name] for name in _CONTENT if isinstance(entry.get(name), str)), None)
        domains = entry.get("domains")
    if not isinstance(content, str) or not content.strip():
        problems.append(f"memory {at + 1} is no statement but {_kind(entry)}")
        return None
    tags = [tag for tag in domains if isinstance(tag, str)][:8] if isinstance(domains, list) else []
    return ExtractedMemory(content=content, domains=tags)


def _kind(entry: Any) -> str:
    if entry is None:
        return "null"
    return "an object without a text" if isinstance(entry, dict) else type(entry).__name__


def _valid(
    model: type[_Model], entries: Sequence[Any], name: str, problems: list[str], *, first: int = 0
) -> list[_Model]:
    kept: list[_Model] = []
    for at, entry in enumerate(entries, start=first):
        try:
            kept.append(model.model_validate(entry))
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in wrong["loc"])
            problems.append(f"{name} {at + 1} is unusable: {place or 'value'}: {wrong['msg']}")
    return kept


def _one(model: type[_Model], fields: Mapping[str, Any], alias: str, problems: list[str]) -> _Model | None:
    value = fields.get(alias, fields.get("".join(f"_{c.lower()}" if c.isupper() else c for c in alias)))
    if value is None:
        return None
    kept = _valid(model, [value], alias, problems)
    return kept[0] if kept else None


def _lenient_verdict(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    fields = {key: member for key, member in entry.items() if member is not None}
    fields["action"] = str(fields.get("action", "")).strip().lower()
    targets = fields.get("targetIds", fields.pop("target_ids", None))
    targets = [targets] if isinstance(targets, str) else targets
    fields["targetIds"] = [target for target in targets if isinstance(target, str)] if isinstance(targets, list) else []
    if isinstance(fields.get("index"), bool) or not isinstance(fields.get("index"), int):
        fields.pop("index", None)
    for name in ("content", "reason"):
        if not isinstance(fields.get(name), str):
            fields.pop(name, None)
    return fields


def _lenient_move(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    fields = {"signalType": "anticipatory", "urgency": 0.5} | {k: v for k, v in entry.items() if v is not None}
    if isinstance(fields["urgency"], int | float):
        fields["urgency"] = min(1.0, max(0.0, float(fields["urgency"])))
    return fields


def _reasoned(fields: Mapping[str, Any], name: str, problems: list[str]) -> list[Any]:
    entries = _list_in(fields, (name,), problems)
    return [{"reason": "", **entry} if isinstance(entry, dict) else entry for entry in entries]
