"""Walks of our documents, done by the tests: a checkout to stand in, and commands that stay while others run."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from worker.dev_server import temporal_cli

ROOT = Path(__file__).resolve().parents[1]
POLLING = "until temporal task-queue describe --task-queue agent-turns -o json | grep -q identity; do sleep 0.2; done\n"


def blocks_of(text: str, kind: str) -> list[str]:
    """The fenced blocks of a kind (`sh`, `python`) in a document."""
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def make_checkout(folder: Path) -> Path:
    """A checkout as a walk sees it: the tree, and a `.venv/bin` with this Python and the CLI."""
    for name in ("worker", "workflows", "activities", "memory_engine", "docs"):
        (folder / name).symlink_to(ROOT / name)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "temporal").symlink_to(temporal_cli())
    python = programs / "python"
    # A link would lose the environment that the interpreter belongs to.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


def walk_environment(port: int, **variables: str) -> dict[str, str]:
    """The environment of a reader whose server listens on this port: no settings of ours but these."""
    ours = ("OPENAI_", "TURNHOLD_", "TEMPORAL_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**inherited, "TEMPORAL_ADDRESS": f"127.0.0.1:{port}", **variables}


@contextlib.contextmanager
def running(command: str, folder: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command that stays, in a session of its own, ended with everything it started."""
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def run_script(script: str, folder: Path, environment: dict[str, str]) -> str:
    """What a script prints that must succeed, each command of it."""
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout


def await_port(port: int) -> None:
    """Return as soon as something listens there."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        # The server opens its port when it is ready; a refused connection takes no time.
        signal.sigtimedwait([], 0.05)
    raise AssertionError(f"nothing listens on port {port}")
