"""The `GMI` class: an agent instance as a Python object, in any process that reaches the Temporal server."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from temporalio.client import Client

from activities.conversation import GMIOutput
from activities.errors import SYS_NOT_INITIALIZED
from activities.personas import Persona
from worker.chunks import ChunkReader
from worker.gmi.channel import Channel
from worker.gmi.chunks import ChunkSource, PolledChunks, StoredChunks
from worker.gmi.errors import GMIError
from worker.gmi.histories import read_history, write_history
from worker.gmi.memory import CognitiveMemoryHandle
from worker.gmi.stops import Stops
from worker.gmi.stream import TurnStream
from worker.structured import Wanted, with_structured_reply
from workflows.contracts import PendingRequest
from workflows.gmi_contracts import InstanceStatus
from workflows.names import TASK_QUEUE, gmi_workflow_id, turn_workflow_id
from workflows.turn_state import turn_key

Json = Mapping[str, Any]
SHUTDOWN_SECONDS = 120.0


class GMI:
    """One instance. It is the workflow that has the state: any number of these objects may stand for it at once.

    Every member raises `GMIError` with a code of AgentOS when it is refused, `NoWorker` when nobody runs the instance.
    """

    def __init__(
        self, client: Client, gmi_id: str, *, task_queue: str = TASK_QUEUE, reader: ChunkReader | None = None
    ) -> None:
        """With a `reader` of the workers' database a turn is told token by token, else reply by reply."""
        self._gmi_id = gmi_id
        self._reader = reader
        self._client = client
        self._channel = Channel(client, gmi_workflow_id(gmi_id), task_queue)
        self._stops = Stops(self._channel)

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

    async def process_turn(self, turn_input: Json | str, structured_reply: Wanted | None = None) -> GMIOutput:
        """Run one turn to its next stop: `is_final` false with the calls that the host runs, or the end.

        With `structured_reply`, a pydantic model or a JSON Schema, its answer is a value of that shape.

        A message that brings no `interactionId` gets one, so that it is one turn however often it must be asked for.
        """
        body = with_structured_reply(_turn_body(turn_input), structured_reply)
        return await self._stops.of_message(body)

    def process_turn_stream(self, turn_input: Json | str, structured_reply: Wanted | None = None) -> TurnStream:
        """The same turn, chunk by chunk, over its pauses; see `TurnStream`."""
        body = with_structured_reply(_turn_body(turn_input), structured_reply)
        if self._reader is not None and isinstance(options := body.get("options", {}), dict):
            body["options"] = {"stream": True, **options}
        turn_id, conversation_id = body["interactionId"], body.get("conversationId")

        async def source() -> ChunkSource:
            return self._chunks(turn_id, conversation_id or (await self.get_status()).conversation_id)

        return TurnStream(turn_id, lambda: self._stops.of_message(body), self.handle_tool_results, source)

    def continue_stream(self, turn_id: str, after: int = 0) -> TurnStream:
        """Take up the stream of a turn behind the chunk of number `after`, in any process that knows the instance."""

        async def source() -> ChunkSource:
            return self._chunks(turn_id, await self._stops.conversation_of(turn_id))

        return TurnStream(turn_id, lambda: self._stops.of_turn(turn_id), self.handle_tool_results, source, after)

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
        return await self._stops.of_answer("handle_tool_result", result, user_id, user_api_keys, options)

    async def handle_tool_results(
        self,
        tool_results: Sequence[Json],
        user_id: str,
        user_api_keys: Sequence[str] | None = None,
        options: Json | None = None,
    ) -> GMIOutput:
        """Answer several calls. Those left out are filled as not run, unless `options` says `{"partial": "wait"}`."""
        body = {"results": [dict(result) for result in tool_results]}
        return await self._stops.of_answer("handle_tool_results", body, user_id, user_api_keys, options)

    async def settle(self) -> GMIOutput:
        """End the pause: calls still open are filled as not run."""
        return GMIOutput.model_validate(await self._channel.update("settle"))

    async def cancel_turn(self) -> GMIOutput:
        """Cancel the open turn. Its conversation stays usable."""
        return GMIOutput.model_validate(await self._channel.update("cancel_turn"))

    async def hydrate_conversation_history(self, conversation_history: Sequence[Json]) -> None:
        """Make the messages the whole conversation history."""
        await write_history(self._channel, "hydrate_conversation_history", conversation_history)

    async def replace_history(self, messages: Sequence[Json]) -> None:
        """The same, and details of turns that it does not hold any more are forgotten."""
        await write_history(self._channel, "replace_history", messages)

    async def clear_history(self) -> None:
        """Empty the conversation history."""
        await self._channel.update("clear_history")

    async def get_conversation_history(self) -> list[dict[str, Any]]:
        """All messages of the conversation, read page by page."""
        return await read_history(self._channel, "get_conversation_history")

    async def get_last_turn_history(self) -> list[dict[str, Any]]:
        """The messages of the last turn, from its input on; none when the history does not hold it any more."""
        return await read_history(self._channel, "get_last_turn_history")

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

    def _chunks(self, turn_id: str, conversation_id: str) -> ChunkSource:
        workflow_id = turn_workflow_id(conversation_id, turn_id)
        if self._reader is None:
            return PolledChunks(self._client, workflow_id)
        key = turn_key(conversation_id, turn_id, workflow_id)
        return StoredChunks(self._client, self._reader, key, workflow_id)


def _turn_body(turn_input: Json | str) -> dict[str, Any]:
    body = {"content": turn_input} if isinstance(turn_input, str) else dict(turn_input)
    body.setdefault("interactionId", uuid.uuid4().hex[:12])
    return body
