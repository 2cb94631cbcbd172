"""JSON Schemas of the three answers, in the strict form model providers take: every key required, null where one may miss."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_IMPACT: Final[Schema] = {"type": "string", "enum": ["low", "medium", "critical"]}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_TENSION: Final = _object(claimA=_TEXT, claimB=_TEXT, impact=_IMPACT, actionableQuestion=_TEXT)

EXTRACTION_SCHEMA: Final[Schema] = _object(
    memories=_list(_object(content=_TEXT, domains=_list(_TEXT))), tensions=_list(_TENSION)
)
"""What `parse_extraction` reads."""

VERDICTS_SCHEMA: Final[Schema] = _object(
    verdicts=_list(
        _object(
            index={"type": "integer"},
            action={"type": "string", "enum": ["add", "merge", "replace", "reject"]},
            content=_or_null(_TEXT),
            targetIds=_list(_TEXT),
            reason=_or_null(_TEXT),
        )
    )
)
"""What `parse_verdicts` reads; `index` counts the items from 0."""

EVALUATION_SCHEMA: Final[Schema] = _object(
    promotions=_list(
        _object(
            memoryId=_TEXT,
            targetTier={"type": "string", "enum": ["L1"]},
            signalType={"type": "string", "enum": ["anticipatory", "tension", "proprioceptive", "recency"]},
            urgency={"type": "number"},
        )
    ),
    demotions=_list(_object(memoryId=_TEXT, targetTier={"type": "string", "enum": ["L2"]}, reason=_TEXT)),
    pins=_list(_object(memoryId=_TEXT, targetTier={"type": "string", "enum": ["L0"]}, reason=_TEXT)),
    detectedTensions=_list(_TENSION),
    trajectoryPrediction=_or_null(
        _object(
            predictedDomains=_list(_TEXT),
            predictedFiles=_list(_TEXT),
            prefetchMemoryIds=_list(_TEXT),
            confidence={"type": "number"},
        )
    ),
    selfModelUpdate=_or_null(
        _object(
            domain=_TEXT,
            success=_or_null({"type": "boolean"}),
            failurePatternObserved=_or_null(_TEXT),
        )
    ),
)
"""What `parse_evaluation` reads."""
