"""Weeks pass: a server that skips time shows what a pause does at its far deadline."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from activities.errors import EXTERNAL_TOOL_NOT_RUN
from tests.support import external
from worker.app import AgentApp
from worker.build import build_worker
from worker.client import TurnClient
from worker.converter import data_converter
from worker.dev_server import temporal_cli
from worker.scripted_model import ScriptedModel
from worker.settings import Settings


@pytest.fixture
async def skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A real server on which each workflow skips the time it only waits."""
    environment = await WorkflowEnvironment.start_time_skipping_v2(
        data_converter=data_converter,
        dev_server_existing_path=temporal_cli(),
        dev_server_extra_args=["--dynamic-config-value", "frontend.WorkflowTimeSkippingEnabled=true"],
    )
    async with environment:
        yield environment


@pytest.mark.parametrize(("timeout", "days"), [(None, 7), ("P90D", 90)])
async def test_a_pause_nobody_answers_is_filled_at_its_deadline(
    skipping: WorkflowEnvironment, tmp_path: Path, timeout: str | None, days: int
) -> None:
    """After seven days by default; by the workflow's clock, not the machine's."""
    async with AsyncExitStack() as stack, ScriptedModel() as model:
        settings = Settings.model_validate(
            {
                "database_url": f"sqlite:///{tmp_path}/t.db",
                "openai_base_url": model.base_url,
                "task_queue": "skipping",
                "shutdown_grace": 1.0,
            }
        )
        await stack.enter_async_context(await build_worker(stack, skipping.client, AgentApp(), settings, {}))
        model.call([("ask", {})])
        model.say("Nobody answered.")
        fields: dict[str, Any] = {} if timeout is None else {"pause": {"timeout": timeout}}
        turn = await TurnClient(skipping.client, "skipping").start("Go", externalTools=[external("ask")], **fields)
        output = await turn.result()

        assert output.response_text == "Nobody answered."
        assert EXTERNAL_TOOL_NOT_RUN in model.requests[-1]["messages"][-1]["content"]
        assert "deadline" in model.requests[-1]["messages"][-1]["content"]
        waited = (await skipping.get_current_time(turn.handle)) - datetime.now(UTC)
        assert days - 1 <= waited.days <= days
