"""The Nestia agent: one conversation, each `conversate` of it a durable turn."""

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Literal, Self

from temporalio.client import Client

from activities.controllers.controller import Controller
from activities.controllers.policy import Predicate
from activities.guardrail import Guardrail, Judge
from activities.turn_input import PauseOptions, TurnLimits
from worker.nestia.config import NestiaConfig, NestiaProvider
from worker.nestia.conversing import Conversation, Manner
from worker.nestia.errors import AgentNotRunning
from worker.nestia.events import EventType
from worker.nestia.functions import NestiaApp
from worker.nestia.listeners import Listener, Listeners
from worker.nestia.log import ConversationLog
from worker.nestia.observing import Watch
from worker.nestia.prompts import Prompt
from worker.nestia.props import NestiaProps, read_identifier, read_value
from worker.nestia.records import Record, records_of
from worker.nestia.running import Place, run_agent
from workflows.contracts import AnswerAck, PendingRequest


class NestiaAgent:
    """An agent that selects functions of its controllers and calls them. Source: `NestiaAgent` of @nestia/agent.

    It runs a worker in this process, on a task queue named after the conversation: the client of the model and the objects
    of class controllers stay here, and only their names go anywhere else. A turn outlives the process; another agent with
    the same `conversation_id` and database takes it up.

    Args:
        props: `provider`, `controllers`, `config` and `histories` as one mapping; each may be given by name instead.
        temporal: a client of the server to use; the environment's (`TEMPORAL_ADDRESS` …) unless given.
        database_url: where turns are kept; `TURNHOLD_DATABASE_URL` unless given.
        conversation_id: the conversation to begin, or to go on with; a new one unless given. One that exists has a history of
            its own, and `histories` are then ignored.
        user_id: whose conversation and memory it is.
        on_pause: whether `conversate` waits for an answer to a pause, or returns what there is until then.
        limits, pause: as in a turn's input (`maxToolRounds`, `maxModelCalls` …; `timeout`, `onTimeout`).
        predicates, executors: functions that controllers name, as in `AgentApp`.
        guardrails: functions that judge what is said to the agent and by it, as in `AgentApp`.

    Raises:
        ValueError: anything of it cannot be used; the message names it.
    """

    def __init__(
        self,
        props: Mapping[str, Any] | None = None,
        *,
        provider: NestiaProvider | Mapping[str, Any] | None = None,
        controllers: Sequence[Controller] | None = None,
        config: NestiaConfig | Mapping[str, Any] | None = None,
        histories: Sequence[dict[str, Any]] | None = None,
        temporal: Client | None = None,
        database_url: str | None = None,
        conversation_id: str | None = None,
        user_id: str = "local",
        on_pause: Literal["wait", "return"] = "wait",
        limits: TurnLimits | Mapping[str, Any] | None = None,
        pause: PauseOptions | Mapping[str, Any] | None = None,
        predicates: Mapping[str, Predicate] | None = None,
        executors: Mapping[str, Any] | None = None,
        guardrails: Iterable[Guardrail | Judge] = (),
    ) -> None:
        named = {"provider": provider, "controllers": controllers, "config": config, "histories": histories}
        self._props = NestiaProps.of(props or {}, named)
        if on_pause not in ("wait", "return"):
            raise ValueError(f"on_pause is wait or return, not {on_pause!r}")
        self._manner = Manner(
            read_value("limits", TurnLimits, limits), read_value("pause", PauseOptions, pause), on_pause == "return"
        )
        self._place = Place(
            temporal,
            database_url,
            read_identifier("conversation_id", conversation_id or uuid.uuid4().hex),
            read_identifier("user_id", user_id),
        )
        self._app = NestiaApp(self._props.controllers, self._props.config.retry, predicates, executors, guardrails)
        self._listeners = Listeners()
        self._stack: AsyncExitStack | None = None
        self._conversation: Conversation | None = None

    @property
    def conversation_id(self) -> str:
        """The conversation, by which another agent can go on with it."""
        return self._place.conversation_id

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(self) -> None:
        """Start the worker and read the conversation. An agent that runs already stays as it is.

        Raises:
            CannotConnect, SettingsInvalid, AppInvalid: the server, the settings or a controller cannot be used.
            ConversationTaken: the conversation is somebody else's.
        """
        if self._stack is not None:
            return
        async with AsyncExitStack() as stack:
            watch = Watch()
            run = await run_agent(stack, self._place, self._props, self._app, self._listeners, watch)
            talk = Conversation(run, self._place, self._manner, self._listeners, self._app.named, watch)
            await talk.take_up()
            self._conversation, self._stack = talk, stack.pop_all()

    async def aclose(self) -> None:
        """Stop the worker. A turn that is open stays so, until an agent of this conversation runs again.

        Calls that wait for it end with `AgentNotRunning`.
        """
        stack, self._stack = self._stack, None
        if stack is not None and self._conversation is not None:
            self._conversation.close()
            await stack.aclose()

    async def conversate(self, content: str) -> list[Prompt]:
        """Say something to the agent; the new entries of the history, the words that were said first.

        Calls that come while another one runs wait for it, in order. A turn that an earlier process left is finished before;
        one that was returned at a pause is given up, since the user moved on. A call that is cancelled cancels its turn.

        Raises:
            TurnFailed: the turn ended in an error; what it did until then is in the history.
            AgentNotRunning: the agent is not started.
        """
        return await self._talk().say(content, self._props.config.selection)

    async def resume(self) -> list[Prompt]:
        """Go on with the open turn: the entries that were not returned yet; none when no turn is open.

        Raises:
            TurnFailed, AgentNotRunning.
        """
        return await self._talk().resume()

    async def pending(self) -> PendingRequest | None:
        """What the open turn waits for, or None."""
        return await self._talk().pending()

    async def answer(
        self, results: Sequence[Mapping[str, Any]], *, partial: Literal["fill", "wait"] = "fill"
    ) -> AnswerAck:
        """Answer calls of the pause: `{"toolCallId", "decision" | "output" | "errorDetails"}` each.

        Those left out are filled as not run, unless `partial` is "wait".

        Raises:
            AnswerRefused: nothing was taken; the message says why.
            TurnEnded: no turn is open.
        """
        return await self._talk().answer(results, partial)

    def on(self, kind: EventType, listener: Listener) -> Self:
        """Have a function called, sync or async, with every event of a type (see `worker.nestia.events`).

        It changes nothing: what it raises is logged, and it cannot veto a call. Rules of the controllers can.
        """
        self._listeners.on(kind, listener)
        return self

    def off(self, kind: EventType, listener: Listener) -> Self:
        """Take a listener away."""
        self._listeners.off(kind, listener)
        return self

    def get_config(self) -> NestiaConfig:
        """The configuration."""
        return self._props.config

    def get_provider(self) -> NestiaProvider:
        """The model's service."""
        return self._props.provider

    def get_controllers(self) -> tuple[Controller, ...]:
        """The controllers, in order."""
        return self._props.controllers

    def get_prompt_histories(self) -> list[Prompt]:
        """The history as JSON that another agent can begin with: what this one began with, and every turn that has ended."""
        return self._log().copy()

    def get_token_usage(self) -> dict[str, Any]:
        """Tokens of all turns that have ended, in the structure of the seed."""
        return self._log().usage.dump()

    def get_token_usage_by_phase(self) -> dict[str, dict[str, Any]]:
        """The same by phase; turns without phases count as `execute`."""
        return {phase: usage.dump() for phase, usage in self._log().usage_by_phase.items()}

    async def records(self) -> list[Record]:
        """Everything that is known: what the conversation began with, and each turn with times, attempts and usage."""
        return await asyncio.to_thread(records_of, self._log(), self._app)

    def _talk(self) -> Conversation:
        if self._stack is None or self._conversation is None:
            raise AgentNotRunning("start the agent first: `async with NestiaAgent(…) as agent`")
        return self._conversation

    def _log(self) -> ConversationLog:
        """What was read of the conversation; after the end, as it was then."""
        if self._conversation is None:
            raise AgentNotRunning("the conversation is read when the agent starts")
        return self._conversation.run.log
