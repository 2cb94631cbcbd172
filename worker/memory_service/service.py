"""The parts of one service process, put together."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from openai import AsyncOpenAI

from activities.memory_asking import MemoryModel
from activities.memory_service import GroupKeeper
from activities.model_settings import ModelSettings
from activities.store.api_keys import ApiKeyStore
from activities.store.database import Database, open_database
from activities.store.idempotency import sweep_records
from activities.store.records import Scope
from memory_engine import SERVICE_HEADING, CognitiveMemory, CognitiveMemoryOptions
from worker.memory_service.authority import Authority
from worker.memory_service.clock import now_ms
from worker.memory_service.learning import MOST_ASKING, Learner
from worker.memory_service.logs import log
from worker.memory_service.metrics import Metrics
from worker.memory_service.plans import Plans
from worker.memory_service.rates import Rates
from worker.memory_service.reading import Reading
from worker.memory_service.settings import ServiceSettings
from worker.memory_service.turnstile import Turnstile
from worker.memory_service.writers import Writers
from worker.settings import SettingsInvalid

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 16
KEEP_HOUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Service:
    """What requests are answered with. Everything that blocks runs in `pool`."""

    settings: ServiceSettings
    database: Database
    keeper: GroupKeeper
    authority: Authority
    writers: Writers
    rates: Rates
    reading: Reading
    learner: Learner | None
    """Who asks the memory model; None where there is none."""
    plans: Plans
    metrics: Metrics
    pool: ThreadPoolExecutor

    async def blocking(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """The result of work that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(work, *given, **named))

    async def read(self, scope: Scope, look: Callable[[CognitiveMemory], T]) -> T:
        """What `look` sees in a memory, which it must not change or keep."""
        return await self.reading.read(scope, look)


@asynccontextmanager
async def running_service(settings: ServiceSettings) -> AsyncIterator[Service]:
    """A service whose writers have stored everything when the block has ended.

    Raises:
        SettingsInvalid: the address of the database is not one we support.
        StoreError: it cannot be opened.
    """
    try:
        database = await asyncio.to_thread(open_database, settings.database_url, pool_size=THREADS)
    except ValueError as fault:
        raise SettingsInvalid(f"TURNHOLD_DATABASE_URL: {fault}") from fault
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="memory")
    try:
        async with AsyncExitStack() as stack:
            service = _service(settings, database, pool, _memory_model(stack, settings))
            housekeeping = asyncio.create_task(_keep_house(service))
            try:
                yield service
            finally:
                housekeeping.cancel()
                await service.writers.flush()
    finally:
        pool.shutdown()
        database.close()


def _memory_model(stack: AsyncExitStack, settings: ServiceSettings) -> MemoryModel | None:
    if settings.model is None:
        return None
    key = settings.model.api_key.get_secret_value() if settings.model.api_key else "none"
    client = AsyncOpenAI(api_key=key, base_url=settings.model.base_url, max_retries=0)
    stack.push_async_callback(client.close)
    # The request's own time ends first, and says so.
    return MemoryModel(client, ModelSettings(settings.model.name, timeout=2.0 * settings.model_seconds))


def _service(
    settings: ServiceSettings, database: Database, pool: ThreadPoolExecutor, model: MemoryModel | None
) -> Service:
    options = CognitiveMemoryOptions(
        heading=SERVICE_HEADING,
        max_total_tokens=settings.max_total_tokens,
        max_index_items=settings.max_index_items,
        index_all_tiers=True,
    )
    keeper, metrics = GroupKeeper(database, options), Metrics()
    reading = Reading(keeper, Turnstile(), pool)
    learner = None
    if model is not None:
        learner = Learner(model, reading, settings.model_seconds, asyncio.Semaphore(MOST_ASKING))
    return Service(
        settings=settings,
        database=database,
        keeper=keeper,
        authority=Authority(ApiKeyStore(database), settings.admin_token, settings.environment),
        writers=Writers(keeper, pool, metrics),
        rates=Rates(settings.rate, settings.burst),
        reading=reading,
        learner=learner,
        plans=Plans(),
        metrics=metrics,
        pool=pool,
    )


async def _keep_house(service: Service) -> None:
    """Store which memories were shown, and remove old answers, every now and then."""
    while True:
        await asyncio.sleep(KEEP_HOUSE_SECONDS)
        try:
            await service.writers.flush()
            await service.blocking(sweep_records, service.database, now_ms())
        except Exception as fault:
            log("housekeeping failed", logging.WARNING, fault=fault)
