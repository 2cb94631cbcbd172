"""The keys under which the index finds a memory exactly, and the words that are ranked besides its statement."""

from __future__ import annotations

from hashlib import blake2b

from .frames import frame_of
from .records import Record
from .text import normalise
from .tokens import label_of
from .told_apart import told_apart


def beside(record: Record) -> str:
    """What is ranked besides the statement itself: its label, its domains and its gist."""
    return " ".join((label_of(record.content), *record.domains, record.gist or ""))


def text_keys(content: str) -> tuple[str]:
    """The one key of a text and of all its exact restatements, with a full stop or without."""
    plain = normalise(content)
    written = plain.replace("、", ",").rstrip(".!。 ") or plain
    return (blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),)


def subject_keys(content: str) -> frozenset[str]:
    """The words of a statement's subject, where its shape tells which they are."""
    frames = (frame_of(clause) for clause in told_apart(content))
    return frozenset[str]().union(*(frame.keys for frame in frames if frame))
