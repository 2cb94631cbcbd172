"""The service as an ASGI app: layers around routes."""

import logging
from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from activities.memory_service import Refusal
from activities.store.errors import StoreError
from memory_engine import MemoryEngineError
from worker.memory_service import page
from worker.memory_service.admission import API, KEY_HEADER, Admission
from worker.memory_service.answers import refusal
from worker.memory_service.errors import api_error, invalid_request, method_not_allowed, not_found
from worker.memory_service.intake import Intake
from worker.memory_service.logs import log
from worker.memory_service.openapi import describe
from worker.memory_service.routes import keys, memories, operations, recall, self_model, stats, tensions, turns
from worker.memory_service.service import Service
from worker.memory_service.telemetry import Telemetry

TITLE = "turnhold memory service"
_PATH_CHARS = 100


def build_app(service: Service) -> ASGIApp:
    """The whole service. Its parts must run as long as it answers: see `running_service`."""
    app = FastAPI(title=TITLE, version=operations.release(), docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.service = service
    # Routes are tried in this order, so those of every turn come first.
    for part in (recall, turns, memories, tensions, self_model, stats, keys):
        app.include_router(part.router, prefix=API)
    app.include_router(operations.api, prefix=API)
    app.include_router(operations.router)
    app.include_router(page.router)
    _answer_faults(app)
    describe(app)
    settings = service.settings
    layered: ASGIApp = Intake(app, settings.max_body, settings.body_seconds)
    layered = Telemetry(Admission(layered, service), service.metrics, settings.request_seconds)
    if settings.cors_origins:
        # Outermost: a browser asks without a key whether it may ask, and must be able to read a refusal.
        layered = CORSMiddleware(
            layered,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", KEY_HEADER],
        )
    return layered


def _answer_faults(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, fault: RequestValidationError) -> Response:
        return refusal(invalid_request(*issues_in(fault)))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, fault: HTTPException) -> Response:
        if fault.status_code == 404:
            return refusal(not_found("route"))
        if fault.status_code == 405:
            return refusal(method_not_allowed((fault.headers or {}).get("Allow", "")))
        return refusal(invalid_request("body: is not JSON that can be read"))

    async def answered(request: Request, fault: Exception) -> Response:
        error = api_error(fault)
        if isinstance(fault, StoreError | MemoryEngineError):
            log("the store failed", logging.WARNING, fault=fault, answered=error.body.error)
        is_person = not request.url.path.startswith(API) and "text/html" in request.headers.get("accept", "")
        return page.refused(error) if is_person else refusal(error)

    # What stands under `Exception` is raised again once it is answered: the outermost layer logs it.
    for kind in (Refusal, StoreError, MemoryEngineError, Exception):
        app.add_exception_handler(kind, answered)


def issues_in(fault: RequestValidationError) -> Sequence[str]:
    """What is wrong with each field, without what was given."""
    return [f"{_path(error['loc'])}: {error['msg']}" for error in fault.errors()]


def _path(location: Sequence[str | int]) -> str:
    place, *names = location
    path = ".".join(map(str, names))[:_PATH_CHARS]
    return path if path and place in ("body", "query", "path") and not str(names[0]).isdecimal() else str(place)
