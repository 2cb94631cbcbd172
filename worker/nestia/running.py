"""The worker of one agent and what it reads: opened together, closed together."""

import asyncio
import contextlib
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, cast

from temporalio.client import Client

from activities.store.conversations import TurnPlace
from activities.store.database import open_database
from worker.build import build_worker
from worker.client import TurnClient
from worker.connect import connect
from worker.converter import data_converter
from worker.draining import draining
from worker.nestia.functions import NestiaApp
from worker.nestia.listeners import Listeners
from worker.nestia.log import ConversationLog
from worker.nestia.observing import ActivityWatch, Watch, observed
from worker.nestia.props import NestiaProps
from worker.nestia.restoring import renamed
from worker.settings import Settings, load_secrets, load_settings

SHUTDOWN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent runs: the server (None for the environment's), the database, the conversation and its owner."""

    temporal: Client | None
    database_url: str | None
    conversation_id: str
    user_id: str

    @property
    def task_queue(self) -> str:
        """The queue of this conversation's worker: the same in every process, so that an open turn is found again."""
        return f"nestia-{self.conversation_id}"


@dataclass(frozen=True, slots=True)
class Running:
    """An agent that runs. `left_open` is the turn that an earlier process did not finish."""

    turns: TurnClient
    log: ConversationLog
    left_open: TurnPlace | None


async def run_agent(
    stack: AsyncExitStack,
    place: Place,
    props: NestiaProps,
    app: NestiaApp,
    listeners: Listeners,
    watch: Watch,
) -> Running:
    """Start the worker and read the conversation; the stack ends both.

    Raises:
        CannotConnect, SettingsInvalid, AppInvalid, ConversationTaken.
    """
    settings = _settings(place, props)
    client = _speaking_ours(place.temporal or await connect())
    # Built before the conversation is read: the functions have their names only then, and run after it.
    worker = await build_worker(
        stack,
        client,
        app,
        settings,
        load_secrets(),
        model_client=observed(props.provider.client(), listeners, watch, props.provider.options),
        interceptors=[ActivityWatch(watch)],
    )
    database = await asyncio.to_thread(open_database, settings.database_url)
    stack.callback(database.close)
    log = ConversationLog(database, place.conversation_id, place.user_id, app.named)
    left_open = await asyncio.to_thread(log.open, renamed(props.histories, app.find), int(time.time() * 1000))
    await stack.enter_async_context(draining(worker, settings.shutdown_grace))
    stack.push_async_callback(_cancelled, asyncio.create_task(listeners.run()))
    return Running(TurnClient(client, settings.task_queue), log, left_open)


def _settings(place: Place, props: NestiaProps) -> Settings:
    own: dict[str, Any] = {
        "task_queue": place.task_queue,
        "model": props.provider.model,
        "shutdown_grace": SHUTDOWN_SECONDS,
        "database_url": place.database_url,
        "model_timeout": (props.provider.options or {}).get("timeout"),
    }
    return load_settings().model_copy(update={name: value for name, value in own.items() if value is not None})


def _speaking_ours(client: Client) -> Client:
    """The client with this project's payload converter, and its own codec."""
    config = client.config()
    given = config["data_converter"]
    if given is data_converter:
        return client
    ours = replace(data_converter, payload_codec=given.payload_codec)
    return Client(**cast(Any, {**config, "data_converter": ours}))


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
