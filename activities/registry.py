"""Which tools there are, who may use which, and whether a call's arguments fit. Effects are elsewhere."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from activities.contracts import PREVIEW_CHARS, ToolFacts
from activities.conversation import Arguments, ErrorDetails
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_NOT_FOUND
from activities.function_schema import ArgumentsInvalidError
from activities.json_schema import schema_fault
from activities.json_values import encoded_size
from activities.memory_tools import CHANGE_TOOLS, MEMORY_TOOLS, search_memory
from activities.personas import Persona, Personas
from activities.tool import Tool
from activities.turn_input import ExternalTool

_RESERVED = frozenset(each.name for each in MEMORY_TOOLS)


class ToolRegistry:
    """The worker's tools by name, and the tools of memory. Offers are in a fixed order.

    Every persona may search memory. The tools that change it (`remember`, `forget`, `resolve_tension`, `record_outcome`) are
    as any other tool: a persona that lists its tools has those it lists, one without a list has all. Memory learns from
    turns whether it has them or not.

    Raises:
        ValueError: two tools have one name (letter case aside), or one has the name of a tool of memory.
    """

    def __init__(self, tools: Iterable[Tool], *, memory: bool = True) -> None:
        self._tools = {each.name: each for each in _unique(tools)}
        self._memory = {each.name: each for each in MEMORY_TOOLS} if memory else {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the worker's tools, in the order given."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """The worker's tool of that name."""
        return self._tools.get(name)

    def validate(self, personas: Personas) -> None:
        """Check that every tool a persona names exists.

        Raises:
            ValueError: names each persona and the tools nobody has.
        """
        wrong = []
        for persona_id in personas.ids:
            persona = personas.get(persona_id)
            named = () if persona is None or persona.tool_ids is None else persona.tool_ids
            missing = [name for name in named if name not in self._tools and name not in _RESERVED]
            if missing:
                wrong.append(f"persona {persona_id} names tools that do not exist: {', '.join(missing)}")
        if wrong:
            raise ValueError("; ".join(wrong))

    def definitions(self, persona: Persona, external_tools: Iterable[ExternalTool]) -> list[dict[str, Any]]:
        """The tools of a turn as Chat Completions takes them: the worker's, the memory's, the host's."""
        own = [_definition(each.name, each.description, each.input_schema) for each in self._offered(persona)]
        return own + [_definition(each.name, each.description, each.input_schema) for each in external_tools]

    def clashes(self, persona: Persona, external_tools: Iterable[ExternalTool]) -> list[str]:
        """Names of external tools that another tool of the turn has already, letter case aside."""
        taken = Counter(each.name.casefold() for each in self._offered(persona))
        clashing = []
        for each in external_tools:
            taken[each.name.casefold()] += 1
            if taken[each.name.casefold()] == 2:
                clashing.append(each.name)
        return clashing

    def facts(self, persona: Persona, external_tools: Iterable[ExternalTool], name: str) -> ToolFacts | None:
        """What to know of a tool before it is run or waited for; None when this persona has no such tool now.

        A worker tool that needs approval brings its schema, so that edited arguments can be checked; an external one does
        not, because the turn's input has it.
        """
        for each in self._offered(persona):
            if each.name == name:
                return _facts(each, "memory" if each.name in self._memory else "worker")
        if any(each.name == name for each in external_tools):
            return ToolFacts(kind="external")
        return None

    def check(self, name: str, arguments: Arguments, external_tools: Iterable[ExternalTool]) -> ErrorDetails | None:
        """Why a call with these arguments must not run, in words the model can act on; None when it may."""
        external = next((each for each in external_tools if each.name == name), None)
        if external is not None:
            return _check_external(external, arguments)
        own = self._memory.get(name) or self.get(name)
        if own is None:
            return ErrorDetails(code=TOOL_NOT_FOUND, message=f"There is no tool {name[:100]}.")
        try:
            own.bind(arguments)
        except ArgumentsInvalidError as fault:
            return invalid_arguments(name, str(fault))
        return None

    def _offered(self, persona: Persona) -> Iterator[Tool]:
        allowed = persona.tool_ids
        yield from (each for each in self._tools.values() if allowed is None or each.name in allowed)
        if self._memory:
            yield search_memory
            yield from (each for each in CHANGE_TOOLS if allowed is None or each.name in allowed)


def invalid_arguments(name: str, fault: str) -> ErrorDetails:
    """The error of a call whose arguments do not fit."""
    return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message=f"The arguments of {name} are invalid. {fault}")


def _unique(tools: Iterable[Tool]) -> Iterator[Tool]:
    seen = set(_RESERVED)
    for each in tools:
        if each.name.casefold() in seen:
            raise ValueError(f"two tools are named {each.name}")
        seen.add(each.name.casefold())
        yield each


def _definition(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    # Providers refuse parameters that do not say they are an object, though a schema may leave it out.
    parameters = {"type": "object", "properties": {}, **schema}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _facts(own: Tool, kind: Literal["worker", "memory"]) -> ToolFacts:
    shown = own.needs_approval and encoded_size(own.input_schema) <= PREVIEW_CHARS
    return ToolFacts(
        kind=kind,
        needs_approval=own.needs_approval,
        repeatable=own.repeatable,
        timeout=own.timeout,
        retries=own.retries,
        input_schema=own.input_schema if shown else None,
    )


def _check_external(external: ExternalTool, arguments: Arguments) -> ErrorDetails | None:
    try:
        fault = schema_fault(external.input_schema, arguments, "arguments")
    except ValueError:
        # Nothing to judge by. The host that wrote the schema runs the tool and can refuse the call itself.
        return None
    return None if fault is None else invalid_arguments(external.name, fault)
