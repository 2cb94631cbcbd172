"""What the world may say to a turn and ask of it: updates, signals, queries.

Every handler takes whatever arguments come and validates them itself, since Temporal would retry a task for ever on a wrong
number of them. Update validators refuse at no cost; signals record what they refuse; neither ever raises anything else.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    import workflows.agent_book as booking
    from activities.conversation import CostAggregator, ErrorDetails, GMIOutput
    from activities.errors import SYS_VALIDATION_ERROR
    from activities.turn_input import TurnInput
    from workflows.agent_messages import read_fill, read_notice
    from workflows.agents import FILL_CALLS
    from workflows.answers import Answer, Refusal, read_answer, refused
    from workflows.contracts import AnswerAck, PendingRequest, RejectedAnswer, TurnStatus
    from workflows.display import pause_details
    from workflows.inbox import Early
    from workflows.names import TURN_STOPPED
    from workflows.pause import Accepted
    from workflows.start import read_turn_input
    from workflows.transcript import Page, read_cursor
    from workflows.turn_report import status, traced_output
    from workflows.turn_state import TurnState

Form = Literal["many", "one"]


class TurnMessages:
    """Handlers over the state of one turn."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        # Messages may be handled before the turn's first step, so the state stands from the start.
        read = read_turn_input(arguments)
        self._invalid = read if isinstance(read, ErrorDetails) else None
        given = TurnInput(content="") if isinstance(read, ErrorDetails) else read
        self._state = TurnState.of(given, workflow.info().workflow_id)
        self._showing_is_due = False

    @workflow.update(
        name="handle_tool_results",
        description='Answer calls of the pause: {"results": [{"toolCallId", "output" | "errorDetails" | "decision"}]}',
    )
    def update_tool_results(self, *arguments: Any) -> AnswerAck:
        """Take a whole answer; what it leaves out is filled unless `partial` is "wait"."""
        return self._take_update(arguments, "many")

    @update_tool_results.validator
    def validate_tool_results(self, *arguments: Any) -> None:
        """Refuse before anything enters the history."""
        self._checked(arguments, "many")

    @workflow.update(
        name="handle_tool_result",
        description='Answer one call of the pause: {"toolCallId", "output" | "errorDetails" | "decision"}',
    )
    def update_tool_result(self, *arguments: Any) -> AnswerAck:
        """Take one result; the turn keeps waiting for the rest unless `partial` is "fill"."""
        return self._take_update(arguments, "one")

    @update_tool_result.validator
    def validate_tool_result(self, *arguments: Any) -> None:
        """Refuse before anything enters the history."""
        self._checked(arguments, "one")

    @workflow.signal(name="handle_tool_results", description="As the update of this name; works with no worker up.")
    def signal_tool_results(self, *arguments: Any) -> None:
        """Take a whole answer, or record why not."""
        self._take_signal(arguments, "many")

    @workflow.signal(name="handle_tool_result", description="As the update of this name; works with no worker up.")
    def signal_tool_result(self, *arguments: Any) -> None:
        """Take one result, or record why not."""
        self._take_signal(arguments, "one")

    @workflow.signal(name="settle", description="End the pause: calls still open are filled as not run.")
    def settle(self, *arguments: Any) -> None:
        """End the pause now."""
        if self._state.inbox.pause is None:
            self._reject(refused("settle: no pause is open"), "signal")
        else:
            self._state.settle_asked = True

    @workflow.signal(name=FILL_CALLS, description="Calls that nobody will answer; sent to a sub-agent by its caller.")
    def fill_calls(self, *arguments: Any) -> None:
        """Close calls of the pause as not run, for the reason given."""
        pause = self._state.inbox.pause
        asked = read_fill(arguments)
        if asked is None or pause is None:
            self._reject(refused(f"{FILL_CALLS}: " + ("no pause is open" if asked else "unreadable")), "signal")
            return
        self._state.note_filled(pause.fill_some(asked.call_ids, asked.reason), workflow.now())

    @workflow.signal(name=TURN_STOPPED, description="A sub-agent of this turn tells where it stands.")
    def turn_stopped(self, *arguments: Any) -> None:
        """Take the notice, or record why not."""
        state = self._state
        notice = read_notice(arguments)
        if isinstance(notice, str):
            self._reject(refused(notice), "signal")
        elif not state.agents.hear(notice, workflow.info().workflow_id, state.given.external_tools):
            self._reject(refused(f"{TURN_STOPPED}: comes from no sub-agent of this turn"), "signal")

    @workflow.signal(name="supersede", description="The user moved on to another turn; sent by that turn.")
    def supersede(self, *arguments: Any) -> None:
        """End this turn in favour of a newer one."""
        by = arguments[0] if arguments else None
        self._state.superseded_by = by[:200] if isinstance(by, str) and by else "another turn"

    @workflow.signal(dynamic=True)
    def unknown_signal(self, name: str, arguments: Sequence[RawValue]) -> None:
        """A signal nobody knows is recorded, not lost."""
        reason = f"no signal is called {name[:100]!r}; send handle_tool_results, handle_tool_result or settle"
        self._reject(refused(reason), "unknown")

    @workflow.query(description="The open pause, or null.")
    def get_pending_request(self, *arguments: Any) -> PendingRequest | None:
        """The record of the open pause."""
        return self._state.pending_request()

    @workflow.query(description="Where the turn stands.")
    def get_state(self, *arguments: Any) -> TurnStatus:
        """Phase, counters, what is waited for."""
        return status(self._state)

    @workflow.query(description="The GMIOutput: of the pause while one is open, the final one after the end.")
    def get_output(self, *arguments: Any) -> GMIOutput:
        """What the turn gives back now."""
        return traced_output(self._state)

    @workflow.query(description="Output chunks, the newest that fit; older ones by the page's cursor.")
    def get_chunks(self, *arguments: Any) -> Page:
        """A page of chunks."""
        return self._state.transcript.chunks.page(read_cursor(arguments))

    @workflow.query(description="Messages of the turn, the newest that fit; older ones by the page's cursor.")
    def get_history(self, *arguments: Any) -> Page:
        """A page of messages."""
        return self._state.transcript.messages.page(read_cursor(arguments))

    @workflow.query(description="The reasoning trace, the newest entries that fit; older ones by the page's cursor.")
    def get_reasoning_trace(self, *arguments: Any) -> Page:
        """A page of trace entries."""
        return self._state.transcript.trace.page(read_cursor(arguments))

    @workflow.query(description="Tokens and cost so far.")
    def get_usage(self, *arguments: Any) -> CostAggregator:
        """The sum over all model calls."""
        return self._state.progress.usage

    @workflow.query(description="Answers and messages that were not used, and why.")
    def get_rejected_answers(self, *arguments: Any) -> tuple[RejectedAnswer, ...]:
        """The newest refused answers."""
        return tuple(self._state.inbox.rejected)

    def _examine(self, arguments: Sequence[Any], form: Form) -> tuple[Answer, Accepted | Early] | Refusal:
        """The answer and what it will do, or why it is refused. Changes nothing."""
        answer = read_answer(arguments, form)
        if isinstance(answer, Refusal):
            return answer
        verdict = self._judge(answer)
        return verdict if isinstance(verdict, Refusal) else (answer, verdict)

    def _checked(self, arguments: Sequence[Any], form: Form) -> tuple[Answer, Accepted | Early]:
        examined = self._examine(arguments, form)
        if isinstance(examined, Refusal):
            raise ApplicationError(examined.text, type=SYS_VALIDATION_ERROR, non_retryable=True)
        return examined

    def _take_update(self, arguments: Sequence[Any], form: Form) -> AnswerAck:
        # Another answer may have been taken between the validator and here, so it is judged again.
        return self._apply(*self._checked(arguments, form))

    def _take_signal(self, arguments: Sequence[Any], form: Form) -> None:
        try:
            examined = self._examine(arguments, form)
            if isinstance(examined, Refusal):
                self._reject(examined, "signal")
            else:
                self._apply(*examined)
        except Exception as fault:
            # Raised out of here it would fail the workflow task again and again: one bad message would stop the turn.
            workflow.logger.exception("an answer could not be handled")
            self._reject(refused(f"could not be handled: {type(fault).__name__}"), "signal")

    def _judge(self, answer: Answer) -> Accepted | Early | Refusal:
        if self._state.is_over:
            return refused(f"the turn is over ({self._state.phase}); nothing waits any more")
        return self._state.inbox.judge(answer)

    def _apply(self, answer: Answer, verdict: Accepted | Early) -> AnswerAck:
        state, pause = self._state, self._state.inbox.pause
        if isinstance(verdict, Early):
            state.inbox.keep(verdict)
            return AnswerAck(kept_for_later=tuple(item.call_id for item in verdict.answer.items))
        filled: tuple[str, ...] = ()
        if pause is not None and verdict.new:
            pause.take(verdict)
            state.options = answer.options or state.options
            booking.pass_on(state, pause, [item.call_id for item in verdict.new])
            filled = self._fill_left_out() if answer.partial == "fill" else ()
            self._show_pause_soon()
        return AnswerAck(
            accepted=tuple(item.call_id for item in verdict.new),
            repeated=tuple(item.call_id for item in verdict.repeated),
            filled=filled,
            waiting_for=tuple(call.id for call in pause.open_calls) if pause is not None else (),
        )

    def _take_early(self) -> None:
        """Answers that came before this pause and name its calls: all of them first, then the fill that one may ask for."""
        fills = False
        for answer in self._state.inbox.matching_early():
            verdict = self._judge(answer)
            if isinstance(verdict, Refusal):
                self._state.inbox.reject(verdict, "early", workflow.now())
            else:
                self._apply(replace(answer, partial="wait"), verdict)
                fills = fills or answer.partial == "fill"
        if fills:
            self._fill_left_out()

    def _fill_left_out(self) -> tuple[str, ...]:
        pause = self._state.inbox.pause
        left_out = pause.fill("left_out") if pause is not None else []
        self._state.note_filled(left_out, workflow.now())
        return tuple(call.id for call in left_out)

    def _reject(self, refusal: Refusal, channel: Literal["signal", "unknown"]) -> None:
        now = workflow.now()
        self._state.inbox.reject(refusal, channel, now)
        self._state.transcript.note("WARNING", f"A message was refused: {refusal.text}", now)

    def _show_pause_soon(self) -> None:
        """Show the pause once for all messages of one task: hundreds of them about hundreds of calls would hold it up."""
        if not self._showing_is_due:
            self._showing_is_due = True
            asyncio.get_running_loop().call_soon(self._show_pause)

    def _show_pause(self) -> None:
        self._showing_is_due = False
        request, info = self._state.pending_request(), workflow.info()
        shown = "" if request is None else pause_details(request, info.workflow_id, info.namespace)
        workflow.set_current_details(shown)
