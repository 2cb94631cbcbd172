"""Real parts for the tests: one Temporal dev server a session, a worker and a scripted model of its own for each test."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from activities.store.database import open_database
from tests.support import DATABASE, Harness
from worker.dev_server import DevServer, start_dev_server
from worker.scripted_model import ScriptedModel

hypothesis_settings.register_profile(
    "tests", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
hypothesis_settings.load_profile("tests")


def pytest_xdist_auto_num_workers() -> int:
    """Half as many more workers as cores: the tests of whole turns wait for servers most of their time."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """The dev server of the session, with our search attributes registered."""
    server = asyncio.run(start_dev_server(tmp_path_factory.mktemp("temporal")))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, to be copied: migrating one for each test would be a tenth of the time of all."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
async def harness(temporal_server: DevServer, tmp_path: Path, migrated_file: Path) -> AsyncIterator[Harness]:
    """A scripted model, a database and a task queue; `harness.work(app)` starts the worker."""
    shutil.copy(migrated_file, tmp_path / DATABASE)
    async with AsyncExitStack() as stack, ScriptedModel() as model:
        client = await temporal_server.connect()
        yield Harness(client, temporal_server, model, tmp_path, stack)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_harness(
    temporal_server: DevServer, tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> AsyncIterator[Harness]:
    """A harness for all tests of a module, which run in one loop: `pytestmark = pytest.mark.asyncio(loop_scope="module")`."""
    folder = tmp_path_factory.mktemp("module")
    shutil.copy(migrated_file, folder / DATABASE)
    async with AsyncExitStack() as stack, ScriptedModel() as model:
        client = await temporal_server.connect()
        yield Harness(client, temporal_server, model, folder, stack)
