"""One caller at the service: what they may do, and their memory."""

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request
from starlette.responses import Response

from activities.memory_service import Change, Refusal, Repeatable, Reply
from activities.store.records import Scope
from memory_engine import CognitiveMemory
from memory_engine import Scope as Right
from worker.memory_service.answers import stored_answer
from worker.memory_service.authority import Caller
from worker.memory_service.clock import now_ms
from worker.memory_service.errors import forbidden, invalid_request
from worker.memory_service.service import Service

T = TypeVar("T")

IDEMPOTENCY_KEY = "idempotency-key"
_FORM = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Desk:
    """A request of a caller whose key opens the memory `scope`."""

    service: Service
    caller: Caller
    scope: Scope
    request: Request

    async def read(self, look: Callable[[CognitiveMemory], T]) -> T:
        """What `look` sees in the caller's memory, which it must not change or keep."""
        return await self.service.read(self.scope, look)

    async def answered(self) -> Response | None:
        """The answer of a request that was done before, so that no model is asked about it again.

        Raises:
            Refusal: its key is another request's, or what stood in the answer was removed.
        """
        request = repeatable(self.request)
        if request is None:
            return None
        found = await self.service.blocking(self.service.keeper.answered, self.scope, request, now_ms())
        if isinstance(found, Refusal):
            raise found
        return None if found is None else stored_answer(found)

    async def write(self, work: Callable[[CognitiveMemory, int], Reply]) -> Response:
        """Change the caller's memory; the answer is sent when it is stored. Sent again under its key, nothing happens."""
        change = Change(work, repeatable(self.request))
        return stored_answer(await self.service.writers.submit(self.scope, change))


def desk(right: Right) -> Callable[[Request], Awaitable[Desk]]:
    """A dependency: the desk of a caller who has a right."""

    async def dependency(request: Request) -> Desk:
        caller: Caller = request.state.caller
        if right not in caller.rights or caller.scope is None:
            raise forbidden(right)
        return Desk(request.app.state.service, caller, caller.scope, request)

    return dependency


def repeatable(request: Request) -> Repeatable | None:
    """Under which key a request may be sent again, if it names one.

    Raises:
        ApiError: 400, the key has another form.
    """
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is None:
        return None
    if not _FORM.fullmatch(key):
        raise invalid_request("Idempotency-Key: must be 1 to 200 visible ASCII characters")
    told = f"{request.method} {request.url.path}?{request.url.query}\n".encode("utf-8", "surrogateescape")
    return Repeatable(key, hashlib.sha256(told + request.state.body).hexdigest())
