"""Processes of a benchmark: each is started as `python -m module`, says when it is ready, and is ended again."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READY_SECONDS = 60.0
READY = "ready"


class ProcessFailed(Exception):
    """A process of the benchmark ended, or did not become ready; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Child:
    """A running process. `said` is what it announced, for example its address."""

    process: subprocess.Popen[bytes]
    said: str

    def kill(self) -> None:
        """End it as a crash would: nothing is cleaned up."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it in an orderly way."""
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()


async def announce_and_wait(said: str) -> None:
    """In the child: say what the parent waits for, then wait for SIGTERM."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    print(READY, said, flush=True)
    await stopping.wait()


async def start(module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> Child:
    """Start a module of ours and wait until it has announced itself.

    Raises:
        ProcessFailed: it ended before, or took more than a minute.
    """
    log.touch()
    already = log.stat().st_size
    process = _spawn([module, *arguments], log, environment or {})
    try:
        async with asyncio.timeout(READY_SECONDS):
            said = await _announced(process, log, already)
    except TimeoutError:
        said = None
    if said is None:
        process.kill()
        process.wait()
        raise ProcessFailed(f"{module} is not ready: {log.read_text(errors='replace')[-2000:]}")
    return Child(process, said)


@asynccontextmanager
async def running(
    module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    """The same, ended with the block."""
    child = await start(module, *arguments, log=log, environment=environment)
    try:
        yield child
    finally:
        await asyncio.to_thread(child.stop)


def _spawn(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # The sandbox imports the workflow's module anew for every workflow. Without bytecode it would compile it every time.
    inherited["PYTHONPYCACHEPREFIX"] = str(log.parent / "bytecode")
    # Not a pipe: Temporal's core logs to stdout, and a worker whose output nobody reads stops in the middle of a task.
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


async def _announced(process: subprocess.Popen[bytes], log: Path, already: int) -> str | None:
    """What the process announces; None when it ends first."""
    while True:
        said = _announcement(log, already)
        if said is not None or process.poll() is not None:
            return said
        await asyncio.sleep(0.02)


def _announcement(log: Path, already: int) -> str | None:
    """What the process announced; None as long as it did not."""
    for line in log.read_bytes()[already:].decode(errors="replace").splitlines(keepends=True):
        word, _, said = line.rstrip().partition(" ")
        if word == READY and line.endswith("\n"):
            return said
    return None
