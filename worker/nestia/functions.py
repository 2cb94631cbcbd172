"""The controllers of a Nestia agent as the app of its worker, and the operations that come of them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from activities.controllers.controller import Controller, Function, Listing, Opening
from activities.controllers.opening import Opened
from activities.controllers.policy import Predicate, Rule
from activities.guardrail import Guardrail, Judge
from activities.personas import Persona
from worker.app import AgentApp
from worker.nestia.prompts import Operation

DEFAULT_RETRY = 3


class NestiaApp(AgentApp):
    """An app of one persona that has every function of the controllers, and no other tool but the search in memory."""

    def __init__(
        self,
        controllers: Sequence[Controller],
        retry: int | None,
        predicates: Mapping[str, Predicate] | None,
        executors: Mapping[str, Any] | None,
        guardrails: Iterable[Guardrail | Judge],
    ) -> None:
        persona = Persona(id="nestia", name="Assistant", tool_ids=tuple(f"{each.name}.*" for each in controllers))
        corrected = [_Corrected(each, retry) for each in controllers]
        super().__init__(
            personas=[persona],
            controllers=corrected,
            predicates=predicates,
            executors=executors,
            guardrails=guardrails,
        )
        self._operations: dict[str, Operation] = {}
        self._by_key: dict[tuple[str, str], Operation] = {}

    async def open(self, stack: AsyncExitStack) -> Opened:
        """See the base class."""
        opened = await super().open(stack)
        for name in opened.tools.names:
            made = opened.tools.get(name)
            facts = made.facts if made is not None else None
            if facts is not None:
                operation = Operation.of(facts.protocol, facts.controller, facts.function, name)
                assert operation is not None
                self._operations[name] = self._by_key[operation.key] = operation
        return opened

    def named(self, name: str) -> Operation | None:
        """The operation that the model calls so, once the worker runs."""
        return self._operations.get(name)

    def find(self, controller: str, function: str) -> Operation | None:
        """The operation of that controller and function, whatever the model calls it; None for one that is gone."""
        return self._by_key.get((controller, function))


class _Corrected:
    """A controller whose functions may be corrected as often as the agent's configuration says."""

    def __init__(self, controller: Controller, retry: int | None) -> None:
        self._controller = controller
        self._retry = retry

    @property
    def name(self) -> str:
        return self._controller.name

    @property
    def rules(self) -> Sequence[Rule]:
        return self._controller.rules

    async def open(self, opening: Opening) -> Listing:
        listing = await self._controller.open(opening)
        return replace(listing, functions=tuple(self._bounded(each) for each in listing.functions))

    def _bounded(self, function: Function) -> Function:
        own = DEFAULT_RETRY if function.tool.corrections is None else function.tool.corrections
        corrections = own if self._retry is None else self._retry
        return replace(function, tool=replace(function.tool, corrections=corrections))
