"""YAML text to plain values by the core schema of YAML 1.2, on libyaml's event parser.

PyYAML's own loaders follow YAML 1.1, where `no` is false, `12:30` a number and `2024-01-01` a date: country codes, times and
versions of a document would silently change. Building from events also keeps the work iterative, keeps the text of
every key (`200` stays "200"), and sees a key that stands twice.

Rules: https://yaml.org/spec/1.2.2/#103-core-schema
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_DEPTH = 150
MAX_NUMBER_CHARS = 1_000

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TYPED_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))
# Not of YAML 1.2, but documents that share parts by `<<: *anchor` lose those parts without it.
_MERGE = "<<"


def parse_yaml(text: str) -> Any:
    """The one document in the text. Aliases share the value they name, so the result may be large when written out.

    Raises:
        ValueError: it is not YAML, is nested too deeply, has a key twice, or has several documents.
    """
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.YAMLError as fault:
        raise ValueError(_told(fault)) from None
    return builder.document()


def core_value(text: str) -> Any:
    """What a plain scalar means: null, a boolean, a number, or the text itself. What JSON cannot say is null."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > MAX_NUMBER_CHARS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return None if _INFINITE.fullmatch(text) else text


@dataclass(slots=True)
class _Frame:
    """A collection being built; `key` is the key of a mapping whose value comes next."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    key: str | None = None
    merged: list[Any] = field(default_factory=list)


class _Builder:
    def __init__(self) -> None:
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._documents: list[Any] = []

    def document(self) -> Any:
        if not self._documents:
            raise ValueError("it is empty")
        return self._documents[0]

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                if self._expects_key():
                    self._take_key(event)
                else:
                    self._place(_scalar(event), event)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    raise ValueError(f"line {_line(event)}: nothing is anchored as {event.anchor}")
                self._place(self._anchors[event.anchor], event)
            case yaml.MappingStartEvent():
                self._open({}, event)
            case yaml.SequenceStartEvent():
                self._open([], event)
            case yaml.CollectionEndEvent():
                self._close(event)
            case yaml.DocumentStartEvent() if self._documents:
                raise ValueError("it holds several YAML documents, and one was expected")

    def _expects_key(self) -> bool:
        return bool(self._frames) and isinstance(self._frames[-1].value, dict) and self._frames[-1].key is None

    def _take_key(self, event: yaml.ScalarEvent) -> None:
        frame = self._frames[-1]
        if event.value in frame.value:
            raise ValueError(f"line {_line(event)}: the key {event.value[:80]!r} stands twice in one object")
        frame.key = event.value

    def _open(self, value: dict[str, Any] | list[Any], event: Any) -> None:
        if self._expects_key():
            raise ValueError(f"line {_line(event)}: a key that is not text")
        if len(self._frames) >= MAX_DEPTH:
            raise ValueError(f"line {_line(event)}: nested more than {MAX_DEPTH} levels deep")
        self._frames.append(_Frame(value, event.anchor))

    def _close(self, event: yaml.Event) -> None:
        frame = self._frames.pop()
        for source in frame.merged:
            if isinstance(frame.value, dict) and isinstance(source, dict):
                frame.value.update((key, value) for key, value in source.items() if key not in frame.value)
        self._place(frame.value, event, frame.anchor)

    def _place(self, value: Any, event: Any, anchor: str | None = None) -> None:
        anchor = anchor or (event.anchor if isinstance(event, yaml.ScalarEvent) else None)
        if anchor:
            self._anchors[anchor] = value
        if not self._frames:
            self._documents.append(value)
            return
        frame = self._frames[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            raise ValueError(f"line {_line(event)}: a key that is not text")
        elif frame.key == _MERGE and isinstance(value, dict | list):
            frame.merged.extend(value if isinstance(value, list) else [value])
            frame.key = None
        else:
            frame.value[frame.key] = value
            frame.key = None


def _scalar(event: yaml.ScalarEvent) -> Any:
    plain = event.implicit[0] and event.tag is None
    return core_value(event.value) if plain or event.tag in _TYPED_TAGS else event.value


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark else 0


def _told(fault: yaml.YAMLError) -> str:
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or str(fault)
    return f"line {mark.line + 1}: {problem}" if mark else problem
