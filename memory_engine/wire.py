"""What every model that leaves the engine has in common: camelCase names outside, unknown keys kept."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from pydantic.alias_generators import to_camel

MemoryTier = Literal["L0", "L1", "L2", "L3"]
CognitiveMemoryTier = MemoryTier
TensionStatus = Literal["active", "latent", "resolved"]
TensionImpact = Literal["low", "medium", "critical"]
Impact = TensionImpact
MemoryInclusionReason = Literal["index", "trigger", "tension", "guardrail"]
InclusionReason = MemoryInclusionReason
MemorySource = Literal["rules", "model", "api"]
Scope = Literal["memories:read", "memories:write", "stats:read", "keys:manage"]
ReconcileAction = Literal["add", "merge", "replace", "reject"]
SignalType = Literal["anticipatory", "tension", "proprioceptive", "recency"]
GateAction = Literal["proceed", "inject_caution"]
ExtractorMode = Literal["rules-only", "rules+model"]


def _must_be_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, got {type(value).__name__}")
    return value


# pydantic's own `str` refuses a lone surrogate, which a JavaScript peer may have stored by cutting an emoji in half.
Text = Annotated[str, PlainValidator(_must_be_text, json_schema_input_type=str)]
Millis = Annotated[int, Field(strict=True)]
Count = Annotated[int, Field(strict=True)]
Ratio = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class WireModel(BaseModel):
    """Accepts both spellings of a name, writes camelCase, and hands on keys it does not know."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")


class FrozenModel(WireModel):
    """A value: once made, it stays as it is."""

    model_config = ConfigDict(frozen=True)


def plain(value: Any) -> Any:
    """A model as the JSON values a JavaScript peer would have written: no nulls of ours, whole floats as integers."""
    if isinstance(value, BaseModel):
        return _plain_model(value)
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple | MutableSequence):
        return [plain(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


def _plain_model(model: BaseModel) -> dict[str, Any]:
    held = model.__dict__
    plained = {alias: plain(held[name]) for name, alias in _aliases(type(model)) if held.get(name) is not None}
    for key, member in (model.__pydantic_extra__ or {}).items():
        plained[key] = plain(member)
    return plained


_ALIASES: dict[type[BaseModel], list[tuple[str, str]]] = {}


def _aliases(model: type[BaseModel]) -> list[tuple[str, str]]:
    known = _ALIASES.get(model)
    if known is None:
        known = [(name, field.alias or name) for name, field in model.model_fields.items()]
        _ALIASES[model] = known
    return known
