from typing import Any

import pytest

from activities.openapi.operation import SecurityScheme
from tests.activities.openapi.documents import converted, document, only, querying, swagger

PING: dict[str, Any] = {"/ping": {"get": {}}}
SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bearer": {"type": "http", "scheme": "Bearer"},
    "login": {"$ref": "#/components/securitySchemes/bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
    "bad": {"type": "apiKey", "in": "body"},
    "worse": [],
}


def test_schemes_say_where_a_credential_goes() -> None:
    found = converted(document(PING, components={"securitySchemes": SCHEMES})).security_schemes
    assert found == {
        "key": SecurityScheme("key", "apiKey", "header", "X-Api-Key"),
        "session": SecurityScheme("session", "apiKey", "cookie", "sid"),
        "bearer": SecurityScheme("bearer", "http", scheme="bearer"),
        "login": SecurityScheme("login", "http", scheme="bearer"),
        "oauth": SecurityScheme("oauth", "oauth2"),
    }


def test_swagger_2_schemes_are_read() -> None:
    definitions = {"b": {"type": "basic"}, "k": {"type": "apiKey", "in": "query", "name": "key"}}
    found = converted(swagger(PING, securityDefinitions=definitions)).security_schemes
    assert found == {
        "b": SecurityScheme("b", "http", scheme="basic"),
        "k": SecurityScheme("k", "apiKey", "query", "key"),
    }


@pytest.mark.parametrize(
    ("own", "needed"),
    [
        ({}, (("key",),)),
        ({"security": []}, ()),
        ({"security": [{"a": [], "b": ["read"]}, {}]}, (("a", "b"), ())),
        ({"security": "none"}, ()),
    ],
)
def test_an_operation_has_its_own_requirements_or_those_of_the_document(own: Any, needed: Any) -> None:
    assert only(document({"/ping": {"get": own}}, security=[{"key": []}])).security == needed


def test_parameters_that_are_credentials_are_not_the_models() -> None:
    parameters: list[Any] = [
        {"name": "x-api-key", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "sid", "in": "cookie", "schema": {"type": "string"}},
        {"name": "sid", "in": "query", "schema": {"type": "string"}},
    ]
    operation = only(querying(*parameters, components={"securitySchemes": SCHEMES}))
    assert [(each.where, each.name) for each in operation.parameters] == [("query", "sid")]
    assert "headers" not in operation.input_schema["properties"]
