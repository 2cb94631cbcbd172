"""An operation as a tool: checked before it is sent, a value whatever comes back, and never sent twice unasked."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from activities.credentials import CredentialMissing, Security
from activities.function_schema import ArgumentsInvalidError
from activities.http_client import HttpClient
from activities.http_connection import HttpConnection
from activities.http_function import HttpCall, HttpOptions, http_function
from activities.openapi.operation import Operation, SecurityScheme
from activities.openapi.response import HttpResponse
from activities.tool import Tool, ToolContext
from activities.tool_executor import ToolExecutor, ToolRaisedError
from activities.transient import TransientError
from tests.activities.openapi.making import body, operation, parameter
from tests.activities.recording import OK, Recorded, RecordingServer, answer

CONTEXT = ToolContext("t", "c", "u", None, "p", "abc123xyz", "t:abc123xyz", 1)
SECRET = "s3cr3t-value"
SCHEMES = {
    "key": SecurityScheme("key", "apiKey", "query", "api_key"),
    "bearer": SecurityScheme("bearer", "http", scheme="bearer"),
}
GET = operation("GET", "/files/{id}", parameter("path", "id", {"type": "string"}), parameter("query", "api_key"))
POST = operation(
    "POST",
    "/files",
    body=body("application/json", {"type": "object", "properties": {"n": {"type": "integer"}}}, required=True),
    security=(("bearer",), ("key",)),
)


@pytest.fixture
async def server() -> AsyncIterator[RecordingServer]:
    async with RecordingServer() as running:
        yield running


def made(
    server: RecordingServer,
    op: Operation,
    *,
    security: dict[str, Any] | None = None,
    execute: Any = None,
    **options: Any,
) -> Tool:
    return http_function(
        op,
        client=HttpClient(),
        security=Security(SCHEMES, security or {}),
        connection=HttpConnection(server.url, options.pop("headers", {})),
        options=HttpOptions(allow_private_addresses=options.pop("private", True), **options),
        execute=execute,
    )


async def call(tool: Tool, arguments: dict[str, Any]) -> Any:
    return await tool.bind(arguments)(CONTEXT)


async def transient(tool: Tool, arguments: dict[str, Any]) -> TransientError:
    with pytest.raises(TransientError) as raised:
        await call(tool, arguments)
    return raised.value


async def test_answer_is_status_headers_and_body(server: RecordingServer) -> None:
    server.respond = lambda _: answer(
        "201 Created", b'{"id": 1}', "application/json", "Set-Cookie: s=1", "Location: /1"
    )
    value = await call(made(server, POST), {"body": {"n": 1}})
    assert (value["status"], value["body"], value["headers"]["location"]) == (201, {"id": 1}, "/1")
    assert "set-cookie" not in value["headers"]
    assert server.requests[0].body == b'{"n":1}'


@pytest.mark.parametrize(
    ("said", "status", "value"),
    [
        (answer("204 No Content"), 204, None),
        (answer("202 Accepted", b"queued", "text/plain"), 202, "queued"),
        (answer("200 OK", b"<html>login</html>", "text/html"), 200, "<html>login</html>"),
        (answer("200 OK", b"", "application/json"), 200, None),
        (answer("200 OK", b"%PDF", "application/json"), 200, "%PDF"),
        (answer("404 Not Found", b'{"no": 1}', "application/problem+json"), 404, {"no": 1}),
        (answer("422 Unprocessable", b'[{"path": "n"}]', "application/json"), 422, [{"path": "n"}]),
        (answer("401 Unauthorized", b"who?", "text/plain"), 401, "who?"),
        (answer("302 Found", b"", None, "Location: http://169.254.169.254/"), 302, None),
    ],
)
async def test_whatever_is_answered_is_a_value(server: RecordingServer, said: bytes, status: int, value: Any) -> None:
    server.respond = lambda _: said
    result = await call(made(server, GET), {"id": "1"})
    assert (result["status"], result["body"]) == (status, value)
    assert len(server.requests) == 1


async def test_large_answer_is_cut_with_a_note(server: RecordingServer) -> None:
    server.respond = lambda _: answer("200 OK", json.dumps(["x" * 100] * 50_000).encode(), "application/json")
    result = await call(made(server, GET), {"id": "1"})
    assert result["body"].startswith('["xxx')
    assert result["body"].endswith("of 5200000 bytes are shown]")
    assert len(result["body"]) < 200_000


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, {"path": "$input.id", "expected": "a value: it is required"}),
        ({"id": 7}, {"path": "$input.id", "expected": "string", "value": 7}),
        ({"id": "..", "query": {}}, {"path": "$input.id", "value": ".."}),
        ({"id": "a/../admin"}, {"path": "$input.id", "value": "a/../admin"}),
        ({"id": "1", "query": {"limit": 1}}, {"path": "$input.query.limit", "value": 1}),
        ({"id": "1", "query": []}, {"path": "$input.query", "expected": "object", "value": []}),
        ({"id": "1", "headers": {"Host": "evil"}}, {"path": "$input.headers", "value": {"Host": "evil"}}),
    ],
)
async def test_arguments_that_do_not_fit_send_nothing(
    server: RecordingServer, arguments: dict[str, Any], fault: dict[str, Any]
) -> None:
    with pytest.raises(ArgumentsInvalidError) as raised:
        made(server, GET).bind(arguments)
    assert fault.items() <= json.loads(str(raised.value))[0].items()
    assert server.connections == 0


async def test_question_mark_in_a_path_value_stays_in_the_path(server: RecordingServer) -> None:
    await call(made(server, GET), {"id": "1?admin=true#x/y"})
    assert server.requests[0].target == "/files/1%3Fadmin%3Dtrue%23x%2Fy"


async def test_persons_part_is_checked_with_the_rest_and_not_repeated(server: RecordingServer) -> None:
    schema = {"type": "object", "properties": {"pin": {"type": "string", "maxLength": 4}}, "required": ["pin"]}
    human = {"type": "object", "properties": {"body": schema}}
    op = operation(
        "POST", "/x", body=body("application/json", schema), human_schema=human, llm_schema={"type": "object"}
    )
    tool = made(server, op)
    assert tool.input_schema == {"type": "object"}
    with pytest.raises(ArgumentsInvalidError) as raised:
        tool.bind({"body": {"pin": "S3CRET"}})
    assert "S3CRET" not in str(raised.value)
    assert "maxLength 4" in str(raised.value)


async def test_credentials_are_read_at_the_call_and_stand_above_arguments(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = operation("GET", "/x", parameter("query", "api_key"), security=(("key",),))
    tool = made(server, op, security={"key": "env:FILES_API_KEY"}, headers={"X-Tenant": "env:TENANT"})
    bound = tool.bind({"query": {"api_key": "chosen by the model"}})
    monkeypatch.setenv("FILES_API_KEY", SECRET)
    monkeypatch.setenv("TENANT", "t-1234")
    await bound(CONTEXT)
    assert server.requests[0].target == f"/x?api_key={SECRET}"
    assert server.requests[0].header("X-Tenant") == "t-1234"


async def test_missing_secret_is_a_fault_of_the_configuration_and_sends_nothing(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FILES_API_KEY", raising=False)
    with pytest.raises(CredentialMissing, match="FILES_API_KEY is not set"):
        await call(made(server, POST, security={"bearer": "env:FILES_API_KEY"}), {"body": {}})
    assert server.connections == 0


async def test_secret_that_comes_back_is_not_told(server: RecordingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILES_API_KEY", SECRET)
    tool = made(server, POST, security={"bearer": "env:FILES_API_KEY"}, idempotency_keys=True)

    def echo(got: Recorded) -> bytes:
        said = json.dumps({"got": dict(got.headers)}).encode()
        return answer(server_status, said, "application/json", f"X-Echo: {got.header('Authorization')}")

    server.respond, server_status = echo, "200 OK"
    value = await call(tool, {"body": {}})
    assert value["body"]["got"]["Authorization"] == "Bearer [secret]"
    assert SECRET not in str(value)
    server_status = "500 Oops"
    failed = await transient(tool, {"body": {}})
    assert SECRET not in str(failed.value)
    assert SECRET not in str(failed)


async def test_unsafe_calls_carry_their_key_and_safe_ones_none(server: RecordingServer) -> None:
    await call(made(server, POST), {"body": {}})
    await call(made(server, GET), {"id": "1"})
    assert [each.header("Idempotency-Key") for each in server.requests] == ["t:abc123xyz", None]
    odd = ToolContext("t", "c", "u", None, "p", "x", "tür\n:x", 1)
    await made(server, POST).bind({"body": {}})(odd)
    key = server.requests[-1].header("Idempotency-Key")
    assert key is not None
    assert len(key) == 64


def test_what_may_be_repeated_is_told_to_the_gate(server: RecordingServer) -> None:
    get, post, keyed = made(server, GET), made(server, POST), made(server, POST, idempotency_keys=True)
    assert [(each.side_effects, each.repeatable, each.retries) for each in (get, post, keyed)] == [
        (False, True, 2),
        (True, False, 0),
        (True, True, 2),
    ]
    assert made(server, GET, timeout=3.0, retries=5).timeout > 3.0
    assert made(server, GET, retries=5).retries == 5
    assert get.is_async


@pytest.mark.parametrize("status", ["408 Timeout", "429 Too Many", "500 Oops", "503 Busy"])
async def test_passing_failure_asks_again_only_where_that_is_safe(server: RecordingServer, status: str) -> None:
    server.respond = lambda _: answer(status, b'{"e": 1}', "application/json", "Retry-After: 7")
    failed = await transient(made(server, GET), {"id": "1"})
    assert (failed.retry_after, failed.value["status"], failed.value["body"]) == (7.0, int(status[:3]), {"e": 1})
    assert (await transient(made(server, POST, idempotency_keys=True), {"body": {}})).retry_after == 7.0
    value = await call(made(server, POST), {"body": {}})
    assert value["status"] == int(status[:3])
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", ["400 Bad", "401 Who", "403 No", "404 Gone", "409 Twice", "422 Odd"])
async def test_lasting_failure_is_a_value_at_once(server: RecordingServer, status: str) -> None:
    server.respond = lambda _: answer(status, b"no", "text/plain", "Retry-After: 7")
    for tool, arguments in (
        (made(server, GET), {"id": "1"}),
        (made(server, POST, idempotency_keys=True), {"body": {}}),
    ):
        assert (await call(tool, arguments))["status"] == int(status[:3])


async def test_lost_connection_leaves_the_outcome_open(server: RecordingServer) -> None:
    server.respond = lambda _: b""
    value = await call(made(server, POST), {"body": {}})
    assert (value["status"], value["headers"], value["body"]["name"]) == (500, {}, "OutcomeUnknown")
    assert "may or may not have happened" in value["body"]["message"]
    failed = await transient(made(server, GET), {"id": "1"})
    assert (failed.retry_after, failed.value["body"]["name"]) == (None, "NoResponse")
    assert len(server.requests) == 2


async def test_slow_server_is_given_up_within_the_timeout(server: RecordingServer) -> None:
    async def never(_: Recorded) -> bytes:
        await asyncio.Event().wait()
        return b""

    server.respond = never
    value = await call(made(server, POST, timeout=0.2), {"body": {}})
    assert value["body"]["name"] == "OutcomeUnknown"
    assert "no answer within 0.2 seconds" in value["body"]["message"]
    assert "0.2 seconds" in str(await transient(made(server, GET, timeout=0.2), {"id": "1"}))


async def test_server_that_is_away_is_told_so() -> None:
    async with RecordingServer() as gone:
        pass
    value = await call(made(gone, POST), {"body": {}})
    assert value["body"]["name"] == "ConnectionFailed"
    assert value["body"]["message"].endswith("Nothing was sent.")
    await transient(made(gone, GET), {"id": "1"})


async def test_private_address_is_refused_and_never_asked_again(server: RecordingServer) -> None:
    value = await call(made(server, GET, private=False), {"id": "1"})
    assert "allow_private_addresses=True" in value["body"]["message"]
    assert server.connections == 0


async def test_executor_of_the_app_makes_the_call_instead(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[HttpCall] = []

    async def execute(made: HttpCall) -> HttpResponse:
        calls.append(made)
        return HttpResponse(200, {"Set-Cookie": "a=1"}, {"echo": SECRET})

    monkeypatch.setenv("FILES_API_KEY", SECRET)
    tool = made(server, POST, security={"bearer": "env:FILES_API_KEY"}, execute=execute)
    assert await call(tool, {"body": {"n": 1}}) == {"status": 200, "headers": {}, "body": {"echo": "[secret]"}}
    assert server.connections == 0
    got = calls[0]
    assert (got.arguments, got.context, got.operation.path) == ({"body": {"n": 1}}, CONTEXT, "/files")
    assert got.connection.host == server.url
    assert dict(got.request.wire_headers())["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(got)


async def test_what_an_executor_raises_is_told_without_secrets(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def execute(made: HttpCall) -> HttpResponse:
        raise OSError(f"cannot reach ?api_key={SECRET}")

    async def passing(made: HttpCall) -> HttpResponse:
        raise TransientError("later", 3.0, None)

    async def other(made: HttpCall) -> Any:
        return {"status": 200}

    monkeypatch.setenv("FILES_API_KEY", SECRET)
    with pytest.raises(TypeError, match="no HttpResponse"):
        await call(made(server, POST, execute=other), {"body": {}})
    with pytest.raises(RuntimeError, match=r"OSError: cannot reach \?api_key=\[secret\]") as raised:
        await call(made(server, POST, security={"bearer": "env:FILES_API_KEY"}, execute=execute), {"body": {}})
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert (await transient(made(server, POST, execute=passing), {"body": {}})).retry_after == 3.0


async def test_it_runs_where_tools_run(server: RecordingServer) -> None:
    executor = ToolExecutor(threads=1)
    tool = made(server, GET)
    assert (await executor.run(tool, tool.bind({"id": "1"}), CONTEXT))["status"] == 200
    server.respond = lambda _: answer("503 Busy")
    with pytest.raises(ToolRaisedError) as raised:
        await executor.run(tool, tool.bind({"id": "1"}), CONTEXT)
    assert isinstance(raised.value.error, TransientError)
    server.respond = lambda _: OK
    executor.close()


def test_operation_that_cannot_be_called_is_refused_when_it_is_made(server: RecordingServer) -> None:
    def build(op: Operation, connection: HttpConnection | None = None) -> Tool:
        return http_function(op, client=HttpClient(), security=Security({}), connection=connection)

    with pytest.raises(ValueError, match="names no server"):
        build(GET)
    with pytest.raises(ValueError, match="without a parameter: id"):
        build(operation("GET", "/{id}", base_url="https://h"))
    with pytest.raises(ValueError, match="absolute http"):
        build(operation("GET", "/x", base_url="/api"))
    assert build(operation("GET", "/x", base_url="https://h")).name == "call"


async def test_configured_header_is_no_argument(server: RecordingServer) -> None:
    op = operation("GET", "/x", parameter("header", "X-Tenant", required=True), parameter("header", "If-Match"))
    tool = made(server, op, headers={"x-tenant": "t1"})
    assert list(tool.input_schema["properties"]["headers"]["properties"]) == ["If-Match"]
    await call(tool, {"headers": {"If-Match": "v1"}})
    assert (server.requests[0].header("X-Tenant"), server.requests[0].header("If-Match")) == ("t1", "v1")
    with pytest.raises(ArgumentsInvalidError):
        tool.bind({"headers": {"X-Tenant": "t2"}})


@pytest.mark.parametrize(
    ("arguments", "target", "sent"),
    [
        ({"body": {"note": None}}, "/x", b'{"note":null}'),
        ({"query": {"tag": None, "dry": None}, "body": {"title": "t"}}, "/x", b'{"title":"t"}'),
        ({"body": {}}, "/x", b"{}"),
        ({}, "/x", b""),
    ],
)
async def test_left_out_and_null_are_two_things(
    server: RecordingServer, arguments: dict[str, Any], target: str, sent: bytes
) -> None:
    schema = {
        "type": "object",
        "properties": {"note": {"type": ["string", "null"]}, "title": {"type": "string"}, "n": {"default": 10}},
    }
    flags = (
        parameter("query", "dry", {"type": "boolean", "default": False}),
        parameter("query", "tag", {"type": "string"}),
    )
    tool = made(server, operation("PATCH", "/x", *flags, body=body("application/json", schema)))
    await call(tool, arguments)
    assert (server.requests[0].target, server.requests[0].body) == (target, sent)
    with pytest.raises(ArgumentsInvalidError, match=r"\$input\.body\.title"):
        tool.bind({"body": {"title": None}})
