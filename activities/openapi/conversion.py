"""An OpenAPI document to functions: one operation at a time, so that a bad one costs itself and nothing else."""

from dataclasses import dataclass
from typing import Any

from activities.openapi.bodies import Content, content
from activities.openapi.closing import closed
from activities.openapi.document import load_document
from activities.openapi.keywords import walk
from activities.openapi.listing import MAX_PATH_CHARS, Listed, listed
from activities.openapi.names import Naming, function_names
from activities.openapi.operation import (
    ApiDocument,
    Body,
    DocumentInvalid,
    Excluded,
    Operation,
    Parameter,
    Schema,
    SecurityScheme,
)
from activities.openapi.parameters import GROUPS, Argument, arguments, declared
from activities.openapi.reading import Unfit, shortened, text_at, texts_at
from activities.openapi.references import Fetch, Library, Source
from activities.openapi.responses import output_schema, success
from activities.openapi.schemas import SchemaReader, Separate
from activities.openapi.security import credential_parameters, requirements, security_schemes
from activities.openapi.separation import separated
from activities.openapi.servers import base_url
from activities.openapi.versions import Version, body_of_swagger2, media_types, version_of

MAX_TAGS = 20
MAX_TAG_CHARS = 100
MAX_WARNINGS = 100
MAX_REASON_CHARS = 400


@dataclass(frozen=True, slots=True)
class Options:
    """How a document is converted.

    Args:
        naming: functions are named after method and path, or after `operationId` where there is one.
        separate: whether a raw schema is filled by a person; files are in any case.
        supplied: (place, name) of parameters the connection sends; the model does not see them.
        external: fetches other documents that references lead to; without it none is read.
    """

    naming: Naming = "path"
    separate: Separate | None = None
    supplied: frozenset[tuple[str, str]] = frozenset()
    external: Fetch | None = None


def read_document(
    data: bytes | str | dict[str, Any], *, url: str | None = None, options: Options | None = None
) -> ApiDocument:
    """Convert a Swagger 2.0 or OpenAPI 3 document: its JSON or YAML text, or the object it decodes to.

    Args:
        url: the document's own address, which relative servers and references start from.

    Raises:
        DocumentInvalid: it is not such a document at all. What is wrong with one operation excludes that operation.
    """
    options = options or Options()
    document = load_document(data)
    version = version_of(document)
    if not isinstance(document.get("paths", {}), dict):
        raise DocumentInvalid("the document is not an OpenAPI document: its `paths` are not an object")
    return _Conversion(document, version, url, options).made()


class _Conversion:
    def __init__(self, document: dict[str, Any], version: Version, url: str | None, options: Options) -> None:
        self._document = document
        self._version = version
        self._url = url
        self._options = options
        self._main = Library(document, url, options.external).main
        self._warnings: list[str] = []
        self._schemes = self._security_schemes()
        supplied = {(where, name.lower() if where == "header" else name) for where, name in options.supplied}
        self._hidden = credential_parameters(self._schemes) | supplied
        self._request = self._reader(request=True)
        self._response = self._reader(request=False)

    def _reader(self, *, request: bool) -> SchemaReader:
        separate = self._options.separate if request else None
        return SchemaReader(self._main, request=request, siblings=self._version.siblings, separate=separate)

    def _security_schemes(self) -> dict[str, SecurityScheme]:
        try:
            return security_schemes(self._document, self._version, self._main)
        except Unfit as fault:
            self._warnings.append(f"the security schemes are left out: {fault}")
            return {}

    def made(self) -> ApiDocument:
        found = listed(self._document, self._main)
        names = function_names([each.named for each in found], self._options.naming)
        operations: list[Operation] = []
        excluded: list[Excluded] = []
        for each in found:
            try:
                operations.append(self._operation(each, names[each.method, each.path]))
            except Unfit as fault:
                excluded.append(_excluded(each, str(fault)))
            except RecursionError:
                excluded.append(_excluded(each, "its schemas are nested too deeply"))
        info = self._document.get("info")
        info = info if isinstance(info, dict) else {}
        warnings = [*self._warnings, *self._request.warnings, *self._response.warnings]
        return ApiDocument(
            title=shortened(text_at(info, "title"), 200),
            version=text_at(info, "version")[:80],
            operations=tuple(operations),
            excluded=tuple(excluded),
            security_schemes=self._schemes,
            warnings=tuple(dict.fromkeys(_line(each) for each in warnings[:MAX_WARNINGS])),
        )

    def _operation(self, found: Listed, name: str) -> Operation:
        found.refuse_unsendable()
        node, source = found.node, found.source
        raw = declared(found.item, found.item_source or source, node, source)
        given = arguments(found.path, raw, self._hidden, self._version, self._request)
        body = self._body(found, raw)
        marked = closed(_input_schema(given, body), self._request.definitions)
        whole, model, human = separated(marked)
        renamed = self._renamed(whole)
        good = success(found, self._document, self._version, self._warnings)
        return Operation(
            method=found.method.upper(),
            path=found.path,
            name=name,
            operation_id=text_at(node, "operationId") or None,
            description=_description(node),
            tags=tuple(tag[:MAX_TAG_CHARS] for tag in texts_at(node, "tags")[:MAX_TAGS]),
            deprecated=node.get("deprecated") is True,
            base_url=base_url(self._document, self._version, self._url, node, found.item),
            parameters=tuple(_parameter(each, whole, renamed) for each in given),
            body=_finished(body, whole, renamed) if body else None,
            security=requirements(node, self._document),
            success_types=good.types,
            input_schema=whole,
            human_schema=human,
            llm_schema=model,
            output_schema=output_schema(found, good, self._response, self._warnings),
        )

    def _body(self, found: Listed, raw: list[tuple[dict[str, Any], Source]]) -> Content | None:
        if self._version.swagger2:
            consumes = media_types(found.node, self._document, "consumes")
            parts = [each for each in raw if each[0].get("in") in ("body", "formData")]
            described = body_of_swagger2([parameter for parameter, _ in parts], consumes)
            return content(described, parts[0][1], self._request) if described else None
        if found.node.get("requestBody") is None:
            return None
        return content(*found.source.resolved(found.node["requestBody"], "its body"), self._request)

    def _renamed(self, whole: Schema) -> dict[str, str]:
        """The keys in all arguments of an operation that are not the names on the wire."""
        names = self._request.names
        nodes = walk(whole) if names else ()
        return {key: names[key] for node in nodes for key in node.get("properties", ()) if key in names}


def _excluded(found: Listed, reason: str) -> Excluded:
    return Excluded(found.method.upper(), found.path[:MAX_PATH_CHARS], _line(reason))


def _line(text: str) -> str:
    """A text with parts of the document in it as one line of a log."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:MAX_REASON_CHARS]


def _parameter(argument: Argument, whole: Schema, renamed: dict[str, str]) -> Parameter:
    group = GROUPS.get(argument.where)
    place = whole["properties"][group] if group else whole
    return Parameter(
        name=argument.name,
        key=argument.key,
        where=argument.where,
        required=argument.required,
        schema=place["properties"][argument.key],
        style=argument.style,
        explode=argument.explode,
        allow_reserved=argument.allow_reserved,
        media_type=argument.media_type,
        renamed=renamed,
    )


def _finished(body: Content, whole: Schema, renamed: dict[str, str]) -> Body:
    return Body(
        media_type=body.media_type,
        required=body.required,
        schema=whole["properties"]["body"],
        encodings=body.encodings,
        binary=body.binary,
        renamed=renamed,
    )


def _description(node: dict[str, Any]) -> str:
    """Summary and description, the summary once where the description begins with it."""
    summary, text = text_at(node, "summary").strip(), text_at(node, "description").strip()
    if not summary or text.startswith(summary.rstrip(".")):
        return shortened(text or summary)
    return shortened(f"{summary}\n\n{text}" if text else summary)


def _input_schema(given: list[Argument], body: Content | None) -> Schema:
    """All arguments as one object: path keys at the top, beside a group for each other place and the body."""
    properties: dict[str, Schema] = {each.key: each.schema for each in given if each.where == "path"}
    required = list(properties)
    for where, group in GROUPS.items():
        members = [each for each in given if each.where == where]
        if members:
            needed = [each.key for each in members if each.required]
            properties[group] = _object({each.key: each.schema for each in members}, needed)
            required += [group] if needed else []
    if body:
        properties["body"] = body.schema
        required += ["body"] if body.required else []
    return _object(properties, required)


def _object(properties: dict[str, Schema], required: list[str]) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made
