"""The keys under which the index finds a memory exactly, and the words that are ranked besides its statement."""

from __future__ import annotations

from hashlib import blake2b

from .frames import frame_of
from .identifiers import identifier_keys
from .records import Record
from .text import normalise
from .tokens import label_of


def beside(record: Record) -> str:
    """What is ranked besides the statement itself: its label, its domains and its gist."""
    return " ".join((label_of(record.content), *record.domains, record.gist or ""))


def keys_of(record: Record) -> set[str]:
    """Under which a memory is found exactly: `#` identifier, `=` hash of the normalised text, `@` word of its subject."""
    keys = {f"#{identifier}" for identifier in identifier_keys(record.content)}
    keys.add(text_key(record.content))
    frame = frame_of(record.content)
    if frame is not None:
        keys.update(f"@{key}" for key in frame.keys)
    return keys


def text_key(content: str) -> str:
    """The key of a text and of all its exact restatements."""
    return "=" + blake2b(normalise(content).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
