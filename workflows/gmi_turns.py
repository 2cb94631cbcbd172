"""The turns of an instance: taken one at a time, each a workflow of its own that tells where it stands by signal.

A turn is never awaited: it outlives the run of the instance that started it, which may continue as new while the turn is paused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ChildWorkflowHandle, ExternalWorkflowHandle, ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    import workflows.gmi_queue as queueing
    import workflows.gmi_steps as steps
    import workflows.gmi_turn_book as book
    from activities.conversation import ErrorDetails, GMIOutput
    from activities.errors import GMI_PROCESSING_ERROR, SYS_INVALID_STATE, SYS_RESOURCE_NOT_FOUND, TURN_ALREADY_RAN
    from activities.instance_contracts import AnswerTurn
    from workflows.answers import Refusal, read_answer
    from workflows.gmi_contracts import InstanceStatus, OpenTurn, QueuedTurn, TurnOutcome
    from workflows.gmi_message import Message, check_key_names, read_control, read_message, read_pass_on
    from workflows.gmi_refusal import Refused, only, read_object
    from workflows.gmi_sentiment import watch
    from workflows.gmi_thoughts import InstanceThoughts
    from workflows.names import SUMMARY_CHARS, TURN_WORKFLOW

# How long a turn may be silent before the server is asked about it: one that was terminated tells nobody.
SILENCE = timedelta(minutes=10)
PAUSED_SILENCE = timedelta(hours=6)
# An update that comes just as a run closes is dropped by the server. Few come at a moment when nobody waits, so it is looked for
# from here on: before the server suggests a new run (4,096 events by default), and before the run is a quarter too long.
DUE_EVENTS, OVERDUE = 3_000, 1.25

PassedOn = tuple[dict[str, Any], float, str | None]


class InstanceTurns(InstanceThoughts):
    """Turns over the state of one instance."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        super().__init__(arguments)
        self._turns_begun = 0
        self._children: dict[str, ChildWorkflowHandle[Any, Any]] = {}
        self._asks_about_turn = False
        self._member("process_turn", self._read_message, self._process_turn)
        for name, form in (("handle_tool_results", "many"), ("handle_tool_result", "one")):
            self._member(name, self._reading_answer(name, form), self._passing_on(name))
        for name, act in (("settle", self._settle), ("cancel_turn", self._cancel_turn)):
            self._member(name, self._reading_control(name), act)
        self._member("shutdown", self._reading_nothing, self._shutdown, always=True)

    @property
    def _is_due(self) -> bool:
        """Whether the history of this run is long enough: the instance continues as new at the next moment nobody waits."""
        return self._is_long(1.0) or workflow.info().get_current_history_length() >= DUE_EVENTS

    @property
    def _is_overdue(self) -> bool:
        """Whether such a moment has not come for too long: those who wait are sent off, and ask again of the next run."""
        return self._is_long(OVERDUE) or workflow.info().is_continue_as_new_suggested()

    def _is_long(self, share: float) -> bool:
        config, turn = self._state.start.config, self._state.open
        # A turn that is about to stop is waited for: its sender need not ask twice.
        stopped = self._turns_begun - (turn is not None and not turn.is_paused)
        return stopped >= share * config.turns_per_run or self._taken >= share * config.messages_per_run

    def _read_message(self, arguments: Sequence[Any]) -> Message:
        update = workflow.current_update_info()
        message = read_message(arguments, self._state, update.id if update is not None else "")
        if not queueing.repeats(self._state, message):
            queueing.check_place(self._state, message)
        return message

    async def _process_turn(self, message: Message) -> GMIOutput:
        """Give the message its place and wait for its turn's next stop; one that is known already is waited for only."""
        state = self._state
        if state.find(message.turn.turn_id) is None:
            # A paused turn that was terminated tells nobody, and the message would wait for it.
            self._asks_about_turn |= state.open is not None and state.open.is_paused
            queueing.enqueue(state, message.turn)
            if message.feedback is not None:
                await self._record_user_feedback(message.feedback.model_copy(update={"at": workflow.now()}))
        return await self._next_stop(message.turn, 0, message.wait)

    def _reading_answer(self, name: str, form: Any) -> Callable[[Sequence[Any]], PassedOn]:
        def read(arguments: Sequence[Any]) -> PassedOn:
            body, wait, turn_id = read_pass_on(arguments, name)
            answer = read_answer([body], form)
            if isinstance(answer, Refusal):
                raise Refused(f"{name}: {answer.text}")
            # Looked at before anything of it stands in a history.
            check_key_names(name, body, answer.options.user_api_keys if answer.options else ())
            self._open_turn(name, turn_id)
            return body, wait, turn_id

        return read

    def _passing_on(self, name: str) -> Callable[[PassedOn], Awaitable[GMIOutput]]:
        async def pass_on(asked: PassedOn) -> GMIOutput:
            """Hand the answer on; back comes the turn's next stop, or at once what it still waits for."""
            body, wait, turn_id = asked
            turn, update = self._open_turn(name, turn_id), workflow.current_update_info()
            request = AnswerTurn(
                workflow_id=turn.workflow_id, update_id=update.id if update else "", name=name, body=body
            )
            answered = await steps.answer_turn(request)
            if answered.waiting_for and answered.output is not None:
                return self._with_sources(answered.output)
            book.answered(self._state, turn)
            self._show()
            return self._with_sources(await self._next_stop(turn, turn.number, wait))

        return pass_on

    def _reading_control(self, name: str) -> Callable[[Sequence[Any]], tuple[float, OpenTurn]]:
        def read(arguments: Sequence[Any]) -> tuple[float, OpenTurn]:
            wait, turn_id = read_control(arguments, name)
            return wait, self._open_turn(name, turn_id)

        return read

    async def _settle(self, asked: tuple[float, OpenTurn]) -> GMIOutput:
        """End the pause: calls still open are filled as not run."""
        wait, turn = asked
        if not turn.is_paused:
            state = self._state.prime_state
            raise Refused("settle: no pause is open", SYS_INVALID_STATE, {"currentGMIState": state})
        await self._tell(turn, lambda handle: handle.signal("settle"))
        return self._with_sources(await self._next_stop(turn, turn.number, wait))

    async def _cancel_turn(self, asked: tuple[float, OpenTurn]) -> GMIOutput:
        """Cancel the open turn. Its conversation stays usable."""
        wait, turn = asked
        await self._tell(turn, lambda handle: handle.cancel())
        return await self._next_stop(turn, turn.number, wait)

    def _reading_nothing(self, arguments: Sequence[Any]) -> None:
        only(read_object(arguments, "shutdown"), "shutdown")

    async def _shutdown(self, nothing: None) -> InstanceStatus:
        """End the instance. Asked again, it ends no second time."""
        self._state.shutting_down = True
        await workflow.wait_condition(lambda: self._state.is_shut_down)
        return self._state.status()

    def _open_turn(self, what: str, turn_id: str | None) -> OpenTurn:
        turn = self._state.open
        if turn is None or turn_id not in (None, turn.turn_id):
            which = "no turn is open" if turn is None else f"the open turn is {turn.turn_id!r}"
            last = next(reversed(self._state.outcomes), None)
            ended = f"; the last one, {last.turn_id!r}, has ended" if turn is None and last is not None else ""
            raise Refused(f"{what}: {which}{ended}", SYS_RESOURCE_NOT_FOUND)
        return turn

    async def _next_stop(self, turn: QueuedTurn | OpenTurn, after: int, seconds: float) -> GMIOutput:
        """The turn's output when it stops with a number over `after`, or its id when its sender has waited long enough."""

        def stop() -> GMIOutput | None:
            found = self._state.find(turn.turn_id)
            if isinstance(found, OpenTurn):
                return found.output if found.number > after else None
            return found.output if isinstance(found, TurnOutcome) else None

        if seconds > 0:
            with suppress(TimeoutError):
                await workflow.wait_condition(
                    lambda: stop() is not None or self._is_overdue or self._state.is_shut_down,
                    timeout=seconds,
                    timeout_summary="how long a sender waits",
                )
        return stop() or queueing.still_running(turn)

    def _with_sources(self, output: GMIOutput) -> GMIOutput:
        """A continuation carries the sources of the turn it goes on with."""
        sources = self._state.rag_sources
        return output if sources is None or output.rag_sources else output.model_copy(update={"rag_sources": sources})

    @property
    def _may_begin(self) -> bool:
        return self._state.open is None and bool(self._state.queue) and not self._editing.locked()

    @property
    def _supersedes(self) -> bool:
        state = self._state
        return state.open is not None and not state.open.superseded and bool(state.queue) and state.queue[0].superseding

    @property
    def _silence(self) -> timedelta | None:
        """How long to wait for a word of the open turn."""
        turn = self._state.open
        if turn is None:
            return None
        return PAUSED_SILENCE if turn.is_paused else SILENCE

    async def _begin_next(self) -> None:
        """Start the turn that is first in the queue."""
        state = self._state
        queued = state.queue.pop(0)
        book.begin_turn(state, queued, queueing.key_of(queued), workflow.now())
        queueing.remember_contexts(state, queued.body)
        self._turns_begun += 1
        told = state.instance_turn().model_dump(mode="json", by_alias=True, exclude_defaults=True)
        said = queued.body.get("content")
        summary = " ".join(said.split()) if isinstance(said, str) else "a message of several parts"
        try:
            child = await workflow.start_child_workflow(
                TURN_WORKFLOW,
                {**queued.body, "instance": told},
                id=queued.workflow_id,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=ParentClosePolicy.ABANDON,
                static_summary=summary[:SUMMARY_CHARS],
            )
        except WorkflowAlreadyStartedError:
            self._refuse_known(queued)
        else:
            self._let_go(queued.workflow_id, child)
            watch(state, queued)

    def _let_go(self, workflow_id: str, child: ChildWorkflowHandle[Any, Any]) -> None:
        """How the turn ends is told by its signal. One that ended without a word was terminated: the server is asked."""

        def take(task: asyncio.Task[Any]) -> None:
            self._children.pop(workflow_id, None)
            if not task.cancelled():
                task.exception()
            turn = self._state.open
            self._asks_about_turn |= turn is not None and turn.workflow_id == workflow_id

        self._children[workflow_id] = child
        child.add_done_callback(take)

    @property
    def _is_quiet(self) -> bool:
        """Whether every turn that told its end has ended. An event that comes as a run closes costs that run's senders theirs."""
        turn = self._state.open
        return not [each for each in self._children if turn is None or each != turn.workflow_id]

    def _refuse_known(self, queued: QueuedTurn) -> None:
        """A turn of that id runs or ran, and nothing of it is known here any more: whether it said the same cannot be told."""
        message = f"a turn {queued.workflow_id!r} runs or has run; this message was not taken"
        unknown = GMIOutput(
            is_final=True,
            turn_id=queued.turn_id,
            conversation_id=queued.conversation_id,
            error=ErrorDetails(code=TURN_ALREADY_RAN, message=message),
        )
        book.refuse_turn(self._state, unknown, workflow.now())

    async def _supersede(self) -> None:
        """Tell the open turn that the user moved on."""
        turn = self._state.open
        assert turn is not None
        self._state.open = turn.model_copy(update={"superseded": True})
        by = self._state.queue[0].turn_id
        await self._tell(turn, lambda handle: handle.signal("supersede", by))

    async def _look_at_turn(self) -> None:
        """Ask the server about a turn that has been silent: one that was terminated will never tell."""
        self._asks_about_turn = False
        turn = self._state.open
        if turn is None:
            return
        try:
            seen = await steps.look_at_turn(turn.workflow_id)
        except Refused as fault:
            self._state.note("WARNING", f"The server cannot be asked about the turn: {fault}", workflow.now())
            return
        if self._state.open is None or self._state.open.workflow_id != turn.workflow_id:
            return
        if seen.is_open:
            return
        gone = ErrorDetails(code=GMI_PROCESSING_ERROR, message="the turn's workflow ended without a word")
        lost = GMIOutput(is_final=True, turn_id=turn.turn_id, conversation_id=turn.conversation_id, error=gone)
        book.end_turn(self._state, seen.output or lost, workflow.now())

    async def _tell(self, turn: OpenTurn, message: Callable[[ExternalWorkflowHandle[Any]], Awaitable[None]]) -> None:
        """Send the turn a message; one that is gone is looked at instead."""
        try:
            await message(workflow.get_external_workflow_handle(turn.workflow_id))
        except FailureError as fault:
            if is_cancelled_exception(fault):
                raise
            await self._look_at_turn()
