"""Values and Hypothesis strategies of the pure tests: calls, pauses, answers, and messages of a host that means harm."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from activities.contracts import Excerpt, ModelReply, RequestedCall, ToolFacts, TurnBegun
from activities.conversation import ErrorDetails, ModelUsage
from activities.json_values import Undecodable
from activities.turn_input import TurnInput
from workflows.answers import Answer, Refusal, read_answer
from workflows.contracts import PendingCall
from workflows.pause import Accepted, Pause
from workflows.turn_state import TurnState

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
EXTERNAL = ToolFacts(kind="external")
WORKER = ToolFacts(kind="worker")
GUARDED = ToolFacts(kind="worker", needs_approval=True)


def waiting(call_id: str, name: str = "book", **fields: Any) -> PendingCall:
    """A call that waits for the host."""
    return PendingCall(id=call_id, name=name, **fields)


def approval(call_id: str, name: str = "pay", **fields: Any) -> PendingCall:
    """A call of a worker's tool that waits for a person's word."""
    return PendingCall(id=call_id, name=name, kind="approval", **fields)


def pause_of(*calls: PendingCall, deadline: datetime = NOW + HOUR) -> Pause:
    """A pause with every slot open."""
    return Pause.of("turn-1/0", calls, deadline)


def many(*results: Any, **fields: Any) -> Answer:
    """An answer by `handle_tool_results`, which must be well formed."""
    answer = read_answer([{"results": list(results), **fields}], "many")
    assert isinstance(answer, Answer), answer
    return answer


def one(**fields: Any) -> Answer:
    """An answer by `handle_tool_result`, which must be well formed."""
    answer = read_answer([fields], "one")
    assert isinstance(answer, Answer), answer
    return answer


def give(pause: Pause, answer: Answer) -> Accepted:
    """Judge and take, as a turn does; the answer must be acceptable."""
    verdict = pause.judge(answer)
    assert isinstance(verdict, Accepted), verdict
    pause.take(verdict)
    return verdict


def reasons(verdict: object) -> dict[str | None, str]:
    """The reasons of a refusal by call."""
    assert isinstance(verdict, Refusal), verdict
    return {each.tool_call_id: each.reason for each in verdict.reasons}


def requested(call_id: str, name: str = "book", tool: ToolFacts | None = EXTERNAL, **fields: Any) -> RequestedCall:
    """A call as the model's reply has it."""
    return RequestedCall(id=call_id, name=name, tool=tool, **fields)


def broken(call_id: str, name: str = "nothing") -> RequestedCall:
    """A call that must not run."""
    return requested(call_id, name, None, problem=ErrorDetails(code="TOOL_NOT_FOUND", message=f"no tool {name}"))


def reply(*calls: RequestedCall, row: int = 1, text: str | None = None, **fields: Any) -> ModelReply:
    """A reply of the model, stored as row `row`."""
    said = None if text is None else Excerpt.of(text)
    used = ModelUsage(prompt_tokens=10, completion_tokens=2, total_tokens=12)
    return ModelReply(row=row, calls=calls, text=said, usage=used, model="m", provider="p", **fields)


def turn_state(**fields: Any) -> TurnState:
    """A turn that has begun, with the host's tools `book` and, with two seconds of its own, `ring`."""
    tools = [
        {"name": "book", "outputSchema": {"type": ["object", "string", "null", "boolean", "array", "number"]}},
        {"name": "ring", "timeout": "PT2S", "outputSchema": {"type": "string"}},
    ]
    given = TurnInput.model_validate({"content": "hi", "userId": "ada", "externalTools": tools, **fields})
    state = TurnState.of(given, "turn-c1-t1")
    state.begun = TurnBegun(conversation_id="c1", persona_id="default", rows=1, position=0)
    state.rows, state.phase = 1, "running"
    return state


def begin_round(state: TurnState, *calls: RequestedCall, row: int = 1, now: datetime = NOW) -> None:
    """The model replied with these calls."""
    said = reply(*calls, row=row)
    state.take_reply(said, now)
    state.open_round(said, now)


def pause_round(state: TurnState, *calls: RequestedCall, row: int = 1, now: datetime = NOW) -> Pause:
    """The model replied with these calls, and the turn waits for its host."""
    begin_round(state, *calls, row=row, now=now)
    return state.open_pause(reply(*calls, row=row), "turn-c1-t1", now)


json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


# What a message may hold once it has been decoded: hardly any of it is an answer, all of it must be survived.
HOSTILE: list[Any] = [
    None,
    True,
    0,
    "",
    "text",
    [],
    {},
    b"\xff",
    float("nan"),
    float("inf"),
    "half a pair \ud83d",
    {"\udc00": 1},
    10**1_500,
    nested(200),
    Undecodable("not JSON"),
    {"results": None},
    {"results": []},
    {"results": [None]},
    {"results": [{"toolCallId": {}}]},
    {"results": [{"toolCallId": "x" * 10_000, "output": 1}]},
    {"results": [{"toolCallId": "x"}] * 1_001},
    {"results": [{"toolCallId": "x", "decision": ["approve"]}]},
    {"results": [{"toolCallId": "x", "output": float("nan")}]},
    {"results": [{"toolCallId": "x", "output": 1}], "partial": {"fill": 1}},
    {"results": [{"toolCallId": "x", "output": 1}], "options": {"nonsense": 1}},
    {"toolCallId": "x", "output": "y" * 1_100_000},
]
# By number: a failing example prints its choice, and some of these are megabytes.
hostile_values = st.integers(0, len(HOSTILE) - 1).map(lambda number: HOSTILE[number])
hostile_arguments = st.lists(hostile_values | json_values, max_size=3)
