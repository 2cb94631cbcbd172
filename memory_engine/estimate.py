"""What a text costs in a prompt."""

from __future__ import annotations

import math
import re

from .profile import Profile

_QUARTERS_WIDE = 4
_QUARTERS_OTHER = 2
_WIDE = re.compile(
    "[\u1100-\u11ff\u2600-\u27bf\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]"
)


def estimate_tokens(value: str, profile: Profile = Profile.V1) -> int:
    """Tokens, roughly, rounded up.

    TS divides the UTF-16 length by four, which counts Chinese at a quarter of its price. V1 weighs ASCII 0.25, other
    alphabets 0.5, and Han, Kana, Hangul and emoji 1.0.
    """
    if profile is Profile.TS:
        return math.ceil((len(value) + sum(ord(character) > 0xFFFF for character in value)) / 4)
    return -(-quarters(value) // 4)


def quarters(value: str) -> int:
    """The weight of a text in quarter tokens; unlike tokens, it adds up exactly over pieces."""
    if value.isascii():
        return len(value)
    wide = len(_WIDE.findall(value))
    ascii_count = len(value.encode("ascii", "ignore"))
    other = len(value) - wide - ascii_count
    return ascii_count + wide * _QUARTERS_WIDE + other * _QUARTERS_OTHER
