"""What an OpenAPI document turns into: operations a model can call, and everything needed to make the call.

The values are plain data, made once when a worker starts and shared from then on: nobody may change a schema found in
them. A schema here is JSON Schema 2020-12. Its references point into the `$defs` of the operation's `input_schema`, so a
part taken alone (`Parameter.schema`, `Body.schema`) needs those definitions beside it: `Operation.closed(part)`.

Names have two sides. A *name* is what stands on the wire; a *key* is what the model calls it, because model providers take
only `[A-Za-z0-9_.-]{1,64}` as property names. Keys inside objects are undone with `renamed`, key to name, at any depth; it
holds those of the whole operation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]


class DocumentInvalid(ValueError):
    """The document is not an OpenAPI document that can be read; the message says why, for whoever configured it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument outside the body.

    `name` on the wire, `key` in its group of the arguments: the top level for "path", else the object `query`, `headers` or
    `cookies`. `style` is one of OpenAPI's, or "tabDelimited" (Swagger 2 `tsv`). With `media_type` the value is written as
    that type, and style and explode mean nothing. `schema` describes defaults; they are never sent.
    """

    name: str
    key: str
    where: str
    required: bool
    schema: Schema
    style: str
    explode: bool
    allow_reserved: bool = False
    media_type: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How one property of a form is written; None where the document leaves it to the defaults of the media type.

    `headers` are the schemas of the headers of the property's part, by name.
    """

    content_type: str | None = None
    style: str | None = None
    explode: bool | None = None
    allow_reserved: bool = False
    headers: Mapping[str, Schema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """The request body: the argument `body`.

    `media_type` is the one chosen from those of the document, with its parameters (`; charset=…`). `encodings` and `binary`
    go by name on the wire; `binary` names the properties that are files, or lists of files, and is {""} when the body as a
    whole is one. A file is an object of `FILE_SCHEMA`, or text.
    """

    media_type: str
    required: bool
    schema: Schema
    encodings: Mapping[str, Encoding] = field(default_factory=dict)
    binary: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """Where a credential goes. `kind`: apiKey, http, oauth2, openIdConnect or mutualTLS; `where` and `parameter` for apiKey;
    `scheme` for http, in lower case."""

    name: str
    kind: str
    where: str | None = None
    parameter: str | None = None
    scheme: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    `name` is the function's, unique in the document letter case aside. `base_url` is absolute and ends without a slash, or
    is "" when the document does not say. `security` lists alternatives, each a set of scheme names; () needs none, and an
    empty alternative makes it optional. `success_types` are the media types of good responses.

    `input_schema` takes all arguments: path keys beside `query`, `headers`, `cookies`, `body`. `human_schema` is the part a
    person fills, of the same outer shape, None when there is none; `llm_schema` is the rest, for the model.
    """

    method: str
    path: str
    name: str
    operation_id: str | None
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    base_url: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    security: tuple[tuple[str, ...], ...]
    success_types: tuple[str, ...]
    input_schema: Schema
    human_schema: Schema | None
    llm_schema: Schema
    output_schema: Schema | None

    def closed(self, part: Schema) -> Schema:
        """A part of the input schema that stands alone: with the definitions it may point to."""
        definitions = self.input_schema.get("$defs")
        return {**part, "$defs": definitions} if definitions else part


@dataclass(frozen=True, slots=True)
class Excluded:
    """An operation that could not become a function, and why: one sentence."""

    method: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """What was read. `warnings` name parts that were left out of functions which work all the same."""

    title: str
    version: str
    operations: tuple[Operation, ...]
    excluded: tuple[Excluded, ...]
    security_schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


FILE_SCHEMA: Schema = {
    "description": "A file: its text, or its bytes in base64.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "filename": {"type": "string"},
                "mediaType": {"type": "string"},
                "base64": {"type": "string", "contentEncoding": "base64"},
                "text": {"type": "string"},
            },
            "additionalProperties": False,
        },
    ],
}
