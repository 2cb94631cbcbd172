"""An HTTP server that answers as it is told: on a real socket, in threads of its own, so that both clients can call it."""

import inspect
import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "cmi_dev_0a1b2c3d_Zm9yLXRlc3RzLW9ubHk"

MEMORY = {
    "id": "m1",
    "content": "Deploys run from ci.example.com",
    "tier": "L1",
    "domains": ["deployment", "ci"],
    "accessCount": 2,
    "source": "api",
    "sessionId": "s1",
    "createdAt": 1_767_225_600_000,
    "lastAccessedAt": 1_767_225_600_001,
}
LEARNED = {
    "stored": [MEMORY],
    "mergedInto": [MEMORY],
    "counts": {"stored": 1, "merged": 1, "rejected": 1, "tensions": 0, "promoted": 0},
    "rejected": [{"content": "ok", "reason": "too short"}],
}
CONTEXT = {
    "text": "- Deploys run from ci.example.com",
    "entries": [{"id": "m1", "tier": "L1", "reason": "trigger", "gist": "Deploys", "body": "Deploys run", "tokens": 9}],
    "totalTokens": 9,
    "truncated": False,
}
SELF_MODEL = {
    "calibrationFactor": 1,
    "activeDomains": ["database"],
    "domains": {
        "database": {
            "reliabilityScore": 0.533,
            "sampleCount": 1,
            "knownFailurePatterns": ["lock"],
            "recommendedStrategies": [],
        }
    },
    "weakDomains": ["database"],
}
TENSION = {
    "id": "t1",
    "status": "active",
    "claimA": {"source": "user", "statement": "Ship on Friday", "timestamp": 1},
    "claimB": {"source": "api", "statement": "Never ship on Friday", "timestamp": 2},
    "impact": "medium",
    "actionableQuestion": "Which one?",
}
STATS = {
    "memories": {
        "total": 1,
        "byTier": {"L0": 0, "L1": 1, "L2": 0, "L3": 0},
        "sessions": 1,
        "firstStoredAt": 1,
        "lastAccessedAt": 2,
    },
    "tensions": {"active": 1},
    "weakDomains": [{"domain": "database", "reliabilityScore": 0.533, "sampleCount": 1}],
    "recent": [MEMORY],
    "activeTensions": [TENSION],
}
HEALTH = {
    "ok": True,
    "service": "memory",
    "version": "1",
    "extractor": "rules-only",
    "limits": {"maxTotalTokens": 2000, "maxIndexItems": 60, "defaultRecallLimit": 8},
    "problems": [],
}
RECALLED = {"results": [{"memory": MEMORY, "score": 0.5}], "empty": False}
# By method and the first part of the path, as the service would answer if all went well.
USUAL: dict[tuple[str, str], Any] = {
    ("GET", "health"): HEALTH,
    ("POST", "context"): CONTEXT,
    ("POST", "recall"): RECALLED,
    ("POST", "turns"): LEARNED,
    ("POST", "memories"): LEARNED,
    ("PATCH", "memories"): {"memory": MEMORY},
    ("DELETE", "memories"): {"deleted": True, "id": "m1"},
    ("POST", "tensions"): {"tension": TENSION},
    ("GET", "self-model"): SELF_MODEL,
    ("POST", "self-model"): SELF_MODEL,
    ("GET", "stats"): STATS,
}


@dataclass(frozen=True)
class Seen:
    """A request as it arrived. Headers have names in lower case and all their values, `path` is not decoded."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def call(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Reply:
    """What to answer: JSON, or `raw` bytes instead; `drop` closes the connection without a word."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    drop: bool = False
    then: Callable[[BaseHTTPRequestHandler], None] | None = None


def refused(status: int, error: str, **more: Any) -> Reply:
    """An answer in the service's form of an error."""
    return Reply(status, {"error": error, "message": f"{error} it is", **more})


async def told(value: Any) -> Any:
    """What a call of either client gave."""
    return await value if inspect.isawaitable(value) else value


class ScriptedService:
    """Answers with `replies`, first to last, then as a service would to which nothing happens."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.replies: deque[Reply] = deque()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def calls(self) -> list[str]:
        """Method and path of each request, without the base path."""
        return [request.call.replace("/api/v1", "") for request in self.seen]

    def reply(self, *replies: Reply) -> None:
        """Answer the next requests with these."""
        self.replies.extend(replies)

    def next_reply(self, request: Seen) -> Reply:
        """The answer to a request."""
        self.seen.append(request)
        if self.replies:
            return self.replies.popleft()
        parts = request.path.partition("?")[0].removeprefix("/api/v1/").split("/")
        if request.method == "GET" and parts[0] in ("memories", "tensions"):
            many = {"memories": [MEMORY]} if parts[0] == "memories" else {"tensions": [TENSION]}
            return Reply(body={"memory": MEMORY} if len(parts) > 1 else many)
        return Reply(body=USUAL[request.method, parts[0]])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


def _handler(service: ScriptedService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Silence."""

        def answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            content = self.rfile.read(length)
            headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
            body = json.loads(content) if content else None
            reply = service.next_reply(Seen(self.command, self.path, headers, body))
            if reply.drop:
                self.close_connection = True
                return
            payload = json.dumps(reply.body).encode() if reply.raw is None else reply.raw
            self.send_response(reply.status)
            for name, value in {"content-length": str(len(payload)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)
            if reply.then is not None:
                self.wfile.flush()
                reply.then(self)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the names http.server looks up

    return Handler
