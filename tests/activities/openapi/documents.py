"""Small documents, said briefly."""

from pathlib import Path
from typing import Any

from activities.openapi.conversion import Options, read_document
from activities.openapi.operation import ApiDocument, Operation

Json = dict[str, Any]
SHARED = Path(__file__).parents[4] / "shared" / "data" / "openapi"


def document(paths: Json, version: str = "3.0.3", **more: Any) -> Json:
    """An OpenAPI 3 document; `schemas` is short for its components' schemas."""
    components = {**more.pop("components", {}), "schemas": more.pop("schemas", {})}
    made: Json = {"openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths}
    return {**made, "servers": [{"url": "https://api.example.com"}], "components": components, **more}


def swagger(paths: Json, **more: Any) -> Json:
    """A Swagger 2 document."""
    return {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def converted(made: Json, **options: Any) -> ApiDocument:
    """The document read; `url` and the fields of `Options`."""
    return read_document(made, url=options.pop("url", None), options=Options(**options))


def only(made: Json, **options: Any) -> Operation:
    """The one operation of a document that excludes none."""
    found = converted(made, **options)
    assert found.excluded == ()
    [operation] = found.operations
    return operation


def posting(schema: Json, version: str = "3.0.3", **more: Any) -> Json:
    """A document with one operation that takes this JSON body."""
    return document({"/t": {"post": json_body(schema)}}, version, **more)


def json_body(schema: Json) -> Json:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def body_schema(schema: Json, version: str = "3.0.3", **more: Any) -> Json:
    """What becomes of the schema of a JSON body."""
    operation = only(posting(schema, version, **more))
    assert operation.body is not None
    return operation.body.schema


def output_schema(schema: Json, **more: Any) -> Json | None:
    """What becomes of the schema of a JSON response."""
    response = {"description": "", "content": {"application/json": {"schema": schema}}}
    return only(document({"/t": {"get": {"responses": {"200": response}}}}, **more)).output_schema


def querying(*parameters: Json, **more: Any) -> Json:
    """A document with one operation that takes these parameters."""
    return document({"/t": {"get": {"parameters": list(parameters)}}}, **more)


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
