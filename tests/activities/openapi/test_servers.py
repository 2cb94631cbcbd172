from typing import Any

import pytest

from tests.activities.openapi.documents import document, only, swagger

PING: dict[str, Any] = {"/ping": {"get": {}}}


@pytest.mark.parametrize(
    ("servers", "url", "base"),
    [
        ([{"url": "https://h/api"}], None, "https://h/api"),
        ([{"url": "https://h/api/"}], None, "https://h/api"),
        ([{"url": "/api/v2"}], "https://h/docs/openapi.json", "https://h/api/v2"),
        ([{"url": "v2"}], "https://h/docs/openapi.json", "https://h/docs/v2"),
        ([{"url": "//h2/x"}], "https://h/docs/openapi.json", "https://h2/x"),
        ([{"url": "/api/v2"}], None, ""),
        ([{"url": "/api/v2"}], "/home/me/openapi.json", ""),
        ([], "https://h:8443/docs/openapi.json", "https://h:8443"),
        ([], None, ""),
        ([{"url": "https://h?x=1#y"}], None, "https://h"),
        ([{"url": "https://me:secret@h/api"}], None, ""),
        ([{"url": "file:///etc"}], None, ""),
        ([{"url": "https://h:port/"}], None, ""),
        ([{"url": "https://[h/"}], None, ""),
        ([{"url": "https://{tenant}.h/"}], None, ""),
        ([{"url": 7}, {"url": "https://second"}], None, ""),
    ],
)
def test_the_first_server_is_the_base(servers: list[Any], url: str | None, base: str) -> None:
    assert only(document(PING, servers=servers), url=url).base_url == base


def test_variables_have_their_defaults() -> None:
    variables = {"scheme": {"default": "https"}, "port": {"default": 8443}, "base": {"enum": ["v1", "v2"]}}
    server = {"url": "{scheme}://h:{port}/{base}", "variables": variables}
    assert only(document(PING, servers=[server])).base_url == "https://h:8443/v1"


def test_no_argument_chooses_the_server() -> None:
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    operation = only(document(PING, servers=[{"url": "https://{region}.h", "variables": variables}]))
    assert (operation.base_url, operation.parameters) == ("https://eu.h", ())
    assert operation.input_schema["properties"] == {}


def test_the_nearest_servers_count() -> None:
    on_path = {"/up": {"servers": [{"url": "https://files.h"}], "get": {}}}
    assert only(document(on_path)).base_url == "https://files.h"
    on_operation = {"/up": {"servers": [{"url": "https://files.h"}], "get": {"servers": [{"url": "https://op.h"}]}}}
    assert only(document(on_operation)).base_url == "https://op.h"


@pytest.mark.parametrize(
    ("fields", "url", "base"),
    [
        ({"host": "h", "basePath": "/api/v2/", "schemes": ["http", "https"]}, None, "https://h/api/v2"),
        ({"host": "h:81", "schemes": ["http"]}, None, "http://h:81"),
        ({"host": "h"}, None, "https://h"),
        ({"host": "h"}, "http://other/swagger.json", "http://h"),
        ({"basePath": "/api"}, "http://h:9093/swagger.json", "http://h:9093/api"),
        ({"basePath": "/api/v2/"}, None, ""),
        ({"host": "h", "basePath": "//evil.example"}, None, "https://h/evil.example"),
        ({"host": "me@h"}, None, ""),
        ({"host": "https://h:8443", "basePath": "/v1"}, None, "https://h:8443/v1"),
        ({"host": "h", "schemes": ["ws"]}, None, "https://h"),
    ],
)
def test_swagger_2_has_host_path_and_schemes(fields: dict[str, Any], url: str | None, base: str) -> None:
    assert only(swagger(PING, **fields), url=url).base_url == base
