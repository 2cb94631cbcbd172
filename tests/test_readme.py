"""The README does what it says: its shell commands run as they stand, its Python blocks compile, its links lead somewhere."""

import ast
import re
from pathlib import Path

import pytest

from tests.walks import (
    POLLING,
    ROOT,
    await_port,
    blocks_of,
    make_checkout,
    run_script,
    running,
    walk_environment,
)
from worker.dev_server import free_port
from worker.settings import Settings

README = (ROOT / "README.md").read_text()
WALK = README.split("## Five minutes")[1].split("\n## ")[0]
WALK_BLOCKS = blocks_of(WALK, "sh")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout as the walk sees it."""
    return make_checkout(tmp_path)


def test_every_command_of_the_walk_runs(folder: Path) -> None:
    """In order, in one shell, as a reader would type them; only the ports are moved to free ones."""
    port = free_port()
    environment = walk_environment(port)
    server, worker, *steps = WALK_BLOCKS
    assert server.startswith("# terminal 1")
    assert worker.startswith("# terminal 2")
    moved = server.rstrip() + f" --port {port} --ui-port {free_port()}"
    with running(moved, folder, environment):
        await_port(port)
        with running(worker, folder, environment):
            out = run_script(_script(steps), folder, environment)
    assert "EXTERNAL_TOOL_NOT_RUN" in out
    assert "Waiting for 2 of 2 calls" in out
    assert "I prefer e-mail to phone calls" in out.split("turn-walk-2")[-1]
    assert '"accepted"' in out


def _script(steps: list[str]) -> str:
    """The steps as one script: wait for the worker first, and for the pause where a reader would look at the UI."""
    first, second, *rest = steps
    paused = "until temporal workflow query -w turn-walk-1 --type get_state -o json | grep -q '\"waiting\"'; do sleep 0.2; done\n"
    # The list of workflows is served from an index that follows within a second.
    return (
        first.replace("temporal workflow start", f"{POLLING}temporal workflow start", 1)
        + paused
        + second
        + "".join(rest)
    )


@pytest.mark.parametrize("code", blocks_of(README, "python"))
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
