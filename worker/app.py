"""The app: what an agent is made of. This is the module that users import."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from activities.controllers.classes import ClassController
from activities.controllers.controller import Controller, ControllerInvalid
from activities.controllers.http import HttpController
from activities.controllers.mcp.controller import McpController
from activities.controllers.opening import Opened, open_controllers
from activities.controllers.policy import FunctionFacts, Predicate, Rule
from activities.documents import Document, DocumentUnreadable, read_document
from activities.guardrail import Block, GuardContext, Guardrail, Judge, Pass, Sanitise, as_guardrail, guardrail
from activities.output_parts import UICommand
from activities.personas import Persona, Personas, UICommandKind
from activities.registry import ToolRegistry
from activities.retrieval import RetrievalContext, Retriever
from activities.sources import RagRetrievedChunk
from activities.tool import Tool, ToolContext, tool
from activities.tool_replies import AudioOutput, ImageOutput, Reply
from worker.persona_files import load_personas

__all__ = [
    "AgentApp",
    "AppInvalid",
    "AudioOutput",
    "Block",
    "ClassController",
    "Document",
    "FunctionFacts",
    "GuardContext",
    "Guardrail",
    "HttpController",
    "ImageOutput",
    "McpController",
    "Pass",
    "Persona",
    "RagRetrievedChunk",
    "Reply",
    "RetrievalContext",
    "Retriever",
    "Rule",
    "Sanitise",
    "ToolContext",
    "UICommand",
    "UICommandKind",
    "guardrail",
    "load_app",
    "load_personas",
    "tool",
]


class AppInvalid(Exception):
    """The app cannot be loaded; the message says why."""


class AgentApp:
    """Personas, tools and controllers. Without personas there is one, `default`; without tools the model only talks and
    remembers.

    The functions of controllers join the tools when a worker opens the app. `predicates` are functions that rules and
    `separate` name, `executors` functions that controllers name under `execute`: names are data, so they can be told apart
    and logged, while functions stay in the process. `retriever` looks things up for personas with a `ragConfig`. `guardrails`
    judge what is said to a persona and by it, in this order.

    Raises:
        ValueError: a name stands twice, a persona names a tool or a guardrail that does not exist, or a rule names a predicate
            that is not given; or a document of a persona cannot be read.
    """

    def __init__(
        self,
        *,
        personas: Iterable[Persona] = (),
        tools: Iterable[Tool | Callable[..., Any]] = (),
        controllers: Iterable[Controller] = (),
        predicates: Mapping[str, Predicate] | None = None,
        executors: Mapping[str, Any] | None = None,
        retriever: Retriever | None = None,
        guardrails: Iterable[Guardrail | Judge] = (),
    ) -> None:
        self._given: list[Persona] = []
        self.retriever = retriever
        self._own_tools = [each if isinstance(each, Tool) else tool(each) for each in tools]
        self.controllers = tuple(controllers)
        _refuse_twice("controllers", [controller.name for controller in self.controllers])
        self.guardrails = tuple(map(as_guardrail, guardrails))
        _refuse_twice("guardrails", [each.name for each in self.guardrails])
        self._predicates = dict(predicates or {})
        self._executors = dict(executors or {})
        _refuse_unknown(self.controllers, self._predicates)
        self._tools = ToolRegistry(self._own_tools)
        self.add_personas(personas)

    def add_personas(self, personas: Iterable[Persona]) -> None:
        """Personas from elsewhere beside the app's own. An app that gave none has these alone, the first as its default.

        Raises:
            ValueError: as the constructor.
        """
        given = [*self._given, *personas]
        used = given or [Persona(id="default", name="Assistant")]
        _refuse_twice("personas", [persona.id for persona in used])
        _refuse_unreadable(used)
        _refuse_unguarded(used, {each.name for each in self.guardrails})
        self._given, self.personas = given, Personas(used)
        if not self.controllers:
            self._tools.validate(self.personas)

    async def open(self, stack: AsyncExitStack) -> Opened:
        """All tools of a worker, with the controllers open until the stack is closed.

        Raises:
            AppInvalid: a controller cannot be opened, or a persona names a tool that does not exist.
        """
        if not self.controllers:
            return Opened(self._tools, ())
        try:
            opened = await open_controllers(stack, self._own_tools, self.controllers, self._predicates, self._executors)
            opened.tools.validate(self.personas)
        except (ControllerInvalid, ValueError) as fault:
            raise AppInvalid(str(fault)) from fault
        return opened


def _refuse_twice(what: str, names: list[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two {what} are called {', '.join(twice)}")


def _refuse_unreadable(personas: Iterable[Persona]) -> None:
    for persona in personas:
        for document in persona.documents:
            try:
                read_document(document)
            except DocumentUnreadable as fault:
                raise ValueError(f"persona {persona.id}: {fault}") from None


def _refuse_unguarded(personas: Iterable[Persona], known: set[str]) -> None:
    for persona in personas:
        if missing := sorted({*(persona.guardrails or ())} - known):
            names = ", ".join(missing)
            raise ValueError(f"persona {persona.id} names guardrails the app does not have: {names}")


def _refuse_unknown(controllers: Iterable[Controller], predicates: Mapping[str, Predicate]) -> None:
    if waiting := [name for name, each in predicates.items() if inspect.iscoroutinefunction(each)]:
        raise ValueError(f"predicates must not be async: {', '.join(waiting)}")
    for controller in controllers:
        named = {rule.predicate for rule in controller.rules if rule.predicate is not None}
        if missing := sorted(named - predicates.keys()):
            raise ValueError(
                f"controller {controller.name} names predicates the app does not have: {', '.join(missing)}"
            )


def load_app(reference: str | None) -> AgentApp:
    """The app that `module:attribute` names, as ASGI servers name theirs; a default app for None.

    Raises:
        AppInvalid: there is no such module, attribute or app.
    """
    if reference is None:
        return AgentApp()
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise AppInvalid(f"an app is named module:attribute, such as my_agents:app, not {reference!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        app = getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as fault:
        raise AppInvalid(f"the app {reference!r} cannot be imported: {fault}") from fault
    except AttributeError as fault:
        raise AppInvalid(f"the module {module_name!r} has no {attribute!r}") from fault
    except Exception as fault:
        raise AppInvalid(f"the app {reference!r} cannot be loaded: {type(fault).__name__}: {fault}") from fault
    if not isinstance(app, AgentApp):
        raise AppInvalid(f"{reference!r} is a {type(app).__name__}, not an AgentApp")
    return app
