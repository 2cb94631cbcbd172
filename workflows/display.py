"""What a person sees of a turn in the Temporal UI and CLI. Pure: Markdown text.

The server keeps at most 20,000 bytes of details, so long values are cut here and whole in `get_pending_request`.
"""

import json
import re
import shlex
from typing import Any

from activities.conversation import GMIOutput
from workflows.budget import suggested_raise
from workflows.contracts import PendingCall, PendingRequest

DETAILS_BYTES = 18_000
VALUE_CHARS = 600
SHOWN_CALLS = 20


def pause_details(request: PendingRequest, workflow_id: str, namespace: str) -> str:
    """What is waited for, since when, until when, and the exact command that answers."""
    # The command is what the reader came for, so the list of calls gives way to it.
    how = _how_to_answer(request, workflow_id, namespace)
    return f"{_bounded(_what_is_asked(request), DETAILS_BYTES - len(how.encode()))}\n\n{how}"


def answer_command(calls: list[PendingCall], workflow_id: str, namespace: str) -> str:
    """A shell command that answers these calls, with a place for each output. Broken into lines that fit the UI's pane."""
    results = ",\n".join(_result_to_send(call) for call in calls)
    body = f'{{"results": [\n{results}\n]}}'
    return (
        f"temporal workflow signal{_namespace(namespace)} \\\n  --workflow-id {shlex.quote(workflow_id)} \\\n"
        f"  --name handle_tool_results \\\n  --input {shlex.quote(body)}"
    )


def _result_to_send(call: PendingCall) -> str:
    which = json.dumps({"toolCallId": call.id, "toolName": call.name}, ensure_ascii=False)
    return f"  {which[:-1]},\n   {json.dumps(_outcome(call), ensure_ascii=False)[1:]}"


def _outcome(call: PendingCall) -> dict[str, Any]:
    if call.kind == "approval":
        return {"decision": "approve"}
    return {"output": suggested_raise(call) if call.kind == "budget" else {"answer": "…"}}


def end_details(output: GMIOutput, phase: str) -> str:
    """How the turn ended."""
    lines = [f"### {phase.capitalize()}"]
    if output.error is not None:
        lines.append(f"**{output.error.code}**: {_inert(_one_line(output.error.message))}")
    if output.response_text:
        lines.append(_inert(output.response_text[:4_000]))
    return _bounded("\n\n".join(lines))


def _what_is_asked(request: PendingRequest) -> str:
    calls = request.tool_calls
    waiting = sum(call.state == "open" for call in calls)
    # The UI's Markdown begins a list or a quotation only after an empty line.
    parts = [
        f"### Waiting for {waiting} of {len(calls)} calls",
        f"Since `{request.requested_at:%Y-%m-%d %H:%M:%S}` UTC, until `{request.deadline:%Y-%m-%d %H:%M:%S}` UTC.",
    ]
    if request.rationale:
        parts.append(f"> {_inert(_one_line(request.rationale))}")
    listed = [_call_line(call) for call in calls[:SHOWN_CALLS]]
    if len(calls) > SHOWN_CALLS:
        listed.append(f"- and {len(calls) - SHOWN_CALLS} more: `get_pending_request` lists all")
    return "\n\n".join([*parts, "\n".join(listed)])


def _how_to_answer(request: PendingRequest, workflow_id: str, namespace: str) -> str:
    waiting = [call for call in request.tool_calls if call.state == "open"]
    settle = f"temporal workflow signal{_namespace(namespace)} \\\n  --workflow-id {shlex.quote(workflow_id)} \\\n  --name settle"
    return "\n".join(
        [
            "Answer with:",
            _fenced(answer_command(waiting[:SHOWN_CALLS], workflow_id, namespace)),
            'Calls left out are filled as not run; add `"partial": "wait"` to keep waiting for them. '
            "End the pause without an answer:",
            _fenced(settle),
        ]
    )


def _fenced(command: str) -> str:
    """A code block that nothing in the command can end: its fence is longer than any run of backticks there."""
    longest = max(map(len, re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{command}\n{fence}"


def _namespace(namespace: str) -> str:
    return "" if namespace == "default" else f" --namespace {shlex.quote(namespace)}"


def _call_line(call: PendingCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return f"- **{call.name}** `{call.id}` ({call.kind}, {call.state}) `{_one_line(arguments)}`"


def _one_line(value: Any) -> str:
    text = " ".join(str(value).split()).replace("`", "'")
    return text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]}… (cut)"


def _inert(text: str) -> str:
    """Text of a model or a tool outside a code span: no link, image or HTML of theirs is rendered."""
    return re.sub(r"([\\\[<])", r"\\\1", text)


def _bounded(text: str, room: int = DETAILS_BYTES) -> str:
    data = text.encode()
    return text if len(data) <= room else data[:room].decode(errors="ignore") + "\n\n(cut)"
