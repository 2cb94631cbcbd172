"""What the last turns taught, by turn id, so that a turn reported twice is learned once."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from pydantic import ValidationError

from .reports import PostTurnResult
from .wire import plain

LEDGER_SIZE = 256


class TurnLedger:
    """Turn id to recorded result; the oldest of more than 256 is dropped.

    Results are kept as JSON text: every snapshot carries all of them, and text is copied and written for nothing.
    """

    def __init__(self, recorded: object = None) -> None:
        self._results: dict[str, str] = {}
        self._members: dict[str, str] = {}
        if isinstance(recorded, dict):
            self._results = {turn_id: text for turn_id, result in recorded.items() if (text := _as_text(result))}

    def __len__(self) -> int:
        return len(self._results)

    def recorded(self, turn_id: str) -> PostTurnResult | None:
        """The result of a turn that was learned before; None for one that was not, or whose record was damaged."""
        text = self._results.get(turn_id)
        if text is None:
            return None
        try:
            return PostTurnResult.model_validate(json.loads(text))
        except (ValidationError, ValueError):
            return None

    def record(self, turn_id: str, result: PostTurnResult) -> None:
        """Keeps a result."""
        self._results[turn_id] = _written(_telling(plain(result)))
        self._members.pop(turn_id, None)
        while len(self._results) > LEDGER_SIZE:
            oldest = next(iter(self._results))
            del self._results[oldest]
            self._members.pop(oldest, None)

    def forget(self, memory_id: str) -> None:
        """Takes the words of a removed memory out of all results, so that nothing of it is left."""
        about = json.dumps(memory_id)
        for turn_id, text in self._results.items():
            if about in text:
                self._results[turn_id] = _without(text, memory_id)
                self._members.pop(turn_id, None)

    def dumped(self) -> dict[str, str]:
        """What a snapshot carries: the results' JSON text by turn id."""
        return dict(self._results)

    def written(self) -> str:
        """The JSON text of `dumped`. What was written once is not written anew."""
        for turn_id in self._results.keys() - self._members.keys():
            self._members[turn_id] = f"{quoted(turn_id)}:{quoted(self._results[turn_id])}"
        return f"{{{','.join([self._members[turn_id] for turn_id in self._results])}}}"


def removal(request_id: str) -> str:
    """The name under which a removal is recorded: a turn may have the same id."""
    return f"remove {request_id}"


def _as_text(recorded: object) -> str | None:
    """A recorded result as text; earlier snapshots have it as an object."""
    if isinstance(recorded, dict):
        return _written(recorded)
    return recorded if isinstance(recorded, str) else None


def _written(result: dict[str, Any]) -> str:
    return json.dumps(result, separators=(",", ":"))


def _telling(result: dict[str, Any]) -> dict[str, Any]:
    """What of a result is not as in an empty one: most turns teach nothing, and every save carries all their results."""
    told = {**result, "counts": {name: count for name, count in result["counts"].items() if count}}
    return {key: value for key, value in told.items() if value not in ([], {})}


def _without(text: str, memory_id: str) -> str:
    try:
        result = json.loads(text)
    except ValueError:
        return "{}"
    for key in ("stored", "mergedInto", "facts"):
        if key in result:
            result[key] = [member for member in result[key] if not _is_about(member, memory_id)]
    return _written(result)


def _is_about(member: dict[str, Any], memory_id: str) -> bool:
    return member.get("id") == memory_id or memory_id in member.get("targetIds", ())
