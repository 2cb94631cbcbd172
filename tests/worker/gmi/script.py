"""One conversation through every member of an instance's interface, as a table, and the two ways to play it.

A step names a member, what is sent, and what must come back of it. What depends on the run (ids, instants, counts of a memory
that learns beside the turns) is made alike first, so that two runs can be compared as a whole.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from activities.persona_character import MetaPrompt, MoodAdaptation
from activities.personas import Persona
from tests.cli import run_cli
from tests.support import Harness, external
from tests.worker.gmi.instances import event
from worker.app import AgentApp
from worker.demo_script import Saying
from worker.gmi import GMI
from workflows.names import gmi_workflow_id, turn_workflow_id

TRIGGER = "_trigger_and_process_self_reflection"
SUPPORT = Persona(
    id="support",
    name="Support",
    base_system_prompt="You help.",
    personality_traits={"openness": 0.5, "wit": 0.2},
    mood_adaptation=MoodAdaptation(mood_prompts={"empathetic": "Be kind."}),
    default_working_memory={"motto": "calm"},
    meta_prompts=(
        MetaPrompt(id="gmi_self_trait_adjustment", prompt_template="Look at {{recentMessages}} and adjust."),
    ),
    hard_limits=("Never promise refunds.",),
)
app = AgentApp(personas=[SUPPORT])
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*")
# What another run of the same script has otherwise.
OWN_TO_A_RUN = {
    "id",
    "timestamp",
    "at",
    "uptimeSeconds",
    "stats",
    "details",
    "cursor",
    "relevance",
    "score",
    "rememberedAtMs",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a member: what is sent (made from the run, where it depends on it), and what must come back of it."""

    member: str
    body: Any = None
    gives: Any = None


@dataclass(slots=True)
class Run:
    """One run of the script. `calls` are the ids of the tool calls it has waited for, `history` what it read of its own."""

    name: str
    calls: list[str] = field(default_factory=list)
    history: list[Any] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any]:
        """The start of the instance. Its user is its own, since memory is the user's."""
        return {"userId": self.user, "externalTools": [external("ask")]}

    @property
    def user(self) -> str:
        """Whose instance it is."""
        return f"ren-{self.name}"


Play = Callable[[str, Any], Awaitable[Any]]


def replies(request: dict[str, Any]) -> Saying | str:
    """What the model says depends on what it is asked alone, whoever asks again."""
    said = [message for message in request["messages"] if message["role"] != "system"]
    if "Answer with one JSON object" in str(request["messages"][0]["content"]):
        return '{"updatedGmiMood": "empathetic", "updatedPersonalityTraits": {"wit": 1.0, "no": 1}}'
    if said[-1]["content"] == "Plan it":
        return Saying("First some questions.", calls=(("ask", {"q": "which"}), ("ask", {"q": "when"})))
    return "Planned." if said[-1]["role"] == "tool" else f"You said {said[-1]['content']}"


def answer(run: Run, place: int, **said: Any) -> dict[str, Any]:
    """The answer to one call."""
    return {"toolCallId": run.calls[place], "toolName": "ask", **said}


def said(*roles: str) -> Callable[[Any], bool]:
    """A history with these roles."""
    return lambda messages: [each["role"] for each in messages] == list(roles)


SHORT = [{"role": "user", "content": "Plan it"}, {"role": "assistant", "content": "ok"}]
LATE = {"type": "error", "error": {"code": "LATE", "message": "too late"}}
PLANNED = ("user", "assistant", "tool", "tool", "assistant")
STEPS = (
    Step("initialize", lambda run: {"personaId": "support", "config": run.config}),
    Step("initialize", lambda run: {"personaId": "support", "config": run.config}),
    Step("get_gmi_id", gives="GMI"),
    Step("creation_timestamp", gives="WHEN"),
    Step("get_current_state", gives="ready"),
    Step("get_current_primary_persona_id", gives="support"),
    Step("set_personality_trait", {"trait": "openness", "value": 0.9}),
    Step(
        "get_persona",
        gives={"personalityTraits": {"openness": 0.9, "wit": 0.2}, "hardLimits": ["Never promise refunds."]},
    ),
    Step("process_turn_stream", {"content": "Plan it", "interactionId": "t1"}, {"isFinal": False}),
    Step("get_current_state", gives="awaiting_tool_result"),
    Step("handle_tool_result", lambda run: answer(run, 0, type="success", result="blue"), {"isFinal": False}),
    Step(
        "handle_tool_results",
        lambda run: {"results": [answer(run, 1, **LATE)]},
        {"isFinal": True, "responseText": "First some questions.\nPlanned."},
    ),
    Step("get_conversation_history", gives=said(*PLANNED)),
    Step("get_last_turn_history", gives=said(*PLANNED)),
    Step(
        "process_turn_stream", {"content": "And then?", "interactionId": "t2"}, {"responseText": "You said And then?"}
    ),
    Step("get_conversation_history", gives=said(*PLANNED, "user", "assistant")),
    Step("get_last_turn_history", gives=said("user", "assistant")),
    Step("hydrate_conversation_history", lambda run: {"messages": run.history}),
    Step("get_conversation_history", gives=said(*PLANNED)),
    Step("process_turn_stream", {"content": "Still there?", "interactionId": "t3"}, {"isFinal": True}),
    Step("replace_history", {"messages": SHORT}),
    Step("get_reasoning_trace", gives=lambda told: told["entries"][-1]["message"].startswith("The history is now 2")),
    Step("clear_history"),
    Step("get_conversation_history", gives=[]),
    Step("get_last_turn_history", gives=[]),
    Step("hydrate_turn_context", {"sessionId": "s2", "ragSources": [{"id": "r1", "content": "x"}]}),
    Step("record_user_feedback", {"rating": "Positive", "text": "The deploy host is blue-7, well done."}),
    Step("get_learner_session"),
    Step("get_cognitive_memory_manager", {"query": "deploy host"}, lambda told: "blue-7" in told[0]["content"]),
    Step(TRIGGER, {}),
    Step("get_working_memory_snapshot", gives={"currentGmiMood": "empathetic", "motto": "calm"}),
    Step("get_persona", gives={"personalityTraits": {"openness": 0.9, "wit": 0.4}}),
    Step("on_memory_lifecycle_event", lambda run: event(run.name), {"actionTaken": "DELETE"}),
    Step("analyze_and_report_memory_health", gives={"overallStatus": "OPERATIONAL"}),
    Step("get_overall_health", gives={"overallStatus": "HEALTHY", "activeTurnsProcessed": 3}),
    Step("shutdown"),
    Step("get_current_state", gives="shutdown"),
)


async def play(play_step: Play, run: Run, between: Callable[[int, Step], Awaitable[None]]) -> list[tuple[str, Any]]:
    """The whole script; back comes what was seen at each step, made alike."""
    seen: list[tuple[str, Any]] = []
    for place, step in enumerate(STEPS):
        body = step.body(run) if callable(step.body) else step.body
        told = _json(await play_step(step.member, body))
        if isinstance(told, dict) and told.get("isFinal") is False:
            run.calls = run.calls or [call["id"] for call in told["toolCalls"]]
        if step.member == "get_conversation_history":
            run.history = run.history or told
        alike = _alike(told, run)
        assert holds(step.gives, alike), (place, step.member, alike)
        seen.append((step.member, alike))
        await between(place, step)
    return seen


def in_python(harness: Harness, run: Run) -> Play:
    """The members as methods of a `GMI`, each of an object of its own: they have no state."""

    async def call(member: str, body: Any) -> Any:
        gmi = GMI(harness.client, run.name, task_queue=harness.task_queue)
        if member == "initialize":
            return await gmi.initialize(body["personaId"], body["config"])
        if member == "process_turn_stream":
            stream = gmi.process_turn_stream(body)
            chunks = [chunk async for chunk in stream]
            return {**_json(await stream.output()), "chunks": [_json(chunk) for chunk in chunks]}
        if member == "handle_tool_result":
            payload = {name: value for name, value in body.items() if name in ("type", "result", "error")}
            return await gmi.handle_tool_result(body["toolCallId"], body["toolName"], payload, run.user)
        if member == "handle_tool_results":
            return await gmi.handle_tool_results(body["results"], run.user)
        if member == "get_cognitive_memory_manager":
            memory = await gmi.get_cognitive_memory_manager()
            assert (await memory.scope())["userId"] == run.user
            assert (await memory.stats())["memories"] >= 1
            return await memory.search(body["query"])
        if member == TRIGGER:
            return await gmi._trigger_and_process_self_reflection()
        arguments: Sequence[Any] = ()
        if body is not None:
            arguments = tuple(body.values()) if member == "set_personality_trait" else (body.get("messages", body),)
        return await getattr(gmi, member)(*arguments)

    return call


QUERIES = {
    *("get_gmi_id", "creation_timestamp", "get_current_state", "get_current_primary_persona_id", "get_persona"),
    *("get_reasoning_trace", "get_working_memory_snapshot", "get_learner_session"),
}


def by_cli(harness: Harness, run: Run) -> Play:
    """The members as commands of `temporal`."""
    workflow_id = gmi_workflow_id(run.name)

    async def temporal(*arguments: str, body: Any = None) -> Any:
        given = () if body is None else ("--input", json.dumps(body))
        ran = await run_cli(harness.server, "workflow", *arguments, *given, "-o", "json")
        assert ran.code == 0, (arguments, ran.err)
        return ran.json

    async def query(name: str, of: str = workflow_id) -> Any:
        return (await temporal("query", "--workflow-id", of, "--name", name))["queryResult"][0]

    async def update(name: str, body: Any) -> Any:
        return (await temporal("update", "execute", "--workflow-id", workflow_id, "--name", name, body=body))["result"]

    started: list[str] = []

    async def call(member: str, body: Any) -> Any:
        if member == "initialize" and not started:
            started.append(member)
            kind = ("--type", "GMIWorkflow", "--task-queue", harness.task_queue, "--workflow-id", workflow_id)
            await temporal("start", *kind, body=body)
            return None
        if member in QUERIES:
            return await query(member)
        if member == "process_turn_stream":
            output = await update("process_turn", body)
            turn = turn_workflow_id(f"gmi-{run.name}", body["interactionId"])
            return {**output, "chunks": (await query("get_chunks", turn))["entries"]}
        told = await update(member, body)
        if member in ("get_conversation_history", "get_last_turn_history"):
            return told["messages"]
        return told["memories"] if member == "get_cognitive_memory_manager" else told

    return call


def holds(expected: Any, seen: Any) -> bool:
    """Whether what was seen has everything that is expected of it. None expects nothing."""
    if callable(expected):
        return bool(expected(seen))
    if isinstance(expected, dict):
        return isinstance(seen, dict) and all(holds(value, seen.get(name)) for name, value in expected.items())
    return expected is None or bool(expected == seen)


def _json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    return value.isoformat() if isinstance(value, datetime) else value


def _alike(value: Any, run: Run) -> Any:
    """The value without what is the run's own."""
    if isinstance(value, dict):
        return {name: _alike(each, run) for name, each in value.items() if name not in OWN_TO_A_RUN}
    if isinstance(value, list | tuple):
        return [_alike(each, run) for each in value]
    if isinstance(value, str):
        for place, call in enumerate(run.calls):
            value = value.replace(call, f"CALL{place}")
        return INSTANT.sub("WHEN", value.replace(run.user, "USER").replace(run.name, "GMI"))
    return value
