from typing import Any

import pytest

from activities.openapi.operation import DocumentInvalid
from activities.openapi.versions import Version, version_of
from tests.activities.openapi.documents import only, swagger


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ({"swagger": "2.0"}, Version(swagger2=True, siblings=False)),
        ({"swagger": 2.0}, Version(swagger2=True, siblings=False)),
        ({"openapi": "3.0.3"}, Version(swagger2=False, siblings=False)),
        ({"openapi": 3.0}, Version(swagger2=False, siblings=False)),
        ({"openapi": "3.1.0"}, Version(swagger2=False, siblings=True)),
        ({"openapi": "3.2.0"}, Version(swagger2=False, siblings=True)),
    ],
)
def test_a_document_says_its_version(document: dict[str, Any], version: Version) -> None:
    assert version_of(document) == version


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"swaggerVersion": "1.2"}, "version 1.2 is not read"),
        ({"openapi": "4.0"}, "version 4.0 is not read"),
        ({"swagger": True}, "neither `openapi` nor `swagger`"),
        ({"asyncapi": "2.0"}, "neither `openapi` nor `swagger`"),
    ],
)
def test_other_documents_are_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(DocumentInvalid, match=said):
        version_of(document)


@pytest.mark.parametrize(
    ("operation", "types"),
    [
        ({}, ("application/json",)),
        ({"produces": ["application/x-pem-file"]}, ("application/x-pem-file",)),
        ({"produces": []}, ("application/json",)),
    ],
)
def test_what_swagger_2_produces_are_the_good_types(operation: dict[str, Any], types: tuple[str, ...]) -> None:
    node = {**operation, "responses": {"200": {"schema": {"type": "string"}}, "204": {"description": ""}}}
    made = only(swagger({"/t": {"get": node}}, produces=["application/json"]))
    assert made.success_types == types
