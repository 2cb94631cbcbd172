"""Which tools there are, who may use which, and whether a call's arguments fit. Effects are elsewhere."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from activities.contracts import PREVIEW_CHARS, ToolFacts
from activities.controllers.catalogue import ListedFunction
from activities.controllers.grants import Grants
from activities.conversation import Arguments, ErrorDetails
from activities.delegation import FACTS as AGENT_FACTS
from activities.delegation import TOOL_NAME as DELEGATE
from activities.delegation import agents_fault
from activities.errors import TOOL_ARGUMENTS_INVALID, TOOL_CALL_REJECTED, TOOL_NOT_FOUND
from activities.function_schema import ArgumentsInvalidError
from activities.json_schema import schema_fault
from activities.json_values import encoded_size
from activities.memory_tools import CHANGE_TOOLS, MEMORY_TOOLS, search_memory
from activities.openapi.strict_arguments import without_left_out
from activities.personas import Persona, Personas
from activities.tool import Tool
from activities.turn_input import ExternalTool
from activities.ui_commands import FACTS as UI_FACTS
from activities.ui_commands import TOOL_NAME as UI_COMMAND
from activities.ui_commands import definition as ui_definition
from activities.ui_commands import kinds_fault

# What OpenAI takes in one request; more is refused whole.
MAX_OFFERED = 128
# At four bytes to a token the whole context of many models, which refuse what does not fit in it.
MAX_OFFERED_BYTES = 512_000
_KEPT_OFFERS = 256
_RESERVED = frozenset({*(each.name for each in MEMORY_TOOLS), UI_COMMAND})


class ToolRegistry:
    """The worker's tools by name, functions of controllers among them, and the tools of memory. Offers are in a fixed order.

    Every persona may search memory. The tools that change it (`remember`, `forget`, `resolve_tension`, `record_outcome`) are
    as any other tool: a persona that lists its tools has those it lists, one without a list has all. Memory learns from
    turns whether it has them or not.

    `aliases` are further names under which tools are found, though never offered; `controllers` those that personas may name
    whole, even where they offer nothing.

    Raises:
        ValueError: two tools have one name (letter case aside), one has the name of a tool of memory or `ui_command`, or one is
            made of a method and belongs to no object.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        memory: bool = True,
        aliases: Mapping[str, str] | None = None,
        controllers: Iterable[str] = (),
    ) -> None:
        self._tools = {each.name: each for each in _unique(tools)}
        self._memory = {each.name: each for each in MEMORY_TOOLS} if memory else {}
        self._aliases = {alias: name for alias, name in (aliases or {}).items() if alias not in self._tools}
        self._grants = Grants(self._tools.values(), self._aliases, controllers)
        # Every call of a turn asks what is offered; there are few personas and there may be a thousand tools.
        self._offers = lru_cache(_KEPT_OFFERS)(self._select)
        self._sizes = lru_cache(_KEPT_OFFERS)(self._measure)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the worker's tools, in the order given."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """The worker's tool of that name or alias."""
        return self._tools.get(self._aliases.get(name, name))

    def validate(self, personas: Personas) -> None:
        """Check that every tool and sub-agent a persona names exists, and that the schemas of its UI commands can be used.

        Raises:
            ValueError: names each persona, and what of it cannot be used.
        """
        wrong = []
        for persona_id in personas.ids:
            persona = personas.get(persona_id)
            named = () if persona is None or persona.tool_ids is None else persona.tool_ids
            missing = [name for name in named if name not in _RESERVED and not self._grants.knows(name)]
            if missing:
                wrong.append(f"persona {persona_id} names tools that do not exist: {', '.join(missing)}")
            if persona is not None and (fault := kinds_fault(persona.ui_commands)):
                wrong.append(f"persona {persona_id}: {fault}")
            if persona is not None and (fault := agents_fault(persona, personas, (*self._tools, *self._aliases))):
                wrong.append(f"persona {persona_id} {fault}")
        if wrong:
            raise ValueError("; ".join(wrong))

    def definitions(
        self, persona: Persona, external_tools: Iterable[ExternalTool], only: Collection[str] | None = None
    ) -> list[dict[str, Any]]:
        """The tools of a turn as Chat Completions takes them: the worker's, the memory's, that of UI commands, the host's.

        That of sub-agents is not among them: who they are is not for a list of tools to know.

        With `only`, those of these names, the tools of memory and that of UI commands.
        """
        own = [each for each in self._offered(persona).values() if _is_wanted(each.name, only, self._memory)]
        external = [each for each in external_tools if _is_wanted(each.name, only, ())]
        return [
            *map(_own_definition, own),
            *((ui_definition(persona.ui_commands),) if persona.ui_commands else ()),
            *(_definition(each.name, each.description, each.input_schema) for each in external),
        ]

    def listed(self, persona: Persona, external_tools: Iterable[ExternalTool]) -> tuple[ListedFunction, ...]:
        """What a model chooses from before it sees any schema: everything offered but the tools of memory."""
        own = [_listed(each) for each in self._offered(persona).values() if each.name not in self._memory]
        return (*own, *(ListedFunction(each.name, each.description) for each in external_tools))

    def excess(self, persona: Persona, external_tools: Collection[ExternalTool]) -> str | None:
        """Why a turn cannot offer all its tools at once, and what to do about it; None when it can."""
        count = len(self._offered(persona)) + bool(persona.ui_commands) + bool(persona.sub_agents) + len(external_tools)
        if count > MAX_OFFERED:
            said = f"{count} tools and a model takes {MAX_OFFERED}"
        elif (size := self._size(persona) + _size_of(external_tools)) > MAX_OFFERED_BYTES:
            said = f"{count} tools of {size:,} bytes and a request has room for {MAX_OFFERED_BYTES:,}"
        else:
            return None
        return (
            f"persona {persona.id} would be offered {said}: let the model choose first (toolSelection: select), name fewer "
            "in the persona's tool_ids, or hide some by rules (tag, method, path, name, operation_id)"
        )

    def clashes(self, persona: Persona, external_tools: Iterable[ExternalTool]) -> list[str]:
        """Names of external tools that another tool of the turn has already, letter case aside."""
        taken = Counter(name.casefold() for name in self._offered(persona))
        taken.update((UI_COMMAND,) if persona.ui_commands else ())
        taken.update((DELEGATE,) if persona.sub_agents else ())
        clashing = []
        for each in external_tools:
            taken[each.name.casefold()] += 1
            if taken[each.name.casefold()] == 2:
                clashing.append(each.name)
        return clashing

    def facts(
        self, persona: Persona, external_tools: Iterable[ExternalTool], name: str, arguments: Arguments | None = None
    ) -> ToolFacts | None:
        """What to know of a tool before it is run or waited for; None when this persona has no such tool now.

        `arguments` are those of the call that is judged; without them the facts are those of the most careful case. A tool
        that needs approval, or that the host runs for the worker, brings its schema; one of the host does not, because the
        turn's input has it.
        """
        external = any(each.name == name for each in external_tools)
        if name == UI_COMMAND and persona.ui_commands:
            return UI_FACTS
        if name == DELEGATE and persona.sub_agents:
            return AGENT_FACTS
        own = self._offered(persona).get(name if external else self._aliases.get(name, name))
        if own is not None:
            return _facts(own, "memory" if own.name in self._memory else "worker", arguments)
        return ToolFacts(kind="external") if external else None

    def given(self, name: str, arguments: Arguments, external_tools: Iterable[ExternalTool]) -> Arguments:
        """The arguments of a call as its tool takes them: in strict mode what was left out comes as null."""
        own = None if any(each.name == name for each in external_tools) else self.get(name)
        if own is None or own.strict_schema is None:
            return arguments
        return without_left_out(own.model_schema, arguments)

    def check(self, name: str, arguments: Arguments, external_tools: Iterable[ExternalTool]) -> ErrorDetails | None:
        """Why a call with these arguments must not run, in words the model can act on; None when it may."""
        external = next((each for each in external_tools if each.name == name), None)
        if external is not None:
            return _check_external(external, arguments)
        own = self._memory.get(name) or self.get(name)
        if own is None:
            return ErrorDetails(code=TOOL_NOT_FOUND, message=f"There is no tool {name[:100]}.")
        return _check_own(own, name, arguments)

    def _offered(self, persona: Persona) -> dict[str, Tool]:
        return self._offers(persona.tool_ids, persona.remembers)

    def _size(self, persona: Persona) -> int:
        return self._sizes(persona.tool_ids, persona.remembers)

    def _measure(self, tool_ids: tuple[str, ...] | None, remembers: bool) -> int:
        own = self._offers(tool_ids, remembers).values()
        return sum(encoded_size(_own_definition(each)) for each in own)

    def _select(self, tool_ids: tuple[str, ...] | None, remembers: bool) -> dict[str, Tool]:
        granted = None if tool_ids is None else self._grants.names(tool_ids)
        own = {name: each for name, each in self._tools.items() if granted is None or name in granted}
        if not self._memory or not remembers:
            return own
        changing = {each.name: each for each in CHANGE_TOOLS if tool_ids is None or each.name in tool_ids}
        return {**own, search_memory.name: search_memory, **changing}


def invalid_arguments(name: str, fault: str) -> ErrorDetails:
    """The error of a call whose arguments do not fit."""
    return ErrorDetails(code=TOOL_ARGUMENTS_INVALID, message=f"The arguments of {name} are invalid. {fault}")


def _unique(tools: Iterable[Tool]) -> Iterator[Tool]:
    seen = {name.casefold() for name in _RESERVED}
    for each in tools:
        if each.name.casefold() in seen:
            raise ValueError(f"two tools are named {each.name}")
        if each.for_object is not None:
            raise ValueError(f"tool {each.name} is made of a method: take it from an object of the class")
        seen.add(each.name.casefold())
        yield each


def _is_wanted(name: str, only: Collection[str] | None, always: Collection[str]) -> bool:
    return only is None or name in only or name in always


def _definition(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    # Providers refuse parameters that do not say they are an object, though a schema may leave it out.
    parameters = {"type": "object", "properties": {}, **schema}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _own_definition(own: Tool) -> dict[str, Any]:
    made = _definition(own.name, own.description, own.strict_schema or own.model_schema)
    if own.strict_schema is not None:
        made["function"]["strict"] = True
    return made


def _size_of(external_tools: Iterable[ExternalTool]) -> int:
    return sum(encoded_size(_definition(each.name, each.description, each.input_schema)) for each in external_tools)


def _listed(own: Tool) -> ListedFunction:
    facts = own.facts
    if facts is None:
        return ListedFunction(own.name, own.description)
    return ListedFunction(own.name, own.description, facts.protocol, facts.method, facts.path, facts.tags)


def _facts(own: Tool, kind: Literal["worker", "memory"], arguments: Arguments | None) -> ToolFacts:
    action, origin = own.action(arguments), own.facts
    waits = action != "run"
    # The host that runs a call fills all of its arguments, so nobody is asked for a part of them.
    asked = own.separated.human_schema if own.separated is not None and action != "external" else None
    # A person who edits a call edits what the model wrote; the host fills all.
    schema = own.input_schema if action == "external" else own.model_schema
    return ToolFacts(
        kind=kind,
        # A predicate that was of another mind when the call was checked must not let it run unseen.
        needs_approval=action in ("approve", "hidden"),
        repeatable=own.repeatable,
        timeout=own.timeout,
        retries=own.retries,
        input_schema=schema if waits and encoded_size(schema) <= PREVIEW_CHARS else None,
        external=action == "external",
        human_schema=asked,
        controller=origin.controller if origin else None,
        function=origin.function if origin else None,
        protocol=origin.protocol if origin else None,
        correctable=own.corrections != 0,
        corrections=own.corrections or 0,
    )


def _check_own(own: Tool, name: str, arguments: Arguments) -> ErrorDetails | None:
    try:
        fault = _argument_fault(own, arguments)
    except ArgumentsInvalidError as invalid:
        fault = str(invalid)
    if fault is not None:
        return invalid_arguments(name, fault)
    if own.action(arguments) == "hidden":
        return ErrorDetails(code=TOOL_CALL_REJECTED, message=f"{name} must not be called with these arguments.")
    return None


def _argument_fault(own: Tool, arguments: Arguments) -> str | None:
    """What is wrong with the model's arguments; raises `ArgumentsInvalidError` where the tool itself says so."""
    if own.separated is None:
        own.bind(arguments)
        return None
    # The person's part is still missing, so the tool cannot judge the whole yet.
    return schema_fault(own.separated.model_schema, arguments, "arguments")


def _check_external(external: ExternalTool, arguments: Arguments) -> ErrorDetails | None:
    try:
        fault = schema_fault(external.input_schema, arguments, "arguments")
    except ValueError:
        # Nothing to judge by. The host that wrote the schema runs the tool and can refuse the call itself.
        return None
    return None if fault is None else invalid_arguments(external.name, fault)
