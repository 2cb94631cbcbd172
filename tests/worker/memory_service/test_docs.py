"""What the page about the service says to run runs, and its container serves."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.store.urls import driver_url
from tests.worker.memory_service.calls import ADMIN, Running
from worker.memory_service.settings import load_service_settings

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "memory-service.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONTAINER: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["memory"]


async def run(at: Running, command: str, **environment: str) -> list[Any]:
    """What the commands of a block print, on this service."""

    def shell() -> str:
        return subprocess.run(
            ["bash", "-euc", command.replace("localhost:3000", at.url)],
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", **environment},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    printed = await at.service.blocking(shell)
    return [json.loads(line) for line in printed.replace("}{", "}\n{").splitlines()]


async def test_the_three_calls_do_what_they_say(at: Running) -> None:
    _, mint, calls = BLOCKS
    [minted] = await run(at, mint, TURNHOLD_ADMIN_TOKEN=ADMIN)
    told, context, found = await run(at, calls, KEY=minted["key"])
    assert told["counts"]["stored"] == 1
    assert [entry["reason"] for entry in context["entries"]] == ["trigger"]
    assert "ZQ7X4M2K" in found["results"][0]["memory"]["content"]


def test_the_readme_has_the_same_three_calls() -> None:
    assert f"```sh\n{BLOCKS[2]}```" in (ROOT / "README.md").read_text()


def test_every_setting_of_the_page_is_one_that_is_read() -> None:
    named = set(re.findall(r"^\| `(TURNHOLD_\w+)`|, `(TURNHOLD_\w+)`", PAGE, re.MULTILINE))
    variables = {one or other for one, other in named} - {"TURNHOLD_DATABASE_URL", "TURNHOLD_MEMORY_MODEL"}
    wrong = load_service_settings(dict.fromkeys(variables, "!"))
    told = {problem.split()[0] for problem in wrong.problems}
    assert told == variables - {"TURNHOLD_MEMORY_CORS_ORIGINS"}
    assert wrong.cors_origins == ("!",)


def test_the_container_runs_the_service_with_settings_that_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {name: value for name, value in CONTAINER["environment"].items() if value is not None}
    monkeypatch.setenv("TURNHOLD_DATABASE_URL", environment["TURNHOLD_DATABASE_URL"])
    settings = load_service_settings(environment)
    assert settings.problems == ()
    assert settings.environment == "prod"
    assert driver_url(settings.database_url).host == "postgres"
    assert CONTAINER["command"][:3] == ["python", "-m", "worker.memory_service"]


async def test_the_container_s_health_check_asks_whether_it_is_ready(at: Running) -> None:
    program = CONTAINER["healthcheck"]["test"][3].replace("http://127.0.0.1:3000", at.url)

    def check(code: str) -> int:
        return subprocess.run(["python3", "-c", code], capture_output=True, timeout=60).returncode

    assert await at.service.blocking(check, program) == 0
    assert await at.service.blocking(check, program.replace("/ready", "/nothing")) == 1
