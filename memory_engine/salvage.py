"""Getting the JSON value out of what a model wrote: fenced, wrapped in prose, nearly JSON, or cut off in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .json_dialects import as_json

LONGEST_ANSWER = 400_000

_CUT = "the answer was cut off; its finished part was used"
_THOUGHT_ENDS = ("</think>", "</thinking>", "</reasoning>")
_MOST_OPENINGS = 32
_DEEPEST_WRAPPER = 2
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


def salvage_json(text: str, keys: Collection[str], *, joins: bool = False) -> Salvaged:
    """The first object with one of `keys` in a text, else its first list; of a cut one, the parts that are finished.

    Args:
        joins: Whether objects behind the first add their lists to it, as when a model answers line by line.
    """
    text = text[:LONGEST_ANSWER]
    if not text.strip():
        return Salvaged(problem="the answer was empty")
    readings = list(_readings(text))
    # A list that stands whole may be a part of an object that does not, so objects are looked for first, however written.
    return (
        _first_object_in(readings, keys, joins=joins)
        or _first_list_in(readings)
        or Salvaged(problem="the answer held no JSON of the expected shape")
    )


def _readings(text: str) -> Iterator[str]:
    """What may be meant to be read, the likeliest first: what stands behind thoughts told aloud, then everything."""
    thought = max((text.rfind(mark) + len(mark) for mark in _THOUGHT_ENDS if mark in text), default=0)
    for written in (text[thought:], text) if thought else (text,):
        yield written
        yield as_json(written)


def _first_object_in(readings: Sequence[str], keys: Collection[str], *, joins: bool) -> Salvaged | None:
    for written in readings:
        found = _first_object(whole_values(written), keys, joins=joins)
        if found is not None:
            return Salvaged(found)
        cut = _first_object(_cut_values(written), keys)
        if cut is not None:
            return Salvaged(cut, _CUT)
    return None


def _first_list_in(readings: Sequence[str]) -> Salvaged | None:
    for written in readings:
        found = _first_list(whole_values(written))
        if found is not None:
            return Salvaged(found)
        cut = _first_list(_cut_values(written))
        if cut is not None:
            return Salvaged(cut, _CUT)
    return None


def _first_object(values: Iterator[Any], keys: Collection[str], *, joins: bool = False) -> dict[str, Any] | None:
    found = (entry for value in values for entry in _objects(value) if any(key in entry for key in keys))
    first = next(found, None)
    if first is None or not joins:
        return first
    for other in found:
        for key, more in other.items():
            held = first.get(key)
            if isinstance(more, list) and (held is None or isinstance(held, list)):
                first[key] = [*(held or []), *(entry for entry in more if entry not in (held or []))]
    return first


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """An object and those that a wrapper such as `{"result": {…}}` holds, the outer one first."""
    if isinstance(value, dict):
        yield value
        for member in value.values() if depth < _DEEPEST_WRAPPER else ():
            yield from _objects(member, depth + 1)


def _first_list(values: Iterator[Any]) -> list[Any] | None:
    lists = (value for value in values if isinstance(value, list))
    return next((value for value in lists if all(isinstance(entry, dict | str) for entry in value)), None)


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
