"""What tests of the agent share: an agent on the harness's server and model, and an API to call."""

import json
from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI

from activities.controllers.policy import Rule
from tests.activities.recording import Recorded, RecordingServer, answer
from tests.support import Harness
from worker.app import ClassController, HttpController
from worker.nestia import NestiaAgent

RUN = [Rule("run")]
# Every phase, however few functions there are.
PHASES: dict[str, Any] = {"threshold": 0, "initialize": True, "locale": "en-US", "timezone": "UTC"}
DIRECT: dict[str, Any] = {**PHASES, "initialize": False}


class Calculator:
    """A calculator that remembers what it was asked."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.log.append(("add", a, b))
        return a + b

    def divide(self, a: int, b: int) -> float:
        """Divide a number by another."""
        self.log.append(("divide", a, b))
        return a / b


class Getter:
    """Something with a method that others have too."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, key: str) -> str:
        """Get a value."""
        return f"{self.name}:{key}"


def agent_of(harness: Harness, *controllers: Any, config: dict[str, Any] | None = None, **given: Any) -> NestiaAgent:
    """An agent over the harness's server, model and database."""
    return NestiaAgent(
        provider=provider(harness),
        controllers=controllers,
        config=DIRECT if config is None else config,
        temporal=harness.client,
        database_url=harness.settings.database_url,
        **given,
    )


def provider(harness: Harness, **options: Any) -> dict[str, Any]:
    """The scripted model as a provider."""
    api = AsyncOpenAI(api_key="sk-of-the-nestia-tests", base_url=harness.model.base_url)
    harness.stack.push_async_callback(api.close)
    return {"type": "chatgpt", "api": api, "model": "scripted-1", **options}


def calculator(made: Calculator | None = None) -> ClassController:
    """A controller of one calculator."""
    return ClassController(name="calc", instance=made or Calculator())


def choose(*names: str, tool: str = "selectFunctions") -> list[tuple[str, dict[str, Any]]]:
    """A call of a tool that chooses."""
    return [(tool, {"functions": [{"reason": f"{name} is wanted", "name": name} for name in names]})]


def offered(request: dict[str, Any]) -> list[str]:
    """The functions that a request offers, without the search in memory."""
    names = [each["function"]["name"] for each in request.get("tools", [])]
    return [name for name in names if name != "search_memory"]


def sources(harness: Harness) -> list[str]:
    """The phase of each request, by the tool it offers."""
    phases = {"getApiFunctions": "initialize", "selectFunctions": "select", "cancelFunctions": "cancel"}
    return [
        "describe" if request.get("tool_choice") == "none" else phases.get((offered(request) or [""])[0], "execute")
        for request in harness.model.requests
    ]


def kinds(prompts: list[dict[str, Any]]) -> list[str]:
    """The types of entries."""
    return [prompt["type"] for prompt in prompts]


def last_user(request: dict[str, Any]) -> str:
    """What the user said last."""
    return next(str(each["content"]) for each in reversed(request["messages"]) if each["role"] == "user")


class Shop:
    """A shop behind HTTP: `/orders` and `/orders/{id}`. `answers` are given first, in order: a status and a body."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.orders = 0
        self.server = RecordingServer(self._respond)
        self.before_answer: Callable[[Recorded], None] = lambda request: None

    @property
    def posts(self) -> list[Any]:
        """The bodies of the orders that came."""
        return [json.loads(each.body) for each in self.server.requests if each.method == "POST"]

    def controller(self, **given: Any) -> HttpController:
        """The shop as a controller that runs every call."""
        return shop_controller(self.server.url, **given)

    def _respond(self, request: Recorded) -> bytes:
        self.before_answer(request)
        if self.answers:
            status, body = self.answers.pop(0)
        elif request.method == "POST":
            self.orders += 1
            status, body = 201, {"id": "zz9", "article": json.loads(request.body)["article"]}
        else:
            status, body = 200, {"id": request.target.rpartition("/")[2], "state": "new"}
        return answer(f"{status} OK", json.dumps(body).encode(), "application/json", "Set-Cookie: sid=s3cr3t")


def shop_controller(host: str, **given: Any) -> HttpController:
    """The shop at that address as a controller."""
    usual = {"connection": {"host": host}, "allow_private_addresses": True, "policy": RUN}
    return HttpController(name="shop", document=DOCUMENT, **{**usual, **given})


DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {
            "post": {
                "summary": "Order an article.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["article"],
                                "properties": {
                                    "article": {"type": "string"},
                                    "password": {"type": "string", "x-secret": True},
                                },
                            }
                        }
                    },
                },
                "responses": {"201": {"description": "ok"}},
            }
        },
        "/orders/{id}": {
            "get": {
                "summary": "Read an order.",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok"}},
            }
        },
    },
}
