"""Made-up memories and questions for the benchmarks: words by Zipf's law, with hosts, ports and build ids among them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

_HEADS = "depl stag mig cach que rout ledg tok bil ship sens mod graph pip test doc vault mail theme user"
_TAILS = "oy ing rate er ue or ment ion s able ist ure ent al ic ive age ory ant ow et ix a o um is us en ar ly"
_WORDS = [head + tail for head in _HEADS.split() for tail in _TAILS.split()]
_NAMES = ("Ana", "Mia", "Ren", "Harbor", "Atlas", "Orion", "Kestrel", "Juniper", "Delta")


@dataclass(frozen=True, slots=True)
class Row:
    """One memory. `session` and the place in the list say where in a conversation it stood."""

    id: str
    text: str
    session: str = ""


def memories(count: int, seed: int = 7) -> list[Row]:
    """The same rows for the same arguments."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(_WORDS))]
    rows = []
    for at in range(count):
        words = chance.choices(_WORDS, weights, k=chance.randint(5, 12))
        rows.append(Row(f"m{at}", _statement(chance, words, at)))
    return rows


def _statement(chance: random.Random, words: list[str], at: int) -> str:
    kind = chance.random()
    if kind < 0.25:
        return f"{chance.choice(_NAMES)} service {at % 997} runs on host-{at}.acme.example with {' '.join(words[:5])}"
    if kind < 0.4:
        return f"User requirement (always): run {' '.join(words[:6])} before port {1000 + at % 9000}"
    if kind < 0.5:
        return f"build id of {words[0]} {words[1]} is Z{at:05d}X{chance.randint(10, 99)}K"
    return f"{chance.choice(_NAMES)} {' '.join(words)}"


def questions(rows: Sequence[Row], count: int = 200) -> list[str]:
    """Some words of a row each, so that every question has an answer."""
    return [" ".join(rows[at * 37 % len(rows)].text.split()[:6]) for at in range(count)]


def messages(rows: Sequence[Row], count: int = 200) -> list[str]:
    """What a user might say, with the name of a host in it."""
    asked = questions(rows, count)
    hosts = [f"host-{at * 13 % len(rows)}.acme.example" for at in range(count)]
    return [f"please look at {host} and tell me about {words}" for host, words in zip(hosts, asked, strict=True)]
