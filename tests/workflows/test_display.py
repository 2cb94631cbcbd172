"""A person reads what a turn waits for, and can answer by pasting what is printed."""

import json
import re
import shlex
from typing import Any

import pytest

from activities.conversation import ErrorDetails, GMIOutput
from tests.workflows.strategies import HOUR, NOW, approval, pause_of, waiting
from workflows.answers import Answer, read_answer
from workflows.contracts import PendingCall, PendingRequest
from workflows.display import DETAILS_BYTES, answer_command, end_details, pause_details
from workflows.pause import Accepted

# What the server keeps of a turn's details.
SERVER_BYTES = 20_000

HOSTILE_TEXTS = [
    "```\n# injected\n```",
    'it\'s "quoted" $(rm -rf /) `id` \\ ; & | > < !',
    "line\nline\r\nline\u2028line\x0bline",
    "NUL \x00 and \x1b[31mred",
    "**bold** [link](javascript:alert(1)) ![img](https://x/y.png) <script>x</script>",
    "日本語 " * 400,
    "\U0001f469\u200d\U0001f467" * 300,
    "x" * 1_000_000,
]


def request(*calls: PendingCall, **fields: Any) -> PendingRequest:
    owner = {"conversation_id": "c1", "user_id": "ada", "persona_id": "default", "stream_id": "turn-c1-t1"}
    moments = {"requested_at": NOW, "deadline": NOW + HOUR}
    return PendingRequest.model_validate({"pause_id": "p", "tool_calls": calls, **moments, **owner, **fields})


def blocks(details: str) -> list[str]:
    """The code blocks of Markdown, as a renderer finds them."""
    found, lines = [], iter(details.split("\n"))
    for line in lines:
        if fence := re.match("(`{3,})sh$", line):
            block = []
            for inner in lines:
                if re.fullmatch(f"`{{{len(fence[1])},}} *", inner):
                    break
                block.append(inner)
            found.append("\n".join(block))
    return found


def parsed(command: str) -> dict[str, str]:
    """The options of a printed `temporal` command, read as a shell reads it."""
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:3] == ["temporal", "workflow", "signal"]
    assert all(word.startswith("--") for word in words[3::2])
    return dict(zip(words[3::2], words[4::2], strict=True))


@pytest.mark.parametrize(
    "calls",
    [
        [waiting("a")],
        [approval("p")],
        [waiting("a", "book"), approval("p", "pay"), waiting("c", "ring")],
        [waiting("a", arguments={"note": text}) for text in HOSTILE_TEXTS],
        [waiting(f"c{n}") for n in range(20)],
    ],
)
def test_the_printed_command_answers_every_open_call(calls: list[PendingCall]) -> None:
    calls = [call.model_copy(update={"id": f"{call.id}{place}"}) for place, call in enumerate(calls)]
    command, settle = blocks(pause_details(request(*calls), "turn-c1-t1", "default"))
    options = parsed(command)
    assert (options["--workflow-id"], options["--name"]) == ("turn-c1-t1", "handle_tool_results")
    answer = read_answer([json.loads(options["--input"])], "many")
    assert isinstance(answer, Answer)
    pause = pause_of(*calls)
    verdict = pause.judge(answer)
    assert isinstance(verdict, Accepted)
    pause.take(verdict)
    assert pause.is_settled
    assert parsed(settle) == {"--workflow-id": "turn-c1-t1", "--name": "settle"}


@pytest.mark.parametrize("text", [*HOSTILE_TEXTS[:5], "-dash", "a b", "`", "'", "turn-日本"])
def test_any_workflow_id_and_namespace_can_be_pasted(text: str) -> None:
    command, settle = blocks(pause_details(request(waiting("a")), text, text))
    for options in (parsed(command), parsed(settle)):
        assert (options["--workflow-id"], options["--namespace"]) == (text, text)


def test_only_calls_that_are_open_stand_in_the_command() -> None:
    calls = [waiting("a", state="answered"), waiting("b"), waiting("c", state="filled")]
    details = pause_details(request(*calls), "w", "default")
    assert "### Waiting for 1 of 3 calls" in details
    assert [each["toolCallId"] for each in json.loads(parsed(blocks(details)[0])["--input"])["results"]] == ["b"]
    assert all(f"`{call.id}` (external, {call.state})" in details for call in calls)


def test_a_person_sees_since_when_and_until_when() -> None:
    details = pause_details(request(waiting("a"), rationale="I need a room."), "w", "default")
    assert "Since `2026-01-02 03:04:05` UTC, until `2026-01-02 04:04:05` UTC." in details
    assert "> I need a room." in details


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_words_of_a_model_stay_on_their_line_and_render_nothing(text: str) -> None:
    """The details are Markdown in somebody's browser."""
    details = pause_details(request(waiting("a", arguments={"note": text}), rationale=text), "w", "default")
    assert len(details.split("\n")) == len(
        pause_details(request(waiting("a"), rationale="r"), "w", "default").split("\n")
    )
    [quoted] = [line for line in details.split("\n") if line.startswith("> ")]
    assert not re.search(r"(?<!\\)(\\\\)*[\[<]", quoted)
    [call] = [line for line in details.split("\n") if line.startswith("- ")]
    assert call.count("`") == 4
    assert len(details.encode()) < SERVER_BYTES


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_however_much_is_asked_the_command_is_whole(text: str) -> None:
    calls = [waiting(f"c{n:08}", "n" * 64, arguments={"note": text, "again": text}) for n in range(200)]
    details = pause_details(request(*calls, rationale=text), "'" * 400, "default")
    assert len(details.encode()) < SERVER_BYTES
    command, settle = blocks(details)
    assert len(json.loads(parsed(command)["--input"])["results"]) == 20
    assert parsed(settle)["--name"] == "settle"


def test_calls_past_the_first_are_counted() -> None:
    details = pause_details(request(*(waiting(f"c{n}") for n in range(23))), "w", "default")
    assert "- and 3 more: `get_pending_request` lists all" in details


def test_an_approval_is_asked_for_by_decision() -> None:
    options = parsed(answer_command([approval("p", "pay")], "w", "default"))
    assert json.loads(options["--input"])["results"] == [{"toolCallId": "p", "toolName": "pay", "decision": "approve"}]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_the_end_is_told_in_words_the_server_keeps(text: str) -> None:
    error = ErrorDetails(code="LIMIT_COST", message=text)
    details = end_details(GMIOutput(is_final=True, response_text=text, error=error), "completed")
    assert details.startswith("### Completed\n\n**LIMIT_COST**: ")
    assert len(details.encode()) <= DETAILS_BYTES + 20


def test_a_turn_that_said_nothing_has_only_its_state() -> None:
    assert end_details(GMIOutput(is_final=True), "cancelled") == "### Cancelled"
