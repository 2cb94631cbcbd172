"""The agent instance: a workflow that lives as long as the agent does, and takes its turns one after the other.

    open -> wait -> a message: its turn begins      -> wait
                 -> a turn tells where it stands    -> wait
                 -> a long history: continue as new
                 -> shutdown: the open turn is cancelled, the end

This file waits and starts. What comes in is handled in `gmi_messages`, `gmi_members` and `gmi_turns`; what it means is decided in
the pure modules beside them.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    import workflows.gmi_steps as gmi_steps
    from activities.errors import SYS_NOT_INITIALIZED
    from activities.instance_contracts import OpenInstance
    from workflows.gmi_contracts import InstanceStatus
    from workflows.gmi_refusal import Refused
    from workflows.gmi_turn_book import drop_queue
    from workflows.gmi_turns import InstanceTurns
    from workflows.names import GMI_WORKFLOW

QUIET = timedelta(seconds=5)


@workflow.defn(name=GMI_WORKFLOW)
class GMIWorkflow(InstanceTurns):
    """An instance. Its input is a `StartInstance`, its result the `InstanceStatus` it ended with."""

    @workflow.init
    def __init__(self, *arguments: Any) -> None:
        super().__init__(arguments)

    @workflow.run
    async def run(self, *arguments: Any) -> InstanceStatus:
        """The life of the instance, or of one run of it."""
        try:
            await self._open()
            while not self._state.shutting_down:
                if self._may_continue_as_new:
                    workflow.continue_as_new(self._state.trimmed())
                await self._next()
        except asyncio.CancelledError:
            await self._close()
            raise
        await self._close()
        return self._state.status()

    async def _open(self) -> None:
        state = self._state
        if state.persona is not None:
            return
        try:
            if self._failure is not None:
                raise self._failure
            request = OpenInstance(persona=state.start.persona, persona_id=state.start.persona_id)
            state.open_with(await gmi_steps.open_instance(request), workflow.now())
        except Refused as refused:
            self._failure = refused
            # Those who sent something in the meantime are told before the workflow ends.
            await workflow.wait_condition(workflow.all_handlers_finished)
            raise ApplicationError(str(refused), type=refused.code, non_retryable=True) from None

    async def _next(self) -> None:
        """Wait until there is something to do, and do it."""
        self._show()
        try:
            await workflow.wait_condition(
                lambda: self._has_work, timeout=self._silence, timeout_summary="silence of the turn"
            )
        except TimeoutError:
            self._asks_about_turn = True
        if self._state.shutting_down:
            return
        if self._asks_about_turn:
            await self._look_at_turn()
        self._think()
        if self._supersedes:
            await self._supersede()
        elif self._may_begin:
            await self._begin_next()

    @property
    def _has_work(self) -> bool:
        return (
            self._state.shutting_down
            or self._may_begin
            or self._supersedes
            or self._may_think
            or self._asks_about_turn
            or self._may_continue_as_new
        )

    @property
    def _may_continue_as_new(self) -> bool:
        """Nobody waits for an answer of this run, and nothing is half done. An open turn does not matter."""
        is_idle = not self._is_thinking and self._is_quiet and not self._may_begin
        return self._is_due and is_idle and workflow.all_handlers_finished()

    async def _close(self) -> None:
        """Shut down within the time the config gives: the open turn is cancelled, those who wait are told."""
        state = self._state
        state.shutting_down = True
        if state.persona is None:
            # Those who wait for it would wait for ever.
            self._failure = Refused("the instance was cancelled before it was ready", SYS_NOT_INITIALIZED)
        drop_queue(state)
        state.note("LIFECYCLE", "The instance shuts down", workflow.now())
        if state.open is not None:
            await self._tell(state.open, lambda handle: handle.cancel())
            try:
                patience = timedelta(milliseconds=state.start.config.shutdown_timeout_ms)
                await workflow.wait_condition(lambda: state.open is None, timeout=patience)
            except TimeoutError:
                state.note(
                    "WARNING", "The open turn did not end in time; it goes on without its instance", workflow.now()
                )
        self._stop_thinking()
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._is_quiet, timeout=QUIET)
        state.is_shut_down = True
        self._show()
        await workflow.wait_condition(workflow.all_handlers_finished)
