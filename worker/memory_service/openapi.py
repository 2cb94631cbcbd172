"""The OpenAPI document: what FastAPI sees of the routes, with our own errors and who needs a key."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from memory_engine import CognitiveMemoryErrorBody
from worker.memory_service.admission import API, HEALTH
from worker.memory_service.desk import IDEMPOTENCY_KEY

_ERROR = "CognitiveMemoryErrorBody"
_EVERYWHERE = {"500": "a fault of the service or its storage", "503": "busy, or too slow", "405": "another method"}
_WITH_KEY = {
    "400": "not valid: `issues` names each field",
    "401": "no valid key",
    "403": "the key lacks `requiredScope`",
    "404": "nothing there",
    "429": "too many requests: see Retry-After",
}
_WITH_BODY = {
    "408": "the body did not arrive in time",
    "409": "other writers were in the way",
    "413": "the body is too large",
    "415": "the body is not JSON",
}


def describe(app: FastAPI) -> None:
    """Give the app its document. It has the API and the probes, not the page for people."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            app.openapi_schema = _completed(document)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to replace the document


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    _, defined = models_json_schema(
        [(CognitiveMemoryErrorBody, "serialization")], ref_template="#/components/schemas/{model}"
    )
    schemas |= defined["$defs"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "an API key"}}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return document


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    needs_key = path.startswith(API) and path != HEALTH
    told = dict(_EVERYWHERE)
    if needs_key:
        told |= _WITH_KEY
        operation["security"] = [{"key": []}]
    if (method, path) == ("post", f"{API}/memories"):
        told |= {"502": "`reconcile`: the memory model gave no answer, and nothing was stored"}
    if method not in ("get", "head"):
        told |= _WITH_BODY
        _take_idempotency_key(operation)
    for status, meaning in told.items():
        responses.setdefault(status, {"description": meaning, "content": _content()})


def _take_idempotency_key(operation: dict[str, Any]) -> None:
    operation.setdefault("parameters", []).append(
        {
            "name": IDEMPOTENCY_KEY,
            "in": "header",
            "required": False,
            "description": "sent again under the same key within 24 hours, a write is answered as before and not done again",
            "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]{1,200}$"},
        }
    )


def _content() -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{_ERROR}"}}}
