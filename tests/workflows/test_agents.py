"""Sub-agents as their caller keeps book of them: who may start, what each gets, what the host sees and says of their calls."""

from typing import Any

import pytest

from activities.contracts import RequestedCall, ToolFacts
from activities.conversation import CostAggregator, CostEntry, ErrorDetails, GMIOutput
from activities.json_values import encoded_size
from activities.turn_input import ExternalTool, TurnInput, TurnLimits
from tests.workflows.strategies import HOUR, NOW, approval, give, many, one, pause_of, requested, waiting
from workflows.agent_input import agent_conversation, agent_input
from workflows.agent_messages import PENDING_BYTES, read_fill, told_pending
from workflows.agents import MAX_DELEGATIONS, Agents, agent_result, share_of
from workflows.answers import AnsweredCall, Approve, as_result, read_answer
from workflows.budget import Budget
from workflows.contracts import PendingCall, PendingRequest
from workflows.corrections import Corrections
from workflows.gmi_contracts import TurnNotice
from workflows.limits import Progress
from workflows.rounds import Delegate, PlannedCall, Refuse, judge_call
from workflows.usage import add_totals

TURN = "turn-c1-t1"
AGENT = ToolFacts(kind="agent")
USED = Progress(1, 3, 2, CostAggregator(total_tokens=400, total_cost_usd=0.25))


def handed_out(call_id: str, **fields: Any) -> RequestedCall:
    return requested(call_id, "delegate", AGENT, arguments={"persona": "clerk", "task": "Do it."}, **fields)


def planned(count: int) -> list[PlannedCall]:
    return [PlannedCall(handed_out(f"call{n:05}"), n + 2, Delegate("clerk", "Do it.")) for n in range(count)]


def refusals(round_: tuple[PlannedCall, ...]) -> list[str]:
    return [each.disposition.result.output["message"] for each in round_ if isinstance(each.disposition, Refuse)]


def paused(*calls: PendingCall, number: int = 1, agent: str = "call00000") -> TurnNotice:
    """A sub-agent waits for these calls."""
    owner = {"conversation_id": "c", "user_id": "ada", "persona_id": "clerk", "stream_id": "s"}
    moments = {"requested_at": NOW, "deadline": NOW + HOUR}
    pending = PendingRequest.model_validate({"pause_id": "p", "tool_calls": calls, **moments, **owner})
    return TurnNotice(
        workflow_id=f"{TURN}.{agent}", turn_id=agent, number=number, output=GMIOutput(is_final=False), pending=pending
    )


def at_work(*calls: PendingCall) -> Agents:
    """One agent, which waits for these calls."""
    agents = Agents()
    agents.start("call00000", "clerk", TURN, ())
    assert agents.hear(paused(*calls), TURN, ())
    return agents


def test_a_call_to_delegate_is_a_task_for_a_persona_and_half_a_task_is_none() -> None:
    assert judge_call(handed_out("a"), None, Corrections()) == Delegate("clerk", "Do it.")
    cut = judge_call(handed_out("a", arguments_cut=True), None, Corrections())
    assert isinstance(cut, Refuse)


@pytest.mark.parametrize(
    ("limits", "among", "share"),
    [
        ({}, 3, {}),
        # Five are used, one is kept for the turn's own last words.
        ({"maxModelCalls": 10}, 2, {"maxModelCalls": 2}),
        ({"maxTokens": 1_000}, 2, {"maxTokens": 300}),
        ({"maxCostUSD": 1.0}, 3, {"maxCostUSD": 0.25}),
        ({"maxToolRounds": 9, "onLimit": "ask"}, 4, {"maxToolRounds": 9, "onLimit": "ask"}),
    ],
)
def test_what_is_left_is_divided(limits: dict[str, Any], among: int, share: dict[str, Any]) -> None:
    assert share_of(TurnLimits.model_validate(limits), USED, among) == TurnLimits.model_validate(share)


@pytest.mark.parametrize(
    ("limits", "name"),
    [({"maxModelCalls": 7}, "maxModelCalls"), ({"maxTokens": 401}, "maxTokens"), ({"maxCostUSD": 0.25}, "maxCostUSD")],
)
def test_too_little_is_not_handed_out(limits: dict[str, Any], name: str) -> None:
    agents = Agents()
    round_, _ = agents.admit(planned(2), 0, TurnLimits.model_validate(limits), USED)
    assert [f"limits.{name}" in each for each in refusals(round_)] == [True, True]
    assert agents.handed_out == 0


def test_a_turn_hands_out_sixteen_tasks_and_no_agent_is_deeper_than_three() -> None:
    agents = Agents()
    round_, _ = agents.admit(planned(MAX_DELEGATIONS - 1), 2, TurnLimits(), USED)
    assert refusals(round_) == []
    round_, _ = agents.admit(planned(3), 2, TurnLimits(), USED)
    assert [type(each.disposition) for each in round_] == [Delegate, Refuse, Refuse]
    assert f"{MAX_DELEGATIONS} tasks at most" in refusals(round_)[0]
    deep, _ = Agents().admit(planned(1), 3, TurnLimits(), USED)
    assert "do the task yourself" in refusals(deep)[0]


def test_the_host_sees_the_way_to_a_call_and_is_asked_once() -> None:
    agents = at_work(waiting("x"), approval("deep.y", persona_id="deputy"), waiting("z", state="answered"))
    assert [(call.id, call.persona_id) for call in agents.new_calls] == [
        ("call00000.x", "clerk"),
        ("call00000.deep.y", "deputy"),
    ]
    agents.asked |= {call.id for call in agents.new_calls}
    assert agents.hear(paused(waiting("x"), number=2), TURN, ())
    assert agents.new_calls == []
    assert agents.deadlines == [NOW + HOUR]


def test_what_an_agent_waits_for_no_more_is_gone_from_the_pause_too() -> None:
    agents = at_work(waiting("x"), waiting("y"))
    pause = pause_of(*agents.new_calls, waiting("own"))
    assert agents.gone(pause) == []
    agents.hear(paused(waiting("y"), number=2), TURN, ())
    assert agents.gone(pause) == ["call00000.x"]
    agents.end(agents.at_work["call00000"])
    assert agents.gone(pause) == ["call00000.x", "call00000.y"]


def test_a_notice_that_came_late_or_from_elsewhere_changes_nothing() -> None:
    agents = at_work(waiting("x"))
    agents.hear(paused(waiting("new"), number=3), TURN, ())
    agents.hear(paused(waiting("old"), number=2), TURN, ())
    assert [call.id for call in agents.new_calls] == ["call00000.new"]
    for strange in ("turn-c1-t1", "other.call00000", "turn-c1-t1.call00000.deep", ""):
        notice = paused(waiting("evil")).model_copy(update={"workflow_id": strange})
        assert not agents.hear(notice, TURN, ())


def test_a_notice_before_its_agent_is_kept_for_it_and_few_are() -> None:
    """A run that was reset hears again what its former self heard, before it starts the agent once more."""
    agents = Agents()
    assert agents.hear(paused(waiting("x")), TURN, ())
    agents.start("call00000", "clerk", TURN, ())
    assert [call.id for call in agents.new_calls] == ["call00000.x"]
    heard = [agents.hear(paused(agent=f"nobody{n:03}"), TURN, ()) for n in range(MAX_DELEGATIONS + 1)]
    assert heard.count(False) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"output": {"a": [1, None]}},
        {"output": None},
        {"errorDetails": {"code": "GONE", "message": "away", "details": {"x": 1}}},
        {"errorDetails": "away", "output": "half"},
        {"isError": True, "output": "it broke"},
        {"decision": "approve"},
        {"decision": "reject"},
        {"decision": "reject", "reason": "no"},
        {"decision": "edit", "arguments": {"n": 1}},
    ],
)
def test_an_answer_means_the_same_after_it_was_passed_on(said: dict[str, Any]) -> None:
    [item] = one(toolCallId="a.b", **said).items
    again = read_answer([{"results": [as_result("b", item.resolution)]}], "many")
    assert not isinstance(again, tuple)
    assert getattr(again, "items")[0] == AnsweredCall("b", None, item.resolution, item.digest)  # noqa: B009


def test_answers_and_fills_go_to_the_agent_that_asked() -> None:
    agents = at_work(waiting("x"), waiting("deep.y"), waiting("z"))
    pause = pause_of(*agents.new_calls, waiting("own"))
    accepted = give(pause, many({"toolCallId": "call00000.x", "output": 1}, {"toolCallId": "own", "output": 2}))
    agents.pass_on(pause.slot(item.call_id) for item in accepted.new)
    agents.pass_on_fills(pause.fill("left_out"), "left_out")
    assert [(each.workflow_id, each.name) for each in agents.outbox] == [
        (f"{TURN}.call00000", "handle_tool_results"),
        (f"{TURN}.call00000", "fill_calls"),
    ]
    assert agents.outbox[0].body == {"results": [{"toolCallId": "x", "output": 1}], "partial": "wait"}
    assert agents.outbox[1].body == {"toolCallIds": ["deep.y", "z"], "reason": "left_out"}
    # None of it is a result in the history of the caller.
    assert [result.tool_call_id for result in pause.results()] == ["own"]


def test_a_share_that_is_raised_raises_the_whole() -> None:
    budget = Budget.of(TurnLimits(max_tokens=1_000, on_limit="ask"))
    asked = Budget.of(TurnLimits(max_tokens=300, on_limit="ask"))
    progress = Progress(usage=CostAggregator(total_tokens=310))
    reached = asked.due(progress, NOW, for_tools=True)
    assert reached is not None
    call = asked.ask(reached, progress, "k", NOW, NOW).model_copy(update={"id": "call00000.x"})
    [answer] = one(toolCallId=call.id, output={"maxTokens": 500}).items
    budget.grow(call, answer.resolution)
    assert budget.limits.max_tokens == 1_200
    budget.grow(call, Approve())
    assert budget.limits.max_tokens == 1_200 + 310
    budget.grow(call, None)
    assert budget.limits.max_tokens == 1_510


@pytest.mark.parametrize(
    ("output", "said", "code"),
    [
        ({"responseText": "Done."}, "Done.", None),
        ({}, "The agent has ended without words.", None),
        ({"responseText": "x", "textRef": "k/1"}, {"text": "x", "cut": True}, None),
        ({"error": {"code": "LIMIT_TOKENS", "message": "m"}}, {"code": "LIMIT_TOKENS", "message": "m"}, "LIMIT_TOKENS"),
        (
            {"responseText": "half", "error": {"code": "E", "message": "m"}},
            {"code": "E", "message": "m", "text": "half"},
            "E",
        ),
    ],
)
def test_the_words_of_an_agent_are_the_result(output: dict[str, Any], said: Any, code: str | None) -> None:
    result = agent_result(planned(1)[0], GMIOutput.model_validate({"isFinal": True, **output}))
    assert (result.output, result.is_error) == (said, code is not None)
    assert (result.error_details.code if isinstance(result.error_details, ErrorDetails) else None) == code


def test_an_agent_starts_with_the_callers_user_and_tools_and_with_a_conversation_of_its_own() -> None:
    tools = (ExternalTool(name="ask"),)
    given = TurnInput(content="Go", user_id="ada", session_id="s", organization_id="o", external_tools=tools)
    told = agent_input(given, "c1", "call00000", Delegate("clerk", "Do it."), TurnLimits(max_tokens=5))
    agent = TurnInput.model_validate(told)
    assert (agent.content, agent.persona_id, agent.user_id) == ("Do it.", "clerk", "ada")
    assert (agent.session_id, agent.organization_id, agent.external_tools) == ("s", "o", tools)
    assert (agent.conversation_id, agent.interaction_id, agent.limits.max_tokens) == ("c1.call00000", "call00000", 5)
    assert agent.delegation is not None
    assert agent.delegation.depth == 1


def test_long_names_of_conversations_stay_apart_and_within_their_bound() -> None:
    names = {agent_conversation("c" * 199 + end, "call00000") for end in "ab"}
    assert len(names) == 2
    assert all(len(name) <= 200 for name in names)


def test_a_pause_is_told_whole_or_in_part_but_always() -> None:
    host = ExternalTool(name="book", input_schema={"type": "object", "title": "x" * 9_000})
    call = waiting("a", input_schema=host.input_schema)
    told = told_pending(paused(call).pending, (host,))
    assert told is not None
    assert told.tool_calls[0].input_schema is None
    agents = Agents()
    agents.start("call00000", "clerk", TURN, (host,))
    agents.hear(paused(*told.tool_calls), TURN, (host,))
    assert agents.new_calls[0].input_schema == host.input_schema
    huge = [approval(f"p{n}", arguments={"t": "x" * 8_000}, input_schema={"t": "y" * 8_000}) for n in range(200)]
    told = told_pending(paused(*huge).pending, ())
    assert told is not None
    assert len(told.tool_calls) == 200
    assert encoded_size(told.tool_calls) <= PENDING_BYTES


NO_FILLS: list[Any] = [
    *(None, [], {}, {"toolCallIds": ["a"]}, {"toolCallIds": "a", "reason": "settled"}),
    *({"toolCallIds": [1], "reason": "settled"}, {"toolCallIds": ["a"] * 1_001, "reason": "settled"}),
    *({"toolCallIds": ["a"], "reason": "because"}, {"toolCallIds": ["a"], "reason": []}),
]


@pytest.mark.parametrize("argument", NO_FILLS)
def test_a_fill_that_cannot_be_read_is_none(argument: Any) -> None:
    assert read_fill([argument]) is None
    assert read_fill([]) is None


def test_totals_are_summed_by_model() -> None:
    def total(model: str, tokens: int, cost: float | None) -> CostAggregator:
        entry = CostEntry(
            provider_id="p", model_id=model, tokens=tokens, prompt_tokens=tokens, completion_tokens=0, cost_usd=cost
        )
        return CostAggregator(total_tokens=tokens, prompt_tokens=tokens, total_cost_usd=cost, breakdown=(entry,))

    both = add_totals(add_totals(total("small", 5, 0.5), total("large", 7, None)), total("small", 1, 0.25))
    assert (both.total_tokens, both.prompt_tokens, both.total_cost_usd) == (13, 13, 0.75)
    assert [(entry.model_id, entry.tokens, entry.cost_usd) for entry in both.breakdown] == [
        ("small", 6, 0.75),
        ("large", 7, None),
    ]
