"""Whether the service is up, and what it counts. Nobody needs a key for these."""

from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter, Request
from starlette.responses import Response

from activities.store.errors import StoreError
from activities.store.records import Scope
from memory_engine import Health, Limits
from worker.memory_service.answers import answer, encoded
from worker.memory_service.errors import storage_failure
from worker.memory_service.metrics import CONTENT_TYPE
from worker.memory_service.service import Service

api = APIRouter(tags=["operations"])
router = APIRouter(tags=["operations"])

NAME = "turnhold-memory"
_PROBE = Scope("", "", "")


def release() -> str:
    """The version of this program; it may run from a checkout, which is not installed."""
    try:
        return version("turnhold")
    except PackageNotFoundError:
        return "0.1.0"


@api.get("/health", response_model=Health)
@router.get("/health", response_model=Health)
async def health(request: Request) -> Response:
    """Liveness, the limits of this deployment, and the settings it could not use."""
    service = _service(request)
    settings = service.settings
    told = Health(
        ok=True,
        service=NAME,
        version=release(),
        extractor="rules-only" if service.learner is None else "rules+model",
        limits=Limits(
            max_total_tokens=settings.max_total_tokens,
            max_index_items=settings.max_index_items,
            default_recall_limit=settings.default_recall_limit,
        ),
        problems=list(settings.problems),
    )
    return answer(encoded(told))


@router.get("/ready", response_model=Health)
async def ready(request: Request) -> Response:
    """As `/health`, and the database answers."""
    service = _service(request)
    try:
        await service.blocking(service.keeper.version, _PROBE)
    except StoreError:
        raise storage_failure() from None
    return await health(request)


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters of this process, as Prometheus reads them."""
    return Response(_service(request).metrics.exposition(), media_type=CONTENT_TYPE)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
