"""The arguments of an operation outside its body: which there are, which the model fills, and what it calls them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from activities.openapi.bodies import is_media_type
from activities.openapi.merging import merged
from activities.openapi.operation import Schema
from activities.openapi.property_keys import LEGAL, key_for
from activities.openapi.reading import Unfit, list_at, text_at
from activities.openapi.references import Source
from activities.openapi.schemas import SchemaReader
from activities.openapi.versions import Version, parameter_of_swagger2

GROUPS = {"query": "query", "header": "headers", "cookie": "cookies"}
RESERVED = frozenset({*GROUPS.values(), "body"})
# The first three are not parameters by the specification. The rest belong to the connection, and the last is sent by us, from
# the call itself: a key a model makes up would not be the same on a retry.
NOT_PARAMETERS = frozenset(
    {"accept", "content-type", "authorization", "host", "content-length", "transfer-encoding", "connection", "cookie"}
    | {"proxy-authorization", "te", "trailer", "upgrade", "idempotency-key"}
)
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
MAX_PARAMETERS = 200
_TOLD = ("description", "deprecated", "example")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject", "tabDelimited"),
    "header": ("simple",),
    "cookie": ("form",),
}

Raw = tuple[dict[str, Any], Source]


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter whose schema may still refer to definitions. The fields are those of `operation.Parameter`."""

    name: str
    key: str
    where: str
    required: bool
    schema: Schema
    style: str
    explode: bool
    allow_reserved: bool
    media_type: str | None


def declared(path_item: dict[str, Any], path_source: Source, operation: dict[str, Any], source: Source) -> list[Raw]:
    """The raw parameters of an operation: those of its path, replaced by its own where name and place are the same.

    Raises:
        Unfit: one has no name or no place, or its reference leads nowhere.
    """
    found: dict[tuple[str, str], Raw] = {}
    for node, origin in ((path_item, path_source), (operation, source)):
        for each in list_at(node, "parameters"):
            parameter, place = origin.resolved(each, "a parameter")
            where, name = text_at(parameter, "in"), text_at(parameter, "name")
            if not name or not where:
                raise Unfit("one of its parameters has no `name` or no `in`")
            found[where, name.lower() if where == "header" else name] = (parameter, place)
    if len(found) > MAX_PARAMETERS:
        raise Unfit(f"it has {len(found):,} parameters; at most {MAX_PARAMETERS} are shown to a model")
    return list(found.values())


def placeholders(path: str) -> tuple[str, ...]:
    """The names in the braces of a path, each once, in order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(path)))


def arguments(
    path: str, raw: Iterable[Raw], hidden: frozenset[tuple[str, str]], version: Version, reader: SchemaReader
) -> list[Argument]:
    """What of the parameters a caller fills, path first.

    `hidden` are (place, name) of those that come from the configuration, header names in lower case.

    Raises:
        Unfit: a place is unknown, or a schema cannot be read.
    """
    named = {"path": {}, **{where: {} for where in GROUPS}}  # type: dict[str, dict[str, Raw]]
    for parameter, source in raw:
        where, name = text_at(parameter, "in"), text_at(parameter, "name")
        if where in ("body", "formData"):
            continue
        if where not in named:
            raise Unfit(f"its parameter {name[:80]} stands in {where[:40]}, which is not supported")
        if (where, name.lower() if where == "header" else name) in hidden:
            continue
        if where == "header" and not HEADER_NAME.fullmatch(name):
            if parameter.get("required") is True:
                raise Unfit(f"it requires the header {name[:80]}, which cannot be sent")
        elif where != "header" or name.lower() not in NOT_PARAMETERS:
            named[where][name] = (parameter, source)
    made = list(_in_path(path, named.pop("path"), version, reader))
    for where, parameters in named.items():
        made += [_argument(name, key_for(name), where, each, version, reader) for name, each in parameters.items()]
    return made


def _in_path(path: str, given: Mapping[str, Raw], version: Version, reader: SchemaReader) -> Iterable[Argument]:
    names = placeholders(path)
    unnamed = [name for name in names if name not in given]
    spare = [name for name in given if name not in names]
    # Documents exist that call a parameter otherwise than their own template; then its place says which is meant.
    standing_in = dict(zip(unnamed, spare, strict=True)) if len(unnamed) == len(spare) else {}
    taken = set(RESERVED)
    for name in names:
        declared_name = standing_in.get(name, name)
        key = key_for(name if LEGAL.fullmatch(name) else declared_name)
        while key in taken:
            key = f"_{key}"
        taken.add(key)
        yield _argument(name, key, "path", given.get(declared_name), version, reader)


def _argument(name: str, key: str, where: str, raw: Raw | None, version: Version, reader: SchemaReader) -> Argument:
    if raw is None:
        return Argument(name, key, where, True, {"type": "string"}, "simple", False, False, None)
    parameter, source = raw
    if version.swagger2:
        parameter = parameter_of_swagger2(parameter)
    media_type, node = _schema_in(parameter)
    told = {word: value for word, value in parameter.items() if word in _TOLD or word.startswith("x-")}
    schema = merged(reader.read(told, source), reader.read(node, source) if node is not None else {"type": "string"})
    style = text_at(parameter, "style")
    style = style if style in _STYLES[where] else _STYLES[where][0]
    explode = parameter.get("explode")
    return Argument(
        name=name,
        key=key,
        where=where,
        required=where == "path" or parameter.get("required") is True,
        schema=schema,
        style=style,
        explode=explode if isinstance(explode, bool) else style in ("form", "deepObject"),
        allow_reserved=parameter.get("allowReserved") is True,
        media_type=media_type,
    )


def _schema_in(parameter: dict[str, Any]) -> tuple[str | None, Any]:
    content = parameter.get("content")
    if not isinstance(content, dict) or not content:
        return None, parameter.get("schema")
    media_type, media = next(iter(content.items()))
    if not is_media_type(media_type):
        raise Unfit(f"one of its parameters is {media_type[:80]}, which is no media type")
    return media_type, media.get("schema") if isinstance(media, dict) else None
