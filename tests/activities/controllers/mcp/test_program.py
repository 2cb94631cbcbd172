"""MCP servers that are programs: calls, and what happens when they die or never start."""

import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from activities.controllers.controller import ControllerInvalid, Opening
from activities.controllers.mcp.controller import McpController
from activities.tool_executor import ToolExecutor, ToolRaisedError
from tests.activities.test_tool import CONTEXT

SERVER = Path(__file__).with_name("stdio_server.py")


class Shop:
    """The functions of one server, called as the worker calls them: from the loop of the tools."""

    def __init__(self, calls: Path) -> None:
        self.stack = AsyncExitStack()
        self.executor = ToolExecutor()
        self.calls = calls

    async def open(self) -> None:
        controller = McpController(
            "shop", command=[sys.executable, str(SERVER), str(self.calls)], env={"SHOP_TOKEN": "env:TEST_SHOP_TOKEN"}
        )
        listing = await controller.open(Opening(self.stack))
        self.functions = {each.facts.function: each for each in listing.functions}

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> Any:
        tool = self.functions[name].tool
        return await self.executor.run(tool, tool.bind(arguments or {}), CONTEXT)


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    monkeypatch.setenv("TEST_SHOP_TOKEN", "sk-very-secret")
    shop = Shop(tmp_path / "calls")
    async with shop.stack:
        await shop.open()
        yield shop
    shop.executor.close()


async def error_of(shop: Shop, name: str) -> str:
    with pytest.raises(ToolRaisedError) as raised:
        await shop.call(name)
    return f"{type(raised.value.error).__name__}: {raised.value.error}"


async def test_the_life_of_a_session(shop: Shop) -> None:
    """One server, since starting it is what takes long: it is called, dies three times, and is started again each time."""
    assert {name: each.default for name, each in shop.functions.items()} == {
        "add": "run",
        "look": "run",
        "draw": "run",
        "pay": "approve",
        "token": "approve",
    }
    assert await shop.call("add", {"a": 1, "b": 2}) == {"result": 3}
    assert await shop.call("token") == {"result": "it is [secret]"}

    # A call that only reads is made again.
    assert await shop.call("look") == {"result": "there"}
    assert shop.calls.read_text().split() == ["look", "look"]

    # One that may have done something is not.
    assert (await error_of(shop, "pay")).startswith("McpOutcomeUnknown: the connection to the server ended")
    assert shop.calls.read_text().split().count("pay") == 1
    assert await shop.call("token") == {"result": "it is [secret]"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-program-anywhere"], "No such file"),
        ([sys.executable, "-c", "pass"], "Connection closed"),
        ([sys.executable, "-c", "import sys; sys.stdin.read()"], "within 1 second"),
        ([sys.executable, "-c", "import sys; print('hello', flush=True); sys.stdin.read()"], "within 1 second"),
    ],
)
async def test_a_server_that_does_not_start_is_named_in_time(command: list[str], reason: str) -> None:
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        with pytest.raises(ControllerInvalid, match=f"controller shop: the MCP server {command[0]}.*{reason}"):
            await McpController("shop", command=command, start_timeout="PT1S").open(Opening(stack))
    assert time.monotonic() - started < 10


async def test_a_secret_that_is_not_set_is_named() -> None:
    controller = McpController("shop", command=["true"], env={"TOKEN": "env:TEST_NOWHERE"})
    async with AsyncExitStack() as stack:
        with pytest.raises(
            ControllerInvalid, match="controller shop: the environment variable TEST_NOWHERE is not set"
        ):
            await controller.open(Opening(stack))


@pytest.mark.parametrize(
    "settings", [{}, {"command": ["a"], "url": "http://b"}, {"command": "a b"}, {"url": "http://a", "timeout": "5"}]
)
def test_settings_that_say_too_little_or_too_much_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        McpController("shop", **settings)


def test_no_secret_is_printed() -> None:
    controller = McpController("shop", url="http://h/?key=sk-1", headers={"Authorization": "sk-2"})
    assert "sk-" not in f"{controller!r} {controller._settings!r}"
