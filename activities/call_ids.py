"""Ids of tool calls. Providers leave them out, repeat them and number them anew in each reply, so they are made here."""

from hashlib import blake2b

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
# The strictest provider takes exactly nine letters or digits.
LENGTH = 9


def mint_call_id(turn_id: str, round_number: int, place: int) -> str:
    """The id of the call at `place` in the model reply of `round_number`: nine characters a-z0-9.

    The same place always gets the same id, so a retry, a replay and a reset name a call alike; different places get different
    ones (about 47 bits of a hash).
    """
    digest = blake2b(f"{turn_id}\x00{round_number}\x00{place}".encode("utf-8", "replace"), digest_size=16).digest()
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)
