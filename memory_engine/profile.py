"""Which rules apply: those of the original TypeScript package, or the repaired ones."""

from __future__ import annotations

from enum import Enum


class Profile(Enum):
    """`TS` answers as the original TypeScript package does for ASCII text; `V1` is the default.

    V1 keeps each contract and repairs what loses facts: other scripts than Latin, polarity, dates and addresses,
    units, and patterns whose time grows with the square of the text.
    """

    TS = "ts"
    V1 = "v1"
