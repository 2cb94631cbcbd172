"""A real PostgreSQL server on a free port, for tests. Its data is gone when it stops."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

_DEBIAN_BINARIES = "/usr/lib/postgresql"
_START_SECONDS = 60.0


class PostgresServer:
    """A running server. Connects without a password, as the superuser `turnhold`."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, folder: Path, user: str | None) -> None:
        self.process = process
        self.port = port
        self._folder = folder
        self._user = user
        self._numbers = count(1)

    def url(self, database: str = "postgres") -> str:
        """The plain address of a database of this server."""
        return f"postgresql://turnhold@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """End it as an operator does; connections break, data stays."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)

    def start_again(self) -> None:
        """Start it after a `stop`, at the same address."""
        self.process = _start(self._folder, self._user, self.port)

    def new_database(self) -> str:
        """Create an empty database; returns its name."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        return name


def missing_postgres() -> str | None:
    """Why no server can be started here; None when one can."""
    if _binary("postgres") is None or _binary("initdb") is None:
        return f"no PostgreSQL binaries in {_DEBIAN_BINARIES}/*/bin or on the PATH"
    return None


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server, and stop it in the end.

    Raises:
        RuntimeError: it did not come up; the message has its log.
    """
    folder = Path(tempfile.mkdtemp(prefix="turnhold-pg-"))
    user = _unprivileged_user()
    if user is not None:
        shutil.chown(folder, user)
    try:
        _init(folder / "data", user)
        port = _free_port()
        server = PostgresServer(_start(folder, user, port), port, folder, user)
        try:
            yield server
        finally:
            _stop(server.process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binary(name: str) -> str | None:
    newest_first = sorted(Path(_DEBIAN_BINARIES).glob(f"*/bin/{name}"), reverse=True)
    return str(newest_first[0]) if newest_first else shutil.which(name)


def _unprivileged_user() -> str | None:
    # The server refuses to run as root.
    return "nobody" if os.geteuid() == 0 else None


def _init(data: Path, user: str | None) -> None:
    initdb = _binary("initdb")
    assert initdb is not None
    options = ["--auth=trust", "--username=turnhold", "--encoding=UTF8", "--locale=C", "--no-sync"]
    made = subprocess.run(
        [initdb, f"--pgdata={data}", *options], user=user, cwd=data.parent, env=_environment(), capture_output=True
    )
    if made.returncode:
        raise RuntimeError(f"initdb failed: {made.stderr.decode(errors='replace')}")


def _start(folder: Path, user: str | None, port: int) -> subprocess.Popen[bytes]:
    postgres = _binary("postgres")
    assert postgres is not None
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": folder,
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "autovacuum": "off",
        "max_connections": 200,
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [postgres, "-D", str(folder / "data"), *options],
            user=user,
            cwd=folder,
            env=_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _await_answer(process, port)
    except RuntimeError as error:
        _stop(process)
        raise RuntimeError(f"{error}: {log.read_text(errors='replace')}") from None
    return process


def _await_answer(process: subprocess.Popen[bytes], port: int) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while time.monotonic() < give_up and process.poll() is None:
        with suppress(psycopg.OperationalError):
            psycopg.connect(f"postgresql://turnhold@127.0.0.1:{port}/postgres", connect_timeout=2).close()
            return
        time.sleep(0.05)
    raise RuntimeError("PostgreSQL did not come up")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    # SIGQUIT is its immediate shutdown: nothing is written any more, which nobody would read.
    process.send_signal(signal.SIGQUIT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    # Settings of the developer's own server must not reach this one.
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
