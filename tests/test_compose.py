"""docker-compose.yml, read as Compose reads it; its scripts run on a real PostgreSQL and a real Temporal server."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from activities.store.urls import driver_url
from tests.postgres import PostgresServer, missing_postgres, running_postgres
from worker.dev_server import DevServer, temporal_cli
from worker.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# What runs once and ends is restarted on failure only; everything else stays up.
JOBS = {name for name, service in SERVICES.items() if service["restart"].startswith("on-failure")}
REQUIRED = re.compile(r"\$\{[A-Z_]+:\?[^}]+\}")
SECRET_NAME = re.compile(r"PASSWORD|PWD|SECRET|KEY|TOKEN")
STANDARD = {"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "PGPASSWORD"}


def seconds(text: str) -> float:
    """A duration as Compose writes it, such as 45s or 2m."""
    match = re.fullmatch(r"(\d+)(s|m)", text)
    assert match, text
    return int(match[1]) * {"s": 1, "m": 60}[match[2]]


def variable(field: str) -> str:
    """The environment variable of a setting."""
    alias = Settings.model_fields[field].validation_alias
    return alias if isinstance(alias, str) else f"TURNHOLD_{field.upper()}"


def test_every_service_that_stays_up_has_a_health_check() -> None:
    """Each check is bounded in time; a job's health is its exit code."""
    for name in SERVICES.keys() - JOBS:
        check = SERVICES[name]["healthcheck"]
        assert check["test"][0] == "CMD", name
        assert check["retries"] > 0, name
        assert 0 < seconds(check["timeout"]) <= seconds(check["interval"]), name


def test_services_start_in_an_order_that_ends() -> None:
    """Nobody waits in a circle; jobs are waited for to their end, and the others until they are healthy."""
    waits = {name: service.get("depends_on", {}) for name, service in SERVICES.items()}
    order = list(TopologicalSorter({name: list(needed) for name, needed in waits.items()}).static_order())

    assert set(order) == set(SERVICES)
    for needed in waits.values():
        for other, how in needed.items():
            assert how == {"condition": "service_completed_successfully" if other in JOBS else "service_healthy"}
    assert {"postgres", "temporal"} <= set(waits["worker"])


def test_every_image_is_pinned() -> None:
    """A tag names one release; the Temporal ones are those that the tests run against."""
    images = {service["image"] for service in SERVICES.values() if "build" not in service}
    for image in images:
        assert re.fullmatch(r"[a-z/-]+:\d+(\.\d+)+", image), image
    version = subprocess.run([temporal_cli(), "--version"], check=True, capture_output=True, text=True).stdout
    server, ui = re.findall(r"(?:Server|UI) ([\d.]+)", version)
    assert images >= {f"temporalio/server:{server}", f"temporalio/admin-tools:{server}", f"temporalio/ui:{ui}"}
    assert SERVICES["postgres"]["image"].startswith("postgres:16.")


def test_no_secret_stands_in_the_file() -> None:
    """A secret is required from outside, with a message, or passed on when it is there."""
    secrets = [
        (name, variable, value)
        for name, service in SERVICES.items()
        for variable, value in service.get("environment", {}).items()
        if SECRET_NAME.search(variable)
    ]
    assert {("postgres", "POSTGRES_PASSWORD"), ("worker", "PGPASSWORD")} <= {secret[:2] for secret in secrets}
    for name, variable, value in secrets:
        assert value is None or REQUIRED.fullmatch(value), (name, variable)
    assert not re.search(r"://[^\s/@]+:[^\s/@]+@", (ROOT / "docker-compose.yml").read_text())


def test_data_lives_in_declared_volumes_and_ports_on_this_machine() -> None:
    """What must survive a `down` is named; nothing is open to the network."""
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount.split(":")[0] for mount in mounts} == set(COMPOSE["volumes"])
    assert any(mount.endswith(":/var/lib/postgresql/data") for mount in SERVICES["postgres"]["volumes"])
    used = {config["source"] for service in SERVICES.values() for config in service.get("configs", [])}
    assert used == set(COMPOSE["configs"])
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_two_workers_have_time_to_drain() -> None:
    """Each is stopped later than it stops itself, and comes back when it falls."""
    worker = SERVICES["worker"]
    assert worker["deploy"]["replicas"] == 2
    assert seconds(worker["stop_grace_period"]) > float(worker["environment"]["TURNHOLD_SHUTDOWN_GRACE"]) + 10
    assert {SERVICES[name]["restart"] for name in SERVICES.keys() - JOBS} == {"unless-stopped"}


def test_the_workers_environment_is_one_that_the_worker_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable is misspelt, and the values are valid settings."""
    given = SERVICES["worker"]["environment"]
    known = {variable(field) for field in Settings.model_fields}
    assert given.keys() <= known | STANDARD

    for name in known:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    url = driver_url(load_settings().database_url)
    assert (url.host, url.username, url.database, url.password) == ("postgres", "turnhold", "turnhold", None)


def test_its_commands_run_modules_that_exist() -> None:
    """Both what the worker runs and what checks it."""
    modules = [SERVICES["worker"]["command"][2], SERVICES["worker"]["healthcheck"]["test"][3]]
    assert modules == ["worker", "worker.health"]
    assert all(importlib.util.find_spec(module) for module in modules)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """An empty PostgreSQL."""
    if why := missing_postgres():
        pytest.skip(why)
    with running_postgres() as server:
        yield server


def test_each_database_belongs_to_one_role_alone(postgres: PostgresServer, tmp_path: Path) -> None:
    """The job may run at every start; a role gets into its own databases and into no other."""
    script = tmp_path / "create-databases.sql"
    script.write_text(COMPOSE["configs"]["create-databases"]["content"])
    command = [part.replace("/create-databases.sql", str(script)) for part in SERVICES["create-databases"]["command"]]
    place = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "turnhold_admin"}
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        # The test's own superuser is called `turnhold`, which here must be a role of no rights.
        connection.execute("CREATE ROLE turnhold_admin SUPERUSER LOGIN")
    with psycopg.connect(postgres.url().replace("turnhold@", "turnhold_admin@"), autocommit=True) as connection:
        connection.execute("ALTER ROLE turnhold RENAME TO was_superuser")

    for password in ("it's 1st", "2nd"):
        passwords = {"TEMPORAL_DB_PASSWORD": password, "TURNHOLD_DB_PASSWORD": password, "PGDATABASE": "postgres"}
        subprocess.run(command, check=True, env={**os.environ, **place, **passwords})

    owned = {"temporal": ["temporal", "temporal_visibility"], "turnhold": ["turnhold"]}
    for role, own in owned.items():
        for database in ("temporal", "temporal_visibility", "turnhold"):
            address = f"postgresql://{role}@127.0.0.1:{postgres.port}/{database}"
            if database in own:
                with psycopg.connect(address) as connection:
                    connection.execute("CREATE TABLE made_by_its_owner (id int)")
            else:
                with pytest.raises(psycopg.OperationalError, match="permission denied"):
                    psycopg.connect(address)


def test_the_namespace_is_created_once(temporal_server: DevServer) -> None:
    """The job may run at every start."""
    job = SERVICES["create-namespace"]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TEMPORAL_ADDRESS": temporal_server.address,
        "TEMPORAL_NAMESPACE": "of-the-compose-file",
    }
    command = [word.replace("$$", "$") for word in [*job["entrypoint"], *job["command"]]]
    ran = [subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)]

    assert [each.returncode for each in ran] == [0, 0], ran
    assert "registered" in ran[0].stdout + ran[0].stderr
    assert "of-the-compose-file" in ran[1].stdout
