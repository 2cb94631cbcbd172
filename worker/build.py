"""The parts list: everything a worker is made of, put together in one place."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from openai import AsyncOpenAI
from temporalio.client import Client
from temporalio.worker import Interceptor, Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from activities.choosing import ChoiceActivities
from activities.contracts import MEMORY_MODEL_TIMEOUT, Patience
from activities.guard_input import GuardActivities
from activities.guards import Guards
from activities.instances import InstanceActivities
from activities.memory import MemoryActivities
from activities.memory_embedder import EmbedderUnavailable, named_embedder
from activities.memory_keeper import MemoryKeeper
from activities.memory_models import MemoryModelActivities
from activities.model import ModelActivities, ModelSettings
from activities.pause_chunks import PauseActivities
from activities.personas import Personas
from activities.reflection import ReflectionActivities
from activities.registry import ToolRegistry
from activities.retrieval import DocumentRetriever
from activities.retrieving import RetrievalActivities, RetrievalSettings
from activities.sentiment_assessment import SentimentActivities
from activities.store.chunk_store import ChunkStore
from activities.store.database import Database, open_database
from activities.store.histories import HistoryStore
from activities.store.instance_histories import InstanceHistories
from activities.store.media import MediaStore
from activities.store.persona_store import PersonaStore
from activities.store.snapshots import SnapshotStore
from activities.store.turn_store import TurnStore
from activities.stored_personas import StoredPersonas
from activities.tool_executor import ToolExecutor
from activities.tools import ToolActivities
from activities.turn_reading import TurnReader
from activities.turn_settings import TurnSettings
from activities.turns import TurnActivities
from memory_engine import CognitiveMemoryOptions, Embedder
from worker.app import AgentApp
from worker.databases import worker_identity
from worker.draining import draining
from worker.executions import TemporalExecutions
from worker.functions import announce
from worker.gmi.open_turns import TemporalTurns
from worker.runner import TurnRunner
from worker.scripted_model import ScriptedModel
from worker.settings import SECRET_PREFIX, Settings, SettingsInvalid
from workflows.gmi import GMIWorkflow
from workflows.turn import TurnWorkflow

WORKFLOWS = [TurnWorkflow, GMIWorkflow]
# What our own mistakes raise. They fail a turn with a message; a nondeterminism error, which a fixed deploy heals, does not.
FAILURES = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, RecursionError)
# Temporal sends a cancellation with the answer to a heartbeat, so the throttle bounds how long a cancel takes.
STORE_THREADS = 32
HEARTBEAT_THROTTLE = timedelta(seconds=1)
# How long the server offers a task to the worker that has the turn in its cache, before any worker may take it: what a turn
# waits after its worker was killed.
STICKY_PATIENCE = timedelta(seconds=3)


@asynccontextmanager
async def running_worker(
    client: Client, app: AgentApp, settings: Settings, secrets: Mapping[str, str] | None = None
) -> AsyncIterator[Worker]:
    """A worker that polls until the block ends, and then drains.

    Raises:
        NotDrained: the SDK did not come to an end.
    """
    async with AsyncExitStack() as stack:
        worker = await build_worker(stack, client, app, settings, secrets or {})
        yield await stack.enter_async_context(draining(worker, settings.shutdown_grace))


async def build_worker(
    stack: AsyncExitStack,
    client: Client,
    app: AgentApp,
    settings: Settings,
    secrets: Mapping[str, str],
    *,
    model_client: AsyncOpenAI | None = None,
    interceptors: Sequence[Interceptor] = (),
) -> Worker:
    """A worker with everything it needs; the stack closes what was opened for it.

    A `model_client` in place of the settings' stays its owner's to close, and must make no retries of its own.
    """
    # Store calls block in threads. The loop's own pool has a handful, and one conversation's queue would hold up all others.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="store"))
    _check_secrets(app.personas, secrets)
    try:
        database = await asyncio.to_thread(open_database, settings.database_url)
    except ValueError as fault:
        raise SettingsInvalid(f"TURNHOLD_DATABASE_URL: {fault}") from fault
    stack.callback(database.close)
    identity = worker_identity(client.identity, await asyncio.to_thread(database.identity))
    model_client = model_client or await _model_client(stack, settings)
    tool_executor = ToolExecutor(threads=settings.tool_threads)
    stack.callback(tool_executor.close)
    guards = Guards(app.guardrails)
    stack.callback(guards.close)
    opened = await app.open(stack)
    announce(opened, app.personas)
    return Worker(
        client,
        task_queue=settings.task_queue,
        identity=identity,
        workflows=WORKFLOWS,
        workflow_runner=SandboxedWorkflowRunner() if settings.workflow_sandbox else TurnRunner(),
        activities=build_activities(
            client, app, opened.tools, settings, secrets, database, model_client, tool_executor, guards
        ),
        interceptors=interceptors,
        max_cached_workflows=settings.max_cached_workflows,
        max_concurrent_activities=settings.max_concurrent_activities,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_grace),
        max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        default_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        sticky_queue_schedule_to_start_timeout=STICKY_PATIENCE,
        workflow_failure_exception_types=list(FAILURES),
        # Without this one oversized update hangs its turn for minutes; every payload of ours is measured instead.
        disable_payload_error_limit=True,
    )


def build_activities(
    client: Client,
    app: AgentApp,
    registry: ToolRegistry,
    settings: Settings,
    secrets: Mapping[str, str],
    database: Database,
    model_client: AsyncOpenAI,
    tool_executor: ToolExecutor,
    guards: Guards,
) -> list[Any]:
    """Every activity that is registered, once."""
    personas = app.personas
    embedder = _embedder(settings)
    store, stored = TurnStore(database), StoredPersonas(personas, PersonaStore(database))
    keeper = MemoryKeeper(SnapshotStore(database), CognitiveMemoryOptions(embedder=embedder))
    turns = TurnActivities(
        store,
        HistoryStore(database),
        stored,
        registry,
        keeper,
        TemporalExecutions(client),
        _turn_settings(app, settings, secrets),
        guards,
    )
    models = ModelActivities(
        store=store,
        personas=personas,
        tools=registry,
        client=model_client,
        settings=_model_settings(settings, secrets),
        chunks=ChunkStore(database),
        media=MediaStore(database),
        guards=guards,
    )
    choices = ChoiceActivities(
        TurnReader(store, personas), registry, model_client, _model_settings(settings, secrets), embedder, guards
    )
    retrieval = RetrievalActivities(
        store,
        personas,
        DocumentRetriever(embedder),
        app.retriever,
        RetrievalSettings(timeout=settings.retrieval_timeout),
    )
    return [
        turns.begin_turn,
        turns.save_results,
        turns.commit_turn,
        retrieval.retrieve_sources,
        GuardActivities(store, personas, guards).judge_input,
        PauseActivities(ChunkStore(database)).tell_pause,
        models.call_model,
        choices.choose_functions,
        ToolActivities(store, registry, tool_executor, personas).run_tool,
        *_memory_activities(store, keeper, model_client, _memory_model_settings(settings, secrets)),
        *_instance_activities(
            client,
            stored,
            registry,
            settings,
            secrets,
            database,
            model_client,
            keeper,
            is_guarded=guards.judge_input,
        ),
    ]


def _memory_activities(
    store: TurnStore, keeper: MemoryKeeper, model_client: AsyncOpenAI, settings: ModelSettings
) -> list[Any]:
    memory, models = MemoryActivities(store, keeper), MemoryModelActivities(store, keeper, model_client, settings)
    return [
        memory.recall,
        memory.change_memory,
        models.extract_memories,
        models.reconcile_memories,
        models.arbitrate,
        memory.post_turn,
    ]


def _instance_activities(
    client: Client,
    stored: StoredPersonas,
    registry: ToolRegistry,
    settings: Settings,
    secrets: Mapping[str, str],
    database: Database,
    model_client: AsyncOpenAI,
    keeper: MemoryKeeper,
    *,
    is_guarded: bool,
) -> list[Any]:
    histories = InstanceHistories(database)
    patience = Patience(model_timeout=settings.model_timeout, model_attempts=settings.model_attempts)
    models = _model_settings(settings, secrets)
    sentiments = SentimentActivities(model_client, models, is_guarded=is_guarded)
    instances = InstanceActivities(histories, stored, registry, keeper, TemporalTurns(client), patience)
    return [
        instances.open_instance,
        instances.read_history,
        instances.replace_instance_history,
        instances.look_into_memory,
        instances.remember_feedback,
        instances.answer_turn,
        instances.look_at_turn,
        ReflectionActivities(histories, model_client, models, is_guarded=is_guarded).reflect,
        sentiments.look_up_sentiment,
        sentiments.ask_sentiment,
    ]


def _check_secrets(personas: Personas, secrets: Mapping[str, str]) -> None:
    for persona_id in personas.ids:
        persona = personas.get(persona_id)
        needed = persona.required_secrets or () if persona is not None else ()
        if missing := [f"{SECRET_PREFIX}{name}" for name in needed if name not in secrets]:
            raise SettingsInvalid(f"persona {persona_id} needs secrets that are not set: {', '.join(missing)}")


def _turn_settings(app: AgentApp, settings: Settings, secrets: Mapping[str, str]) -> TurnSettings:
    return TurnSettings(
        default_model=settings.model,
        patience=Patience(model_timeout=settings.model_timeout, model_attempts=settings.model_attempts),
        secrets=frozenset(secrets),
        has_price=lambda model: settings.prices.find(model) is not None,
        memory_model=settings.memory_model is not None,
        has_retriever=app.retriever is not None,
        modalities=settings.model_modalities,
    )


def _model_settings(settings: Settings, secrets: Mapping[str, str]) -> ModelSettings:
    return ModelSettings(
        model=settings.model,
        timeout=settings.model_timeout,
        modalities=settings.model_modalities,
        prices=settings.prices,
        tool_only_content=settings.tool_only_content,  # type: ignore[arg-type]  # the settings' pattern allows these words only
        secrets=secrets,
    )


def _embedder(settings: Settings) -> Embedder | None:
    try:
        return named_embedder(settings.embedder)
    except EmbedderUnavailable as fault:
        raise SettingsInvalid(f"TURNHOLD_EMBEDDER: {fault}") from None


def _memory_model_settings(settings: Settings, secrets: Mapping[str, str]) -> ModelSettings:
    return replace(
        _model_settings(settings, secrets),
        model=settings.memory_model or "",
        timeout=min(settings.model_timeout, MEMORY_MODEL_TIMEOUT),
    )


async def _model_client(stack: AsyncExitStack, settings: Settings) -> AsyncOpenAI:
    """The model's client: the configured one, or one for a scripted model of our own behind a real socket."""
    if settings.has_model:
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
        client = AsyncOpenAI(api_key=key, base_url=settings.openai_base_url, max_retries=0)
    else:
        scripted = await stack.enter_async_context(ScriptedModel())
        client = AsyncOpenAI(api_key="scripted", base_url=scripted.base_url, max_retries=0)
    stack.push_async_callback(client.close)
    return client
