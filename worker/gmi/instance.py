"""The `GMI` class: an agent instance as a Python object, in any process that reaches the Temporal server."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from temporalio.client import Client

from activities.conversation import GMIOutput
from activities.errors import SYS_NOT_INITIALIZED, SYS_VALIDATION_ERROR
from activities.history_messages import MAX_MESSAGES, MAX_MESSAGES_BYTES
from activities.json_values import encoded_size
from activities.personas import Persona
from worker.gmi.channel import Channel
from worker.gmi.chunks import ChunkSource, PolledChunks
from worker.gmi.errors import GMIError
from worker.gmi.memory import CognitiveMemoryHandle
from worker.gmi.stream import TurnStream
from workflows.contracts import PendingRequest
from workflows.gmi_contracts import InstanceStatus
from workflows.names import TASK_QUEUE, gmi_workflow_id, turn_workflow_id

Json = Mapping[str, Any]
WAIT_SECONDS = 30
SHUTDOWN_SECONDS = 120.0
ASK_AGAIN = 0.2
# A page of messages leaves room for the rest of the request.
PAGE_BYTES = MAX_MESSAGES_BYTES - 6_000


class GMI:
    """One instance. It is the workflow that has the state: any number of these objects may stand for it at once.

    Every member raises `GMIError` with a code of AgentOS when it is refused, `NoWorker` when nobody runs the instance.
    """

    def __init__(self, client: Client, gmi_id: str, *, task_queue: str = TASK_QUEUE) -> None:
        self._gmi_id = gmi_id
        self._client = client
        self._channel = Channel(client, gmi_workflow_id(gmi_id), task_queue)

    @property
    def gmi_id(self) -> str:
        """The id of the instance."""
        return self._gmi_id

    async def creation_timestamp(self) -> datetime:
        """When the instance was created."""
        return datetime.fromisoformat(await self._channel.query("creation_timestamp"))

    async def initialize(self, persona: Persona | str | None = None, config: Json | None = None) -> None:
        """Start the instance. One that runs with the same persona and config is left as it is, another one refused.

        Args:
            persona: One of the app's by its id, or one of its own; None for the app's default.
            config: See `workflows.gmi_contracts.InstanceConfig`.
        """
        body: dict[str, Any] = {"gmiId": self._gmi_id, "config": dict(config or {})}
        if isinstance(persona, str):
            body["personaId"] = persona
        elif persona is not None:
            body["persona"] = persona.model_dump(mode="json", by_alias=True, exclude_unset=True)
        await self._channel.start(body)
        await self._channel.update("initialize", body)

    async def get_persona(self) -> Persona:
        """The persona with its present traits."""
        found = await self._channel.query("get_persona")
        if found is None:
            raise GMIError(SYS_NOT_INITIALIZED, "the instance is still being initialized")
        return Persona.model_validate(found)

    async def get_current_primary_persona_id(self) -> str:
        """The id of the persona."""
        return str(await self._channel.query("get_current_primary_persona_id"))

    async def get_gmi_id(self) -> str:
        """The id of the instance, as the instance has it."""
        return str(await self._channel.query("get_gmi_id"))

    async def get_current_state(self) -> str:
        """`ready`, `processing`, `awaiting_tool_result` …"""
        return str(await self._channel.query("get_current_state"))

    async def get_status(self) -> InstanceStatus:
        """Where the instance stands: its open turn, its queue, its counters."""
        return InstanceStatus.model_validate(await self._channel.query("get_status"))

    async def get_pending_request(self) -> PendingRequest | None:
        """The open pause."""
        found = await self._channel.query("get_pending_request")
        return None if found is None else PendingRequest.model_validate(found)

    async def process_turn(self, turn_input: Json | str) -> GMIOutput:
        """Run one turn to its next stop: `is_final` false with the calls that the host runs, or the end.

        A message that brings no `interactionId` gets one, so that it is one turn however often it must be asked for.
        """
        body = _turn_body(turn_input)
        return await self._until_stop("process_turn", body)

    def process_turn_stream(self, turn_input: Json | str) -> TurnStream:
        """The same turn, chunk by chunk; see `TurnStream`."""
        body = _turn_body(turn_input)

        async def source() -> ChunkSource:
            conversation = body.get("conversationId") or (await self.get_status()).conversation_id
            return PolledChunks(self._client, turn_workflow_id(conversation, body["interactionId"]))

        return TurnStream(lambda: self._until_stop("process_turn", body), source)

    async def handle_tool_result(
        self,
        tool_call_id: str,
        tool_name: str,
        result_payload: Json,
        user_id: str,
        user_api_keys: Sequence[str] | None = None,
        options: Json | None = None,
    ) -> GMIOutput:
        """Answer one call: `{"type": "success", "result"}` or `{"type": "error", "error"}`. Back comes the turn's next stop.

        `user_api_keys` are names of secrets the worker holds; keys themselves are refused.
        """
        result = {**result_payload, "toolCallId": tool_call_id, "toolName": tool_name}
        return await self._answer("handle_tool_result", result, user_id, user_api_keys, options)

    async def handle_tool_results(
        self,
        tool_results: Sequence[Json],
        user_id: str,
        user_api_keys: Sequence[str] | None = None,
        options: Json | None = None,
    ) -> GMIOutput:
        """Answer several calls. Those left out are filled as not run, unless `options` says `{"partial": "wait"}`."""
        body = {"results": [dict(result) for result in tool_results]}
        return await self._answer("handle_tool_results", body, user_id, user_api_keys, options)

    async def settle(self) -> GMIOutput:
        """End the pause: calls still open are filled as not run."""
        return GMIOutput.model_validate(await self._channel.update("settle"))

    async def cancel_turn(self) -> GMIOutput:
        """Cancel the open turn. Its conversation stays usable."""
        return GMIOutput.model_validate(await self._channel.update("cancel_turn"))

    async def hydrate_conversation_history(self, conversation_history: Sequence[Json]) -> None:
        """Make the messages the whole conversation history."""
        await self._write_history("hydrate_conversation_history", conversation_history)

    async def replace_history(self, messages: Sequence[Json]) -> None:
        """The same, and details of turns that it does not hold any more are forgotten."""
        await self._write_history("replace_history", messages)

    async def clear_history(self) -> None:
        """Empty the conversation history."""
        await self._channel.update("clear_history")

    async def get_conversation_history(self) -> list[dict[str, Any]]:
        """All messages of the conversation, read page by page."""
        return await self._read_history("get_conversation_history")

    async def get_last_turn_history(self) -> list[dict[str, Any]]:
        """The messages of the last turn, from its input on; none when the history does not hold it any more."""
        return await self._read_history("get_last_turn_history")

    async def hydrate_turn_context(self, context: Json) -> None:
        """Set what a continuation goes on with: session, conversation, organization, sources."""
        await self._channel.update("hydrate_turn_context", dict(context))

    async def record_user_feedback(self, feedback: Json) -> None:
        """Record what the user said about the agent."""
        await self._channel.update("record_user_feedback", dict(feedback))

    async def set_personality_trait(self, trait: str, value: float) -> None:
        """Set one trait of this instance, from 0 to 1."""
        await self._channel.update("set_personality_trait", {"trait": trait, "value": value})

    async def get_learner_session(self) -> object | None:
        """None: this host has no learning layer."""
        found: object | None = await self._channel.query("get_learner_session")
        return found

    async def get_reasoning_trace(self) -> dict[str, Any]:
        """The trace: ids, and `entries`, the newest last."""
        return dict(await self._channel.query("get_reasoning_trace"))

    async def get_working_memory_snapshot(self) -> dict[str, Any]:
        """All that working memory holds."""
        return dict(await self._channel.query("get_working_memory_snapshot"))

    async def get_cognitive_memory_manager(self) -> CognitiveMemoryHandle:
        """A handle on the memory of the instance's scope."""
        return CognitiveMemoryHandle(lambda body: self._channel.update("get_cognitive_memory_manager", body))

    async def _trigger_and_process_self_reflection(self, meta_prompt_id: str | None = None) -> None:
        """Let the instance think about itself now; it is skipped where the persona has no such meta prompt."""
        body = {} if meta_prompt_id is None else {"metaPromptId": meta_prompt_id}
        await self._channel.update("_trigger_and_process_self_reflection", body, seconds=SHUTDOWN_SECONDS)

    async def on_memory_lifecycle_event(self, event: Json) -> dict[str, Any]:
        """What the instance says to a proposal of its host's memory."""
        return dict(await self._channel.update("on_memory_lifecycle_event", dict(event)))

    async def analyze_and_report_memory_health(self) -> dict[str, Any]:
        """The health of working memory and of the memory of the scope."""
        return dict(await self._channel.update("analyze_and_report_memory_health"))

    async def get_overall_health(self) -> dict[str, Any]:
        """A GMIHealthReport."""
        return dict(await self._channel.update("get_overall_health"))

    async def shutdown(self) -> None:
        """End the instance; its open turn is cancelled. One that has ended, or never was, is left as it is."""
        try:
            await self._channel.update("shutdown", seconds=SHUTDOWN_SECONDS)
        except GMIError as gone:
            if gone.code != SYS_NOT_INITIALIZED:
                raise

    async def _until_stop(self, name: str, body: dict[str, Any]) -> GMIOutput:
        """Ask for the turn until it stops; a sender may have to ask again, of a later run of the instance."""
        while True:
            output = GMIOutput.model_validate(await self._channel.update(name, {**body, "waitSeconds": WAIT_SECONDS}))
            if output.is_final or output.tool_calls:
                return output
            await asyncio.sleep(ASK_AGAIN)

    async def _answer(
        self, name: str, body: dict[str, Any], user_id: str, keys: Sequence[str] | None, options: Json | None
    ) -> GMIOutput:
        wanted = dict(options or {})
        partial = {"partial": wanted.pop("partial")} if "partial" in wanted else {}
        if keys:
            wanted["userApiKeys"] = list(keys)
        sent = {**body, **partial, "userId": user_id} | ({"options": wanted} if wanted else {})
        output = GMIOutput.model_validate(await self._channel.update(name, {**sent, "waitSeconds": WAIT_SECONDS}))
        while not output.is_final and not output.tool_calls:
            await asyncio.sleep(ASK_AGAIN)
            output = await self._output_of(output)
        return output

    async def _output_of(self, running: GMIOutput) -> GMIOutput:
        """The output of a turn that has been answered, as far as it is."""
        found = await self._channel.query("get_output", running.turn_id)
        if found is None and await self.get_current_state() == "shutdown":
            raise GMIError(SYS_NOT_INITIALIZED, "the instance was shut down before the turn stopped")
        return running if found is None else GMIOutput.model_validate(found)

    async def _write_history(self, name: str, messages: Sequence[Json]) -> None:
        """Page by page; a page ends where a turn does."""
        for number, page in enumerate(_pages(messages)):
            await self._channel.update(name, {"messages": page, "append": number > 0})

    async def _read_history(self, name: str) -> list[dict[str, Any]]:
        read: list[dict[str, Any]] = []
        before: str | None = None
        while True:
            page = await self._channel.update(name, {} if before is None else {"before": before})
            read = [*page["messages"], *read]
            before = page["cursor"]
            if before is None:
                return read


def _turn_body(turn_input: Json | str) -> dict[str, Any]:
    body = {"content": turn_input} if isinstance(turn_input, str) else dict(turn_input)
    body.setdefault("interactionId", uuid.uuid4().hex[:12])
    return body


def _pages(messages: Sequence[Json]) -> list[list[dict[str, Any]]]:
    """The messages in pages that one update takes. The first page stands even when there is nothing to put on it."""
    pages: list[list[dict[str, Any]]] = [[]]
    turn: list[dict[str, Any]] = []
    for message in (*messages, None):
        if turn and (message is None or message.get("role") == "user"):
            if pages[-1] and not _fits([*pages[-1], *turn]):
                pages.append([])
            if not _fits(turn):
                raise GMIError(SYS_VALIDATION_ERROR, "messages: one turn of the history is too large to be sent")
            pages[-1].extend(turn)
            turn = []
        if message is not None:
            turn.append(dict(message))
    return pages


def _fits(messages: list[dict[str, Any]]) -> bool:
    return len(messages) <= MAX_MESSAGES and encoded_size(messages) <= PAGE_BYTES
