import json
from typing import Any

import pytest

from activities.openapi.reading import Unfit
from activities.openapi.references import MAX_DOCUMENTS, Library

MAIN = {"a": {"b/c": {"d~e": {"x": 1}}}, "list": [{"y": 2}], "to": {"$ref": "#/a/b~1c"}, "circle": {"$ref": "#/circle"}}


def test_pointers_are_followed_with_their_escapes() -> None:
    main = Library(MAIN, None, None).main
    assert main.look_up("#/a/b~1c/d~0e")[0] == {"x": 1}
    assert main.look_up("#/list/0")[0] == {"y": 2}
    assert main.resolved({"$ref": "#/to"}, "it")[0] == {"d~e": {"x": 1}}


@pytest.mark.parametrize(
    "reference", ["#/nothing", "#/list/7", "#/list/x", "#/a/b~1c/d~0e/x/y", "#anchor", "#/list/0/y/z"]
)
def test_a_reference_to_nothing_is_unfit(reference: str) -> None:
    with pytest.raises(Unfit, match="not there"):
        Library(MAIN, None, None).main.look_up(reference)


def test_a_circle_of_references_is_unfit() -> None:
    with pytest.raises(Unfit, match="circle"):
        Library(MAIN, None, None).main.resolved({"$ref": "#/circle"}, "it")


@pytest.mark.parametrize("reference", ["other.yaml#/x", "https://elsewhere.example/x.json", "file:///etc/passwd"])
def test_other_documents_are_not_read_unless_the_caller_fetches_them(reference: str) -> None:
    with pytest.raises(Unfit, match="references to other documents are not followed"):
        Library(MAIN, "https://h/api/openapi.yaml", None).main.look_up(reference)


def test_the_caller_fetches_other_documents_once_each_by_their_full_address() -> None:
    asked: list[str] = []

    def fetch(address: str) -> bytes:
        asked.append(address)
        return json.dumps(
            {"x": {"$ref": "#/y"}, "y": {"here": address}, "up": {"$ref": "openapi.yaml#/list/0"}}
        ).encode()

    main = Library(MAIN, "https://h/api/openapi.yaml", fetch).main
    found, source = main.look_up("other.yaml#/x")
    assert source.resolved(found, "it")[0] == {"here": "https://h/api/other.yaml"}
    assert main.resolved({"$ref": "other.yaml#/up"}, "it")[0] == {"y": 2}
    assert asked == ["https://h/api/other.yaml"]


@pytest.mark.parametrize("fault", [OSError("away"), ValueError("bad"), KeyError("none")])
def test_a_document_that_cannot_be_fetched_is_unfit(fault: Exception) -> None:
    def fetch(address: str) -> bytes:
        raise fault

    with pytest.raises(Unfit, match="cannot be read"):
        Library(MAIN, None, fetch).main.look_up("x.yaml")


def test_the_number_of_other_documents_is_bounded() -> None:
    main = Library(MAIN, None, lambda address: b"{}").main
    for place in range(MAX_DOCUMENTS):
        main.look_up(f"{place}.yaml")
    with pytest.raises(Unfit, match="at most"):
        main.look_up("more.yaml")


def test_what_is_found_is_the_same_object_each_time() -> None:
    main: Any = Library(MAIN, None, None).main
    assert main.look_up("#/a")[0] is main.look_up("#/a")[0]
