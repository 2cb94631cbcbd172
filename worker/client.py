"""Turns for Python callers: start one, see where it stops, answer, get the result."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.conversation import GMIOutput
from activities.json_values import encoded_size, json_fault
from activities.streaming_chunks import GMIOutputChunk
from worker.chunks import ChunkReader
from worker.media import Media, MediaReader
from worker.pollers import has_worker
from worker.search_attributes import RegisteredAttributes, starting_attributes
from worker.structured import with_structured_reply
from workflows.answers import MAX_ANSWER_BYTES
from workflows.contracts import AnswerAck, PendingRequest, RejectedAnswer, TurnStatus
from workflows.names import SUMMARY_CHARS, TASK_QUEUE, TURN_WORKFLOW, turn_workflow_id
from workflows.turn_state import turn_key

MAX_INPUT_BYTES = 1_900_000
ASK_SECONDS = 4.0
ANSWER_ASKS = 3
FIRST_POLL, LONGEST_POLL = 0.05, 1.0


class TurnError(Exception):
    """What went wrong with a turn, for its caller."""


class NoWorker(TurnError):
    """No worker polls the task queue: nothing will happen until one does."""


class TurnSilent(TurnError):
    """The turn did not answer a question in time, though a worker polls its queue."""


class TurnExists(TurnError):
    """A turn of that id runs or has run; its message was not taken."""


class TurnEnded(TurnError):
    """The turn is over; the message says how it ended."""


class AnswerRefused(TurnError):
    """The turn did not take the answer; the message says what to send."""


class TurnFailed(TurnError):
    """The turn failed. `code` is its error's, `output` what it had until then."""

    def __init__(self, message: str, code: str, output: GMIOutput | None) -> None:
        super().__init__(message)
        self.code = code
        self.output = output


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn on a server. Every method may be called from any process that knows the id."""

    client: Client
    handle: WorkflowHandle[Any, Any]
    task_queue: str = TASK_QUEUE
    # What the store calls the turn, where that is known without asking the turn.
    key: str | None = None

    @property
    def id(self) -> str:
        """The workflow id."""
        return self.handle.id

    async def stream(self, reader: ChunkReader, after: int = 0) -> AsyncIterator[GMIOutputChunk]:
        """The turn's chunks behind number `after`, as they come, up to the terminal one; for turns with `options.stream`.

        Raises:
            ChunksUnreadable: there is nothing to read; `result` says how the turn ended.
            NoWorker, TurnError: a turn that was not started here has to be asked for its name in the store.
        """
        key = await self._store_key()

        async def is_running() -> bool:
            return not await self._is_closed()

        async for chunk in reader.read(key, after, is_running=is_running):
            yield chunk

    async def media(self, reader: MediaReader, url: str) -> Media:
        """The bytes at an address that this turn's output has: `turnhold://media/…`.

        Raises:
            MediaNotFound: this turn made nothing of that address.
            ValueError: it is no such address.
        """
        return await reader.read_of_turn(url, await self._store_key())

    async def _store_key(self) -> str:
        if self.key is not None:
            return self.key
        status = await self.state()
        return turn_key(status.conversation_id or self.id, status.turn_id, self.id)

    async def next_stop(self, timeout: float = 60.0) -> GMIOutput:
        """Wait until the turn waits for its host (`is_final` false, `tool_calls` to run) or has ended.

        Raises:
            NoWorker: nobody runs the turn.
            TurnFailed: it ended in an error.
            TimeoutError: it was still running after `timeout` seconds.
        """
        async with asyncio.timeout(timeout):
            pause = FIRST_POLL
            while True:
                if await self._is_closed():
                    return await self.result()
                output = await self._output_when_asked()
                if output.is_final or output.tool_calls:
                    return output if output.tool_calls and not output.is_final else await self.result()
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LONGEST_POLL)

    async def _output_when_asked(self) -> GMIOutput:
        """The output now. A busy worker may take long to answer, so silence is only told when nobody polls."""
        while True:
            try:
                output: GMIOutput = await self._ask("get_output", GMIOutput)
            except TurnSilent:
                continue
            return output

    async def answer(
        self,
        results: Sequence[Mapping[str, Any]],
        *,
        partial: Literal["fill", "wait"] = "fill",
        user_id: str | None = None,
    ) -> AnswerAck:
        """Answer calls of the pause; those left out are filled as not run unless `partial` is "wait".

        Raises:
            AnswerRefused: nothing was taken; the message says why.
            TurnEnded: the turn is over.
            NoWorker: nobody runs the turn; the answer was not delivered. `signal` works without a worker.
            TurnSilent: whether the answer was taken is not known; ask for the turn's state, or answer again.
        """
        body = {"results": list(results), "partial": partial} | ({"userId": user_id} if user_id else {})
        _check_answer(body)
        # The turn takes one update once, however often it is sent: a worker that was just replaced may not have seen it.
        update_id = uuid.uuid4().hex
        for _ in range(ANSWER_ASKS):
            try:
                async with asyncio.timeout(ASK_SECONDS * 2) as limit:
                    ack: AnswerAck = await self.handle.execute_update(
                        "handle_tool_results", body, id=update_id, result_type=AnswerAck
                    )
                    return ack
            except WorkflowUpdateFailedError as refusal:
                raise AnswerRefused(str(refusal.cause)) from refusal
            except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError) as late:
                if not limit.expired() and not isinstance(late.__cause__, RPCError):
                    # It is the caller who does not wait any longer; the SDK has its own word for that.
                    raise asyncio.CancelledError from late
                await self._explain_silence()
            except RPCError as fault:
                raise await self._explain(fault) from fault
        raise TurnSilent("the turn did not take the answer in time; ask for its state")

    async def signal(self, results: Sequence[Mapping[str, Any]], *, partial: Literal["fill", "wait"] = "fill") -> None:
        """As `answer`, also while no worker is up. What the turn refuses then stands in `rejected_answers`."""
        body = {"results": list(results), "partial": partial}
        _check_answer(body)
        try:
            await self.handle.signal("handle_tool_results", body)
        except RPCError as fault:
            raise await self._explain(fault) from fault

    async def raise_budget(self, **limits: Any) -> AnswerAck:
        """Raise the limit that the turn asks about, and others with it: `raise_budget(maxTokens=50_000)`.

        Raises:
            AnswerRefused: the turn asks for no more now, or the limits are not above what is used.
            As `answer`.
        """
        record = await self.pending()
        call = next((each for each in record.tool_calls if each.kind == "budget"), None) if record else None
        if call is None:
            raise AnswerRefused("the turn does not ask for more of any limit now")
        return await self.answer([{"toolCallId": call.id, "output": limits}], partial="wait")

    async def settle(self) -> None:
        """End the pause: calls still open are filled as not run."""
        try:
            await self.handle.signal("settle")
        except RPCError as fault:
            raise await self._explain(fault) from fault

    async def cancel(self) -> None:
        """Cancel the turn. Its conversation stays usable."""
        try:
            await self.handle.cancel()
        except RPCError as fault:
            raise await self._explain(fault) from fault

    async def result(self) -> GMIOutput:
        """Wait for the end.

        Raises:
            TurnFailed: it failed, was cancelled, terminated or timed out.
        """
        try:
            return GMIOutput.model_validate(await self.handle.result())
        except WorkflowFailureError as failure:
            raise _failure(failure) from failure

    async def pending(self) -> PendingRequest | None:
        """The open pause."""
        pending: PendingRequest | None = await self._ask("get_pending_request", PendingRequest | None)
        return pending

    async def state(self) -> TurnStatus:
        """Where the turn stands."""
        status: TurnStatus = await self._ask("get_state", TurnStatus)
        return status

    async def rejected_answers(self) -> list[RejectedAnswer]:
        """Answers that were not used, and why."""
        rejected: list[RejectedAnswer] = await self._ask("get_rejected_answers", list[RejectedAnswer])
        return rejected

    async def _ask(self, query: str, reply: Any) -> Any:
        try:
            return await self.handle.query(query, result_type=reply, rpc_timeout=timedelta(seconds=ASK_SECONDS))
        except WorkflowQueryFailedError as fault:
            raise TurnError(f"the turn cannot be asked: {fault}") from fault
        except RPCError as fault:
            if fault.status in (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED):
                await self._explain_silence()
                message = "the turn does not answer, though a worker asked for work within two minutes"
                raise TurnSilent(message) from fault
            raise TurnError(f"the turn cannot be asked: {fault.message}") from fault

    async def _is_closed(self) -> bool:
        return (await self.handle.describe()).status != WorkflowExecutionStatus.RUNNING

    async def _explain_silence(self) -> None:
        if not await has_worker(self.client, self.task_queue):
            raise NoWorker(
                f"no worker polls the task queue {self.task_queue!r} in namespace {self.client.namespace!r}; start one with "
                f"`python -m worker`, look with `temporal task-queue describe --task-queue {self.task_queue}`"
            )

    async def _explain(self, fault: RPCError) -> TurnError:
        if fault.status != RPCStatusCode.NOT_FOUND:
            return TurnError(f"Temporal answers {fault.status.name}: {fault.message}")
        try:
            description = await self.handle.describe()
        except RPCError:
            return TurnEnded(f"there is no turn {self.id!r}")
        status = description.status.name.lower() if description.status else "over"
        try:
            output = await self.result()
        except TurnFailed as failed:
            return TurnEnded(f"the turn is over ({status}): {failed}")
        return TurnEnded(f"the turn is over ({status}): {(output.response_text or '')[:200]}")


class TurnClient:
    """Starts turns and finds them again."""

    def __init__(self, client: Client, task_queue: str = TASK_QUEUE) -> None:
        self._client = client
        self._task_queue = task_queue
        self._attributes = RegisteredAttributes(client)

    async def start(
        self, content: Any, *, turn_id: str | None = None, structured_reply: Any = None, **fields: Any
    ) -> Turn:
        """Start a turn. `fields` are those of the turn's input, in snake_case or camelCase.

        With `structured_reply`, a `Wanted` of `worker.structured` such as a pydantic model, the answer is a value of that shape;
        `structured_value` there reads it.

        Raises:
            TurnExists: a turn of that id runs or ran.
            ValueError: the input is too large, or no JSON.
        """
        turn_id = turn_id or uuid.uuid4().hex[:12]
        fields = with_structured_reply(fields, structured_reply)
        conversation = fields.get("conversationId") or fields.get("conversation_id") or turn_id
        body = {"content": content, "interactionId": turn_id, "conversationId": conversation}
        body |= {name: value for name, value in fields.items() if name not in ("conversation_id", "conversationId")}
        if fault := json_fault(body, "input"):
            raise ValueError(fault)
        if (size := encoded_size(body)) > MAX_INPUT_BYTES:
            raise ValueError(f"the input has {size:,} bytes, more than {MAX_INPUT_BYTES:,}; send a reference instead")
        workflow_id = turn_workflow_id(str(conversation), turn_id)
        try:
            handle = await self._client.start_workflow(
                TURN_WORKFLOW,
                body,
                id=workflow_id,
                task_queue=self._task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                static_summary=_summary(content),
                search_attributes=starting_attributes(body, await self._attributes.names()),
            )
        except WorkflowAlreadyStartedError as exists:
            raise TurnExists(f"a turn {workflow_id!r} runs or has run; this message was not taken") from exists
        key = turn_key(str(body["conversationId"]), str(body["interactionId"]), workflow_id)
        return replace(self.of(workflow_id, handle.result_run_id), key=key)

    def of(self, workflow_id: str, run_id: str | None = None) -> Turn:
        """A turn by its workflow id."""
        return Turn(self._client, self._client.get_workflow_handle(workflow_id), self._task_queue)


def _summary(content: Any) -> str:
    text = content if isinstance(content, str) else "a message of several parts"
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARS else f"{line[: SUMMARY_CHARS - 1]}…"


def _check_answer(body: Mapping[str, Any]) -> None:
    if fault := json_fault(dict(body), "answer"):
        raise AnswerRefused(fault)
    if (size := encoded_size(body)) > MAX_ANSWER_BYTES:
        raise AnswerRefused(f"the answer has {size:,} bytes, more than {MAX_ANSWER_BYTES:,}; send a reference instead")


def _failure(failure: WorkflowFailureError) -> TurnFailed:
    cause = failure.cause
    if isinstance(cause, ApplicationError):
        output = GMIOutput.model_validate(cause.details[0]) if cause.details else None
        return TurnFailed(f"{cause.type}: {cause.message}", cause.type or "", output)
    return TurnFailed(str(cause), type(cause).__name__, None)
