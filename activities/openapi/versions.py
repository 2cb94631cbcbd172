"""Which version of the specification a document follows, and what differs from one to the next.

Everything after this module sees parameters, bodies and responses in the form of OpenAPI 3: those of Swagger 2 are rewritten
one operation at a time, so that a fault costs one operation.
"""

from dataclasses import dataclass
from typing import Any

from activities.openapi.operation import DocumentInvalid
from activities.openapi.reading import Unfit, object_at, text_at, texts_at

_COLLECTION_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "tsv": ("tabDelimited", False),
}
# What describes a Swagger 2 parameter as a whole; everything else about it is its schema.
_NOT_SCHEMA = frozenset({"name", "in", "required", "collectionFormat", "allowEmptyValue", "schema", "$ref"})
_KEPT = ("name", "in", "required", "description")
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Version:
    """`siblings`: keywords beside `$ref` count, as from 3.1 on."""

    swagger2: bool
    siblings: bool


def version_of(document: dict[str, Any]) -> Version:
    """The version a document says it follows.

    Raises:
        DocumentInvalid: it names none, or one that is not read here.
    """
    swagger, openapi = text_at(document, "swagger"), text_at(document, "openapi")
    if openapi.split(".")[0] == "3":
        return Version(swagger2=False, siblings=openapi != "3" and not openapi.startswith("3.0"))
    if swagger.startswith("2"):
        return Version(swagger2=True, siblings=False)
    named = openapi or swagger or text_at(document, "swaggerVersion")
    if named:
        raise DocumentInvalid(f"version {named[:40]} is not read: Swagger 2.0 and OpenAPI 3 are")
    raise DocumentInvalid("the document is not an OpenAPI document: it has neither `openapi` nor `swagger`")


def parameter_of_swagger2(parameter: dict[str, Any]) -> dict[str, Any]:
    """A path, query or header parameter of Swagger 2 as one of OpenAPI 3."""
    schema = {word: value for word, value in parameter.items() if word not in _NOT_SCHEMA and word != "description"}
    made: dict[str, Any] = {word: parameter[word] for word in _KEPT if word in parameter}
    made["schema"] = schema
    if schema.get("type") == "array":
        style, explode = _collection_style(parameter)
        if parameter.get("in") != "query" and style == "form":
            style = "simple"
        made |= {"style": style, "explode": explode}
    return made


def _collection_style(parameter: dict[str, Any]) -> tuple[str, bool]:
    return _COLLECTION_STYLES.get(text_at(parameter, "collectionFormat"), ("form", False))


def body_of_swagger2(parameters: list[dict[str, Any]], consumes: tuple[str, ...]) -> dict[str, Any] | None:
    """The body and form parameters of a Swagger 2 operation as a request body of OpenAPI 3.

    Raises:
        Unfit: it has several bodies, or a body and a form.
    """
    bodies = [each for each in parameters if each.get("in") == "body"]
    fields = [each for each in parameters if each.get("in") == "formData"]
    if len(bodies) + bool(fields) > 1:
        raise Unfit("it has more than one body")
    if bodies:
        content = {media: {"schema": bodies[0].get("schema")} for media in consumes or (JSON,)}
        made = {"required": bodies[0].get("required"), "content": content}
        return {**made, "description": bodies[0].get("description")}
    return _form(fields, consumes) if fields else None


def _form(fields: list[dict[str, Any]], consumes: tuple[str, ...]) -> dict[str, Any]:
    files = [text_at(each, "name") for each in fields if each.get("type") == "file"]
    media = MULTIPART if files or (MULTIPART in consumes and FORM not in consumes) else FORM
    properties, encoding, required = {}, {}, []
    for field in fields:
        name = text_at(field, "name")
        schema = {word: value for word, value in field.items() if word not in _NOT_SCHEMA}
        if name in files:
            schema |= {"type": "string", "format": "binary"}
        if schema.get("type") == "array":
            style, explode = _collection_style(field)
            encoding[name] = {"style": style, "explode": explode}
        if field.get("required") is True:
            required.append(name)
        properties[name] = schema
    whole = {"type": "object", "properties": properties, "required": required}
    return {"required": bool(required), "content": {media: {"schema": whole, "encoding": encoding}}}


def response_of_swagger2(response: dict[str, Any], produces: tuple[str, ...]) -> dict[str, Any]:
    """A response of Swagger 2 as one of OpenAPI 3."""
    if "schema" not in response:
        return response
    return {**response, "content": {media: {"schema": response["schema"]} for media in produces or (JSON,)}}


def media_types(operation: dict[str, Any], document: dict[str, Any], key: str) -> tuple[str, ...]:
    """`consumes` or `produces`: the operation's own list counts, an empty one too, else the document's."""
    return texts_at(operation if operation.get(key) is not None else document, key)


def security_definitions(document: dict[str, Any], version: Version) -> dict[str, Any]:
    if version.swagger2:
        return object_at(document, "securityDefinitions")
    return object_at(object_at(document, "components"), "securitySchemes")
