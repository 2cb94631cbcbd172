"""What the model calls a function: legal for every provider, unique, and the same on every start.

A function keeps its own name. Only where another function or tool has that name too, letter case aside, the controller's
name is put in front, of each of them: then no name changes its meaning when controllers are added or reordered.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

MAX_NAME = 64
_HASH_CHARS = 6


def fit_name(text: str) -> str:
    """The nearest name that providers accept: at most 64 of `A-Z a-z 0-9 _ -`, no digit or hyphen first.

    Characters that are not accepted become `_`. A name that is cut, or has nothing readable left, ends in a hash of `text`.
    """
    name = re.sub(r"[^A-Za-z0-9_-]", "_", text)
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    if len(name) > MAX_NAME or not name.strip("_-"):
        return hashed_name(name, text)
    return name


def hashed_name(name: str, identity: str) -> str:
    """The name with a hash of `identity` at its end, within 64 characters."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{name[: MAX_NAME - _HASH_CHARS - 1]}_{digest}"


def local_names(originals: Sequence[str]) -> dict[str, str]:
    """A name for each function of one controller, unique with letter case aside, from what the controller calls it.

    Where several come out equal, the one that needed no change keeps its name and the others get a hash of the original. So
    does each of several that differ in nothing but case.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for original in dict.fromkeys(originals):
        groups[fit_name(original).casefold()].append(original)
    names = {}
    for members in groups.values():
        unchanged = [original for original in members if fit_name(original) == original]
        keeps = members[0] if len(members) == 1 else unchanged[0] if len(unchanged) == 1 else None
        for original in members:
            name = fit_name(original)
            names[original] = name if original == keeps else hashed_name(name, original)
    return names


def offered_names(functions: Iterable[tuple[str, str]], taken: Iterable[str]) -> dict[tuple[str, str], str]:
    """What the model sees for each (controller, function). `taken` are names of tools that no controller owns."""
    functions = list(functions)
    used = {name.casefold() for name in taken}
    holders = Counter(function.casefold() for _, function in functions)
    names = {}
    colliding = []
    for key in functions:
        if holders[key[1].casefold()] == 1 and key[1].casefold() not in used:
            names[key] = key[1]
        else:
            colliding.append(key)
    used |= {name.casefold() for name in names.values()}
    prefixed = {key: prefixed_name(*key) for key in colliding}
    wanted = Counter(name.casefold() for name in prefixed.values())
    for key, name in prefixed.items():
        is_free = wanted[name.casefold()] == 1 and name.casefold() not in used
        names[key] = name if is_free else hashed_name(name, f"{key[0]}\n{key[1]}")
    return names


def prefixed_name(controller: str, function: str) -> str:
    """The name of a function with its controller's in front."""
    return fit_name(f"{fit_name(controller)}_{function}")


def aliases(
    controllers: Sequence[str], names: Mapping[tuple[str, str], str], taken: Iterable[str] = ()
) -> dict[str, str]:
    """Other names under which a function is found, to the one it has.

    `{controller}_{function}` finds a function whether or not it needs the prefix now. `_{index}_{function}`, with the place of
    the controller from 0, is how agents in Nestia's manner name functions, and stands in histories they wrote.
    """
    real = {*names.values(), *taken}
    found: dict[str, set[str]] = defaultdict(set)
    for (controller, function), name in names.items():
        found[prefixed_name(controller, function)].add(name)
        found[f"_{controllers.index(controller)}_{function}"].add(name)
    return {alias: held.pop() for alias, held in found.items() if len(held) == 1 and alias not in real}
