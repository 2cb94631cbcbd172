"""`make demo`: the main path on embedded parts, told command by command.

A dev server with its UI, a worker in a process of its own, the real `temporal` CLI. `--keep` stops at the pause and leaves
everything running, so that a person can answer from another terminal.
"""

import argparse
import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.conversation import GMIOutput
from activities.errors import EXTERNAL_TOOL_NOT_RUN
from worker.client import Turn, TurnClient
from worker.dev_server import DevServer, free_port, start_dev_server, temporal_cli
from worker.exits import leave
from worker.pollers import has_worker
from worker.settings import load_settings
from workflows.contracts import PendingCall, PendingRequest
from workflows.names import TASK_QUEUE, TURN_WORKFLOW, turn_workflow_id

CONVERSATION = "demo"
FIRST, SECOND = "t1", "t2"
REQUEST = "Please refund order 1042, the box was empty. I prefer e-mail to phone calls."
QUESTION = "What do you know about me, and which order was it?"
TOOLS = [
    {
        "name": "approve_refund",
        "description": "Ask a person of the shop to approve a refund.",
        "inputSchema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["order_id", "amount"],
        },
    },
    {
        "name": "notify_customer",
        "description": "Send the customer a message.",
        "inputSchema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "message": {"type": "string"}},
            "required": ["order_id", "message"],
        },
    },
]
READY_SECONDS = 40.0
TURN_SECONDS = 120.0


class DemoFailed(Exception):
    """Something did not go as the demo promises; the message says what."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The running parts."""

    server: DevServer
    worker: subprocess.Popen[bytes]
    client: Client
    environment: dict[str, str]
    folder: Path

    def turn(self, turn_id: str) -> Turn:
        """A turn of the demo's conversation."""
        return TurnClient(self.client).of(turn_workflow_id(CONVERSATION, turn_id))

    def run(self, *arguments: str) -> str:
        """Print a `temporal` command, run it, and give what it printed."""
        print(f"\n$ {shlex.join(['temporal', *arguments])}", flush=True)
        done = subprocess.run(
            [temporal_cli(), *arguments], env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:
            raise DemoFailed(f"the command failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def show(self, *arguments: str) -> None:
        """Print a `temporal` command and what it prints."""
        print(self.run(*arguments).strip())


def main() -> int:
    """Run the demo; the exit code is 0 when everything went as promised."""
    parser = argparse.ArgumentParser(prog="python -m worker.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="stop at the pause and leave everything running")
    keep = parser.parse_args().keep
    try:
        return asyncio.run(_play(keep))
    except (DemoFailed, TimeoutError, subprocess.TimeoutExpired) as fault:
        print(f"\nThe demo failed: {fault or 'it took too long'}", file=sys.stderr)
        return 1


async def _play(keep: bool) -> int:
    started = time.monotonic()
    with ExitStack() as stack:
        stage = await _set_up(stack, keep)
        await _first_turn(stage)
        if keep:
            _leave_running(stage)
            stack.pop_all()
            return 0
        await _answer_one(stage)
        await _second_turn(stage)
    print(f"\nDone in {time.monotonic() - started:.0f} s; nothing is left running.")
    return 0


async def _set_up(stack: ExitStack, keep: bool) -> Stage:
    """Start the server and the worker; the stack ends them."""
    folder = Path(tempfile.mkdtemp(prefix="turnhold-demo-"))
    if not keep:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    server = await start_dev_server(folder, port=free_port(7233), ui_port=free_port(8233), detached=keep)
    stack.callback(server.stop)
    print(f"Temporal dev server: {server.address}\nTemporal UI:         {server.ui_url}", flush=True)
    environment = {
        **os.environ,
        "TEMPORAL_ADDRESS": server.address,
        "TEMPORAL_NAMESPACE": "default",
        "TURNHOLD_DATABASE_URL": f"sqlite:///{folder}/turnhold.db",
    }
    worker = _start_worker(folder, environment, detached=keep)
    stack.callback(_stop_worker, worker)
    client = await server.connect()
    await _until_polling(client, worker, folder)
    model = load_settings()
    print(f"Worker:              process {worker.pid}, log {folder / 'worker.log'}")
    print(
        f"Model:               {model.model if model.has_model else 'scripted (no OPENAI_API_KEY or OPENAI_BASE_URL)'}"
    )
    return Stage(server, worker, client, environment, folder)


def _start_worker(folder: Path, environment: dict[str, str], *, detached: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "worker", "worker.demo_app:app"]
    with (folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            command,
            env=environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[1],
            start_new_session=detached,
        )


def _stop_worker(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.wait(timeout=20)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


async def _until_polling(client: Client, worker: subprocess.Popen[bytes], folder: Path) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while not await has_worker(client, TASK_QUEUE):
            if worker.poll() is not None:
                raise DemoFailed(f"the worker ended: {(folder / 'worker.log').read_text()[-2000:]}")
            await asyncio.sleep(0.1)


async def _first_turn(stage: Stage) -> None:
    """Start the turn and see it wait for its host."""
    print("\n--- A customer asks for a refund. The turn looks the order up and then waits for its host.")
    _start(stage, FIRST, REQUEST, externalTools=TOOLS)
    await _stop_of(stage, FIRST)
    print("\n--- The pause, as the Temporal UI shows it:")
    print(f"    {stage.server.ui_url}/namespaces/default/workflows/{turn_workflow_id(CONVERSATION, FIRST)}")
    metadata = json.loads(stage.run("workflow", "metadata", "-w", turn_workflow_id(CONVERSATION, FIRST), "-o", "json"))
    print(_details_of(metadata))


async def _answer_one(stage: Stage) -> None:
    """Answer one call; the other one is filled, and the model is told so."""
    pending = await stage.turn(FIRST).pending()
    if pending is None:
        raise DemoFailed("the pause is gone")
    approval = _call(pending, "approve_refund")
    print("\n--- Answer one of the two calls. The one left out is filled as not run.")
    answer = {"results": [{"toolCallId": approval.id, "output": {"approved": True, "reference": "R-77"}}]}
    workflow_id = turn_workflow_id(CONVERSATION, FIRST)
    stage.show("workflow", "signal", "-w", workflow_id, "--name", "handle_tool_results", "--input", json.dumps(answer))
    output = await _result(stage, FIRST)
    history = json.loads(stage.run("workflow", "query", "-w", workflow_id, "--type", "get_history", "-o", "json"))
    filled = [
        message
        for message in history["queryResult"][0]["entries"]
        if isinstance(message.get("errorDetails"), dict) and message["errorDetails"]["code"] == EXTERNAL_TOOL_NOT_RUN
    ]
    if not filled:
        raise DemoFailed("no call was filled")
    for message in filled:
        print(f"{message['toolName']}: {message['errorDetails']['code']}: {message['errorDetails']['message']}")
    print(f"\nThe agent says: {output.response_text}")


async def _second_turn(stage: Stage) -> None:
    """A later turn knows what the first one taught."""
    print("\n--- A second turn of the same conversation. Memory puts what it learned into the prompt.")
    _start(stage, SECOND, QUESTION)
    output = await _result(stage, SECOND)
    planned = (output.memory or {}).get("planned", {})
    print(f"\nMemory put {planned.get('entries', 0)} facts ({planned.get('tokens', 0)} tokens) into the prompt.")
    print(f"The agent says: {output.response_text}")
    if not planned.get("entries"):
        raise DemoFailed("memory recalled nothing")


def _start(stage: Stage, turn_id: str, content: str, **fields: Any) -> None:
    body = {"content": content, "conversationId": CONVERSATION, "interactionId": turn_id, **fields}
    stage.show(
        *("workflow", "start", "--type", TURN_WORKFLOW, "--task-queue", TASK_QUEUE),
        *("--workflow-id", turn_workflow_id(CONVERSATION, turn_id), "--id-reuse-policy", "RejectDuplicate"),
        *("--fail-existing", "--static-summary", content[:100], "--input", json.dumps(body)),
    )


async def _stop_of(stage: Stage, turn_id: str) -> None:
    stop = await stage.turn(turn_id).next_stop(TURN_SECONDS)
    if stop.is_final:
        raise DemoFailed(f"the model ended the turn without asking its host for anything: {stop.response_text}")


async def _result(stage: Stage, turn_id: str) -> GMIOutput:
    """The turn's result as the CLI prints it."""
    async with asyncio.timeout(TURN_SECONDS):
        await stage.turn(turn_id).result()
    printed = json.loads(stage.run("workflow", "result", "-w", turn_workflow_id(CONVERSATION, turn_id), "-o", "json"))
    return GMIOutput.model_validate(printed["result"])


def _call(pending: PendingRequest, name: str) -> PendingCall:
    named = [call for call in pending.tool_calls if call.name == name]
    return named[0] if named else pending.tool_calls[0]


def _details_of(metadata: dict[str, Any]) -> str:
    (shown,) = metadata["queryResult"]
    details = shown.get("currentDetails")
    if not details:
        raise DemoFailed("the pause is not shown in the workflow's metadata")
    return "\n".join(f"    {line}" for line in str(details).splitlines())


def _leave_running(stage: Stage) -> None:
    print(
        f"\nEverything is left running. Answer from another terminal with the command above, after\n"
        f"    export TEMPORAL_ADDRESS={stage.server.address} PATH={Path(temporal_cli()).parent}:$PATH\n"
        f"See the end with\n"
        f"    temporal workflow result -w {turn_workflow_id(CONVERSATION, FIRST)}\n"
        f"Stop everything with\n"
        f"    kill {stage.worker.pid} {stage.server.process.pid}; rm -r {shlex.quote(str(stage.folder))}"
    )


if __name__ == "__main__":
    leave(main())
