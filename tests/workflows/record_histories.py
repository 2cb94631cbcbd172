"""Record the histories that `test_replay` reads: `make histories`. One turn of each kind, on real parts.

    python -m tests.workflows.record_histories [NAME …]      # those alone

Recording anew is right only when no turn of the old kind can still be open anywhere: paused turns live for days, and what
they replay is what stands here.
"""

import asyncio
import json
import re
import sys
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowFailureError

from activities.persona_character import MetaPrompt
from activities.persona_memory import PersonaMemory, RagConfig
from activities.personas import Persona
from activities.sentiment import SentimentTracking
from tests.memory_minds import working
from tests.support import Harness, external, until
from tests.workflows.shop import Shop, said
from worker.app import (
    AgentApp,
    AudioOutput,
    Block,
    GuardContext,
    Pass,
    Reply,
    RetrievalContext,
    Sanitise,
    UICommand,
    UICommandKind,
    guardrail,
    tool,
)
from worker.client import Turn
from worker.demo_script import Saying
from worker.dev_server import dev_server
from worker.gmi import GMI
from worker.scripted_model import ScriptedModel
from workflows.names import gmi_workflow_id

HISTORIES = Path(__file__).parent / "histories"


@tool(side_effects=False)
def look(n: int = 0) -> int:
    """Look at something."""
    return n


@tool(side_effects=False)
def speak() -> Reply:
    """Say something, and show it."""
    return Reply(audio=AudioOutput(data=b"ID3 hello", text="Hello."), ui_commands=[UICommand(command="flash")])


@tool(needs_approval=True)
def transfer(amount: int) -> str:
    """Transfer money."""
    return f"sent {amount}"


async def answer_all(harness: Harness, turn: Turn, output: object = "ok") -> None:
    """Answer every call of the pause by signal."""
    stop = await harness.pause(turn)
    await turn.signal([{"toolCallId": call.id, "output": output} for call in stop.tool_calls or ()])


async def completed(harness: Harness) -> Turn:
    """No tool at all, then two worker tools at once."""
    harness.model.call([("look", {"n": 1}), ("look", {"n": 2})])
    harness.model.say("Done.")
    return await harness.turns.start("Go")


async def two_pauses(harness: Harness) -> Turn:
    """Two rounds for the host, the first beside a worker tool and answered in pieces."""
    harness.model.call([("ask", {}), ("look", {}), ("ask", {})])
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    first, second = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": second.id, "output": 2}], partial="wait")
    await turn.answer([{"toolCallId": first.id, "output": 1}], partial="wait")

    async def asked_again() -> bool:
        pending = await turn.pending()
        return pending is not None and pending.tool_calls[0].id not in (first.id, second.id)

    await until(asked_again)
    await answer_all(harness, turn)
    return turn


async def filled(harness: Harness) -> Turn:
    """An answer that leaves a call out."""
    harness.model.call([("ask", {}), ("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    first, _ = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": first.id, "output": 1}])
    return turn


async def approvals(harness: Harness) -> Turn:
    """A worker tool that a person allows with other arguments, and one that is refused."""
    harness.model.call([("transfer", {"amount": 10}), ("transfer", {"amount": 99})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go")
    first, second = (await harness.pause(turn)).tool_calls or ()
    edit = {"toolCallId": first.id, "decision": "edit", "arguments": {"amount": 5}}
    await turn.answer([edit, {"toolCallId": second.id, "decision": "reject", "reason": "too much"}])
    return turn


async def budget_raised(harness: Harness) -> Turn:
    """A limit is raised, another is not: the turn ends in words, at its limit."""
    harness.model.call([("look", {})])
    harness.model.call([("look", {})])
    harness.model.say("Enough.")
    limits = {"maxToolRounds": 2, "maxTokens": 1, "onLimit": "ask"}
    turn = await harness.turns.start("Go", limits=limits)
    await harness.pause(turn)
    await turn.raise_budget(maxTokens=90_000)

    async def asks_for_rounds() -> bool:
        pending = await turn.pending()
        return pending is not None and pending.tool_calls[0].arguments["limit"] == "maxToolRounds"

    await until(asks_for_rounds)
    await turn.settle()
    return turn


async def output_parts(harness: Harness) -> Turn:
    """Commands for the user interface of the model and of a tool, sound of a tool, and a picture of the model, over a pause."""
    await harness.workers[-1].stop()
    desk = Persona(id="desk", ui_commands=(UICommandKind(name="open_order"),))
    await harness.work(AgentApp(personas=[desk], tools=[speak]))
    command = {"command": "open_order", "payload": {"order": 7}}
    harness.model.call([("ui_command", command), ("ask", {}), ("ui_command", {"command": "explode"}), ("speak", {})])
    harness.model.say("Done.", images=["data:image/gif;base64,R0lGODlhAQABAAAAACw="])
    turn = await harness.turns.start("Go", externalTools=[external("ask")], options={"reasoningTrace": True})
    await answer_all(harness, turn)
    return turn


async def deadline(harness: Harness) -> Turn:
    """A pause that nobody answers."""
    harness.model.call([("ask", {}), ("quick", {})])
    harness.model.say("Done.")
    tools = [external("ask"), external("quick", timeout="PT1S")]
    return await harness.turns.start("Go", externalTools=tools, pause={"timeout": "PT2S"})


async def cancelled(harness: Harness) -> Turn:
    """Cancelled at a pause, half answered."""
    harness.model.call([("ask", {}), ("ask", {})])
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    first, _ = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": first.id, "output": 1}], partial="wait")
    await turn.cancel()
    return turn


async def superseded(harness: Harness) -> Turn:
    """The user moved on while the turn waited."""
    harness.model.call([("ask", {})])
    turn = await harness.turns.start("Go", conversationId="s", externalTools=[external("ask")])
    await harness.pause(turn)
    harness.model.say("New.")
    await (await harness.turns.start("Else", conversationId="s", onBusy="supersede")).result()
    return turn


async def retried_model(harness: Harness) -> Turn:
    """Two failed model calls before the reply."""
    harness.model.respond(500, {"error": {"message": "oops"}}, headers={"retry-after-ms": "10"})
    harness.model.respond(503, {"error": {"message": "oops"}}, headers={"retry-after-ms": "10"})
    harness.model.say("Done.")
    return await harness.turns.start("Go")


async def failed(harness: Harness) -> Turn:
    """A provider that refuses."""
    harness.model.respond(401, {"error": {"message": "no"}})
    return await harness.turns.start("Go")


async def rejected_messages(harness: Harness) -> Turn:
    """Messages of wrong kinds around a pause."""
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    await harness.pause(turn)
    for name, argument in (
        ("handle_tool_results", 5),
        ("aprove", "x"),
        ("handle_tool_result", {"toolCallId": "nobody"}),
    ):
        await turn.handle.signal(name, argument)
    await answer_all(harness, turn)
    return turn


async def worker_restarted(harness: Harness) -> Turn:
    """The worker is replaced while the turn waits."""
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    await harness.pause(turn)
    await harness.workers[-1].stop()
    await harness.work()
    await answer_all(harness, turn)
    return turn


async def memory_model(harness: Harness) -> Turn:
    """A pause, then a model helps memory to learn: it extracts, joins with what is held, and decides what is shown."""
    await harness.workers[-1].stop()
    minds = await working(harness, harness.app)
    await (await harness.turns.start("Our board for the Harbor project runs on Vue.", userId="ren")).result()
    talk = deque([Saying(calls=(("ask", {}),)), Saying("Noted.")])
    minds.talks = lambda request: talk.popleft()
    minds.found("The Harbor project's board needs two approvals.")
    told = "Mind you, the Harbor project's board somehow needs two approvals."
    turn = await harness.turns.start(told, userId="ren", externalTools=[external("ask")])
    await answer_all(harness, turn)
    return turn


async def chosen_functions(harness: Harness) -> Turn:
    """The second turn of a conversation that chooses: one choice is dropped, the other runs after an approval, corrected."""
    await harness.workers[-1].stop()
    refused, fine = said("422 Unprocessable Entity", {"count": "too many"}), said("201 Created", {"id": "zz9"})
    shop = await harness.stack.enter_async_context(Shop({"POST /orders": [refused, fine]}))
    await harness.work(AgentApp(controllers=[shop.controller()]))
    chosen, dropped = ({"reason": "It is wanted.", "name": name} for name in ("createOrder", "readOrder"))
    asking: dict[str, Any] = {
        "conversationId": "s",
        "options": {"toolSelection": "select", "selection": {"threshold": 0}},
    }
    harness.model.call([("selectFunctions", {"functions": [chosen, dropped]})])
    harness.model.say("How many?")
    await (await harness.turns.start("Order lamps", **asking)).result()

    harness.model.call([("cancelFunctions", {"functions": [dropped]})])
    harness.model.say("I have what I need.")
    for count in (9, 1):
        harness.model.call([("createOrder", {"body": {"article": "lamp", "count": count}})])
    harness.model.say("Ordered one lamp.")
    turn = await harness.turns.start("Nine", **asking)
    for _ in range(2):
        [call] = (await harness.pause(turn)).tool_calls or ()
        await turn.answer([{"toolCallId": call.id, "decision": "approve"}])
    return turn


async def sources(harness: Harness) -> Turn:
    """A turn that looks up sources, fails to once, and pauses."""
    await harness.workers[-1].stop()
    answers: deque[Any] = deque([RuntimeError("away"), [{"id": "a", "content": "A refund takes five days."}]])

    class Shelf:
        async def retrieve(self, query: str, context: RetrievalContext) -> list[dict[str, Any]]:
            answer = answers.popleft()
            if isinstance(answer, Exception):
                raise answer
            return list(answer)

    persona = Persona(id="p", memory_config=PersonaMemory(rag_config=RagConfig()))
    await harness.work(AgentApp(personas=[persona], retriever=Shelf()))
    harness.model.call([("ask", {})])
    harness.model.say("Five days [1].")
    turn = await harness.turns.start("Refund?", externalTools=[external("ask")])
    await answer_all(harness, turn)
    return turn


async def guarded(harness: Harness) -> Turn:
    """A message that is sanitised, a pause, and a reply that is blocked."""
    await harness.workers[-1].stop()

    @guardrail(stages=("input", "output"))
    def judge(text: str, context: GuardContext) -> Pass | Sanitise | Block:
        return Block("no") if "bad" in text else Sanitise(text.replace("4111", "[card]"))

    await harness.work(AgentApp(guardrails=[judge]))
    harness.model.call([("ask", {})])
    harness.model.say("Something bad.")
    turn = await harness.turns.start("Charge 4111", externalTools=[external("ask")])
    await answer_all(harness, turn)
    return turn


async def sub_agents(harness: Harness) -> Turn:
    """Two agents beside a call of the turn's own: one pause, answered in pieces; then one that asks alone."""
    await harness.workers[-1].stop()
    lead = Persona(id="lead", base_system_prompt="You are lead.", sub_agents=("clerk",))
    clerk = Persona(id="clerk", base_system_prompt="You are clerk.")
    await harness.work(AgentApp(personas=[lead, clerk], tools=[look, transfer]))
    task = ("delegate", {"persona": "clerk", "task": "Send 5."})
    replies = deque([Saying(calls=(task, ("ask", {}), task)), Saying(calls=(task,)), Saying("Done.")])

    def reply(request: dict[str, Any]) -> Saying:
        if "You are lead." in json.dumps(request["messages"][0]):
            return replies.popleft()
        answered = request["messages"][-1]["role"] == "tool"
        return Saying("Sent.") if answered else Saying(calls=(("transfer", {"amount": 5}),))

    harness.model.handler = reply
    turn = await harness.turns.start("Go", personaId="lead", externalTools=[external("ask")])

    async def waits_for(count: int, known: Sequence[str] = ()) -> bool:
        pending = await turn.pending()
        return pending is not None and sum(call.id not in known for call in pending.tool_calls) == count

    await until(lambda: waits_for(3))
    calls = (await harness.pause(turn)).tool_calls or ()
    for call in calls:
        said = {"output": "yes"} if call.name == "ask" else {"decision": "approve"}
        await turn.answer([{"toolCallId": call.id, **said}], partial="wait")
    await until(lambda: waits_for(1, [call.id for call in calls]))
    await turn.settle()
    return turn


async def structured(harness: Harness) -> Turn:
    """A structured answer after a pause, asked for again once."""
    harness.model.call([("look", {}), ("ask", {})])
    harness.model.script("No JSON.", '{"n": 1}')
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    turn = await harness.turns.start("Go", structured_reply=schema, externalTools=[external("ask")])
    await answer_all(harness, turn)
    return turn


async def instance(harness: Harness) -> Turn:
    """An instance: most of its members, a turn that pauses while another message waits, and its end."""
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    persona = Persona(
        id="p", meta_prompts=(MetaPrompt(id="gmi_self_trait_adjustment", prompt_template="Look at yourself."),)
    )
    await gmi.initialize(persona, {"externalTools": [external("ask")]})
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("Go")
    waiting = asyncio.create_task(gmi.process_turn("Next"))

    async def is_queued() -> bool:
        return bool((await gmi.get_status()).queued)

    await until(is_queued)
    harness.model.script("First.", "Second.")
    await gmi.handle_tool_result((stop.tool_calls or ())[0].id, "ask", {"type": "success", "result": 1}, "local")
    await waiting
    await gmi.set_personality_trait("honesty", 1)
    await gmi.record_user_feedback({"score": 1, "text": "The port is 8080."})
    harness.model.say('{"updatedGmiMood": "focused"}')
    await gmi._trigger_and_process_self_reflection()
    await gmi.replace_history((await gmi.get_conversation_history())[:1])
    await gmi.get_overall_health()
    await gmi.shutdown()
    return Turn(harness.client, harness.client.get_workflow_handle(gmi_workflow_id(gmi.gmi_id)))


async def instance_continued(harness: Harness) -> Turn:
    """An instance that continued as new while its turn was paused; the answer comes to the later run."""
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize(None, {"externalTools": [external("ask")], "turnsPerRun": 1})
    handle = harness.client.get_workflow_handle(gmi_workflow_id(gmi.gmi_id))
    first_run = (await handle.describe()).run_id
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("Go")

    async def has_continued() -> bool:
        return (await handle.describe()).run_id != first_run

    await until(has_continued)
    harness.model.say("Done.")
    await gmi.handle_tool_result((stop.tool_calls or ())[0].id, "ask", {"type": "success", "result": 1}, "local")
    await gmi.shutdown()
    return Turn(harness.client, handle)


async def instance_watched(harness: Harness) -> Turn:
    """An instance that watches how its user feels: by a model, feedback beside a message, and the meta prompt of an event."""
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    tracking = SentimentTracking(method="llm", presets=("gmi_frustration_recovery",))
    await gmi.initialize(Persona(id="p", sentiment_tracking=tracking))

    def reply(request: dict[str, Any]) -> str:
        told = json.dumps(request["messages"])
        if "Say how the user feels" in told:
            return '{"score": -0.9, "intensity": 1, "confused": true}'
        return '{"updatedGmiMood": "focused"}' if "seems frustrated" in told else "ok"

    async def has_changed() -> bool:
        return (await gmi.get_status()).mood == "focused"

    harness.model.handler = reply
    await gmi.process_turn({"content": "No!", "metadata": {"userFeedback": {"score": 1, "text": "Too long."}}})
    await gmi.process_turn("Das ist furchtbar")
    await until(has_changed)
    await gmi.shutdown()
    return Turn(harness.client, harness.client.get_workflow_handle(gmi_workflow_id(gmi.gmi_id)))


SCENES: list[Callable[[Harness], Awaitable[Turn]]] = [
    completed,
    two_pauses,
    filled,
    approvals,
    budget_raised,
    deadline,
    cancelled,
    superseded,
    retried_model,
    failed,
    rejected_messages,
    worker_restarted,
    memory_model,
    chosen_functions,
    sources,
    output_parts,
    guarded,
    sub_agents,
    structured,
    instance,
    instance_continued,
    instance_watched,
]


async def main(names: Sequence[str]) -> None:
    """Record the scenes of these names, or every one."""
    unknown = set(names) - {scene.__name__ for scene in SCENES}
    if unknown:
        raise SystemExit(f"there is no scene {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        async with dev_server(Path(folder)) as server:
            for scene in (scene for scene in SCENES if not names or scene.__name__ in names):
                async with AsyncExitStack() as stack, ScriptedModel() as model:
                    place = Path(tempfile.mkdtemp(dir=folder))
                    harness = Harness(await server.connect(), server, model, place, stack)
                    await harness.work(AgentApp(tools=[look, transfer]))
                    turn = await scene(harness)
                    with suppress(WorkflowFailureError):
                        await turn.handle.result()
                    history = await turn.handle.fetch_history()
                    (HISTORIES / f"{scene.__name__}.json").write_text(_portable(history.to_json()) + "\n")


def _portable(history: str) -> str:
    """The history without what only the machine that recorded it knows: its name, and paths in stack traces."""
    text = json.dumps(json.loads(history), indent=1, sort_keys=True)
    text = re.sub(r'"identity": "[^"]*"', '"identity": "recorder"', text)
    return re.sub(r'"stackTrace": "(\\.|[^"\\])*"', '"stackTrace": ""', text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
