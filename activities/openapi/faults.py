"""What is wrong with the arguments of an HTTP function, in the form a model corrects them by: where, what was expected, what
was given."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from activities.function_schema import MAX_FAULTS, ArgumentsInvalidError
from activities.json_values import clean_text

MAX_EXPECTED_CHARS = 300
MAX_VALUE_CHARS = 80
ROOT = "$input"
# Stands for a value that is missing; JSON has nothing of that kind.
MISSING = object()
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """One fault. `path` as `$input.query.limit`; `value` is MISSING where there is none."""

    path: str
    expected: str
    value: Any

    def told(self) -> dict[str, Any]:
        """The fault as JSON; without `value` where there is none."""
        told = {"path": self.path, "expected": _shorten(self.expected, MAX_EXPECTED_CHARS)}
        return told if self.value is MISSING else {**told, "value": _shown(self.value)}


class ArgumentFaultsError(ArgumentsInvalidError):
    """Arguments that an HTTP function cannot take. The message is a JSON list of at most `MAX_FAULTS` faults."""

    def __init__(self, faults: Iterable[ArgumentFault]) -> None:
        self.faults = tuple(faults)
        told: list[Any] = [each.told() for each in self.faults[:MAX_FAULTS]]
        if len(self.faults) > MAX_FAULTS:
            told.append(f"and {len(self.faults) - MAX_FAULTS} more")
        super().__init__(clean_text(json.dumps(told, ensure_ascii=False)))


class Unwritable(ValueError):
    """A value that cannot stand where it should; `expected` says what can."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


def path_of(place: Sequence[str | int]) -> str:
    """The place of an argument as one writes it."""
    return ROOT + "".join(_step(each) for each in place)


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    short = _shorten(part, MAX_VALUE_CHARS)
    return f".{short}" if _IDENTIFIER.fullmatch(short) else f"[{json.dumps(short, ensure_ascii=False)}]"


def _shown(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= MAX_VALUE_CHARS else _shorten(text, MAX_VALUE_CHARS)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
