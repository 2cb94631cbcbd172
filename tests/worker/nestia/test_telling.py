"""What rows tell: tables of rows and entries, without a server."""

from typing import Any

import pytest

from activities.conversation import (
    AssistantMessage,
    ErrorDetails,
    Message,
    ToolCall,
    ToolCallResult,
    ToolMessage,
    UserMessage,
)
from activities.selection import ChoiceFacts, ChoicePhase, ChosenFunction
from activities.turn_input import SelectionOptions
from worker.nestia.prompts import Operation, Prompt
from worker.nestia.telling import TurnTeller

ADD = {"controller": "calc", "function": "add", "protocol": "class"}
INVALID = {"code": "TOOL_ARGUMENTS_INVALID", "message": "a is missing"}


def said(text: str | None, phase: str | None = "execute", **meta: Any) -> AssistantMessage:
    return AssistantMessage(content=text, meta={"phase": phase, **meta} if phase else meta)


def calling(*ids: str, text: str | None = None, phase: str | None = "execute", **meta: Any) -> AssistantMessage:
    """A reply that calls `add`, once for each id."""
    calls = tuple(ToolCall(id=each, name="add", arguments={"of": each}) for each in ids)
    functions = {"functions": dict.fromkeys(ids, ADD)}
    kept = {**({"phase": phase} if phase else {}), **functions, **meta}
    return AssistantMessage(content=text, tool_calls=calls, meta=kept)


def gave(call_id: str, output: Any = 1) -> ToolMessage:
    return ToolMessage(result=ToolCallResult(tool_call_id=call_id, tool_name="add", output=output))


def failed(
    call_id: str, code: str = "TOOL_ARGUMENTS_INVALID", message: str = "a is missing", **more: Any
) -> ToolMessage:
    error = {"code": code, "message": message, **more}
    return ToolMessage(
        result=ToolCallResult(tool_call_id=call_id, tool_name="add", is_error=True, error_details=error, output=error)
    )


def chose(phase: ChoicePhase, *names: str, group: int = 0, groups: int = 1) -> AssistantMessage:
    chosen = tuple(ChosenFunction(name=name, reason="r", **{**ADD, "function": name}) for name in names)
    facts = ChoiceFacts(phase=phase, call_id=f"c{group}", wanted=True, chosen=chosen, group=group, groups=groups)
    return AssistantMessage(meta={"choice": facts.model_dump(mode="json", by_alias=True)})


def tell(*rows: Message, error: ErrorDetails | None = None, **options: Any) -> tuple[list[Prompt], list[str]]:
    """The entries, and the types of the events."""
    teller = TurnTeller(SelectionOptions(**options), lambda name: None)
    told = [each for row in rows for each in teller.take(row)] + teller.close(error)
    prompts = [each.prompt for each in told if each.prompt is not None]
    return prompts, [kind for each in told for kind, _ in each.events]


def short(prompts: list[Prompt]) -> list[str]:
    return [prompt.get("id") or prompt["text"] for prompt in prompts]


@pytest.mark.parametrize(
    ("rows", "entries"),
    [
        ([UserMessage(content="hi"), said("hello")], ["hi", "hello"]),
        ([calling("a"), gave("a"), said("one", "describe")], ["a", "a", "one"]),
        # Words of a reply come after what its calls gave.
        ([calling("a", "b", text="both"), gave("a"), gave("b")], ["a", "a", "b", "b", "both"]),
        # A correction takes the place of what it corrects, in the order in which calls are certain.
        ([calling("a", "b"), failed("a"), gave("b"), calling("c"), gave("c")], ["b", "b", "c", "c"]),
        ([calling("a"), failed("a"), calling("b"), failed("b"), said("no", "describe")], ["b", "b", "no"]),
        # Two that failed, of which one was corrected.
        ([calling("a", "b"), failed("a"), failed("b"), calling("c"), gave("c")], ["c", "c", "b", "b"]),
        # Refused after too many failures: the last failure is what stands.
        ([calling("a"), failed("a"), calling("b"), failed("b", "TOOL_CALL_REJECTED")], ["a", "a"]),
        ([calling("a"), failed("a", "TOOL_CALL_REJECTED", "a person refused")], ["a"]),
        ([calling("a"), failed("a", "EXTERNAL_TOOL_NOT_RUN", "too late")], ["a"]),
        ([calling("a"), failed("a", "TOOL_NOT_FOUND")], []),
        ([calling("a"), failed("a", "TOOL_CALL_CUT")], []),
        ([calling("a"), failed("a", "LIMIT_TOOL_ROUNDS")], []),
        ([calling("a"), failed("a", "TOOL_OUTCOME_UNKNOWN")], ["a", "a"]),
        # A result without its call, and a call without its result.
        ([gave("z"), calling("a")], []),
        ([calling("a", functions={}), gave("a")], []),
    ],
)
def test_entries_of_calls(rows: list[Message], entries: list[str]) -> None:
    assert short(tell(*rows)[0]) == entries


def test_a_failure_tells_what_was_wrong_as_a_value() -> None:
    prompts, _ = tell(calling("a"), failed("a"))
    assert prompts[0]["value"] == {"name": "TOOL_ARGUMENTS_INVALID", "message": "a is missing"}


def test_events_of_a_corrected_call_are_those_of_one() -> None:
    rows: list[Message] = [calling("a"), failed("a"), calling("b"), gave("b"), said("one", "describe")]
    assert tell(*rows)[1] == ["call", "execute", "cancel", "describe"]
    # A call that never could be made is none.
    bad = calling("a", problems={"a": INVALID})
    assert tell(bad, failed("a"), calling("b"), gave("b"))[1] == ["execute", "cancel"]


@pytest.mark.parametrize(
    ("phase", "describe", "kind"),
    [
        (None, "each", "describe"),
        ("execute", "off", "describe"),
        ("execute", "each", "text"),
        ("describe", "end", "describe"),
    ],
)
def test_words_after_results_are_about_these_where_no_phase_says_otherwise(
    phase: str | None, describe: str, kind: str
) -> None:
    prompts, _ = tell(calling("a", phase=phase), gave("a"), said("one", phase), describe=describe)
    assert prompts[-1]["type"] == kind


def test_a_description_is_of_what_ran_since_the_last() -> None:
    rows: list[Message] = [
        calling("a"),
        gave("a"),
        said("one", "describe"),
        calling("b"),
        gave("b"),
        said("two", "describe"),
    ]
    described = [each for each in tell(*rows)[0] if each["type"] == "describe"]
    assert [[every["id"] for every in each["executions"]] for each in described] == [["a"], ["b"]]
    assert tell(said("nothing ran", "describe"))[0] == [{"type": "text", "role": "assistant", "text": "nothing ran"}]


def test_groups_count_as_one_choice_or_not_at_all() -> None:
    rows = [chose("select", "f", group=0, groups=2), chose("select", "g", group=1, groups=2)]
    prompts, events = tell(*rows, eliticism=False)
    assert [(each["id"], [every["name"] for every in each["operations"]]) for each in prompts] == [("c0", ["f", "g"])]
    assert events == ["select", "select"]
    assert tell(*rows, chose("select", "g"), eliticism=True)[1] == ["select"]


def test_a_limit_without_words_is_told_in_words() -> None:
    limit = ErrorDetails(code="LIMIT_DEADLINE", message="The turn stopped at a limit.")
    assert short(tell(UserMessage(content="hi"), error=limit)[0]) == ["hi", "The turn stopped at a limit."]
    assert short(tell(said("bye"), error=limit)[0]) == ["bye"]
    assert tell(error=ErrorDetails(code="LLM_PROVIDER_ERROR", message="m"))[0] == []


def test_a_guardrail_that_ended_the_turn_is_told_with_its_reason() -> None:
    blocked = ErrorDetails(code="GUARDRAIL_BLOCKED", message="Not to be said.")
    assert short(tell(UserMessage(content="hi"), said("first"), error=blocked)[0]) == ["hi", "first", "Not to be said."]


LONG = '{"status":201,"headers":{},"body":"lo\n[cut'


@pytest.mark.parametrize(
    ("output", "status", "headers", "body"),
    [
        ({"status": 404, "headers": {"a": "b", "Set-Cookie": "x"}, "body": 1}, 404, {"a": "b"}, 1),
        ({"status": 200, "headers": "odd"}, 200, {}, None),
        ({"status": True}, 200, {}, {"status": True}),
        (LONG, 201, {}, LONG),
        ("a host's own answer", 200, {}, "a host's own answer"),
        (None, 200, {}, None),
    ],
)
def test_any_output_of_an_http_function_is_an_answer(output: Any, status: int, headers: Any, body: Any) -> None:
    http = {"a": {**ADD, "protocol": "http"}}
    value = tell(calling("a", functions=http), gave("a", output))[0][0]["value"]
    assert value == {"status": status, "headers": headers, "body": body}


def test_a_function_of_an_mcp_server_is_written_as_one_that_gives_any_value() -> None:
    operation = Operation.of("mcp", "files", "read", "read")
    assert operation is not None
    assert operation.protocol == "class"
    assert Operation.of("class", None, None, "search_memory") is None
