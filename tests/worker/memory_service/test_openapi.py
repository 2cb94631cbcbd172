"""The document of the API is true: what it says is sent is taken or refused in the shapes it says are answered."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.worker.memory_service.calls import Caller, Running

EXAMPLES = 6
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def operations(document: dict[str, Any]) -> set[str]:
    return {f"{method.upper()} {path}" for path, found in document["paths"].items() for method in found}


async def test_every_route_is_in_the_document(at: Running) -> None:
    document = (await at.http.get("/openapi.json")).json()
    assert operations(document) >= {
        f"{method} /api/v1{path}"
        for method, path in (
            ("GET", "/health"),
            ("POST", "/context"),
            ("POST", "/recall"),
            ("POST", "/turns"),
            ("GET", "/memories"),
            ("POST", "/memories"),
            ("GET", "/memories/{memory_id}"),
            ("PATCH", "/memories/{memory_id}"),
            ("DELETE", "/memories/{memory_id}"),
            ("GET", "/tensions"),
            ("POST", "/tensions"),
            ("POST", "/tensions/{tension_id}"),
            ("GET", "/self-model"),
            ("POST", "/self-model/outcome"),
            ("GET", "/stats"),
            ("GET", "/keys"),
            ("POST", "/keys"),
            ("DELETE", "/keys/{key_id}"),
        )
    }
    for path, found in document["paths"].items():
        for operation in found.values():
            assert "422" not in operation["responses"]
            assert ("security" in operation) == (path.startswith("/api/v1") and path != "/api/v1/health")


async def test_the_document_has_a_page_for_people(at: Running) -> None:
    page = await at.http.get("/docs")
    assert page.status_code == 200
    assert "/api/v1/memories/{memory_id}" in page.text


@pytest.mark.filterwarnings("ignore")
async def test_whatever_is_sent_is_answered_as_the_document_says(at: Running) -> None:
    caller = await at.caller(scopes=["memories:read", "memories:write", "stats:read", "keys:manage"])
    await caller.remember("Our staging host is blue-7", "The build id of release nine is ZQ7X4M2K")
    await caller.post("/tensions", {"claimA": "a is b", "claimB": "a is c", "actionableQuestion": "Which?"})
    # Its client is a blocking one, so it runs in a thread beside the service.
    statuses = await at.service.blocking(examine, at.url, caller)
    assert {200, 201, 400, 404} <= statuses


def examine(url: str, caller: Caller) -> set[int]:
    """Send whatever the document allows, and some of what it does not; which statuses were seen."""
    statuses: set[int] = set()
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    for operation in (found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)):
        for mode in GenerationMode:

            @bounded
            @given(operation.as_strategy(generation_mode=mode))
            def send(case: Any) -> None:
                headers = {"authorization": f"Bearer {caller.key}"}
                answer = case.call(base_url=url, headers=headers, timeout=30)
                statuses.add(answer.status_code)
                case.validate_response(answer, headers=headers, checks=CHECKS)

            try:
                send()
            except Unsatisfiable:
                # A route that takes nothing cannot be sent anything wrong.
                assert mode is GenerationMode.NEGATIVE
    return statuses


bounded = hypothesis_settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
