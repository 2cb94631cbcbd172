"""Checking values against JSON Schemas that others wrote, without trusting the schemas.

A schema may be broken, may name documents elsewhere (never fetched: a workflow has no network, and nobody lets a caller
choose our requests), and may be large, so compiled ones are kept.
"""

import functools
import json
from itertools import islice
from typing import Any

import jsonschema_rs

MAX_CHARS = 300
# A pattern that backtracks longer than this counts as one that does not match: nobody's schema may stop a workflow task.
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)


def schema_fault(schema: dict[str, Any], value: Any, at: str) -> str | None:
    """Where and how `value` breaks the schema, in words; None when it fits.

    Raises:
        ValueError: the schema itself cannot be used.
    """
    return next(iter(schema_faults(schema, value, at, 1)), None)


def schema_faults(schema: dict[str, Any], value: Any, at: str, most: int) -> list[str]:
    """The first `most` faults, each as `schema_fault` tells it.

    Raises:
        ValueError: the schema itself cannot be used.
    """
    errors = _validator(json.dumps(schema, sort_keys=True)).iter_errors(value)
    return [f"{at}{_where(error)}: {error.message[:MAX_CHARS]}" for error in islice(errors, most)]


def _where(error: Any) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
    return "".join(parts)[:MAX_CHARS]


def broken_schema(schema: dict[str, Any]) -> str | None:
    """Why a schema cannot be used, or None."""
    try:
        _validator(json.dumps(schema, sort_keys=True))
    except ValueError as fault:
        return str(fault)
    return None


@functools.lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    try:
        return jsonschema_rs.validator_for(
            json.loads(schema), retriever=_refuse, pattern_options=PATTERNS, mask="the value"
        )
    except Exception as fault:
        # The library raises a class of its own, ValueError or the retriever's error, depending on the fault.
        raise ValueError(f"the schema is not valid: {str(fault)[:MAX_CHARS]}") from fault


def _refuse(uri: str) -> Any:
    raise ValueError(f"it refers to {uri}, and references to other documents are not fetched")
