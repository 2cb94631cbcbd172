"""A memory service for each test."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worker.memory_service.calls import Caller, Running, running, settings_for


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
