"""Looking for a pattern only where it can be: many texts are searched for things that hardly any of them has."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sought:
    """A pattern that ignores case, and what every ASCII text has that it matches: one of `clues`, in lower case."""

    pattern: re.Pattern[str]
    clues: tuple[str, ...]

    def may_be_in(self, text: str, lowered: str) -> bool:
        """Whether a search can find anything. `lowered` is the text in lower case."""
        # Beyond ASCII a pattern that ignores case matches letters whose lower case is another, such as a long s.
        return not text.isascii() or any(clue in lowered for clue in self.clues)

    def is_in(self, text: str, lowered: str) -> bool:
        """Whether the text has it."""
        return self.may_be_in(text, lowered) and self.pattern.search(text) is not None


def sought(pattern: str, clues: str) -> Sought:
    """A pattern with its clues, which are separated by spaces."""
    return Sought(re.compile(pattern, re.IGNORECASE), tuple(clues.split()))
