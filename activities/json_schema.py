"""Checking values against JSON Schemas that others wrote, without trusting the schemas.

A schema may be broken, may name documents elsewhere (never fetched: a workflow has no network, and nobody lets a caller
choose our requests), and may be large, so compiled ones are kept.
"""

import functools
import json
from itertools import islice
from typing import Any

import jsonschema_rs

from activities.json_values import encoded_size

MAX_CHARS = 300
# A pattern that backtracks longer than this counts as one that does not match: nobody's schema may stop a workflow task.
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
# Bytes of a value times characters of its schema. With more, thousands of faults would be made to tell one of them.
TOLD_WORK = 20_000_000
ALTERNATIVES = ('"anyOf"', '"oneOf"')


def schema_fault(schema: dict[str, Any], value: Any, at: str) -> str | None:
    """Where and how `value` breaks the schema, in words; None when it fits.

    Raises:
        ValueError: the schema itself cannot be used.
    """
    return next(iter(schema_faults(schema, value, at, 1)), None)


def schema_faults(schema: dict[str, Any], value: Any, at: str, most: int) -> list[str]:
    """The first `most` faults, each as `schema_fault` tells it; of a value too large for that only the first.

    Raises:
        ValueError: the schema itself cannot be used.
    """
    text = json.dumps(schema, sort_keys=True)
    validator = _validator(text)
    if validator.is_valid(value):
        return []
    if encoded_size(value) * len(text) <= TOLD_WORK:
        return [_told(at, error) for error in islice(validator.iter_errors(value), most)]
    if any(word in text for word in ALTERNATIVES):
        # The first fault may be that none of them fits, and comes with every fault of each.
        return [f"{at}: does not fit the schema, and is too large to tell where"]
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [_told(at, error)]
    return []


def _told(at: str, error: Any) -> str:
    return f"{at}{_where(error)}: {error.message[:MAX_CHARS]}"


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
    except jsonschema_rs.ValidationError as fault:
        at = _where(fault).removeprefix(".")
        raise ValueError(f"the schema is not valid{at and f' at {at}'}: {fault.message[:MAX_CHARS]}") from fault
    except Exception as fault:
        # ValueError or the retriever's error, depending on the fault.
        raise ValueError(f"the schema is not valid: {str(fault)[:MAX_CHARS]}") from fault


def _refuse(uri: str) -> Any:
    raise ValueError(f"it refers to {uri}, and references to other documents are not fetched")
