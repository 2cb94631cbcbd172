"""Getting the JSON value out of what a model wrote: fenced, wrapped in prose, or cut off in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

LONGEST_ANSWER = 400_000

_MOST_OPENINGS = 32
_DEEPEST = 16
_OPENING = re.compile(r"[{\[]")
_CLOSING = {"{": "}", "[": "]"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The value, or None with the problem that says why; a value that was cut has both."""

    value: Any = None
    problem: str | None = None


def salvage_json(text: str, keys: Collection[str]) -> Salvaged:
    """The first object with one of `keys` in a text, else its first list; of a cut one, the parts that are finished."""
    text = text[:LONGEST_ANSWER]
    if not text.strip():
        return Salvaged(problem="the answer was empty")
    found = _best((value for value in whole_values(text) if isinstance(value, dict | list)), keys)
    if found is not None:
        return Salvaged(found)
    cut = _best(_cut_values(text), keys)
    if cut is not None:
        return Salvaged(cut, "the answer was cut off; its finished part was used")
    return Salvaged(problem="the answer held no JSON of the expected shape")


def _best(values: Iterator[Any], keys: Collection[str]) -> Any:
    first_list = None
    for value in values:
        if isinstance(value, dict) and any(key in value for key in keys):
            return value
        if first_list is None and isinstance(value, list) and all(isinstance(entry, dict | str) for entry in value):
            first_list = value
    return first_list


def whole_values(text: str) -> Iterator[Any]:
    """The objects and lists that stand whole in a text, in order."""
    start = 0
    for _ in range(_MOST_OPENINGS):
        opening = _OPENING.search(text, start)
        if opening is None:
            return
        try:
            value, start = _DECODER.raw_decode(text, opening.start())
        except RecursionError:
            # Nested beyond reading; from the next bracket on it would be so again, at the same price.
            return
        except ValueError:
            start = opening.end()
            continue
        yield value


def _cut_values(text: str) -> Iterator[Any]:
    for opening, _ in zip(_OPENING.finditer(text), range(_MOST_OPENINGS), strict=False):
        closed = _closed(text, opening.start())
        if closed is None:
            continue
        try:
            yield json.loads(closed, strict=False)
        except (ValueError, RecursionError):
            continue


def _closed(text: str, start: int) -> str | None:
    """The text up to its last finished list entry, with the open brackets closed; None if nothing was finished."""
    open_brackets: list[str] = []
    finished: tuple[int, str] | None = None
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark in _CLOSING:
            open_brackets.append(mark)
            if len(open_brackets) > _DEEPEST:
                return None
            continue
        if mark in "}]":
            if not open_brackets or _CLOSING[open_brackets.pop()] != mark:
                return None
            if not open_brackets:
                # Whole after all, and so looked at before.
                return None
            end = token.end()
        elif mark == ",":
            end = token.start()
        else:
            end = token.end() if len(mark) > 1 and mark.endswith('"') else -1
        is_entry = open_brackets and (open_brackets[-1] == "[" or mark in "}]")
        if end >= 0 and is_entry:
            finished = end, "".join(_CLOSING[bracket] for bracket in reversed(open_brackets))
    return None if finished is None else text[start : finished[0]] + finished[1]
