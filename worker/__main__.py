"""`python -m worker [module:app]`: run a worker until SIGTERM or Ctrl-C, then drain it."""

import argparse
import asyncio
import logging
import signal
import sys

from temporalio.client import Client

from activities.store.errors import StoreError
from worker.app import AgentApp, AppInvalid, load_app
from worker.connect import CannotConnect, connect
from worker.databases import warn_of_other_databases
from worker.event_loop import run
from worker.exits import leave
from worker.persona_files import load_personas
from worker.search_attributes import RegisteredAttributes
from worker.settings import Settings, SettingsInvalid, load_secrets, load_settings
from workflows.names import SEARCH_ATTRIBUTES

# At INFO they write the address of every request, and an address may have a key in its query.
ADDRESS_LOGGERS = ("httpx", "httpx2")

# With fewer the SDK lets a local activity of one turn wait for the next task of another, until that times out.
FEWEST_CACHED = 2

logger = logging.getLogger("turnhold.worker")


def main() -> int:
    """Run the worker; the exit code is 0 after a drain and 1 when it cannot start or does not end."""
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ADDRESS_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        settings = load_settings()
        run(_run(settings, arguments.app or settings.app))
    except (SettingsInvalid, AppInvalid, CannotConnect, StoreError) as fault:
        print(f"the worker cannot start: {fault}", file=sys.stderr)
        return 1
    return 0


async def _run(settings: Settings, app_name: str | None) -> None:
    """Run until a signal says to stop. A worker that the SDK does not let end, ends the process from here."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    app = load_app(app_name)
    if settings.personas is not None:
        _add_personas(app, settings.personas)
    client = await connect()
    # Imported here, for it takes seconds: whatever is wrong with the settings, the app or the address is told before.
    from worker.build import running_worker
    from worker.draining import NotDrained

    await _announce_search_attributes(RegisteredAttributes(client), client.namespace)
    try:
        async with running_worker(client, app, settings, load_secrets()) as worker:
            await _serve(client, worker.config().get("identity") or "", settings, stopping)
    except NotDrained as late:
        # The loop would wait for the SDK's tasks.
        logger.error("%s; what it had under way goes on in other workers", late)
        leave(1)
    logger.info("stopped")


async def _serve(client: Client, identity: str, settings: Settings, stopping: asyncio.Event) -> None:
    if not settings.has_model:
        logger.warning("no OPENAI_API_KEY or OPENAI_BASE_URL is set: turns are answered by a scripted model")
    if settings.max_cached_workflows < FEWEST_CACHED:
        logger.warning(
            "TURNHOLD_MAX_CACHED_WORKFLOWS is %s: turns that run at the same time hold each other up for seconds",
            settings.max_cached_workflows,
        )
    await warn_of_other_databases(client, settings.task_queue, identity)
    logger.info("ready: task queue %s, namespace %s", settings.task_queue, client.namespace)
    await stopping.wait()
    logger.info("draining: activities that run have %s s to end", settings.shutdown_grace)


def _add_personas(app: AgentApp, path: str) -> None:
    try:
        app.add_personas(load_personas(path))
    except ValueError as fault:
        raise SettingsInvalid(f"TURNHOLD_PERSONAS: {fault}") from None


async def _announce_search_attributes(attributes: RegisteredAttributes, namespace: str) -> None:
    missing = await attributes.register()
    for name in missing:
        logger.warning(
            "search attribute %s is not registered, so lists cannot be filtered by it; register it with: "
            "temporal operator search-attribute create --namespace %s --name %s --type %s",
            name,
            namespace,
            name,
            SEARCH_ATTRIBUTES[name],
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m worker", description="Run a worker for agent turns.")
    parser.add_argument("app", nargs="?", help="the app as module:attribute; default: TURNHOLD_APP, else a default app")
    return parser


if __name__ == "__main__":
    leave(main())
