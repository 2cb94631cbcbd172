"""What a person sees of an instance in the Temporal UI and CLI. Pure: Markdown text.

The details of a handler's change are shown with the next step of the instance, which follows at once when a turn stops.
"""

import json
import shlex

from workflows.gmi_state import InstanceState

SHOWN_CALLS = 20
SHOWN_QUEUE = 20


def instance_details(state: InstanceState, workflow_id: str) -> str:
    """Where the instance stands, and the exact command that answers a pause."""
    lines = [f"### {state.prime_state}", f"Turns: {state.turns}, failed: {state.failed}, mood: {state.mood}."]
    if state.open is not None:
        lines.append(f"Open turn: `{state.open.workflow_id}`.")
    if state.queue:
        named = ", ".join(f"`{each.turn_id}`" for each in state.queue[:SHOWN_QUEUE])
        lines.append(f"Waiting: {len(state.queue)} ({named}).")
    if state.open is not None and state.open.output is not None:
        lines.append(f"Answer with:\n```sh\n{answer_command(state, workflow_id)}\n```")
    return "\n\n".join(lines)


def answer_command(state: InstanceState, workflow_id: str) -> str:
    """A shell command that answers the open pause, with a place for each output."""
    output = state.open.output if state.open else None
    calls = (output.tool_calls or ())[:SHOWN_CALLS] if output else ()
    results = [{"toolCallId": call.id, "output": {"answer": "…"}} for call in calls]
    body = json.dumps({"results": results}, ensure_ascii=False)
    return (
        f"temporal workflow update execute \\\n  --workflow-id {shlex.quote(workflow_id)} \\\n"
        f"  --name handle_tool_results -o json \\\n  --input {shlex.quote(body)}"
    )
