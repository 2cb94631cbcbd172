"""Any order of answers, deadlines and ends leaves each call with one result, and loses nothing that was accepted.

The machine is the turn without Temporal: it does with `Inbox`, `Pause` and `TurnState` what the handlers and the workflow
do. Beside it stands a ledger of its own, written when a call is closed for the first time and never again.
"""

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from activities.call_ids import mint_call_id
from activities.contracts import RequestedCall
from activities.conversation import (
    AssistantMessage,
    ErrorDetails,
    Message,
    ToolCall,
    ToolCallResult,
    ToolMessage,
    UserMessage,
)
from activities.pairing import pairing_fault
from tests.workflows.strategies import (
    EXTERNAL,
    GUARDED,
    NOW,
    WORKER,
    broken,
    hostile_arguments,
    json_values,
    reply,
    requested,
    turn_state,
)
from workflows.answers import Answer, AnsweredCall, Approve, Edit, Output, Refusal, Reject, read_answer, refused
from workflows.inbox import MAX_EARLY, Early
from workflows.pause import FILL_MESSAGES, Accepted, FillReason, Pause
from workflows.rounds import Wait
from workflows.turn_report import current_output, final_output, status
from workflows.turn_state import TurnState

TURN = "turn-c1-t1"
KINDS = {"book": EXTERNAL, "ring": EXTERNAL, "pay": GUARDED, "lookup": WORKER}
Form = Literal["many", "one"]

resolutions = st.one_of(
    st.fixed_dictionaries({"output": json_values | st.text(max_size=5)}),
    st.sampled_from(
        [
            {"output": "yes"},
            {"output": None},
            {"errorDetails": {"code": "E_FULL", "message": "sold out"}},
            {"type": "success", "result": "yes"},
            {"type": "error", "error": {"code": "E", "message": "m"}},
            {"decision": "approve"},
            {"decision": "reject", "reason": "keep the backup"},
            {"decision": "edit", "arguments": {"n": 1}},
        ]
    ),
)
names = st.sampled_from([None, None, None, "right", "wrong"])
users = st.sampled_from([None, None, "ada", "eve"])


def call_of(kind: str, call_id: str) -> RequestedCall:
    return requested(call_id, kind, KINDS[kind]) if kind in KINDS else broken(call_id)


class TurnMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.state: TurnState = turn_state()
        self.now = NOW
        self.history: list[Message] = [UserMessage(content="hi")]
        self.in_round = False
        self.running: set[str] = set()
        self.own: set[str] = set()
        self.worker_results: dict[str, ToolCallResult] = {}
        self.pauses: list[Pause] = []
        self.guarded_off: set[str] = set()
        self.closed: dict[str, tuple[str, str]] = {}
        self.kept: list[tuple[str, str]] = []
        self.sent: list[tuple[list[Any], Form]] = []

    # What the model, the worker and the clock do.

    @precondition(lambda self: not self.in_round and not self.state.is_over)
    @rule(kinds=st.lists(st.sampled_from([*KINDS, "nothing"]), min_size=2, max_size=5))
    def model_asks(self, kinds: list[str]) -> None:
        state = self.state
        number = state.progress.model_calls
        calls = [call_of(kind, mint_call_id(TURN, number, place)) for place, kind in enumerate(kinds)]
        said = reply(*calls, row=state.rows)
        state.take_reply(said, self.now)
        state.open_round(said, self.now)
        self.in_round, self.worker_results = True, {}
        self.own |= {call.id for call in calls if call.problem}
        for planned in state.round:
            if planned.call.tool == WORKER:
                self._start(planned.call.id)
        if state.waiting:
            pause = state.open_pause(said, TURN, self.now)
            self.pauses.append(pause)
            self.guarded_off |= {call.id for call in calls if not pause.knows(call.id)}
            self._use_early(pause)
        self._advance()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), fails=st.booleans())
    def worker_finishes(self, data: st.DataObject, fails: bool) -> None:
        call_id = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(call_id)
        planned = self.state.planned(call_id)
        result = ToolCallResult(tool_call_id=call_id, tool_name=planned.call.name, output="ran", is_error=fails)
        if fails:
            self.state.set_result(planned, result, self.now)
        else:
            self.state.note_result(planned, result, self.now)
        self.worker_results[call_id] = result

    @precondition(lambda self: self.in_round and self.state.inbox.pause is None and not self.running)
    @rule()
    def round_ends(self) -> None:
        self._close_books()

    @rule(seconds=st.sampled_from([1, 2, 1_800, 7 * 86_400]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        if (pause := self.state.inbox.pause) is not None:
            open_before = {call.id for call in pause.open_calls}
            filled = {call.id for call in pause.expire(self.now)}
            own = {slot.call.id for slot in pause.slots if slot.call.deadline and self.now >= slot.call.deadline}
            assert filled == open_before & (open_before if self.now >= pause.deadline else own)
            assert pause.is_settled or pause.next_deadline > self.now
        self._advance()

    # What hosts and strangers send.

    @precondition(lambda self: self.state.inbox.pause is not None)
    @rule()
    def host_settles(self) -> None:
        assert self.state.inbox.pause is not None
        self.state.inbox.pause.fill("settled")
        self._advance()

    @rule(
        data=st.data(),
        form=st.sampled_from(["many", "many", "one"]),
        partial=st.sampled_from([None, "fill", "wait"]),
        user=users,
    )
    def host_answers(self, data: st.DataObject, form: Form, partial: str | None, user: str | None) -> None:
        size = 1 if form == "one" else 4
        ids = data.draw(st.lists(st.sampled_from(self._known_ids()), min_size=1, max_size=size, unique=True))
        results = [self._result(call_id, data.draw(resolutions), data.draw(names)) for call_id in ids]
        extra = {"partial": partial} if partial else {}
        extra |= {"userId": user} if user else {}
        raw = {**results[0], **extra} if form == "one" else {"results": results, **extra}
        self.sent.append(([raw], form))
        self._send([raw], form)

    @precondition(lambda self: not self.in_round)
    @rule(place=st.integers(0, 2), form=st.sampled_from(["many", "one"]))
    def host_answers_before_it_is_asked(self, place: int, form: Form) -> None:
        result = {"toolCallId": mint_call_id(TURN, self.state.progress.model_calls, place), "output": "yes"}
        self._send([{"results": [result]} if form == "many" else result], form)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def host_repeats_itself(self, data: st.DataObject) -> None:
        self._send(*data.draw(st.sampled_from(self.sent)))

    @rule(arguments=hostile_arguments, form=st.sampled_from(["many", "one"]))
    def stranger_sends(self, arguments: list[Any], form: Form) -> None:
        self._send(arguments, form)

    @precondition(lambda self: not self.state.is_over)
    @rule(
        reason=st.sampled_from(["cancelled", "superseded", "turn_deadline", "failed"]),
        really=st.sampled_from([False, False, False, True]),
    )
    def turn_stops(self, reason: FillReason, really: bool) -> None:
        # One in four, so that most turns live for some rounds.
        if really:
            self._stop(reason)

    @precondition(lambda self: self.state.is_over)
    @rule()
    def another_turn_begins(self) -> None:
        self.teardown()
        self.begin()

    # The laws.

    @invariant()
    def what_is_closed_stays_closed_as_it_was(self) -> None:
        for pause in self.pauses:
            for slot in pause.slots:
                if slot.state == "open":
                    assert slot.call.id not in self.closed
                    continue
                now = ("filled", slot.filled) if slot.filled else ("answered", slot.digest)
                assert self.closed.setdefault(slot.call.id, now) == now  # type: ignore[arg-type]

    @invariant()
    def the_host_is_told_exactly_what_is_open(self) -> None:
        pause = self.state.inbox.pause
        shown = status(self.state).waiting_for
        assert shown == (tuple(call.id for call in pause.open_calls) if pause else ())
        if not self.state.is_over:
            assert current_output(self.state).is_final is False

    @invariant()
    def kept_answers_are_bounded_and_never_forgotten(self) -> None:
        held = [(item.call_id, item.digest) for answer in self.state.inbox.early for item in answer.items]
        assert len(held) == len(set(held)) <= MAX_EARLY
        assert sorted(held) == sorted(self.kept)

    def teardown(self) -> None:
        if not hasattr(self, "state"):
            return
        if not self.state.is_over:
            self._stop("failed")
        self.what_is_closed_stays_closed_as_it_was()
        assert pairing_fault(self.history) is None
        assert self.kept == []
        verdict = self._judge(read_answer([{"toolCallId": "x", "output": 1}], "one"))
        assert isinstance(verdict, Refusal)

    # How an answer goes its way: as in the handlers, step by step, and with a prediction beside it.

    def _send(self, arguments: list[Any], form: Form) -> None:
        answer = read_answer(arguments, form)
        before = deepcopy(self.state)
        verdict = self._judge(answer)
        assert self.state == before, "judging changed something"
        if isinstance(answer, Refusal):
            assert isinstance(verdict, Refusal)
        else:
            assert self._kind_of(verdict) == self._predict(answer), (answer, verdict)
        if isinstance(verdict, Refusal):
            assert verdict.reasons
            self.state.inbox.reject(verdict, "signal", self.now)
            assert self._without_refusals(self.state) == self._without_refusals(before)
        elif isinstance(answer, Answer):
            self._apply(answer, verdict)
        self._advance()

    def _judge(self, answer: Answer | Refusal) -> Accepted | Early | Refusal:
        if isinstance(answer, Refusal):
            return answer
        return refused("the turn is over") if self.state.is_over else self.state.inbox.judge(answer)

    def _apply(self, answer: Answer, verdict: Accepted | Early) -> None:
        if isinstance(verdict, Early):
            self.state.inbox.keep(verdict)
            pairs = [(item.call_id, item.digest) for item in verdict.answer.items]
            self.kept += [pair for pair in pairs if pair not in self.kept]
            return
        pause = self.state.inbox.pause
        if pause is None or not verdict.new:
            return
        pause.take(verdict)
        for item in verdict.new:
            assert self.closed.setdefault(item.call_id, ("answered", item.digest)) == ("answered", item.digest)
            if isinstance(item.resolution, Reject) and pause.slot(item.call_id).call.kind == "approval":
                self.own.add(item.call_id)
        if answer.partial == "fill":
            pause.fill("left_out")
            assert pause.is_settled

    def _use_early(self, pause: Pause) -> None:
        waiting_before = [pair for pair in self.kept if pause.knows(pair[0])]
        self.kept = [pair for pair in self.kept if not pause.knows(pair[0])]
        shut_out: set[str] = set()
        fills = False
        for answer in self.state.inbox.matching_early():
            assert not any(pause.slot(item.call_id).filled for item in answer.items), "filled before an earlier answer"
            verdict = self._judge(answer)
            if isinstance(verdict, Refusal):
                shut_out |= {reason.tool_call_id for reason in verdict.reasons if reason.tool_call_id}
                self.state.inbox.reject(verdict, "early", self.now)
            else:
                self._apply(replace(answer, partial="wait"), verdict)
                fills = fills or answer.partial == "fill"
        if fills:
            pause.fill("left_out")
        for call_id, digest in waiting_before:
            assert self.closed.get(call_id) == ("answered", digest) or call_id in shut_out

    def _predict(self, answer: Answer) -> str:
        """What must become of an answer, said from the ledger alone."""
        if self.state.is_over or answer.user_id not in (None, "ada"):
            return "refused"
        verdicts = {self._predict_item(item) for item in answer.items}
        if "refused" in verdicts:
            return "refused"
        if "early" not in verdicts:
            return "accepted"
        new = {(item.call_id, item.digest) for item in answer.items if item.call_id not in self.closed} - set(self.kept)
        return "early" if len(self.kept) + len(new) <= MAX_EARLY else "refused"

    def _predict_item(self, item: AnsweredCall) -> str:
        if item.call_id in self.guarded_off:
            return "refused"
        if item.call_id in self.closed:
            return (
                "repeated"
                if self.closed[item.call_id] == ("answered", item.digest) and self._named(item)
                else "refused"
            )
        pause = self.state.inbox.pause
        if pause is None:
            return "early"
        if not pause.knows(item.call_id) or not self._named(item):
            return "refused"
        call = pause.slot(item.call_id).call
        if call.kind == "external" and isinstance(item.resolution, Approve | Edit):
            return "refused"
        if call.name == "ring" and isinstance(item.resolution, Output):
            return "new" if isinstance(item.resolution.value, str) else "refused"
        return "new"

    def _named(self, item: AnsweredCall) -> bool:
        name = next(pause.slot(item.call_id).call.name for pause in self.pauses if pause.knows(item.call_id))
        return item.tool_name in (None, name)

    @staticmethod
    def _kind_of(verdict: Accepted | Early | Refusal) -> str:
        return {Accepted: "accepted", Early: "early", Refusal: "refused"}[type(verdict)]

    # What the workflow does between two messages.

    def _advance(self) -> None:
        pause = self.state.inbox.pause
        if pause is None:
            return
        for slot in pause.slots:
            if slot.runs_in_worker and slot.call.id not in self.own:
                self._start(slot.call.id)
        self.what_is_closed_stays_closed_as_it_was()
        if pause.is_settled:
            self.state.close_pause(pause, "failed", self.now)

    def _start(self, call_id: str) -> None:
        self.running.add(call_id)
        self.own.add(call_id)
        self.state.note_own_call(self.state.planned(call_id))

    def _stop(self, reason: FillReason) -> None:
        state, answered = self.state, dict(self.closed)
        state.abandon_round(reason, self.now)
        self.what_is_closed_stays_closed_as_it_was()
        for call_id in self.closed.keys() - answered.keys():
            assert self.closed[call_id] == ("filled", reason)
        for call_id in self.running:
            error = state.results[call_id].error_details
            assert isinstance(error, ErrorDetails)
            assert error.code == "TOOL_CANCELLED"
        if self.in_round:
            self._close_books()
        state.output = final_output(state, ErrorDetails(code="TURN_CANCELLED", message="x"))
        assert {call.id for call in state.output.tool_calls or ()} == self.own
        unused = {call_id for call_id, _ in self.kept}
        state.end("cancelled", self.now)
        told = {reason.tool_call_id for each in state.inbox.rejected for reason in each.reasons}
        assert unused <= told
        self.kept = []

    def _close_books(self) -> None:
        """The round as the next model call reads it."""
        state = self.state
        calls = [planned.call for planned in state.round]
        assert set(state.results) == {call.id for call in calls}
        rows = [placed.row for placed in state.unsaved]
        assert rows == sorted(set(rows))
        stored = {call_id for call_id, result in self.worker_results.items() if not result.is_error}
        assert {placed.result.tool_call_id for placed in state.unsaved} == set(state.results) - stored
        assert state.rows == state.round[-1].row + 1
        for placed in state.unsaved:
            assert placed.result == state.results[placed.result.tool_call_id]
        for planned in state.round:
            result = state.results[planned.call.id]
            assert (result.tool_call_id, result.tool_name) == (planned.call.id, planned.call.name)
            if isinstance(planned.disposition, Wait):
                self._check_hosts_result(planned.call.id, result)
        self.history.append(AssistantMessage(tool_calls=tuple(ToolCall(id=each.id, name=each.name) for each in calls)))
        self.history += [ToolMessage(result=state.results[call.id]) for call in calls]
        self.in_round, self.running = False, set()

    def _check_hosts_result(self, call_id: str, result: ToolCallResult) -> None:
        slot = next(pause.slot(call_id) for pause in self.pauses if pause.knows(call_id))
        how, which = self.closed[call_id]
        if how == "filled":
            assert result.output["message"] == FILL_MESSAGES[which]  # type: ignore[index]
        elif isinstance(slot.resolution, Output):
            assert (result.output, result.is_error) == (slot.resolution.value, False)
        elif slot.runs_in_worker:
            assert result == self.worker_results.get(call_id, result)
        else:
            assert result.is_error

    # Material.

    def _known_ids(self) -> list[str]:
        state = self.state
        here = [planned.call.id for planned in state.round]
        soon = [mint_call_id(TURN, state.progress.model_calls, place) for place in range(3)]
        past = [slot.call.id for pause in self.pauses[-3:-1] for slot in pause.slots]
        likely = [*here, *here, *here] if self.in_round else [*soon, *soon, *soon]
        return [*likely, *here, *soon, *past, "stranger"]

    def _result(self, call_id: str, said: dict[str, Any], name: str | None) -> dict[str, Any]:
        known = {slot.call.id: slot.call.name for pause in self.pauses for slot in pause.slots}
        named = {} if name is None else {"toolName": known.get(call_id, "book") if name == "right" else "no such tool"}
        return {"toolCallId": call_id, **said, **named}

    @staticmethod
    def _without_refusals(state: TurnState) -> tuple[Any, ...]:
        inbox = state.inbox
        return (
            inbox.pause,
            inbox.early,
            state.results,
            state.unsaved,
            state.round,
            state.phase,
            state.rows,
            state.text,
        )


TestTurnMachine = TurnMachine.TestCase
TestTurnMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
