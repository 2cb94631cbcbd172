"""From an app's controllers to the tools of its worker: opened, ruled over, checked, and named.

What cannot be offered is left out with a reason and costs nothing else. What would make the whole app wrong (a controller
that cannot be opened, a persona that names what nobody has) stops the worker before it starts.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from activities.controllers.controller import Controller, Exclusion, Listing, Opening
from activities.controllers.dialect import Unoffered, fit_for_models
from activities.controllers.names import aliases, offered_names
from activities.controllers.policy import Predicate, policy_for
from activities.http_client import HttpClient
from activities.json_values import encoded_size
from activities.memory_tools import MEMORY_TOOLS
from activities.registry import ToolRegistry
from activities.tool import Tool

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ControllerReport:
    """What became of one controller's functions. `names` are those the model sees, `size` the bytes of their schemas;
    `renamed` has name and original of those that the source calls otherwise."""

    controller: str
    names: tuple[str, ...]
    hidden: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    warnings: tuple[str, ...]
    size: int
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """The worker's tools, and how each controller fared."""

    tools: ToolRegistry
    reports: tuple[ControllerReport, ...]


async def open_controllers(
    stack: AsyncExitStack,
    own_tools: Sequence[Tool],
    controllers: Sequence[Controller],
    predicates: Mapping[str, Predicate],
    executors: Mapping[str, Any],
) -> Opened:
    """Open every controller, all at once; `stack` closes them. Raises `ControllerInvalid` for one that cannot be opened."""
    client = HttpClient()
    stack.push_async_callback(client.aclose)
    opening = Opening(stack, client, executors=executors, predicates=predicates)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.open(opening)) for each in controllers]
    except ExceptionGroup as faults:
        # The first to fail cancelled the others, so what it says is what there is to say.
        raise faults.exceptions[0] from None
    listings = [(controller, task.result()) for controller, task in zip(controllers, tasks, strict=True)]
    return assemble(own_tools, listings, predicates)


def assemble(
    own_tools: Sequence[Tool], listings: Sequence[tuple[Controller, Listing]], predicates: Mapping[str, Predicate]
) -> Opened:
    """The registry of the app's own tools and all functions that are offered."""
    sorted_out = [_Sorted.of(controller, listing, predicates) for controller, listing in listings]
    taken = [each.name for each in (*own_tools, *MEMORY_TOOLS)]
    offered = {key: tool for each in sorted_out for key, tool in each.offered.items()}
    names = offered_names(offered, taken)
    controllers = [controller.name for controller, _ in listings]
    tools = ToolRegistry(
        [*own_tools, *(replace(tool, name=names[key]) for key, tool in offered.items())],
        aliases=aliases(controllers, names, taken),
        controllers=controllers,
    )
    return Opened(tools, tuple(each.report(names) for each in sorted_out))


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The functions of one controller: those on offer by (controller, function) with what the source calls them, and the
    others."""

    controller: str
    offered: Mapping[_Key, Tool]
    originals: Mapping[_Key, str]
    hidden: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, controller: Controller, listing: Listing, predicates: Mapping[str, Predicate]) -> "_Sorted":
        offered: dict[_Key, Tool] = {}
        originals: dict[_Key, str] = {}
        hidden, exclusions = [], list(listing.exclusions)
        for function in listing.functions:
            name = function.facts.function
            policy = policy_for(function.facts, controller.rules, predicates, function.default)
            if not policy.is_offered:
                hidden.append(name)
                continue
            try:
                offered[controller.name, name] = fit_for_models(replace(function.tool, policy=policy))
            except Unoffered as fault:
                exclusions.append(Exclusion(name, str(fault)))
            else:
                originals[controller.name, name] = function.original or name
        return cls(controller.name, offered, originals, tuple(hidden), tuple(exclusions), listing.warnings)

    def report(self, names: Mapping[_Key, str]) -> ControllerReport:
        return ControllerReport(
            controller=self.controller,
            names=tuple(names[key] for key in self.offered),
            hidden=self.hidden,
            exclusions=self.exclusions,
            warnings=self.warnings,
            size=sum(encoded_size(tool.model_schema) for tool in self.offered.values()),
            renamed=tuple((names[key], own) for key, own in self.originals.items() if names[key] != own),
        )
