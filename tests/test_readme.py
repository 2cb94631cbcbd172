"""The README does what it says: its shell commands run as they stand, its Python blocks compile, its links lead somewhere."""

import ast
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.dev_server import free_port, temporal_cli
from worker.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
WALK = README.split("## Five minutes")[1].split("\n## ")[0]
WALK_BLOCKS = re.findall(r"^```sh\n(.*?)^```", WALK, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout as the walk sees it: the tree, and a `.venv/bin` with this Python and the CLI."""
    for name in ("worker", "workflows", "activities", "memory_engine", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "temporal").symlink_to(temporal_cli())
    python = programs / "python"
    # A link would lose the environment that the interpreter belongs to.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return tmp_path


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


def test_every_command_of_the_walk_runs(folder: Path) -> None:
    """In order, in one shell, as a reader would type them; only the ports are moved to free ones."""
    port = free_port()
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENAI_", "TURNHOLD_", "TEMPORAL_"))
        },
        "TEMPORAL_ADDRESS": f"127.0.0.1:{port}",
    }
    server, worker, *steps = WALK_BLOCKS
    assert server.startswith("# terminal 1")
    assert worker.startswith("# terminal 2")
    moved = server.rstrip() + f" --port {port} --ui-port {free_port()}"
    polling = (
        "until temporal task-queue describe --task-queue agent-turns -o json | grep -q identity; do sleep 0.2; done\n"
    )
    with running(moved, folder, environment):
        _await_port(port)
        with running(worker, folder, environment):
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", _script(steps, polling)],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    out = ran.stdout
    assert "EXTERNAL_TOOL_NOT_RUN" in out
    assert "Waiting for 2 of 2 calls" in out
    assert "I prefer e-mail to phone calls" in out.split("turn-walk-2")[-1]
    assert '"accepted"' in out


def _script(steps: list[str], polling: str) -> str:
    """The steps as one script: wait for the worker first, and for the pause where a reader would look at the UI."""
    first, second, *rest = steps
    paused = "until temporal workflow query -w turn-walk-1 --type get_state -o json | grep -q '\"waiting\"'; do sleep 0.2; done\n"
    # The list of workflows is served from an index that follows within a second.
    return (
        first.replace("temporal workflow start", f"{polling}temporal workflow start", 1)
        + paused
        + second
        + "".join(rest)
    )


def _await_port(port: int) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        # The server opens its port when it is ready; a refused connection takes no time.
        signal.sigtimedwait([], 0.05)
    raise AssertionError("the server did not come up")


@pytest.mark.parametrize("code", [code for kind, code in BLOCKS if kind == "python"])
def test_python_blocks_compile_and_import_what_exists(code: str) -> None:
    """Names that the README imports are there."""
    tree = ast.parse(code)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    namespace: dict[str, object] = {}
    exec(compile(tree, "README.md", "exec"), namespace)

    assert imports
    assert all(alias.name in namespace for node in imports for alias in node.names)


def test_links_lead_to_files() -> None:
    """Each relative link of the README."""
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]

    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_setting_is_in_the_readme() -> None:
    """A variable nobody documents is a variable nobody finds."""
    documented = README.split("## Settings")[1].split("\n## ")[0]
    known = {"tool_threads", "max_cached_workflows", "max_concurrent_activities"}
    missing = [name for name in Settings.model_fields if name.upper() not in documented and name not in known]

    assert [name for name in missing if f"_{name.upper()}" not in documented] == []
