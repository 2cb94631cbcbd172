"""An OpenAPI document as a controller: where it comes from, what its operations do by default, and what is refused."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from activities.controllers.controller import ControllerInvalid, Listing, Opening
from activities.controllers.http import HttpController
from activities.controllers.opening import Opened, assemble
from activities.controllers.policy import Rule
from activities.http_function import HttpCall
from activities.openapi.response import HttpResponse
from activities.personas import Persona
from activities.tool_executor import ToolExecutor
from tests.activities.recording import Recorded, RecordingServer, answer
from tests.activities.test_tool import CONTEXT


def document(**fields: Any) -> dict[str, Any]:
    ok = {"responses": {"200": {"description": "ok"}}}
    item_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    secret = {"type": "object", "properties": {"name": {"type": "string"}, "pin": {"type": "string", "x-pin": True}}}
    body = {"content": {"application/json": {"schema": secret}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {
            "/items": {
                "get": {**ok, "operationId": "listItems", "tags": ["items"]},
                "post": {**ok, "operationId": "addItem", "requestBody": body},
            },
            "/items/{id}": {
                "parameters": [item_id, {"name": "X-Tenant", "in": "header", "schema": {"type": "string"}}],
                "get": {**ok, "operationId": "getItem"},
                "delete": {**ok, "operationId": "dropItem"},
            },
            "/old": {"get": {**ok, "operationId": "old", "deprecated": True}},
            "/xml": {"post": {**ok, "requestBody": {"content": {"application/xml": {"schema": {}}}}}},
        },
        **fields,
    }


async def opened(controller: HttpController, **named: Any) -> Listing:
    async with AsyncExitStack() as stack:
        opening = Opening(stack, **named)
        stack.push_async_callback(opening.client.aclose)
        return await controller.open(opening)


def actions(listing: Listing) -> dict[str, str]:
    return {each.facts.function: each.default for each in listing.functions}


async def call(listing: Listing, name: str, arguments: dict[str, Any]) -> Any:
    executor = ToolExecutor()
    tool = next(each.tool for each in listing.functions if each.facts.function == name)
    try:
        return await executor.run(tool, tool.bind(arguments), CONTEXT)
    finally:
        executor.close()


async def test_safe_methods_run_and_others_wait_and_deprecated_ones_are_hidden() -> None:
    listing = await opened(HttpController("items", document()))
    assert actions(listing) == {
        "items_get": "run",
        "items_post": "approve",
        "items_getById": "run",
        "items_eraseById": "approve",
        "old_get": "hidden",
    }
    [excluded] = listing.exclusions
    assert excluded.function == "POST /xml"
    assert excluded.reason
    assert actions(await opened(HttpController("items", document(), include_deprecated=True)))["old_get"] == "run"


async def test_a_large_api_is_measured_and_cut_down_by_rules() -> None:
    wide = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(200)}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Wide"}}}}
    paths = {
        f"/r{at}": {
            "post": {"operationId": f"op{at}", "tags": [f"t{at % 6}"], "requestBody": body, "description": "y" * 3_000},
            "get": {"operationId": f"read{at}", "tags": [f"t{at % 6}"]},
        }
        for at in range(300)
    }
    large = document(paths=paths, components={"schemas": {"Wide": wide}})
    listing = await opened(HttpController("large", large))

    def offered(*rules: Rule) -> Opened:
        return assemble([], [(HttpController("large", large, policy=rules), listing)], {})

    everything = offered()
    [report] = everything.reports
    assert (len(report.names), report.size > 1_000_000) == (600, True)
    told = everything.tools.excess(Persona(id="p"), [])
    assert told is not None
    assert told.startswith("persona p would be offered 605 tools and a model takes 128: ")
    assert all(way in told for way in ("toolSelection: select", "tool_ids", "tag, method, path, name, operation_id"))
    tool = everything.tools.get("r7_post")
    assert tool is not None
    assert (len(tool.description), tool.description[-1]) == (1_024, "…")
    for rule, count in [
        (Rule("run", tag="t1"), 100),
        (Rule("run", tag="t1", method="GET"), 50),
        (Rule("run", path="/r1?"), 20),
        (Rule("run", operation_id="op29*"), 11),
        (Rule("run", name="r29?_post"), 10),
    ]:
        few = offered(rule, Rule("hidden"))
        assert (len(few.reports[0].names), few.tools.excess(Persona(id="p"), [])) == (count, None)


async def test_facts_have_what_rules_ask_for() -> None:
    first = (await opened(HttpController("items", document(), names="operationId"))).functions[0]
    assert (first.facts.function, first.facts.controller, first.facts.protocol) == ("listItems", "items", "http")
    assert (first.facts.method, first.facts.path, first.facts.tags) == ("GET", "/items", ("items",))
    assert first.facts.operation_id == "listItems"
    assert first.tool.corrections == 3


@pytest.mark.parametrize("form", ["object", "text", "path", "text path", "address"])
async def test_a_document_may_come_in_every_form(form: str, tmp_path: Path) -> None:
    text = json.dumps(document())
    path = tmp_path / "openapi.json"
    path.write_text(text)
    async with RecordingServer(lambda _: answer("200 OK", text.encode(), "application/json")) as server:
        forms: dict[str, Any] = {
            "object": document(),
            "text": text,
            "path": path,
            "text path": str(path),
            "address": f"{server.url}/openapi.json?v=1",
        }
        controller = HttpController("items", forms[form], allow_private_addresses=True)
        assert len((await opened(controller)).functions) == 5


async def test_headers_go_to_the_document_only_where_it_lies_beside_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "Bearer sk-secret")
    text = json.dumps(document()).encode()

    def respond(request: Recorded) -> bytes:
        return answer("200 OK", text, "application/json")

    async with RecordingServer(respond) as api, RecordingServer(respond) as elsewhere:
        connection = {"host": api.url, "headers": {"Authorization": "env:TEST_TOKEN"}}
        for server in (api, elsewhere):
            await opened(HttpController("items", f"{server.url}/d", connection, allow_private_addresses=True))
        assert api.requests[0].header("authorization") == "Bearer sk-secret"
        assert elsewhere.requests[0].header("authorization") is None


async def test_a_private_address_is_refused_unless_allowed() -> None:
    async with RecordingServer() as server:
        with pytest.raises(ControllerInvalid, match="controller items: the document cannot be fetched"):
            await opened(HttpController("items", f"{server.url}/openapi.json"))
        assert server.requests == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("/nowhere/openapi.yaml", "/nowhere/openapi.yaml cannot be read: No such file"),
        ({"info": {}}, "OpenAPI"),
        ("<html>\n</html>", "web page"),
        ("{", "neither JSON"),
        ({"openapi": "3.0.3", "paths": []}, "`paths`"),
        (document(servers=[]), "no operation can be called; the first: .*host"),
    ],
)
async def test_a_bad_document_is_one_clear_error(given: Any, reason: str) -> None:
    with pytest.raises(ControllerInvalid, match=f"controller items: .*{reason}"):
        await opened(HttpController("items", given))


async def test_what_the_connection_sends_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TENANT", "tenant-1")
    async with RecordingServer() as server:
        listing = await opened(
            HttpController(
                "items",
                document(),
                connection={"host": f"{server.url}/v2/", "headers": {"x-tenant": "env:TEST_TENANT"}},
                allow_private_addresses=True,
            )
        )
        drop = next(each.tool for each in listing.functions if each.facts.function == "items_eraseById")
        assert list(drop.input_schema["properties"]) == ["id"]
        value = await call(listing, "items_eraseById", {"id": 7})
        [request] = server.requests
    assert value["status"] == 200
    assert (request.method, request.target, request.header("x-tenant")) == ("DELETE", "/v2/items/7", "tenant-1")


async def test_configured_headers_and_cookies_are_sent_in_their_place_and_others_are_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_TOKEN", "Bearer secret")
    places = [("Authorization", "header"), ("X-Tenant", "header"), ("session", "cookie"), ("Accept", "header")]
    parameters = [{"name": name, "in": place, "required": True, "schema": {}} for name, place in places]
    parameters.append({"name": "If-Match", "in": "header", "schema": {"type": "string"}})
    given = document(paths={"/t": {"get": {"parameters": parameters}}})
    async with RecordingServer() as server:
        connection = {
            "host": server.url,
            "headers": {"Authorization": "env:TEST_TOKEN", "x-tenant": "t1"},
            "cookies": {"session": "s1"},
        }
        listing = await opened(HttpController("t", given, connection, allow_private_addresses=True))
        [function] = listing.functions
        assert function.tool.input_schema == {
            "type": "object",
            "properties": {
                "headers": {
                    "type": "object",
                    "properties": {"If-Match": {"type": "string"}},
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        }
        value = await call(listing, "t_get", {"headers": {"If-Match": "v1"}})
        [request] = server.requests
    assert request.target == "/t"
    names = ("authorization", "x-tenant", "cookie", "if-match", "accept")
    assert [request.header(name) for name in names] == ["Bearer secret", "t1", "session=s1", "v1", "*/*"]
    assert not any(secret in json.dumps(value) for secret in ("Bearer secret", "s1"))


async def test_a_host_of_the_connection_is_called_in_place_of_every_server_of_the_document() -> None:
    servers = {"servers": [{"url": "https://files.example.com"}]}
    paths = {"/up": {**servers, "get": {}}, "/op": {"get": servers}, "/plain": {"get": {}}}
    async with RecordingServer() as server:
        connection = {"host": f"{server.url}/v2"}
        listing = await opened(HttpController("t", document(paths=paths), connection, allow_private_addresses=True))
        for each in listing.functions:
            await call(listing, each.facts.function, {})
        assert [each.target for each in server.requests] == ["/v2/up", "/v2/op", "/v2/plain"]


async def test_functions_are_strict_where_they_can_be() -> None:
    mapped = {
        "content": {"application/json": {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}}
    }
    given = document()
    given["paths"]["/map"] = {"post": {"requestBody": mapped, "responses": {}}}
    listing = await opened(HttpController("items", given, strict=True))
    strict = {each.facts.function: each.tool.strict_schema for each in listing.functions}
    assert strict["items_getById"] == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "headers": {
                "type": ["object", "null"],
                "properties": {"X-Tenant": {"type": ["string", "null"]}},
                "required": ["X-Tenant"],
                "additionalProperties": False,
            },
        },
        "required": ["id", "headers"],
        "additionalProperties": False,
    }
    assert strict["map_post"] is None
    assert [each for each in listing.warnings if "strict" in each] == [
        "strict mode cannot say the arguments of 1 functions, which are offered without: map_post"
    ]
    assert all(each.tool.strict_schema is None for each in (await opened(HttpController("items", given))).functions)


async def test_a_person_fills_what_the_predicate_marks() -> None:
    def is_pin(schema: dict[str, Any]) -> bool:
        return schema.get("x-pin") is True

    listing = await opened(HttpController("items", document(), separate="pins"), predicates={"pins": is_pin})
    add = next(each.tool for each in listing.functions if each.facts.function == "items_post")
    assert add.separated is not None
    assert list(add.model_schema["properties"]["body"]["properties"]) == ["name"]
    assert list(add.separated.human_schema["properties"]["body"]["properties"]) == ["pin"]
    assert list(add.input_schema["properties"]["body"]["properties"]) == ["name", "pin"]


async def test_an_executor_of_the_app_makes_the_requests() -> None:
    calls: list[HttpCall] = []

    async def execute(call: HttpCall) -> HttpResponse:
        calls.append(call)
        return HttpResponse(200, {}, {"from": "executor"})

    listing = await opened(HttpController("items", document(), execute="mine"), executors={"mine": execute})
    assert (await call(listing, "items_getById", {"id": 7}))["body"] == {"from": "executor"}
    assert (calls[0].arguments, calls[0].operation.path) == ({"id": 7}, "/items/{id}")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"execute": "mine"}, "the app has no executor called mine"),
        ({"separate": "pins"}, "the app has no predicate called pins"),
        ({"security": {"key": "env:TEST_KEY"}}, "no security scheme 'key'"),
        ({"connection": {"headers": {"X-Key": "env:TEST_NOWHERE"}}}, "TEST_NOWHERE is not set"),
    ],
)
async def test_settings_that_lead_nowhere_are_known_before_the_first_turn(
    settings: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ControllerInvalid, match=reason):
        await opened(HttpController("items", document(), **settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"connection": {"port": 80}},
        {"connection": {"host": "ftp://x"}},
        {"connection": {"headers": {"X": "sk-secret\n"}}},
        {"names": "title"},
        {"retry": -1},
        {"timeout": "30"},
    ],
)
def test_settings_that_mean_nothing_are_refused_without_their_values(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as raised:
        HttpController("items", document(), **settings)
    assert "sk-secret" not in str(raised.value)


def test_no_secret_is_printed() -> None:
    controller = HttpController("items", document(), connection={"headers": {"X": "sk-secret"}})
    assert "sk-secret" not in repr(controller)
    assert "sk-secret" not in repr(controller._connection)


async def test_credentials_that_the_document_asks_for_and_nobody_gave_are_a_warning() -> None:
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    guarded = document(components=schemes, security=[{"key": []}])
    [warning] = (await opened(HttpController("items", guarded))).warnings
    assert "5 operations" in warning
    assert "key" in warning
    with_header = HttpController("items", guarded, connection={"headers": {"X-Key": "1"}})
    assert (await opened(with_header)).warnings == ()


async def test_references_to_other_documents_are_followed_only_where_that_is_wanted() -> None:
    item = {"type": "object", "properties": {"size": {"type": "integer"}}}
    async with RecordingServer(lambda _: answer("200 OK", json.dumps({"Item": item}).encode())) as server:
        reference = {"$ref": f"{server.url}/schemas.json#/Item"}
        body = {"content": {"application/json": {"schema": reference}}}
        put = {"put": {"requestBody": body, "responses": {"200": {"description": "ok"}}}}
        given = document(paths={"/items": put, "/": {"get": {"responses": {"200": {"description": "ok"}}}}})
        refused = await opened(HttpController("items", given, allow_private_addresses=True))
        assert [each.function for each in refused.exclusions] == ["PUT /items"]
        assert server.requests == []
        followed = await opened(HttpController("items", given, allow_private_addresses=True, external_references=True))
        put_item = next(each.tool for each in followed.functions if each.facts.method == "PUT")
        assert "size" in json.dumps(put_item.input_schema)
