"""Each call runs once, or again only where that is safe, and whatever happens the model gets a result."""

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import errors
from activities.contracts import PREVIEW_CHARS, BeginTurn, CommitTurn, ToolRan, ToolRun
from activities.conversation import (
    AssistantMessage,
    CostAggregator,
    GMIOutput,
    ToolCall,
    ToolCallResult,
    ToolMessage,
)
from activities.media import MediaItem
from activities.output_parts import UICommand
from activities.personas import Persona, Personas
from activities.registry import ToolRegistry
from activities.store import media as kept_media
from activities.store.database import open_database
from activities.store.errors import StoreUnavailable
from activities.store.media import MediaStore
from activities.store.records import ToolAttempt
from activities.store.turn_store import TurnStore
from activities.tool import Tool, ToolContext, tool
from activities.tool_executor import ToolExecutor
from activities.tool_replies import AudioOutput, Reply
from activities.tools import ToolActivities
from activities.turn_input import TurnInput

CALL = "abc123xyz"
CALLS = (ToolCall(id=CALL, name="t", arguments={"n": 1}), ToolCall(id="second000", name="t", arguments={"n": 2}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TurnStore]:
    database = open_database(f"sqlite:///{tmp_path}/turnhold.db")
    made = TurnStore(database)
    given = TurnInput(content="hi", user_id="ann", organization_id="acme")
    made.claim(
        BeginTurn(
            turn_id="turn", workflow_id="w", run_id="r", first_run_id="r", conversation_id="conv", input=given, now_ms=1
        ),
        "support",
    )
    made.put_rows("turn", [(1, AssistantMessage(tool_calls=CALLS))])
    yield made
    database.close()


@pytest.fixture
def executor() -> Iterator[ToolExecutor]:
    made = ToolExecutor()
    yield made
    made.close()


class Worker:
    """Runs attempts of one call as a Temporal worker would, each in an activity of its own."""

    def __init__(self, store: TurnStore, executor: ToolExecutor) -> None:
        self.store = store
        self.personas: Personas | None = None
        self._executor = executor

    async def run(
        self, *tools: Tool, attempt: int = 1, environment: ActivityEnvironment | None = None, **changes: Any
    ) -> ToolRan:
        environment = environment or ActivityEnvironment()
        environment.info = dataclasses.replace(environment.info, attempt=attempt)
        request = ToolRun(turn_id="turn", conversation_id="conv", call_id=CALL, name="t", row=2, call_row=1)
        activities = ToolActivities(self.store, ToolRegistry(tools), self._executor, self.personas)
        ran: ToolRan = await environment.run(activities.run_tool, request.model_copy(update=changes))
        return ran

    def row(self, number: int = 2) -> ToolCallResult | None:
        stored = dict(self.store.rows("turn")).get(number)
        return stored.result if isinstance(stored, ToolMessage) else None


@pytest.fixture
def worker(store: TurnStore, executor: ToolExecutor) -> Worker:
    return Worker(store, executor)


def counted(effects: list[Any], **settings: Any) -> Tool:
    """A tool whose effect can be counted."""

    def act(n: int, context: ToolContext) -> dict[str, int]:
        effects.append(context.idempotency_key)
        return {"n": n}

    return tool(name="t", **settings)(act)


def code_of(ran: ToolRan) -> str:
    assert ran.result.is_error
    assert ran.result.output == ran.result.error_details
    return str(ran.result.error_details["code"])


def message_of(ran: ToolRan) -> str:
    return str(ran.result.error_details["message"])


async def test_result_is_stored_at_its_row(worker: Worker) -> None:
    ran = await worker.run(counted([]), arguments={"n": "5"})
    assert ran == ToolRan(row=2, result=ToolCallResult(tool_call_id=CALL, tool_name="t", output={"n": 5}))
    assert worker.row() == ran.result


async def test_context_says_whose_call_it_is(worker: Worker) -> None:
    seen: list[ToolContext] = []

    async def act(n: int, context: ToolContext) -> None:
        seen.append(context)

    await worker.run(tool(name="t")(act), attempt=3)
    assert seen == [ToolContext("turn", "conv", "ann", "acme", "support", CALL, seen[0].idempotency_key, 3)]
    assert seen[0].idempotency_key == f"turn:{CALL}"


async def test_absent_arguments_are_read_from_the_row_of_the_call(worker: Worker) -> None:
    assert (await worker.run(counted([]))).result.output == {"n": 1}
    second = await worker.run(counted([]), call_id="second000", row=3)
    assert second.result.output == {"n": 2}
    assert worker.row(3) == second.result


@pytest.mark.parametrize("settings", [{}, {"idempotent": True}, {"side_effects": False}])
async def test_finished_call_is_not_run_again(worker: Worker, settings: dict[str, bool]) -> None:
    effects: list[str] = []
    first = await worker.run(counted(effects, **settings))
    assert await worker.run(counted(effects, **settings), attempt=2) == first
    assert len(effects) == 1


async def test_finished_call_of_a_reset_run_gets_its_row_back(worker: Worker) -> None:
    effects: list[str] = []
    first = await worker.run(counted(effects))
    worker.store.put_rows("turn", [(1, AssistantMessage(content="again", tool_calls=CALLS))])
    assert worker.row() is None
    assert await worker.run(counted(effects)) == first
    assert worker.row() == first.result
    assert len(effects) == 1


class Cut(BaseException):
    """Stands for the death of the process in the middle of a run."""


async def cut_off(worker: Worker, act: Tool) -> None:
    """One attempt that runs the tool and dies before its result is stored."""

    class Dying(TurnStore):
        def finish_tool_run(
            self,
            key: str,
            result: ToolCallResult,
            row: int,
            attempt: ToolAttempt | None = None,
            media: Sequence[MediaItem] = (),
        ) -> ToolCallResult:
            raise Cut

    living = worker.store
    worker.store = Dying(living._database)
    with pytest.raises(Cut):
        await worker.run(act)
    worker.store = living


async def test_cut_off_run_with_side_effects_is_not_repeated(worker: Worker) -> None:
    effects: list[str] = []
    await cut_off(worker, counted(effects))
    ran = await worker.run(counted(effects), attempt=2)
    assert code_of(ran) == errors.TOOL_OUTCOME_UNKNOWN
    assert "may or may not have happened" in message_of(ran)
    assert worker.row() == ran.result
    assert await worker.run(counted(effects), attempt=3) == ran
    assert len(effects) == 1


def speaking(effects: list[Any], **settings: Any) -> Tool:
    """A tool that speaks otherwise each time."""

    def act(n: int, context: ToolContext) -> AudioOutput:
        effects.append(context.idempotency_key)
        return AudioOutput(data=bytes([len(effects)]) * 100, format="pcm16", text="Hello.")

    return tool(name="t", **settings)(act)


def sounds(worker: Worker, *rans: ToolRan) -> list[bytes]:
    """The bytes at the addresses that results have."""
    kept, found = MediaStore(worker.store._database), []
    for ran in rans:
        assert ran.result.parts is not None
        assert ran.result.parts.audio_output is not None
        media = kept.of_user(ran.result.parts.audio_output.url or "", "acme", "ann")
        found.append(media.data if media else b"")
    return found


async def test_sound_is_kept_with_its_result_and_a_repeat_gives_the_same(worker: Worker) -> None:
    effects: list[str] = []
    ran = await worker.run(speaking(effects))
    again = await worker.run(speaking(effects), attempt=2)
    assert again == ran
    assert ran.result.output == "The user gets the audio (pcm16, 100 bytes)."
    assert worker.row() == ran.result
    assert sounds(worker, ran) == [b"\1" * 100]
    assert len(effects) == 1


async def test_sound_of_a_run_that_was_cut_off_is_not_kept_and_that_of_the_next_is(worker: Worker) -> None:
    effects: list[str] = []
    await cut_off(worker, speaking(effects, idempotent=True))
    ran = await worker.run(speaking(effects, idempotent=True), attempt=2)
    assert sounds(worker, ran) == [b"\2" * 100]
    assert len(set(effects)) == 1
    assert len(effects) == 2


async def test_sound_that_finds_no_room_is_an_error_that_the_model_reads(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_media, "MAX_TURN_BYTES", 99)
    effects: list[str] = []
    ran = await worker.run(speaking(effects))
    assert code_of(ran) == errors.MEDIA_TOO_LARGE
    assert "The tool ran" in message_of(ran)
    assert worker.row() == ran.result
    assert await worker.run(speaking(effects), attempt=2) == ran
    assert len(effects) == 1


async def test_sound_of_a_persona_that_only_writes_is_not_given_to_the_user(worker: Worker) -> None:
    worker.personas = Personas([Persona(id="support", allowed_output_modalities=("text", "image"))])
    ran = await worker.run(speaking([]))
    assert code_of(ran) == errors.TOOL_CALL_REJECTED
    assert "may not answer with audio" in message_of(ran)
    assert ran.result.parts is None


async def test_a_persona_that_only_writes_gets_what_a_tool_has_in_words(worker: Worker) -> None:
    def act(n: int) -> Reply:
        sound = AudioOutput(data=b"ID3" + b"\2" * 100)
        return Reply(output="with sound", otherwise="in words", audio=sound, ui_commands=[UICommand(command="open")])

    worker.personas = Personas([Persona(id="support", allowed_output_modalities=("text", "image"))])
    ran = await worker.run(tool(name="t")(act))
    assert (ran.result.output, ran.result.is_error) == ("in words", False)
    assert ran.result.parts is not None
    assert ran.result.parts.audio_output is None
    assert [each.command for each in ran.result.parts.ui_commands] == ["open"]


async def test_bad_base64_is_an_error_of_the_tool(worker: Worker) -> None:
    def act(n: int) -> AudioOutput:
        return AudioOutput(data="%%%", format="mp3")

    ran = await worker.run(tool(name="t")(act))
    assert code_of(ran) == errors.TOOL_ERROR
    assert "the data is not base64" in message_of(ran)


@pytest.mark.parametrize("settings", [{"idempotent": True}, {"side_effects": False}])
async def test_cut_off_run_that_may_repeat_does_so_with_the_same_key(worker: Worker, settings: dict[str, bool]) -> None:
    effects: list[str] = []
    await cut_off(worker, counted(effects, **settings))
    ran = await worker.run(counted(effects, **settings), attempt=2)
    assert ran.result.output == {"n": 1}
    assert effects == [f"turn:{CALL}"] * 2


async def test_cut_off_run_of_a_tool_that_is_gone_has_an_unknown_outcome(worker: Worker) -> None:
    await cut_off(worker, counted([]))
    assert code_of(await worker.run(attempt=2)) == errors.TOOL_OUTCOME_UNKNOWN


async def test_other_arguments_after_a_reset_are_another_run(worker: Worker) -> None:
    effects: list[str] = []
    await worker.run(counted(effects), arguments={"n": 1})
    ran = await worker.run(counted(effects), arguments={"n": 9})
    assert ran.result.output == {"n": 9}
    assert len(set(effects)) == 2


async def test_tool_that_raises_is_a_result_without_a_stack_trace(worker: Worker) -> None:
    def act(n: int) -> None:
        raise ValueError("no order 5 \ud83d" + "x" * 9_000)

    ran = await worker.run(tool(name="t")(act))
    assert code_of(ran) == errors.TOOL_ERROR
    assert message_of(ran).startswith("ValueError: no order 5 �xxx")
    assert len(message_of(ran)) < 2_100
    assert "Traceback" not in message_of(ran)
    assert worker.row() == ran.result


async def test_retries_are_temporals_until_they_are_used_up(worker: Worker) -> None:
    def act(n: int) -> None:
        raise ConnectionError("reset \ud83d")

    flaky = tool(name="t", side_effects=False, retries=2)(act)
    for attempt in (1, 2):
        with pytest.raises(ApplicationError) as failed:
            await worker.run(flaky, attempt=attempt)
        assert (failed.value.type, failed.value.non_retryable) == (errors.TOOL_ERROR, False)
        assert failed.value.message == "ConnectionError: reset �"
        assert failed.value.__cause__ is None
        assert worker.row() is None
    ran = await worker.run(flaky, attempt=3)
    assert (code_of(ran), message_of(ran)) == (errors.TOOL_ERROR, "ConnectionError: reset �")


@pytest.mark.parametrize("side_effects", [True, False])
async def test_overrun_is_a_result_that_says_what_may_have_happened(worker: Worker, side_effects: bool) -> None:
    async def act(n: int) -> None:
        await asyncio.sleep(30)

    ran = await worker.run(tool(name="t", timeout="PT0.1S", side_effects=side_effects)(act))
    assert code_of(ran) == errors.TOOL_TIMED_OUT
    assert message_of(ran).startswith("t did not end within 0.1 seconds.")
    assert ("may or may not have happened" in message_of(ran)) is side_effects
    assert worker.row() == ran.result


async def test_arguments_that_do_not_fit_do_not_run(worker: Worker) -> None:
    effects: list[str] = []
    ran = await worker.run(counted(effects), arguments={"n": "many", "m": 1})
    assert code_of(ran) == errors.TOOL_ARGUMENTS_INVALID
    assert "n: Input should be a valid integer" in message_of(ran)
    assert "m: is not an argument of this tool; it takes n" in message_of(ran)
    assert effects == []


async def test_tool_nobody_has_is_a_result(worker: Worker) -> None:
    assert code_of(await worker.run()) == errors.TOOL_NOT_FOUND


async def test_large_output_crosses_as_a_preview_and_stands_whole_in_its_row(worker: Worker) -> None:
    ran = await worker.run(tool(name="t")(lambda n: "é" * 100_000), arguments={"n": 1})
    assert ran.cut
    assert ran.result.output == {"preview": "é" * PREVIEW_CHARS}
    stored = worker.row()
    assert stored is not None
    assert stored.output == "é" * 100_000


async def test_enormous_output_is_cut_with_a_note(worker: Worker) -> None:
    ran = await worker.run(tool(name="t")(lambda n: "y" * 5_000_000), arguments={"n": 1})
    assert ran.cut
    stored = worker.row()
    assert stored is not None
    assert stored.output.endswith("[cut: the first 256,000 of 5,000,000 characters are shown]")
    assert len(stored.output) < 256_100


def unprintable() -> Any:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    return Broken()


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"\xff\x00",
        lambda: float("nan"),
        lambda: {1, 2},
        lambda: "bad \ud83d end",
        lambda: "NUL: \0",
        lambda: object(),
        lambda: ValueError("x"),
        lambda: (n for n in range(3)),
        unprintable,
    ],
)
async def test_odd_value_is_a_stored_result(worker: Worker, make: Callable[[], Any]) -> None:
    ran = await worker.run(tool(name="t")(lambda n: make()), arguments={"n": 1})
    assert ToolRan.model_validate_json(ran.model_dump_json()) == ran
    assert worker.row() == ran.result


async def test_cancelled_turn_cancels_an_async_tool(worker: Worker) -> None:
    environment = ActivityEnvironment()
    started, cancelled = threading.Event(), threading.Event()

    async def act(n: int) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    running = asyncio.create_task(worker.run(tool(name="t")(act), environment=environment))
    assert await asyncio.to_thread(started.wait, 10)
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(cancelled.wait, 10)
    assert worker.row() is None


def block() -> None:
    time.sleep(1.2)


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_heartbeats_go_on_while_a_tool_blocks(worker: Worker, kind: str) -> None:
    beats: list[float] = []
    environment = ActivityEnvironment()
    environment.on_heartbeat = lambda *_: beats.append(time.monotonic())
    environment.info = dataclasses.replace(environment.info, heartbeat_timeout=timedelta(seconds=0.3))

    async def blocking(n: int) -> None:
        block()

    act = tool(name="t")(blocking) if kind == "async" else tool(name="t")(lambda n: block())
    ran = await worker.run(act, environment=environment, arguments={"n": 1})
    assert not ran.result.is_error
    gaps = [later - earlier for earlier, later in pairwise(beats)]
    assert len(beats) > 5
    assert max(gaps) < 0.6


async def test_store_that_cannot_serve_is_retried_by_temporal(worker: Worker) -> None:
    class Down(TurnStore):
        def start_tool_run(self, turn_id: str, call_id: str, arguments_digest: str) -> Any:
            raise StoreUnavailable("no route")

    worker.store = Down(worker.store._database)
    with pytest.raises(ApplicationError) as failed:
        await worker.run(counted([]))
    assert (failed.value.type, failed.value.non_retryable) == (errors.SYS_DATABASE_ERROR, False)


async def test_turn_that_ended_runs_nothing_more(worker: Worker) -> None:
    effects: list[str] = []
    worker.store.commit(
        CommitTurn(
            turn_id="turn",
            conversation_id="conv",
            rows=2,
            state="cancelled",
            output=GMIOutput(is_final=True),
            usage=CostAggregator(),
            now_ms=2,
        )
    )
    with pytest.raises(ApplicationError) as refused:
        await worker.run(counted(effects))
    assert (refused.value.type, refused.value.non_retryable) == (errors.TURN_CLOSED, True)
    assert effects == []


@pytest.mark.parametrize("changes", [{"turn_id": "nobody"}, {"call_id": "unknown00"}, {"call_row": 0}])
async def test_call_that_is_not_in_the_store_fails_for_good(worker: Worker, changes: dict[str, Any]) -> None:
    with pytest.raises(ApplicationError) as refused:
        await worker.run(counted([]), **changes)
    assert (refused.value.type, refused.value.non_retryable) == (errors.SYS_RESOURCE_NOT_FOUND, True)


async def test_parallel_calls_keep_their_rows_whatever_ends_first(worker: Worker) -> None:
    first_may_end = threading.Event()

    def act(n: int) -> int:
        if n == 1:
            first_may_end.wait(10)
        return n

    made = tool(name="t")(act)
    slow = asyncio.create_task(worker.run(made))
    fast = await worker.run(made, call_id="second000", row=3)
    assert worker.row(2) is None
    first_may_end.set()
    assert [(await slow).result.output, fast.result.output] == [1, 2]
    stored = [worker.row(2), worker.row(3)]
    assert [each.tool_call_id for each in stored if each] == [CALL, "second000"]
