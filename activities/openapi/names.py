"""Function names: from method and path as @nestia/agent makes them, or from `operationId`.

A name is stored in conversations and in turns that wait, so it must come out the same after every start, and after the document
has grown. Only a clash may change one, and then it changes the later of two by path and method, wherever they stand.

`GET /shop/sales/{saleId}` is `shop_sales_getBySaleid`: the fixed parts of the path, then the method with the parameters. The
method steps aside (`a__get`) where a longer path goes on with its name.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from activities.openapi.parameters import placeholders
from activities.openapi.property_keys import short_hash

MAX_NAME_CHARS = 64
MAX_UNDERSCORES = 4
Naming = Literal["path", "operationId"]

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VERBS = {"delete": "erase"}
# Names a JavaScript variable cannot have: the names of @nestia/agent put an underscore before them.
_JAVASCRIPT_WORDS = re.compile(
    "break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|false|finally|for|function|"
    "if|import|in|instanceof|new|null|package|public|private|protected|return|super|switch|this|throw|true|try|typeof|var|"
    "void|while|with"
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a name is made from. `method` in lower case; `accessor` is a name the document itself gives, part by part."""

    method: str
    path: str
    operation_id: str | None = None
    accessor: tuple[str, ...] | None = None


def function_names(operations: Iterable[Named], naming: Naming) -> dict[tuple[str, str], str]:
    """The name of each operation by (method, path): `[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters, all different even
    when letter case does not count."""
    ordered = sorted(operations, key=lambda each: (each.path, each.method))
    from_path = _accessors(ordered)
    wanted = {}
    for each in ordered:
        place = (each.method, each.path)
        own = each.operation_id if naming == "operationId" else None
        wanted[place] = _legal(own, place) if own else from_path[place]
    return _distinct(wanted)


def _distinct(wanted: dict[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    made: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    hashed: tuple[str, ...]
    for place, name in wanted.items():
        chosen, hashed = name, place
        while chosen.lower() in taken:
            chosen = _hashed(name, hashed)
            # A document may have a name that looks like this one with its hash.
            hashed = (*hashed, "again")
        taken.add(chosen.lower())
        made[place] = chosen
    return made


def _accessors(operations: list[Named]) -> dict[tuple[str, str], str]:
    given = Counter(each.accessor for each in operations)
    entries: dict[tuple[str, ...], list[tuple[Named, str]]] = {}
    children: dict[tuple[str, ...], set[str]] = {}
    for each in operations:
        namespace, last = _namespace(each.path), _last_part(each)
        entries.setdefault(namespace, []).append((each, last))
        for length in range(len(namespace)):
            children.setdefault(namespace[:length], set()).add(namespace[length])
    made = {}
    for namespace, members in entries.items():
        taken = set(children.get(namespace, ()))
        for each, last in members:
            last = _free(last, taken, (each.method, each.path))
            taken.add(last)
            override = each.accessor if each.accessor and given[each.accessor] == 1 else None
            parts = override or (*namespace, last)
            made[each.method, each.path] = _legal("_".join(parts), (each.method, each.path), parts)
    return made


def _free(last: str, taken: set[str], place: tuple[str, str]) -> str:
    """The name with underscores before it until it is free; a few of them say no more than a hash does."""
    for underscores in range(MAX_UNDERSCORES):
        if (name := "_" * underscores + last) not in taken:
            return name
    return f"{last}_{short_hash(' '.join(place))}"


def _namespace(path: str) -> tuple[str, ...]:
    """The fixed parts of a path, as variable names."""
    fixed = (re.sub(r"\{[^{}]*\}", "", segment).strip(".:-") for segment in path.split("/"))
    return tuple(_variable(segment) for segment in fixed if segment)


def _variable(segment: str) -> str:
    name = segment.replace(".", "_").replace("-", "_")
    return f"_{name}" if _JAVASCRIPT_WORDS.fullmatch(name) or name[0].isdigit() else name


def _last_part(operation: Named) -> str:
    keys = [name.replace(".", "_").replace("-", "_") for name in placeholders(operation.path)]
    verb = _VERBS.get(operation.method, operation.method)
    return verb + ("By" + "And".join(key[:1].upper() + key[1:].lower() for key in keys) if keys else "")


def _legal(name: str, place: tuple[str, str], parts: tuple[str, ...] = ()) -> str:
    """The name with what providers refuse replaced; with a hash where that loses letters, or where it is cut."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    made = re.sub(r"[^A-Za-z0-9_-]", "_", "".join(letter for letter in plain if letter.isascii()))
    made = made if not made or made[0].isalpha() or made[0] == "_" else f"_{made}"
    if not made.strip("_-"):
        return f"{place[0]}_{short_hash(' '.join(place))}"
    if len(made) <= MAX_NAME_CHARS and plain.isascii():
        return made
    return _hashed(made, place, parts)


def _hashed(name: str, place: tuple[str, ...], parts: tuple[str, ...] = ()) -> str:
    """The end of a name, whole parts of it where they are known, and a hash of what it stands for."""
    room = MAX_NAME_CHARS - 9
    while len(name) > room and len(parts) > 1 and name.startswith(f"{parts[0]}_"):
        name = name.removeprefix(f"{parts[0]}_")
        parts = parts[1:]
    made = f"{name[:room].rstrip('_-')}_{short_hash(' '.join(place))}"
    return made if _LEGAL.fullmatch(made) else f"_{made[: MAX_NAME_CHARS - 1]}"
