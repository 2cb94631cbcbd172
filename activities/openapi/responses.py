"""What comes back: the media types of good responses, and the schema of the first of them in JSON.

Nothing here decides whether an operation can be called, so whatever cannot be read is left out with a warning.
"""

from dataclasses import dataclass
from typing import Any

from activities.openapi.bodies import essence, is_json, is_media_type
from activities.openapi.closing import closed
from activities.openapi.listing import Listed
from activities.openapi.operation import Schema
from activities.openapi.reading import Unfit, as_object, object_at
from activities.openapi.references import Source
from activities.openapi.schemas import SchemaReader
from activities.openapi.versions import Version, media_types, response_of_swagger2


@dataclass(frozen=True, slots=True)
class Success:
    """The good responses of an operation: (media type, raw schema, its source), the lowest status first."""

    contents: tuple[tuple[str, Any, Source], ...]

    @property
    def types(self) -> tuple[str, ...]:
        """The media types, each once."""
        return tuple(dict.fromkeys(media_type for media_type, _, _ in self.contents))


def success(operation: Listed, document: dict[str, Any], version: Version, warnings: list[str]) -> Success:
    """The responses with a 2xx status, or else the default one."""
    responses = operation.node.get("responses")
    responses = responses if isinstance(responses, dict) else {}
    good = sorted(status for status in responses if status[:1] == "2" and len(status) == 3)
    found: list[tuple[str, Any, Source]] = []
    for status in good or [each for each in ("default",) if each in responses]:
        try:
            response, place = operation.source.resolved(responses[status], "it")
            if version.swagger2:
                response = response_of_swagger2(response, media_types(operation.node, document, "produces"))
            for media_type, media in object_at(response, "content").items():
                if is_media_type(media_type):
                    found.append((media_type, as_object(media, f"`{media_type[:80]}`").get("schema"), place))
        except Unfit as fault:
            warnings.append(f"{_place(operation)}: the response {status[:20]} is left out: {fault}")
    return Success(tuple(found))


def output_schema(operation: Listed, good: Success, reader: SchemaReader, warnings: list[str]) -> Schema | None:
    """The schema of the first good response in JSON, None when there is none or it cannot be read."""
    for media_type, schema, source in good.contents:
        if is_json(essence(media_type)) and isinstance(schema, dict):
            try:
                return closed(reader.read(schema, source), reader.definitions)
            except Unfit as fault:
                warnings.append(f"{_place(operation)}: the schema of its response is left out: {fault}")
                return None
    return None


def _place(operation: Listed) -> str:
    return f"{operation.method.upper()} {operation.path[:200]}"
