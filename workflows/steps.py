"""Each effect of a turn as one awaitable step: the activity, how long it may take, how often it is tried.

Bounded store calls are local activities: they save four history events each and are idempotent. Model calls and tools never
are, since a local activity blocks queries and runs again with its whole task when a worker dies.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.choosing import ChoiceActivities
    from activities.contracts import (
        MEMORY_MODEL_TIMEOUT,
        BeginTurn,
        CommitTurn,
        MemoryAnswered,
        MemoryAsk,
        MemoryStage,
        ModelReply,
        ModelRequest,
        Patience,
        PostTurn,
        PostTurnReport,
        ResultsSaved,
        RetrieveSources,
        SaveResults,
        SourcesRetrieved,
        TellPause,
        ToolFacts,
        ToolRan,
        ToolRun,
        TurnBegun,
        TurnCommitted,
    )
    from activities.errors import PAYLOAD_ERROR_TYPES, PAYLOAD_TOO_LARGE
    from activities.guard_contracts import InputJudged, JudgeInput
    from activities.guard_input import GuardActivities
    from activities.json_values import encoded_size
    from activities.memory import MemoryActivities
    from activities.memory_models import MemoryModelActivities
    from activities.memory_tools import search_memory
    from activities.model import ModelActivities
    from activities.pause_chunks import PauseActivities
    from activities.retrieving import ATTEMPTS as RETRIEVAL_ATTEMPTS
    from activities.retrieving import RetrievalActivities
    from activities.selection import ChoiceReply, ChoiceRequest
    from activities.tools import ToolActivities
    from activities.turns import TurnActivities
    from activities.wire import Wire
    from workflows.names import SUMMARY_CHARS

# The server refuses 2 MiB; an event holds more than the payload.
MAX_PAYLOAD_BYTES = 1_500_000
STORE_CALL = timedelta(seconds=2)
HEARTBEAT = timedelta(seconds=10)
TOOL_GRACE = 15.0
MEMORY_ATTEMPTS = 3
# A retriever has 30 seconds at most; the rest is for the store.
RETRIEVAL = timedelta(seconds=60)
# An attempt that was lost with its worker says nothing about the retriever.
LOST_WORKERS = 2

T = TypeVar("T", bound=Wire)
R = TypeVar("R", bound=Wire)

_MEMORY_STEPS: dict[MemoryStage, Callable[[Any, MemoryAsk], Awaitable[MemoryAnswered]]] = {
    "extract": MemoryModelActivities.extract_memories,
    "reconcile": MemoryModelActivities.reconcile_memories,
    "arbitrate": MemoryModelActivities.arbitrate,
}

_STORE_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    maximum_interval=timedelta(seconds=5),
    non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
)


async def begin_turn(request: BeginTurn) -> TurnBegun:
    """Claim the conversation. A store that stays away for a minute fails the turn."""
    return await _in_store(TurnActivities.begin_turn, request, timedelta(seconds=60))


async def judge_input(request: JudgeInput, seconds: float) -> InputJudged:
    """One judgement of the user's message, for which guardrails may take so many seconds. They know no retry of their own."""
    attempt = timedelta(seconds=seconds + 30)
    return await workflow.execute_activity_method(
        GuardActivities.judge_input,
        request,
        start_to_close_timeout=attempt,
        schedule_to_close_timeout=attempt * 3 + timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=_STORE_RETRY,
        summary="guardrails",
    )


async def save_results(request: SaveResults) -> ResultsSaved:
    """Store results too large to be an activity's recorded input."""
    return await _in_store(TurnActivities.save_results, request, timedelta(minutes=5))


async def commit_turn(request: CommitTurn) -> TurnCommitted:
    """Close the turn in the store."""
    return await _in_store(TurnActivities.commit_turn, request, timedelta(minutes=5))


async def tell_pause(request: TellPause) -> None:
    """Tell readers of the stream what the turn waits for. One that is not told is shown it everywhere else."""
    try:
        await _in_store(PauseActivities.tell_pause, request, timedelta(seconds=20))
    except ActivityError as fault:
        if is_cancelled_exception(fault):
            raise
        workflow.logger.warning("the stream of the turn was not told of a pause: %s", fault.cause or fault)


async def _in_store(method: Callable[[Any, T], Awaitable[R]], request: T, patience: timedelta) -> R:
    return await workflow.execute_local_activity_method(
        method,
        request,
        start_to_close_timeout=timedelta(seconds=10),
        schedule_to_close_timeout=patience,
        local_retry_threshold=STORE_CALL,
        retry_policy=_STORE_RETRY,
    )


async def retrieve_sources(request: RetrieveSources) -> SourcesRetrieved:
    """Look up what the turn's answer may rest on. Few tries: the turn can do without."""
    return await workflow.execute_activity_method(
        RetrievalActivities.retrieve_sources,
        request,
        start_to_close_timeout=RETRIEVAL,
        schedule_to_close_timeout=RETRIEVAL * RETRIEVAL_ATTEMPTS + timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=500), maximum_attempts=RETRIEVAL_ATTEMPTS + LOST_WORKERS
        ),
        summary="sources",
    )


async def ask_model(request: ModelRequest, patience: Patience, model: str) -> ModelReply:
    """One model call."""
    return await _with_model(ModelActivities.call_model, request, patience, f"model {model}")


async def _with_model(method: Callable[[Any, T], Awaitable[R]], request: T, patience: Patience, summary: str) -> R:
    """One request to the turn's model. Retries are the server's, so that each shows in the history."""
    attempt = timedelta(seconds=patience.model_timeout)
    return await workflow.execute_activity_method(
        method,
        measured(request),
        start_to_close_timeout=attempt + timedelta(seconds=30),
        schedule_to_close_timeout=attempt * patience.model_attempts + timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1),
            maximum_interval=timedelta(seconds=60),
            maximum_attempts=patience.model_attempts,
            non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
        ),
        summary=summary[:SUMMARY_CHARS],
    )


async def choose_functions(request: ChoiceRequest, patience: Patience) -> ChoiceReply:
    """One choice of the model."""
    return await _with_model(ChoiceActivities.choose_functions, request, patience, f"functions {request.phase}")


async def run_tool(request: ToolRun, facts: ToolFacts) -> ToolRan:
    """One run of a worker tool, or of one of memory's. Its own retries are counted by the activity.

    The activity is tried again after a lost worker whatever the tool is: it knows from its ledger whether the tool may run
    a second time.
    """
    timeout = timedelta(seconds=facts.timeout + TOOL_GRACE)
    return await workflow.execute_activity_method(
        _tool_step(request, facts),
        measured(request),
        start_to_close_timeout=timeout,
        schedule_to_close_timeout=timeout * (facts.retries + 1) + timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1),
            maximum_interval=timedelta(seconds=30),
            maximum_attempts=facts.retries + 20,
            non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
        ),
        summary=f"tool {request.name}"[:SUMMARY_CHARS],
    )


def _tool_step(request: ToolRun, facts: ToolFacts) -> Callable[[Any, ToolRun], Awaitable[ToolRan]]:
    if facts.kind != "memory":
        return ToolActivities.run_tool
    return MemoryActivities.recall if request.name == search_memory.name else MemoryActivities.change_memory


async def ask_memory_model(stage: MemoryStage, request: MemoryAsk, patience: Patience) -> MemoryAnswered:
    """One question to the model of memory. Few tries: the turn can do without."""
    attempt = timedelta(seconds=min(patience.model_timeout, MEMORY_MODEL_TIMEOUT))
    return await workflow.execute_activity_method(
        _MEMORY_STEPS[stage],
        measured(request),
        start_to_close_timeout=attempt + timedelta(seconds=30),
        schedule_to_close_timeout=attempt * MEMORY_ATTEMPTS + timedelta(minutes=10),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1),
            maximum_interval=timedelta(seconds=10),
            maximum_attempts=MEMORY_ATTEMPTS,
            non_retryable_error_types=list(PAYLOAD_ERROR_TYPES),
        ),
        summary=f"memory {stage}",
    )


async def post_turn(request: PostTurn) -> PostTurnReport:
    """Let the memory learn."""
    return await workflow.execute_activity_method(
        MemoryActivities.post_turn,
        measured(request),
        start_to_close_timeout=timedelta(seconds=60),
        # Tries are few; the time is for a turn that meets no worker for a while, and would else have taught nothing.
        schedule_to_close_timeout=timedelta(hours=1),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10), maximum_attempts=8
        ),
        summary="memory",
    )


def measured(request: T) -> T:
    """The request, if the server would take it. One it would not take loops the workflow task for ever."""
    size = encoded_size(request)
    if size > MAX_PAYLOAD_BYTES:
        raise ApplicationError(
            f"a step of the turn needs {size:,} bytes, more than {MAX_PAYLOAD_BYTES:,}",
            type=PAYLOAD_TOO_LARGE,
            non_retryable=True,
        )
    return request
