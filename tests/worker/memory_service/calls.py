"""A caller of the memory service, and services to call: real ones, behind a socket of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from pydantic import SecretStr

from worker.memory_service.service import Service
from worker.memory_service.serving import serving
from worker.memory_service.settings import ServiceSettings

ADMIN = "the-admin-token-of-the-tests"
API = "/api/v1"
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a key, or with any other text where a key belongs."""

    http: httpx.AsyncClient
    key: str

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Send one request. Names of headers are written with `_`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key:
            given["authorization"] = f"Bearer {self.key}"
        sent = {} if body is None else {"json": body}
        return await self.http.request(method, f"{API}{path}", headers=given, **sent)

    async def get(self, path: str) -> Any:
        """What a GET answers when it succeeds."""
        return _succeeded(await self.send("GET", path))

    async def post(self, path: str, body: Any, **headers: str) -> Any:
        """What a POST answers when it succeeds."""
        return _succeeded(await self.send("POST", path, body, **headers))

    async def remember(self, *contents: str) -> Any:
        """State facts."""
        return await self.post("/memories", {"items": [{"content": content} for content in contents]})

    async def recalled(self, query: str) -> list[str]:
        """The texts that a query finds, best first."""
        found = await self.post("/recall", {"query": query})
        assert found["empty"] == (found["results"] == [])
        return [hit["memory"]["content"] for hit in found["results"]]


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs in this process."""

    url: str
    service: Service
    http: httpx.AsyncClient

    def with_key(self, key: str) -> Caller:
        """Somebody who sends this key."""
        return Caller(self.http, key)

    @property
    def admin(self) -> Caller:
        """Who has the admin token."""
        return self.with_key(ADMIN)

    async def caller(self, organization: str = "acme", **wanted: Any) -> Caller:
        """Somebody with a new key of an organisation."""
        minted = await self.admin.post("/keys", {"name": "test", "organizationId": organization, **wanted})
        return self.with_key(minted["key"])


def settings_for(database_url: str, **changes: Any) -> ServiceSettings:
    """Settings whose limits do not disturb a test."""
    given = ServiceSettings(database_url, SecretStr(ADMIN), rate=100_000, burst=100_000, shutdown_seconds=2)
    return replace(given, **changes)


@asynccontextmanager
async def running(settings: ServiceSettings) -> AsyncIterator[Running]:
    """A service on a free port."""
    async with serving(settings) as served, httpx.AsyncClient(base_url=served.url, timeout=SECONDS) as http:
        yield Running(served.url, served.service, http)


def refused(response: httpx.Response, status: int, error: str) -> dict[str, Any]:
    """The body of a refusal, which must have the one shape of all refusals."""
    body: dict[str, Any] = response.json()
    assert (response.status_code, body["error"]) == (status, error), response.text
    assert body["message"]
    assert body.keys() <= {"error", "message", "requiredScope", "resource", "id", "issues"}
    return body


def _succeeded(response: httpx.Response) -> Any:
    assert response.is_success, f"{response.status_code} {response.text}"
    return response.json()
