"""The public methods of a Python object as functions."""

import functools
import inspect
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from activities.controllers.controller import Exclusion, Function, Listing, Opening, checked_name
from activities.controllers.names import fit_name
from activities.controllers.policy import FunctionFacts, Rule
from activities.tool import Tool, tool

_BINDING = (staticmethod, classmethod, functools.partialmethod, functools.singledispatchmethod, Tool)
# What these packages give every object (`model_dump`, `register`) is nothing that an agent should call.
_FOREIGN = frozenset({*sys.stdlib_module_names, "pydantic", "typing_extensions"} - {"__main__"})


class ClassController:
    """An object whose public methods the agent may call.

    Methods are read as tools are: types and docstrings make the schema, `*args` and `**kwargs` are left out, a parameter
    annotated `ToolContext` is filled in. A method decorated with `tool(...)` has those options; any other one is taken to
    have side effects that must not be repeated, and runs without approval unless a rule says otherwise. Static and class
    methods count; properties, names that begin with `_` and what a base class of the standard library or pydantic brings do
    not. A method that cannot be a tool is left out with its reason.

    Args:
        name: what rules, personas and histories call it.
        instance: the object. Its methods may be called by several turns at once, sync ones in threads.
        policy: rules, the first that fits decides.

    Raises:
        ValueError: the name cannot be used, or `instance` is a class.
    """

    def __init__(self, name: str, instance: Any, policy: Sequence[Rule] = ()) -> None:
        self.name = checked_name(name)
        if isinstance(instance, type):
            raise ValueError(f"controller {name} needs an object of {instance.__name__}, not the class")
        self.rules = tuple(policy)
        self._instance = instance

    def __repr__(self) -> str:
        return f"ClassController({self.name!r})"

    async def open(self, opening: Opening) -> Listing:
        """The methods, in the order in which the classes define them, the object's own class first."""
        functions: dict[str, Function] = {}
        exclusions = []
        for method in _public_methods(type(self._instance)):
            try:
                made = _as_tool(method, getattr(self._instance, method))
            except Exception as fault:
                # Reading a method runs its author's annotations and descriptors, which may raise anything.
                exclusions.append(Exclusion(method, str(fault) or type(fault).__name__))
                continue
            if made.name.casefold() in functions:
                exclusions.append(Exclusion(method, f"another method is called {made.name} already"))
            else:
                functions[made.name.casefold()] = self._function(made, method)
        return Listing(tuple(functions.values()), tuple(exclusions))

    def _function(self, made: Tool, method: str) -> Function:
        facts = FunctionFacts(controller=self.name, function=made.name, protocol="class", description=made.description)
        original = method if made.name == fit_name(method) else None
        return Function(facts, made, "approve" if made.needs_approval else "run", original)


def _public_methods(cls: type) -> Iterator[str]:
    seen = set()
    for each in cls.__mro__:
        if each.__module__.partition(".")[0] in _FOREIGN:
            continue
        for name, value in vars(each).items():
            if not name.startswith("_") and name not in seen and _is_method(value):
                yield name
            seen.add(name)


def _is_method(value: Any) -> bool:
    return isinstance(value, _BINDING) or (inspect.isroutine(value) and callable(value))


def _as_tool(name: str, method: Any) -> Tool:
    """The method as a tool under the name it has in the class: what wraps a method, or is a part of one, has another."""
    return method if isinstance(method, Tool) else tool(name=fit_name(name))(method)
