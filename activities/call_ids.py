"""Ids of tool calls. Providers leave them out, repeat them and number them anew in each reply, so they are made here.

Calls of a history that a host brought keep the ids they came with. What is sent for them fits every provider too.
"""

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b

from activities.conversation import ToolCall

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
# The strictest provider takes exactly nine letters or digits.
LENGTH = 9
_FITS_ALL = re.compile(r"[A-Za-z0-9]{9}")


def mint_call_id(turn_id: str, round_number: int, place: int) -> str:
    """The id of the call at `place` in the model reply of `round_number`: nine characters a-z0-9.

    The same place always gets the same id, so a retry, a replay and a reset name a call alike; different places get different
    ones (about 47 bits of a hash).
    """
    return _hashed(f"{turn_id}\x00{round_number}\x00{place}")


@dataclass(slots=True)
class SentIds:
    """The ids of one request. Each call has its own, the same in every request, and its result has it too."""

    _taken: set[str] = field(default_factory=set)
    _latest: dict[str, str] = field(default_factory=dict)

    def of_call(self, call: ToolCall) -> str:
        """What is sent for a call's id, which another call may have had before it."""
        sent, tries = call.id, 0
        while sent in self._taken or not _FITS_ALL.fullmatch(sent):
            sent = _hashed(f"{call.id}\x00{call.name}\x00{json.dumps(call.arguments, sort_keys=True)}\x00{tries}")
            tries += 1
        self._taken.add(sent)
        self._latest[call.id] = sent
        return sent

    def of_result(self, call_id: str) -> str:
        """What is sent for the id that a result names: that of the last call which had it."""
        return self._latest.get(call_id, call_id)


def _hashed(text: str) -> str:
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)
