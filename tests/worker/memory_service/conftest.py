"""A memory service for each test."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.store.database import open_database
from tests.worker.memory_service.calls import Caller, Running, running, settings_for


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def database_url(migrated_file: Path, tmp_path: Path) -> str:
    """The address of a database of this test's own."""
    return f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'store.db')}"


@pytest.fixture
async def at(database_url: str) -> AsyncIterator[Running]:
    """A running service."""
    async with running(settings_for(database_url)) as service:
        yield service


@pytest.fixture
async def caller(at: Running) -> Caller:
    """Somebody with an ordinary key."""
    return await at.caller()
