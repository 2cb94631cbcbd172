"""Choosing functions at the start of a turn: cancel what is no longer wanted, then select what the message needs.

Only asks and keeps; what a choice means is decided in `function_stack`.
"""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    import workflows.limits as limiting
    from activities.conversation import ErrorDetails
    from activities.selection import ChoicePhase, ChoiceReply, ChoiceRequest
    from workflows.function_stack import FunctionStack, winners
    from workflows.turn_state import TurnState

Ask = Callable[[ChoiceRequest], Awaitable[ChoiceReply]]
# Gives the host the chance to raise a limit that is reached; the error of one that stays.
MoreBudget = Callable[[], Awaitable[ErrorDetails | None]]


class ChoiceEnded(Exception):
    """A reply ended the turn: a refusal, or a filter."""

    def __init__(self, error: ErrorDetails) -> None:
        super().__init__(error.message)
        self.error = error


class FunctionChoice:
    """The choice of one turn."""

    def __init__(self, state: TurnState, ask: Ask, more_budget: MoreBudget) -> None:
        self._state = state
        self._ask = ask
        self._more_budget = more_budget

    @property
    def _stack(self) -> FunctionStack:
        return self._state.stack

    async def make(self) -> bool:
        """Whether the turn goes on; if not, nothing is to be called and the model has answered in words.

        Raises:
            ChoiceEnded: a reply ended the turn.
        """
        stack = self._stack
        if stack.options.initialize and not stack.ready and await self._may_ask():
            [reply] = await self._once("initialize")
            if not reply.wanted:
                return not self._state.text
            stack.ready = True
        if stack.entries:
            await self._until_usable("cancel")
        await self._select()
        return bool(stack.entries) or not self._state.text

    async def _select(self) -> None:
        groups = self._stack.groups
        # Divided, it takes a question for each group and one for the winners. Where a limit does not leave as many, all
        # functions are asked about at once.
        if groups == 1 or not await self._may_ask(groups + 1):
            await self._until_usable("select")
            return
        chosen = winners([reply.chosen for reply in await self._once("select", groups=groups)])
        if self._stack.options.eliticism:
            among = tuple(dict.fromkeys(each.name for each in chosen))
            if among:
                await self._until_usable("select", among)
        else:
            self._stack.push(chosen, self._state.key, self._state.progress.model_calls)

    async def _until_usable(self, phase: ChoicePhase, among: tuple[str, ...] | None = None) -> None:
        """Ask until the choice has no fault, as often as the options allow. What could be used counts each time."""
        for _ in range(1 + self._stack.options.retry):
            if not await self._may_ask():
                return
            [reply] = await self._once(phase, among=among)
            if phase == "cancel":
                self._stack.drop(each.name for each in reply.chosen)
            else:
                self._stack.push(reply.chosen, self._state.key, self._state.progress.model_calls)
            if not reply.faults:
                return

    async def _once(
        self, phase: ChoicePhase, *, among: tuple[str, ...] | None = None, groups: int = 1
    ) -> list[ChoiceReply]:
        state = self._state
        requests = [
            ChoiceRequest(
                turn_id=state.key,
                conversation_id=state.conversation_id,
                phase=phase,
                call=state.progress.model_calls,
                rows=state.rows,
                row=state.rows + group,
                stack=tuple(self._stack.entries) if phase == "cancel" else (),
                among=among,
                group=group,
                groups=groups,
                options=state.options,
                now_ms=int(workflow.now().timestamp() * 1000),
            )
            for group in range(groups)
        ]
        replies = await asyncio.gather(*map(self._ask, requests))
        for reply in replies:
            state.take_choice(phase, reply, workflow.now())
        if error := next((reply.error for reply in replies if reply.error is not None), None):
            raise ChoiceEnded(error)
        return replies

    async def _may_ask(self, questions: int = 1) -> bool:
        """Whether so many questions leave a model call for the words that end the turn; a host that is asked may give it."""
        if await self._more_budget():
            return False
        limits, progress = self._state.limits, self._state.progress
        if not limiting.may_call_tools(limits, progress):
            return False
        if limits.max_model_calls is None or (limits.on_limit == "ask" and questions == 1):
            return True
        return progress.calls + questions < limits.max_model_calls
