"""One memory to its JSON text and back, without a detour over models: a save writes thousands of them.

The text of a row is kept on the row until the row changes. Reading checks as strictly as the models do; what it does not
understand at once it leaves to them.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted
from math import isfinite
from typing import Any

from .errors import SnapshotCorruptError
from .records import Record
from .wire import plain

_TIERS = frozenset({"L0", "L1", "L2", "L3"})
_ITEM_KEYS = frozenset(
    {
        *("id", "content", "bookmark", "gist", "embedding", "tier", "metadata", "source", "supersededBy", "supersedes"),
        *("validFrom", "turnId", "quarantined"),
    }
)
_METADATA_KEYS = frozenset(
    {
        *("domains", "isFailurePattern", "isSuccessfulStrategy", "isGuardrail", "sourceSessionId", "createdAt"),
        *("lastAccessedAt", "accessCount"),
    }
)
_PYTHON_SPELLINGS = frozenset(
    {
        *("superseded_by", "valid_from", "turn_id", "is_failure_pattern", "is_successful_strategy", "is_guardrail"),
        *("source_session_id", "created_at", "last_accessed_at", "access_count"),
    }
)
_PLAIN_ITEM = frozenset({"id", "content", "bookmark", "tier", "metadata", "source", "turnId", "gist"})
_PLAIN_METADATA = frozenset({"domains", "createdAt", "lastAccessedAt", "accessCount", "sourceSessionId"})


def encoded(record: Record) -> str:
    """The canonical JSON of a row, in ASCII. Raises `SnapshotCorruptError` for a number that is not finite."""
    text = record.encoded
    if text is None:
        text = record.encoded = _encode(record)
    return text


def _encode(record: Record) -> str:
    parts = [f'{{"id":{quoted(record.id)},"content":{quoted(record.content)},"bookmark":{quoted(record.bookmark)}']
    if record.gist is not None:
        parts.append(f',"gist":{quoted(record.gist)}')
    if record.embedding is not None:
        parts.append(f',"embedding":{_json(record.embedding)}')
    parts.append(f',"tier":"{record.tier}","metadata":{_encoded_metadata(record)}')
    for key, value in (
        ("source", record.source),
        ("supersededBy", record.superseded_by),
        ("supersedes", record.supersedes),
        ("validFrom", record.valid_from),
        ("turnId", record.turn_id),
        ("quarantined", record.quarantined),
    ):
        if value is not None:
            parts.append(f',"{key}":{quoted(value) if isinstance(value, str) else _json(value)}')
    parts.append(_encoded_extra(record.item_extra))
    parts.append("}")
    return "".join(parts)


def _encoded_metadata(record: Record) -> str:
    parts = [f'{{"domains":[{",".join(map(quoted, record.domains))}]']
    for key, flag in (
        ("isFailurePattern", record.is_failure_pattern),
        ("isSuccessfulStrategy", record.is_successful_strategy),
        ("isGuardrail", record.is_guardrail),
    ):
        if flag is not None:
            parts.append(f',"{key}":{"true" if flag else "false"}')
    if record.source_session_id is not None:
        parts.append(f',"sourceSessionId":{quoted(record.source_session_id)}')
    parts.append(f',"createdAt":{record.created_at},"lastAccessedAt":{record.last_accessed_at}')
    parts.append(f',"accessCount":{record.access_count}{_encoded_extra(record.metadata_extra)}}}')
    return "".join(parts)


def _encoded_extra(extra: dict[str, Any] | None) -> str:
    return "".join(f",{quoted(key)}:{_json(value)}" for key, value in extra.items()) if extra else ""


def _json(value: Any) -> str:
    try:
        return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise SnapshotCorruptError(f"cannot be written as JSON: {error}") from error


def record_of_json(raw: Any) -> Record | None:
    """The row of a JSON object, sharing its nested values; None if it is not plainly right, for a model to judge."""
    if type(raw) is not dict:
        return None
    metadata = raw.get("metadata")
    if type(metadata) is not dict or not _is_plain(raw, metadata):
        return None
    record = Record(
        id=raw["id"],
        content=raw["content"],
        bookmark=raw["bookmark"],
        tier=raw["tier"],
        domains=tuple(metadata["domains"]),
        created_at=metadata["createdAt"],
        last_accessed_at=metadata["lastAccessedAt"],
        access_count=metadata["accessCount"],
        gist=raw.get("gist"),
        source=raw.get("source"),
        turn_id=raw.get("turnId"),
        source_session_id=metadata.get("sourceSessionId"),
    )
    if not (raw.keys() <= _PLAIN_ITEM and metadata.keys() <= _PLAIN_METADATA):
        return _completed(record, raw, metadata)
    return record


def _is_plain(raw: dict[str, Any], metadata: dict[str, Any]) -> bool:
    return (
        type(raw.get("id")) is str
        and type(raw.get("content")) is str
        and type(raw.get("bookmark")) is str
        and type(raw.get("tier")) is str
        and raw["tier"] in _TIERS
        and type(metadata.get("createdAt")) is int
        and type(metadata.get("lastAccessedAt")) is int
        and type(metadata.get("accessCount")) is int
        and _is_texts(metadata.get("domains"))
        and _is_text_or_none(raw.get("gist"))
        and _is_text_or_none(raw.get("source"))
        and _is_text_or_none(raw.get("turnId"))
        and _is_text_or_none(metadata.get("sourceSessionId"))
    )


def _completed(record: Record, raw: dict[str, Any], metadata: dict[str, Any]) -> Record | None:
    """The row with its rarer fields, or None if one of them is not plainly right."""
    if raw.keys() & _PYTHON_SPELLINGS or metadata.keys() & _PYTHON_SPELLINGS:
        return None
    embedding, supersedes, valid_from = raw.get("embedding"), raw.get("supersedes"), raw.get("validFrom")
    flags = (
        raw.get("quarantined"),
        metadata.get("isFailurePattern"),
        metadata.get("isSuccessfulStrategy"),
        metadata.get("isGuardrail"),
    )
    if not (
        _is_text_or_none(raw.get("supersededBy"))
        and (supersedes is None or _is_texts(supersedes))
        and (valid_from is None or type(valid_from) is int)
        and (embedding is None or _is_numbers(embedding))
        and all(flag is None or type(flag) is bool for flag in flags)
    ):
        return None
    record.embedding, record.supersedes, record.valid_from = embedding, supersedes, valid_from
    record.superseded_by = raw.get("supersededBy")
    record.quarantined, record.is_failure_pattern, record.is_successful_strategy, record.is_guardrail = flags
    record.item_extra = {key: raw[key] for key in raw if key not in _ITEM_KEYS} or None
    record.metadata_extra = {key: metadata[key] for key in metadata if key not in _METADATA_KEYS} or None
    return record


def _is_text_or_none(value: Any) -> bool:
    return value is None or type(value) is str


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(member) is str for member in value)


def _is_numbers(value: Any) -> bool:
    return type(value) is list and all(type(member) in (int, float) and isfinite(member) for member in value)
