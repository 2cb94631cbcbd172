"""Property names that model providers accept, for any name on the wire."""

import hashlib
import re

LEGAL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ILLEGAL_RUN = re.compile(r"[^A-Za-z0-9_.-]+")
READABLE_CHARS = 48


def short_hash(text: str, digits: int = 8) -> str:
    """A few hexadecimal digits that are the same for the same text everywhere."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def key_for(name: str) -> str:
    """The name itself where it is legal, else what is readable of it and a hash.

    It depends on nothing but the name, so a key in a stored call still means the same after the document has grown.
    """
    if LEGAL.fullmatch(name):
        return name
    readable = _ILLEGAL_RUN.sub("_", name).strip("_")[:READABLE_CHARS]
    return f"{readable or 'p'}_{short_hash(name)}"
