"""What the last turns taught, by turn id, so that a turn reported twice is learned once."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from .reports import PostTurnResult
from .wire import plain

LEDGER_SIZE = 256


class TurnLedger:
    """Turn id to recorded result; the oldest of more than 256 is dropped."""

    def __init__(self, recorded: object = None) -> None:
        self._results: dict[str, dict[str, Any]] = {}
        if isinstance(recorded, dict):
            self._results = {turn_id: result for turn_id, result in recorded.items() if isinstance(result, dict)}

    def __len__(self) -> int:
        return len(self._results)

    def recorded(self, turn_id: str) -> PostTurnResult | None:
        """The result of a turn that was learned before; None for one that was not, or whose record was damaged."""
        result = self._results.get(turn_id)
        if result is None:
            return None
        try:
            return PostTurnResult.model_validate(result)
        except ValidationError:
            return None

    def record(self, turn_id: str, result: PostTurnResult) -> None:
        """Keeps a result."""
        self._results[turn_id] = plain(result)
        while len(self._results) > LEDGER_SIZE:
            del self._results[next(iter(self._results))]

    def forget(self, memory_id: str) -> None:
        """Takes the words of a removed memory out of all results, so that nothing of it is left."""
        for result in self._results.values():
            for key in ("stored", "mergedInto", "facts"):
                if key in result:
                    result[key] = [member for member in result[key] if not _is_about(member, memory_id)]

    def dumped(self) -> dict[str, dict[str, Any]]:
        """The JSON value a snapshot carries; shared with the ledger, to be copied by whoever keeps it."""
        return self._results


def _is_about(member: dict[str, Any], memory_id: str) -> bool:
    return member.get("id") == memory_id or memory_id in member.get("targetIds", ())
