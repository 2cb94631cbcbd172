"""Server-sent events as chat servers really send them: bytes in, the data of each event out. Pure.

Source: the event stream format of the HTML standard. Beyond it, data lines that no empty line divides are events of their
own when each is JSON by itself, and a last event needs no empty line. Of names only `error` counts: its data is given as
{"error": …} whatever form it has.
"""

import json
from dataclasses import dataclass, field

DONE = "[DONE]"
MAX_LINE_BYTES = 8 * 1024 * 1024
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class LineTooLongError(Exception):
    """A line over `MAX_LINE_BYTES`: nothing a model says needs one."""


def looks_like_events(beginning: bytes) -> bool:
    """Whether a body that begins so is an event stream, whatever its content type says."""
    return beginning.lstrip(b"\xef\xbb\xbf\r\n \t").startswith(_FIELDS)


@dataclass(slots=True)
class EventDecoder:
    """Takes the stream in pieces of any size. Comments, other names and numbers of events are left out."""

    _rest: bytearray = field(default_factory=bytearray)
    _data: list[str] = field(default_factory=list)
    _name: str = ""

    def feed(self, piece: bytes) -> list[str]:
        """The data of every event that is complete now.

        Raises:
            LineTooLongError.
        """
        self._rest += piece
        if not (b"\n" in piece or b"\r" in piece):
            if len(self._rest) > MAX_LINE_BYTES:
                raise LineTooLongError
            return []
        lines = bytes(self._rest).splitlines(keepends=True)
        # A carriage return at the end may be half of a line end.
        self._rest = bytearray(lines.pop()) if not lines[-1].endswith(b"\n") else bytearray()
        return [data for line in lines for data in self._take(line)]

    def end(self) -> list[str]:
        """The data of events that the end of the stream completes."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [*self._take(rest), *self._flush()]

    def _take(self, line: bytes) -> list[str]:
        text = line.decode("utf-8", "replace").strip("\r\n").removeprefix("\ufeff")
        if not text:
            return self._flush() if line else []
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name not in ("data", "event"):
            return []
        ended = self._flush() if self._data and _stands_alone("\n".join(self._data)) else []
        if name == "event":
            self._name = value
        else:
            self._data.append(value)
        return ended

    def _flush(self) -> list[str]:
        data, self._data = "\n".join(self._data), []
        name, self._name = self._name, ""
        if not data:
            return []
        return [_as_error(data) if name == "error" else data]


def _as_error(data: str) -> str:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = data
    return data if isinstance(said, dict) and said.get("error") else json.dumps({"error": said})


def _stands_alone(data: str) -> bool:
    if data.strip() == DONE:
        return True
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
