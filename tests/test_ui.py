"""A person and the Temporal UI: a paused turn is found, understood and answered with nothing but what the pages show."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from activities.conversation import GMIOutput
from tests.browser import WINDOW_WIDTH, TemporalUI, browsing, missing_chromium
from tests.support import Harness, external, until
from worker.dev_server import dev_server, free_port
from worker.scripted_model import ScriptedModel
from workflows.names import TASK_QUEUE

pytestmark = pytest.mark.skipif(missing_chromium() is not None, reason=missing_chromium() or "")

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCREENSHOT_BYTES = 200_000
CALLED = ["approve_refund", "notify_customer"]
REFUND = {"orderId": "1042", "amount": 42.5}
MESSAGE = {"text": "Your refund of 42.50 is on its way."}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Harness]:
    """A server with a UI, and a worker on it."""
    async with (
        AsyncExitStack() as stack,
        ScriptedModel() as model,
        dev_server(tmp_path / "temporal", ui_port=free_port()) as server,
    ):
        harness = Harness(await server.connect(), server, model, tmp_path, stack, task_queue=TASK_QUEUE)
        await harness.work()
        yield harness


@pytest.fixture
async def ui(desk: Harness, tmp_path: Path) -> AsyncIterator[TemporalUI]:
    """A browser on that server's UI."""
    async with browsing(desk.server.ui_url, tmp_path / "profile") as window:
        yield window


async def test_a_paused_turn_is_found_and_answered_from_what_the_ui_shows(
    desk: Harness, ui: TemporalUI, tmp_path: Path
) -> None:
    """The list finds it by search attributes; its page says what it waits for, and the command on it ends the pause."""
    turn = desk.turns.of("turn-orders-1042-1")
    desk.model.call([("approve_refund", REFUND), ("notify_customer", MESSAGE)], "The box of order 1042 arrived empty.")
    await start_by_cli(desk, turn.id, "orders-1042", "Please refund order 1042, the box was empty", CALLED)
    await desk.pause(turn)
    await start_another_paused_turn(desk)
    pending = await turn.pending()
    assert pending is not None

    await ui.choose_columns(["Status", "Workflow ID", "ConversationId", "PendingTools", "PauseDeadline"])
    await listed(desk, 'TurnState="waiting"', 2)
    await ui.list('TurnState="waiting"')
    await expect(ui.row(turn.id)).to_contain_text("approve_refund")
    await expect(ui.row("turn-orders-1077-1")).to_contain_text("orders-1077")
    await shoot(ui.page, tmp_path, "paused-list.png", height=480)

    await ui.list('TurnState="waiting" AND ConversationId="orders-1042"')
    await expect(ui.row(turn.id)).to_contain_text("notify_customer")
    await expect(ui.row("turn-orders-1077-1")).to_have_count(0)
    await ui.open(turn.id)
    await ui.tab("user-metadata")
    details = ui.details.locator("main")
    await expect(details).to_contain_text(f"{pending.deadline:%Y-%m-%d %H:%M}")
    for call, arguments in zip(pending.tool_calls, (REFUND, MESSAGE), strict=True):
        shown = details.get_by_role("listitem").filter(has_text=call.name)
        await expect(shown).to_contain_text(call.id)
        await expect(shown).to_contain_text(json.dumps(arguments))
    await shoot(ui.page, tmp_path, "paused-turn.png", height=1240)

    command = await ui.details.locator("pre", has_text="handle_tool_results").text_content()
    assert command is not None
    desk.model.say("Order 1042 is refunded.")
    await ui.tab("timeline")
    await expect(ui.status).to_have_text("Running", ignore_case=True)
    await run_in_shell(desk, command)

    await expect(ui.status).to_have_text("Completed", ignore_case=True)
    output = await turn.result()
    assert output.error is None
    assert (output.response_text or "").endswith("Order 1042 is refunded.")
    assert what_the_model_read(desk, [call.id for call in pending.tool_calls]) == outputs_in(command)
    assert await turn.rejected_answers() == []

    await ui.page.reload()
    await ui.tab("user-metadata")
    await expect(ui.details.locator("main")).to_contain_text("Order 1042 is refunded.")
    await listed(desk, 'TurnState="waiting" AND ConversationId="orders-1042"', 0)
    await ui.list('TurnState="completed" AND ConversationId="orders-1042"')
    await expect(ui.row(turn.id)).to_be_visible()


async def start_by_cli(desk: Harness, workflow_id: str, conversation: str, content: str, tools: list[str]) -> None:
    """Start a turn as the documentation tells people to."""
    body = {"content": content, "conversationId": conversation, "externalTools": [external(name) for name in tools]}
    options = ["--type", "TurnWorkflow", "--task-queue", desk.task_queue, "--workflow-id", workflow_id]
    options += ["--id-reuse-policy", "RejectDuplicate", "--fail-existing", "--static-summary", content]
    await run(desk, "temporal", "workflow", "start", *options, "--input", json.dumps(body))


async def start_another_paused_turn(desk: Harness) -> GMIOutput:
    """A pause of another conversation, which the list must tell from the first."""
    desk.model.call([("open_return", {"orderId": "1077"})])
    await start_by_cli(desk, "turn-orders-1077-1", "orders-1077", "I want to send order 1077 back", ["open_return"])
    return await desk.pause(desk.turns.of("turn-orders-1077-1"))


async def run_in_shell(desk: Harness, command: str) -> None:
    """Run the text as a person would who pastes it into a terminal."""
    await run(desk, "sh", "-c", command)


async def run(desk: Harness, *command: str) -> None:
    """Run a program that finds the `temporal` command of this environment, and the test's server."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(desk.folder),
        "TEMPORAL_ADDRESS": desk.server.address,
    }
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()


async def listed(desk: Harness, query: str, count: int) -> None:
    """Wait until the server's index, which follows the turns with a delay, finds that many."""

    async def as_many() -> bool:
        return (await desk.client.count_workflows(query)).count == count

    await until(as_many)


def outputs_in(command: str) -> list[Any]:
    """The outputs that a command sends, in its order."""
    words = shlex.split(command.replace("\\\n", ""))
    return [result["output"] for result in json.loads(words[words.index("--input") + 1])["results"]]


def what_the_model_read(desk: Harness, call_ids: list[str]) -> list[Any]:
    """The outputs of these calls in the last request to the model."""
    results = {
        message["tool_call_id"]: json.loads(message["content"])
        for message in desk.model.requests[-1]["messages"]
        if message["role"] == "tool"
    }
    return [results[call_id] for call_id in call_ids]


async def shoot(page: Page, tmp_path: Path, name: str, *, height: int) -> None:
    """Keep a picture of the window: in docs/ with UPDATE_SCREENSHOTS=1, else beside the test's other files."""
    folder = DOCS if os.environ.get("UPDATE_SCREENSHOTS") == "1" else tmp_path
    await page.set_viewport_size({"width": WINDOW_WIDTH, "height": height})
    await page.mouse.move(0, 0)
    await page.screenshot(path=folder / name, animations="disabled", caret="hide")
    assert (folder / name).stat().st_size < SCREENSHOT_BYTES
