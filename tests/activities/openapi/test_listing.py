from typing import Any

import pytest

from activities.openapi.listing import MAX_OPERATIONS, MAX_PATH_CHARS
from activities.openapi.operation import DocumentInvalid, Excluded
from tests.activities.openapi.documents import Json, converted, document


@pytest.mark.parametrize(
    ("path", "item", "excluded"),
    [
        ("/t", {"trace": {}}, Excluded("TRACE", "/t", "TRACE would send its own credentials back")),
        ("t", {"get": {}}, Excluded("GET", "t", "its path does not begin with a slash")),
        ("/t?x={x}", {"get": {}}, Excluded("GET", "/t?x={x}", "its path has a fragment, or a placeholder in a query")),
        ("/{t", {"get": {}}, Excluded("GET", "/{t", "its path has a brace that is not closed")),
        (
            "/" + "x" * MAX_PATH_CHARS,
            {"get": {}},
            Excluded("GET", "/" + "x" * (MAX_PATH_CHARS - 1), "its path has 2,001 characters; at most 2,000 are taken"),
        ),
        ("/{}", {"get": {}}, Excluded("GET", "/{}", "its path has a placeholder without a name")),
        ("/t", {"get": []}, Excluded("GET", "/t", "it is not an object")),
        ("/t", [], Excluded("*", "/t", "the path is not an object")),
    ],
)
def test_what_is_no_request_is_excluded(path: str, item: Any, excluded: Excluded) -> None:
    assert converted(document({path: item})).excluded == (excluded,)


def test_a_path_may_have_a_fixed_query() -> None:
    found = converted(document({"/t?kind=a": {"get": {}}, "/t?kind=b": {"get": {}}}))
    assert [each.path for each in found.operations] == ["/t?kind=a", "/t?kind=b"]
    assert len({each.name for each in found.operations}) == 2


def test_only_methods_of_paths_are_operations() -> None:
    item: Json = {
        "summary": "s",
        "description": "d",
        "servers": [],
        "parameters": [],
        "x-get": {},
        "get": {},
        "head": {},
    }
    made = document({"/t": item, "x-internal": {"get": {}}}, webhooks={"hook": {"post": {}}})
    assert [each.method for each in converted(made).operations] == ["GET", "HEAD"]


def test_a_path_may_stand_elsewhere() -> None:
    item = {
        "parameters": [{"name": "id", "in": "path", "schema": {"type": "integer"}}],
        "get": {"operationId": "there"},
    }
    made = document({"/a/{id}": {"$ref": "#/components/pathItems/A", "put": {}}}, components={"pathItems": {"A": item}})
    get, put = converted(made).operations
    assert get.operation_id == "there"
    assert [each.name for each in put.parameters] == ["id"]


def test_the_number_of_operations_is_bounded() -> None:
    with pytest.raises(DocumentInvalid, match="more than 5,000 operations"):
        converted(document({f"/{place}": {"get": {}} for place in range(MAX_OPERATIONS + 1)}))
