"""The app: what an agent is made of. This is the module that users import."""

import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from activities.personas import Persona, Personas
from activities.registry import ToolRegistry
from activities.tool import Tool, ToolContext, tool

__all__ = ["AgentApp", "AppInvalid", "Persona", "ToolContext", "load_app", "tool"]


class AppInvalid(Exception):
    """The app cannot be loaded; the message says why."""


class AgentApp:
    """Personas and tools. Without personas there is one, `default`; without tools the model only talks and remembers.

    Raises:
        ValueError: a name stands twice, or a persona names a tool that does not exist.
    """

    def __init__(self, *, personas: Iterable[Persona] = (), tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        given = list(personas) or [Persona(id="default", name="Assistant")]
        ids = [persona.id for persona in given]
        if twice := sorted({persona_id for persona_id in ids if ids.count(persona_id) > 1}):
            raise ValueError(f"two personas are called {', '.join(twice)}")
        self.personas = Personas(given)
        self.tools = ToolRegistry(each if isinstance(each, Tool) else tool(each) for each in tools)
        self.tools.validate(self.personas)


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
