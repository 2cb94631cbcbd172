"""The request body: which media type to write, what the model fills of it, and what is a file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from activities.openapi.keywords import referred, types_of
from activities.openapi.merging import merged
from activities.openapi.operation import FILE_SCHEMA, Encoding, Schema
from activities.openapi.reading import Unfit, as_object, object_at, text_at
from activities.openapi.references import Source
from activities.openapi.schemas import HUMAN, SchemaReader
from activities.openapi.versions import FORM, JSON, MULTIPART

FILE: Schema = {**FILE_SCHEMA, HUMAN: True}
BINARY = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(\s*;[\x20-\x7e]*)?", re.ASCII)
_BINARY_FORMATS = frozenset({"binary", "byte", "base64"})
_BINARY_TYPES = (
    "image/",
    "audio/",
    "video/",
    "font/",
    "application/octet-stream",
    "application/pdf",
    "application/zip",
)


@dataclass(frozen=True, slots=True)
class Content:
    """A body whose schema may still refer to definitions. The fields are those of `operation.Body`."""

    media_type: str
    required: bool
    schema: Schema
    encodings: dict[str, Encoding] = field(default_factory=dict)
    binary: frozenset[str] = frozenset()


def content(node: dict[str, Any], source: Source, reader: SchemaReader) -> Content | None:
    """The body of an operation in the media type that is easiest to get right, None when it has none.

    Raises:
        Unfit: there is no media type among its own that can be written, or its schema cannot be read.
    """
    offered = object_at(node, "content")
    if not offered:
        return None
    usable = [media_type for media_type in offered if is_media_type(media_type)]
    if not usable:
        raise Unfit(f"its body is {next(iter(offered))[:80]}, which is no media type")
    chosen = min(usable, key=_rank)
    media, source = source.resolved(offered[chosen], f"the body's {chosen[:80]}")
    schema = _opened(reader.read(media.get("schema"), source), reader)
    made = _in_media_type(chosen, schema, media, source, reader)
    told = reader.read({"description": node.get("description")}, source)
    return replace(made, required=node.get("required") is True, schema=merged(told, made.schema))


def _in_media_type(
    media_type: str, schema: Schema, media: dict[str, Any], source: Source, reader: SchemaReader
) -> Content:
    kind = essence(media_type)
    if is_json(kind):
        if "*" not in kind:
            return Content(media_type, False, schema)
        return _file(BINARY, schema) if _is_binary(schema, "") else Content(JSON, False, schema)
    if kind in (FORM, MULTIPART):
        return _form(media_type, schema, media, source, reader)
    return _whole(media_type, schema)


def is_media_type(text: str) -> bool:
    """Whether a text can stand in a header as a media type, or range of them."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def essence(media_type: str) -> str:
    """A media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Whether a bare media type, or range of them, is written as JSON."""
    return kind in (JSON, "text/json", "*/*", "application/*") or kind.endswith("+json")


def _rank(media_type: str) -> int:
    kind = essence(media_type)
    order = (
        kind == JSON,
        "*" in kind and is_json(kind),
        is_json(kind),
        kind == FORM,
        kind == MULTIPART,
        kind == "text/plain",
        kind.startswith("text/"),
        not _is_structured(kind),
        True,
    )
    return order.index(True)


def _is_structured(kind: str) -> bool:
    return kind.endswith(("/xml", "+xml")) or kind.startswith("multipart/")


def _whole(media_type: str, schema: Schema) -> Content:
    """A body that is one text or one file."""
    kind = essence(media_type)
    types = types_of(schema)
    is_binary = _is_binary(schema, "")
    is_text = types == ["string"] and not is_binary
    if kind.startswith("text/"):
        written = "text/plain" if "*" in kind else media_type
        return Content(written, False, schema if is_text else {"type": "string"})
    if is_binary or (not types and not _is_structured(kind)):
        return _file(media_type, schema)
    if is_text:
        return Content(media_type, False, schema)
    raise Unfit(f"its body is {media_type[:80]}, which cannot be written")


def _file(media_type: str, schema: Schema) -> Content:
    return Content(media_type, False, merged(_texts(schema), FILE), binary=frozenset({""}))


def _form(media_type: str, schema: Schema, media: dict[str, Any], source: Source, reader: SchemaReader) -> Content:
    if types_of(schema) not in ([], ["object"]):
        raise Unfit(f"its {essence(media_type)} body is not an object")
    encodings = _encodings(object_at(media, "encoding"), source, reader)
    schema = {"type": "object", **schema}
    for key, each in schema.get("properties", {}).items():
        _refuse_unwritable(reader.names.get(key, key), each, encodings, reader)
    if essence(media_type) != MULTIPART:
        return Content(media_type, False, schema, encodings)
    files = _Files(encodings, reader)
    schema = files.marked(schema)
    return Content(media_type, False, schema, encodings, frozenset(files.names))


def _refuse_unwritable(name: str, schema: Schema, encodings: Mapping[str, Encoding], reader: SchemaReader) -> None:
    """Raise `Unfit` for objects that a form wants in a type of their own that nothing here writes, such as XML."""
    said = encodings[name].content_type if name in encodings else None
    kinds = [essence(each) for each in (said or "").split(",") if each.strip()]
    opened = _opened(schema, reader)
    if "array" in types_of(opened) and isinstance(opened.get("items"), dict):
        opened = _opened(opened["items"], reader)
    if kinds and "object" in types_of(opened) and not any(is_json(kind) or "*" in kind for kind in kinds):
        raise Unfit(f"the {name[:80]} of its form is an object as {kinds[0][:80]}, which cannot be written")


class _Files:
    """Finds the files of a form, in each of its alternatives; `names` are theirs on the wire."""

    def __init__(self, encodings: Mapping[str, Encoding], reader: SchemaReader) -> None:
        self.names: set[str] = set()
        self._encodings = encodings
        self._reader = reader

    def marked(self, schema: Schema) -> Schema:
        """The schema of a form with those of files in the places of its files.

        Raises:
            Unfit: it takes files under any name, which nothing here can tell from texts.
        """
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and _as_file(more, "", self._reader):
            raise Unfit("its form takes files under names that it does not tell")
        made = dict(schema)
        if "properties" in schema:
            made["properties"] = {key: self._property(key, each) for key, each in schema["properties"].items()}
        if "anyOf" in schema:
            made["anyOf"] = [self.marked(_opened(each, self._reader)) for each in schema["anyOf"]]
        return made

    def _property(self, key: str, schema: Schema) -> Schema:
        name = self._reader.names.get(key, key)
        encoding = self._encodings.get(name)
        made = _as_file(schema, (encoding and encoding.content_type) or "", self._reader)
        if made is None:
            return schema
        self.names.add(name)
        return made


def _as_file(schema: Schema, content_type: str, reader: SchemaReader) -> Schema | None:
    """The schema of a form's property that is a file, or a list of files; None when it is neither."""
    opened = _opened(schema, reader)
    if _is_binary(opened, content_type):
        return merged(_texts(schema), merged(_texts(opened), FILE))
    items = opened.get("items")
    if "array" in types_of(opened) and isinstance(items, dict) and _is_binary(_opened(items, reader), content_type):
        bounds: Schema = {word: opened[word] for word in ("minItems", "maxItems") if word in opened}
        return {**_texts(opened), **_texts(schema), **bounds, "type": "array", "items": FILE_SCHEMA, HUMAN: True}
    return None


def _is_binary(schema: Schema, content_type: str) -> bool:
    if [name for name in types_of(schema) if name != "null"] not in (["string"], []):
        return False
    named = (content_type, schema.get("contentMediaType", ""))
    return schema.get("format") in _BINARY_FORMATS or any(_is_binary_type(each) for each in named)


def _is_binary_type(media_types: str) -> bool:
    return any(essence(each).startswith(_BINARY_TYPES) for each in media_types.split(","))


def _texts(schema: Schema) -> Schema:
    return {word: schema[word] for word in ("title", "description", "deprecated") if word in schema}


def _opened(schema: Schema, reader: SchemaReader) -> Schema:
    """The schema itself where a reference stands: a body is shown as what it is, even one that contains itself."""
    passed: set[str] = set()
    while (name := referred(schema)) is not None:
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        reader.definitions.admit(reader.definitions.size(name))
        # A schema that is said to be a form of itself leads back here; the second time it says nothing new.
        schema = beside if name in passed else merged(beside, reader.definitions.complete(name))
        passed.add(name)
    return schema


def _encodings(node: dict[str, Any], source: Source, reader: SchemaReader) -> dict[str, Encoding]:
    made = {}
    for name, value in node.items():
        encoding = as_object(value, "an encoding")
        explode = encoding.get("explode")
        made[name] = Encoding(
            content_type=text_at(encoding, "contentType") or None,
            style=text_at(encoding, "style") or None,
            explode=explode if isinstance(explode, bool) else None,
            allow_reserved=encoding.get("allowReserved") is True,
            headers=dict(_headers(object_at(encoding, "headers"), source, reader)),
        )
    return made


def _headers(node: dict[str, Any], source: Source, reader: SchemaReader) -> Iterable[tuple[str, Schema]]:
    for name, value in node.items():
        header, place = source.resolved(value, "a header")
        yield name, reader.read(header.get("schema"), place)
