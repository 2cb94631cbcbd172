"""What is killed: a worker and a dev server, each with a life after it on the same files and ports."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.effects import LEDGER_VARIABLE
from worker.dev_server import DevServer, free_port, start_dev_server
from workflows.names import TASK_QUEUE

ROOT = Path(__file__).resolve().parents[2]
READY = " ready: task queue"
READY_SECONDS = 60.0


class Server:
    """A dev server that comes back on its port and its database file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._running: DevServer | None = None

    @property
    def running(self) -> DevServer:
        """The server as it runs now."""
        assert self._running is not None
        return self._running

    async def start(self) -> None:
        """Start it, again or for the first time."""
        self._running = await start_dev_server(self._folder, port=self._port)

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.running.process.kill()
        await asyncio.to_thread(self.running.process.wait)

    async def stop(self) -> None:
        """End it in an orderly way."""
        if self._running is not None:
            await asyncio.to_thread(self._running.stop)


class Worker:
    """`python -m worker` with the chaos app, in a child process."""

    def __init__(self, folder: Path, address: str, model_url: str) -> None:
        self._log = folder / "worker.log"
        self._environment: Mapping[str, str] = {
            **os.environ,
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_NAMESPACE": "default",
            "TURNHOLD_DATABASE_URL": f"sqlite:///{folder}/turnhold.db",
            "TURNHOLD_TASK_QUEUE": TASK_QUEUE,
            "TURNHOLD_MODEL": "scripted-1",
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "sk-of-the-chaos",
            LEDGER_VARIABLE: str(folder / "effects.db"),
        }
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it and wait until it polls.

        Raises:
            RuntimeError: it ended instead.
        """
        before = self._said()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "worker", "tests.chaos.chaos_app:app"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(READY_SECONDS):
            while self._said() == before:
                if self._process.poll() is not None:
                    raise RuntimeError(f"the worker ended: {self._log.read_text(errors='replace')[-2000:]}")
                await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """SIGKILL: nothing is drained, nothing is closed."""
        assert self._process is not None
        self._process.kill()
        await asyncio.to_thread(self._process.wait)

    async def stop(self) -> None:
        """End it, whatever it does."""
        if self._process is not None and self._process.poll() is None:
            await self.kill()

    def _said(self) -> int:
        return self._log.read_text(errors="replace").count(READY) if self._log.exists() else 0
