"""Who may send a request at all: nothing of a stranger's body is read, and nobody sends more than their share."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.memory_service.errors import bootstrap_disabled, unauthorized
from worker.memory_service.service import Service

API = "/api/v1"
HEALTH = f"{API}/health"
KEYS = f"{API}/keys"
KEY_HEADER = "x-cognitive-memory-key"
_LONGEST_TOKEN = 1_000


class Admission:
    """An ASGI layer. Behind it, `scope["state"]["caller"]` says who calls every path of the API but `/health`."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in.

        Raises:
            ApiError: 401, 429, or 503 where a first key is wanted and nobody can make one.
        """
        if scope["type"] == "http" and scope["path"].startswith(f"{API}/") and scope["path"] != HEALTH:
            await self._admit(scope)
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        token = token_in(Headers(scope=scope))
        if token is None:
            if scope["path"] == KEYS and not self._service.authority.has_admin:
                raise bootstrap_disabled()
            raise unauthorized()
        authority = self._service.authority
        caller = authority.known(token)
        if caller is None:
            caller = await self._service.blocking(authority.identify, token)
        scope.setdefault("state", {})["caller"] = caller
        self._service.rates.spend(caller.id)


def token_in(headers: Headers) -> str | None:
    """The key that a request brings."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        token = headers.get(KEY_HEADER, "")
    token = token.strip()
    return token if 0 < len(token) <= _LONGEST_TOKEN else None
