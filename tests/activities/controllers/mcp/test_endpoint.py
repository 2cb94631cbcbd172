"""MCP servers behind an address: what they list and answer, whatever they list and answer."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp import types
from mcp.server import Server

from activities.controllers.controller import ControllerInvalid, Function, Opening
from activities.controllers.mcp.controller import McpController
from activities.controllers.opening import assemble
from activities.controllers.policy import Rule
from activities.function_schema import ArgumentsInvalidError
from activities.presenting import Presented
from activities.tool_executor import ToolExecutor, ToolRaisedError
from tests.activities.test_media import PNG
from tests.activities.test_tool import CONTEXT
from tests.support import until
from worker.dev_server import free_port

SCHEMA: dict[str, Any] = {"type": "object"}
Answer = Callable[[types.CallToolRequestParams], Awaitable[types.CallToolResult]]


def listed(name: str, schema: dict[str, Any] = SCHEMA, **said: bool) -> types.Tool:
    return types.Tool(name=name, input_schema=schema, annotations=types.ToolAnnotations(**said))


def text(*texts: str, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=each) for each in texts], is_error=is_error)


class Endpoint:
    """A server on a port of its own, which it keeps when it is started again."""

    def __init__(self, tools: list[types.Tool], answer: Answer) -> None:
        self.headers: list[dict[str, str]] = []
        self.port = 0
        self._tools = tools
        self._answer = answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            log_level="critical",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = listening.getsockname()[1]
        self._inner = self._made()
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await until(lambda: server.started)
            yield
        finally:
            server.should_exit = True
            await task

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await self._inner(scope, receive, send)

    def _made(self) -> Any:
        async def on_list(context: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=self._tools)

        async def on_call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            return await self._answer(params)

        return Server("shop", on_list_tools=on_list, on_call_tool=on_call).streamable_http_app()


async def nothing(params: types.CallToolRequestParams) -> types.CallToolResult:
    return text("done")


async def functions(stack: AsyncExitStack, endpoint: Endpoint, **settings: Any) -> dict[str, Function]:
    opened = await McpController("shop", url=endpoint.url, **settings).open(Opening(stack))
    return {each.facts.function: each for each in opened.functions}


async def call(function: Function, arguments: dict[str, Any] | None = None) -> Any:
    executor = ToolExecutor()
    try:
        return await executor.run(function.tool, function.tool.bind(arguments or {}), CONTEXT)
    finally:
        executor.close()


ANSWERS: list[tuple[types.CallToolResult, Any]] = [
    (text("plain"), "plain"),
    (text("a", "b"), ["a", "b"]),
    (text(), None),
    (types.CallToolResult(content=[], structured_content={"total": 3}), {"total": 3}),
    (
        types.CallToolResult(content=[types.ImageContent(data="AAAA", mime_type="image/heic")]),
        {"type": "image", "mimeType": "image/heic", "base64Length": 4},
    ),
    (
        types.CallToolResult(
            content=[
                types.EmbeddedResource(resource=types.TextResourceContents(uri="file:///a", text="words")),
                types.EmbeddedResource(resource=types.BlobResourceContents(uri="file:///b", blob="AAAA")),
                types.ResourceLink(uri="file:///c", name="c"),
            ]
        ),
        [
            {"type": "resource", "uri": "file:///a", "text": "words"},
            {"type": "resource", "uri": "file:///b", "base64Length": 4},
            {"type": "resource_link", "uri": "file:///c", "name": "c", "description": None},
        ],
    ),
]


async def test_answers_become_json() -> None:
    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        at: int = (params.arguments or {})["at"]
        return ANSWERS[at][0]

    endpoint = Endpoint([listed("get", read_only_hint=True)], answer)
    async with endpoint.running(), AsyncExitStack() as stack:
        get = (await functions(stack, endpoint))["get"]
        for at, (_, expected) in enumerate(ANSWERS):
            assert await call(get, {"at": at}) == expected


async def test_a_picture_and_its_words_become_the_parts_of_a_tool_that_makes_them() -> None:
    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        picture = types.ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")
        return types.CallToolResult(content=[types.TextContent(text="The page."), picture])

    endpoint = Endpoint([listed("shoot", read_only_hint=True)], answer)
    async with endpoint.running(), AsyncExitStack() as stack:
        shown = await call((await functions(stack, endpoint))["shoot"])
    assert isinstance(shown, Presented)
    assert [item.data for item in shown.media] == [PNG]
    assert shown.parts.image_output is not None
    assert (shown.parts.image_output.provider, shown.parts.image_output.format) == ("shoot", "png")
    note = {"type": "image", "mimeType": "image/png", "base64Length": len(base64.b64encode(PNG))}
    assert shown.output == ["The page.", {**note, "note": "the user gets it"}]
    assert shown.otherwise == ["The page.", note]


async def test_an_error_of_the_tool_is_an_error_without_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SHOP_TOKEN", "Bearer sk-very-secret")

    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        return text("no entry for Bearer sk-very-secret", is_error=True)

    endpoint = Endpoint([listed("get")], answer)
    async with endpoint.running(), AsyncExitStack() as stack:
        get = (await functions(stack, endpoint, headers={"Authorization": "env:TEST_SHOP_TOKEN"}))["get"]
        with pytest.raises(ToolRaisedError) as raised:
            await call(get)
    assert str(raised.value.error) == "no entry for [secret]"
    assert {each["authorization"] for each in endpoint.headers} == {"Bearer sk-very-secret"}


async def test_what_a_server_says_of_its_tools_is_a_default_that_rules_overrule() -> None:
    tools = [
        listed("reads", read_only_hint=True),
        listed("both", read_only_hint=True, destructive_hint=True),
        listed("again", idempotent_hint=True),
        types.Tool(name="silent", input_schema=SCHEMA),
    ]
    endpoint = Endpoint(tools, nothing)
    async with endpoint.running(), AsyncExitStack() as stack:
        controller = McpController("shop", url=endpoint.url, policy=[Rule("approve", name="reads")])
        opened = await controller.open(Opening(stack))
        registry = assemble([], [(controller, opened)], {}).tools
    made = {each.facts.function: each for each in opened.functions}
    assert {name: each.default for name, each in made.items()} == {
        "reads": "run",
        "both": "approve",
        "again": "approve",
        "silent": "approve",
    }
    assert [name for name, each in made.items() if each.tool.repeatable] == ["reads", "again"]
    assert {tool.name: tool.action({}) for name in registry.names if (tool := registry.get(name))}["reads"] == "approve"


async def test_tools_that_no_model_can_call_are_left_out_one_by_one() -> None:
    odd = [
        listed("good", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        listed("good"),
        listed("shop.find"),
        listed("shop/find"),
        listed("x" * 120),
        listed("", SCHEMA),
        listed("bad_key", {"type": "object", "properties": {"a b": {}}}),
        listed("elsewhere", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}),
        listed("no_schema", {"type": "object", "properties": {"a": 5}}),
        listed("huge", {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(5_000)}}),
    ]
    endpoint = Endpoint(odd, nothing)
    async with endpoint.running(), AsyncExitStack() as stack:
        controller = McpController("shop", url=endpoint.url)
        opened = assemble([], [(controller, await controller.open(Opening(stack)))], {})
        names = opened.tools.names
        good = opened.tools.get("good")
        assert good is not None
        with pytest.raises(ArgumentsInvalidError, match="required"):
            good.bind({})
        assert (len(names), len({name.casefold() for name in names}), names[0]) == (5, 5, "good")
        assert [each.function for each in opened.reports[0].exclusions] == [
            *("good", "bad_key", "elsewhere", "no_schema", "huge")
        ]
        assert all(each.reason for each in opened.reports[0].exclusions)


async def test_a_server_that_was_away_is_found_again() -> None:
    counted: list[str] = []

    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        counted.append(params.name)
        return text("done")

    endpoint = Endpoint([listed("pay")], answer)
    async with AsyncExitStack() as stack:
        async with endpoint.running():
            pay = (await functions(stack, endpoint))["pay"]
            assert await call(pay) == "done"
        with pytest.raises(ToolRaisedError) as raised:
            await call(pay)
        assert "nothing was run" in str(raised.value.error)
        async with endpoint.running():
            assert await call(pay) == "done"
    assert counted == ["pay", "pay"]


async def test_a_cancelled_call_ends_at_once_and_the_session_stays() -> None:
    reached = asyncio.Event()

    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "hang":
            reached.set()
            await asyncio.sleep(60)
        return text("done")

    endpoint = Endpoint([listed("hang"), listed("pay")], answer)
    async with endpoint.running(), AsyncExitStack() as stack:
        made = await functions(stack, endpoint)
        hanging = asyncio.create_task(call(made["hang"]))
        await reached.wait()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert await call(made["pay"]) == "done"


async def test_an_address_where_nothing_listens_is_named_without_its_query() -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    async with AsyncExitStack() as stack:
        with pytest.raises(ControllerInvalid) as raised:
            await McpController("shop", url=f"{url}?key=sk-very-secret").open(Opening(stack))
    assert f"the MCP server at {url}: " in str(raised.value)
    assert "sk-" not in str(raised.value)
