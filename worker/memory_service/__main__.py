"""`python -m worker.memory_service [--host HOST] [--port PORT]`: run the memory service until SIGTERM or Ctrl-C."""

import argparse
import asyncio
import logging
import signal
import sys

from activities.store.errors import StoreError
from worker.memory_service.logs import log, log_to_stdout
from worker.memory_service.serving import CannotListen, serving
from worker.memory_service.settings import ServiceSettings, load_service_settings
from worker.settings import SettingsInvalid


def main() -> int:
    """Run the service; the exit code is 0 after a stop and 1 when it cannot start."""
    given = _parser().parse_args()
    log_to_stdout()
    try:
        asyncio.run(_run(load_service_settings(), given.host, given.port))
    except (SettingsInvalid, StoreError, CannotListen) as fault:
        sys.stderr.write(f"the memory service cannot start: {fault}\n")
        return 1
    return 0


async def _run(settings: ServiceSettings, host: str, port: int) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with serving(settings, host, port) as served:
        for problem in settings.problems:
            log("setting not used", logging.WARNING, problem=problem)
        log("ready", url=served.url)
        await stopping.wait()
        log("stopping")
    log("stopped")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m worker.memory_service", description="Serve memories over HTTP.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=3000, help="port to listen on, 0 for any (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
