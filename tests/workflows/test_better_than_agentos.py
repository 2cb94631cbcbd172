"""What goes wrong with a turn of AgentOS, and does not here: one test for each weakness, all on one worker.

`docs/agentos.md` is the list. Those of its rows that need a worker of their own are in `test_better_after_a_restart`.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from activities import errors
from activities.conversation import AssistantMessage
from tests.support import Harness, external, until
from worker.app import AgentApp, Persona, tool
from worker.chunks import ChunkReader
from worker.client import AnswerRefused, Turn, TurnError, TurnFailed
from worker.gmi import GMI, GMIError

pytestmark = pytest.mark.asyncio(loop_scope="module")

RAN: list[str] = []
SECOND_ENDED = asyncio.Event()
ROOMS = {f"room-{tokens}": tokens for tokens in (1, 40, 80, 120, 160, 10_000)}


@tool
def charge(order: str) -> str:
    """Charge the card for an order."""
    RAN.append(order)
    return f"charged {order}"


@tool(side_effects=False, timeout="PT10S")
async def first() -> str:
    """Return after the second."""
    await SECOND_ENDED.wait()
    return "one"


@tool(side_effects=False)
async def second() -> str:
    """Let the first return."""
    SECOND_ENDED.set()
    return "two"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker(module_harness: Harness) -> AsyncIterator[Harness]:
    personas = [Persona(id=name, history_tokens=tokens) for name, tokens in ROOMS.items()]
    await module_harness.work(AgentApp(personas=[Persona(id="default"), *personas], tools=[charge, first, second]))
    yield module_harness


@pytest.fixture
def harness(worker: Harness) -> Harness:
    worker.model.forget()
    RAN.clear()
    return worker


def asked(harness: Harness, place: int = -1) -> list[dict[str, Any]]:
    """The messages of a model request, without the system's."""
    messages = harness.model.requests[place]["messages"]
    return [message for message in messages if message["role"] != "system"]


def shape(harness: Harness, place: int = -1) -> list[tuple[str, Any]]:
    """Role and text of each."""
    return [(message["role"], message["content"]) for message in asked(harness, place)]


async def paused(harness: Harness, *names: str, **fields: Any) -> tuple[Turn, list[str]]:
    """A turn that waits for these calls, and their ids."""
    harness.model.call([(name, {}) for name in names])
    turn = await harness.turns.start("Go", externalTools=[external(name) for name in dict.fromkeys(names)], **fields)
    return turn, [call.id for call in (await harness.pause(turn)).tool_calls or ()]


async def whole(harness: Harness, content: str, **fields: Any) -> str | None:
    """The words of a turn that runs to its end."""
    return (await (await harness.turns.start(content, **fields)).result()).response_text


async def instance(harness: Harness, name: str) -> GMI:
    """An instance of this name, ready."""
    gmi = GMI(harness.client, f"{harness.task_queue}-{name}", task_queue=harness.task_queue)
    await gmi.initialize(None, {"externalTools": [external("ask")]})
    return gmi


async def test_a_continuation_that_fails_keeps_the_answer_and_is_tried_again(harness: Harness) -> None:
    """There, results are used up by the first attempt, and nothing can be tried again."""
    turn, (call,) = await paused(harness, "ask")
    for _ in range(2):
        harness.model.respond(503, {"error": {"message": "away"}}, headers={"retry-after-ms": "10"})
    harness.model.say("Thank you.")
    await turn.answer([{"toolCallId": call, "output": "ref 77"}])

    assert (await turn.result()).response_text == "Thank you."
    assert [shape(harness, place)[-1] for place in (1, 2, 3)] == [("tool", "ref 77")] * 3


async def test_one_answer_sent_ten_times_at_once_runs_the_model_once(harness: Harness) -> None:
    """There, each copy of an answer starts a continuation of its own."""
    turn, (one, other) = await paused(harness, "ask", "tell")
    harness.model.say("Done.")
    copies = [turn.answer([{"toolCallId": one, "output": "yes"}], partial="wait") for _ in range(10)]
    acks = await asyncio.gather(*copies)
    await turn.answer([{"toolCallId": other, "output": "told"}])
    await turn.result()

    assert sorted((len(ack.accepted), len(ack.repeated)) for ack in acks) == [*[(0, 1)] * 9, (1, 0)]
    assert shape(harness)[-2:] == [("tool", "yes"), ("tool", "told")]
    assert len(harness.model.requests) == 2


async def test_whatever_is_wrong_with_an_answer_is_refused_and_the_pause_stands(harness: Harness) -> None:
    """There, almost any answer is taken, and a bad one ends the pause."""
    turn, (call,) = await paused(harness, "ask")
    wrong: dict[str, list[dict[str, Any]]] = {
        "no call of this pause": [{"toolCallId": "nosuchid1", "output": 1}],
        "belongs to the tool ask": [{"toolCallId": call, "toolName": "tell", "output": 1}],
        "toolCallId": [{"output": 1}],
        "twice": [{"toolCallId": call, "output": 1}, {"toolCallId": call, "output": 1}],
        "none of": [{"toolCallId": call}],
        "is nan": [{"toolCallId": call, "output": float("nan")}],
        "bytes": [{"toolCallId": call, "output": "x" * 1_100_000}],
        "empty": [],
    }
    for reason, results in wrong.items():
        with pytest.raises(AnswerRefused, match=reason):
            await turn.answer(results)
    assert (await turn.state()).waiting_for == (call,)
    harness.model.say("Done.")
    await turn.answer([{"toolCallId": call, "output": "right"}])
    await turn.result()

    assert shape(harness)[1:] == [("assistant", None), ("tool", "right")]


async def test_nobody_but_the_owner_answers_or_takes_a_conversation(harness: Harness) -> None:
    """There, whoever knows an id answers, and a forged record moves the conversation to another user."""
    turn, (call,) = await paused(harness, "ask", userId="ana", conversationId="ana's")
    with pytest.raises(AnswerRefused, match="another user"):
        await turn.answer([{"toolCallId": call, "output": "forged"}], user_id="bob")
    for forged in ({"conversationId": "ana's"}, {"conversationId": "ana's", "onBusy": "supersede"}):
        with pytest.raises(TurnFailed) as refused:
            await whole(harness, "Mine now", userId="bob", **forged)
        assert refused.value.code == errors.SYS_RESOURCE_NOT_FOUND
    with pytest.raises(TurnFailed) as refused:
        await whole(harness, "Mine now", userId="bob", type="tool_response")
    assert refused.value.code == errors.SYS_VALIDATION_ERROR
    harness.model.say("Done.")
    await turn.answer([{"toolCallId": call, "output": "mine"}], user_id="ana")

    assert (await turn.result()).response_text == "Done."
    assert shape(harness)[-1] == ("tool", "mine")
    assert await whole(harness, "And again", userId="ana", conversationId="ana's") == "You said: And again"


async def test_a_call_and_a_pause_each_have_their_own_deadline(harness: Harness) -> None:
    """There, no time-out that can be set is ever read."""
    harness.model.call([("quick", {}), ("slow", {})])
    harness.model.say("Nobody came.")
    began = datetime.now(UTC)
    turn = await harness.turns.start(
        "Go", externalTools=[external("quick", timeout="PT1S"), external("slow")], pause={"timeout": "PT2S"}
    )
    output = await turn.result()

    assert output.response_text == "Nobody came."
    assert 2 <= (datetime.now(UTC) - began).total_seconds() < 10
    quick, slow = (str(text) for _, text in shape(harness)[-2:])
    assert "within the time this call is given" in quick
    assert "before the deadline of the pause" in slow


async def test_a_message_to_a_paused_conversation_neither_enters_nor_ends_it(harness: Harness) -> None:
    """There, the message lands between the call and its result, and the record of the pause is deleted."""
    turn, (call,) = await paused(harness, "ask", conversationId="talk")
    record = await turn.pending()
    with pytest.raises(TurnFailed) as busy:
        await whole(harness, "Hello?", conversationId="talk")
    assert busy.value.code == errors.CONVERSATION_BUSY
    assert await turn.pending() == record
    harness.model.say("Done.")
    await turn.answer([{"toolCallId": call, "output": "yes"}])
    await turn.result()

    assert shape(harness) == [("user", "Go"), ("assistant", None), ("tool", "yes")]
    await whole(harness, "Next", conversationId="talk")
    assert shape(harness)[3:] == [("assistant", "Done."), ("user", "Next")]


async def test_a_continuation_that_ran_tools_and_ended_is_no_new_pause(harness: Harness) -> None:
    """There, the host is asked to run again what already ran."""
    turn, (call,) = await paused(harness, "ask")
    harness.model.call([("charge", {"order": "7"})])
    harness.model.say("Charged.")
    await turn.answer([{"toolCallId": call, "output": "go on"}])
    output = await turn.next_stop()

    assert (output.is_final, output.response_text) == (True, "Charged.")
    assert [each.name for each in output.tool_calls or ()] == ["charge"]
    assert RAN == ["7"]
    assert await turn.pending() is None


async def test_prompts_of_users_who_say_the_same_have_nothing_of_each_other(harness: Harness) -> None:
    """There, prompts are cached by a short hash that knows neither user nor conversation."""
    await whole(harness, "My code word is heron.", userId="u-ana", conversationId="c-ana", sessionId="s")
    await whole(harness, "My code word is otter.", userId="u-bob", conversationId="c-bob", sessionId="s")
    same = [
        await harness.turns.start("Say it", userId=f"u-{who}", conversationId=f"c-{who}", sessionId="s")
        for who in ("ana", "bob")
    ]
    await asyncio.gather(*(turn.result() for turn in same))

    told = [str(request["messages"]) for request in harness.model.requests[-2:]]
    assert sorted(("heron" in text, "otter" in text) for text in told) == [(False, True), (True, False)]


async def test_a_later_turn_reads_the_tool_rounds_before_it(harness: Harness) -> None:
    """There, calls and results are missing from every later prompt."""
    harness.model.call([("charge", {"order": "7"})], "One moment.")
    harness.model.say("It is paid.")
    await whole(harness, "Charge order 7", conversationId="rounds")
    await whole(harness, "Twice?", conversationId="rounds")

    user, call, result, reply, newest = asked(harness)
    assert (user["content"], newest["content"]) == ("Charge order 7", "Twice?")
    assert call["content"] == "One moment."
    assert [each["function"] for each in call["tool_calls"]] == [{"name": "charge", "arguments": '{"order": "7"}'}]
    assert (result["tool_call_id"], result["content"]) == (call["tool_calls"][0]["id"], "charged 7")
    assert reply == {"role": "assistant", "content": "It is paid."}


async def test_an_instance_whose_turn_failed_takes_the_next(harness: Harness) -> None:
    """There, one failed turn leaves the session unusable."""
    gmi = await instance(harness, "failed")
    harness.model.respond(400, {"error": {"message": "no"}})
    failed = await gmi.process_turn("First")
    assert failed.error is not None
    assert await gmi.get_current_state() == "errored"

    assert (await gmi.process_turn("Second")).response_text == "You said: Second"
    assert await gmi.get_current_state() == "ready"


async def test_a_message_to_a_busy_instance_waits_and_a_refused_one_is_not_stored(harness: Harness) -> None:
    """There, a second message is refused, and stored nevertheless."""
    gmi = await instance(harness, "busy")
    harness.model.call([("ask", {})])
    stop = await gmi.process_turn("One")
    with pytest.raises(GMIError):
        await gmi.process_turn({"content": "Refused", "onBusy": "refuse"})
    waiting = asyncio.create_task(gmi.process_turn("Two"))

    async def is_queued() -> bool:
        return bool((await gmi.get_status()).queued)

    await until(is_queued)
    harness.model.say("First.")
    call = (stop.tool_calls or ())[0]
    await gmi.handle_tool_result(call.id, "ask", {"type": "success", "result": "yes"}, "local")

    assert (await waiting).response_text == "You said: Two"
    said = [("user", "One"), ("assistant", None), ("tool", "yes"), ("assistant", "First."), ("user", "Two")]
    assert shape(harness) == said


async def test_a_session_id_opens_nobodys_history(harness: Harness) -> None:
    """There, the session alone selects the agent, and its first user's history goes to the next one."""
    await whole(harness, "My code word is heron.", userId="s-ana", sessionId="shared")
    await whole(harness, "What is it?", userId="s-bob", sessionId="shared")

    assert shape(harness) == [("user", "What is it?")]
    assert "heron" not in str(harness.model.requests[-1])


async def test_a_stream_ends_once_whatever_happens_and_shows_no_stack(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, errors end a stream twice or not at all, continuations do not stream, and clients see stack traces."""
    monkeypatch.setattr(harness.model, "pace", 0.1)

    async def told(*, fails: bool) -> list[Any]:
        turn, (call,) = await paused(harness, "ask", options={"stream": True})
        if fails:
            harness.model.respond(400, {"error": {"message": "no such model"}})
        else:
            harness.model.say("Word after word after word.")
        await turn.answer([{"toolCallId": call, "output": 1}])
        async with ChunkReader(harness.settings.database_url) as reader, asyncio.timeout(20):
            return [chunk async for chunk in turn.stream(reader)]

    for fails in (False, True):
        chunks = await told(fails=fails)
        assert [chunk.sequence for chunk in chunks] == list(range(1, len(chunks) + 1))
        assert [chunk.is_final for chunk in chunks] == [*[False] * (len(chunks) - 1), True]
        words = [chunk for chunk in chunks if chunk.type == "text_delta"]
        assert len(words) == 0 if fails else len(words) > 1
        assert "Traceback" not in str(chunks)
        assert ("no such model" in str(chunks[-2:])) is fails


async def test_a_reply_is_told_only_when_it_is_stored(harness: Harness) -> None:
    """There, errors of the store are swallowed, or lose a reply that was finished."""
    other = sqlite3.connect(harness.folder / "turnhold.db", isolation_level=None, check_same_thread=False)
    turn = await harness.turns.start("Hi", conversationId="kept")

    def lock(_: dict[str, Any]) -> str:
        other.execute("BEGIN IMMEDIATE")
        return "Kept."

    harness.model.handler = lock
    result = asyncio.create_task(turn.result())
    await harness.model.wait_for_requests(1)
    done, _ = await asyncio.wait([result], timeout=3)
    assert not done
    other.rollback()
    other.close()

    assert (await result).response_text == "Kept."
    (rows,) = harness.store().history("kept", 9, 99, 99_999)
    assert isinstance(rows[-1], AssistantMessage)
    assert rows[-1].content == "Kept."


async def test_whatever_a_prompt_has_room_for_no_call_is_parted_from_its_results(harness: Harness) -> None:
    """There, history is cut at a number of messages, in the middle of a round too. The scripted model refuses such requests."""
    for order in ("1", "2"):
        harness.model.call([("charge", {"order": order}), ("charge", {"order": f"{order}b"})])
        harness.model.say("Paid.")
        await whole(harness, f"Charge {order}", conversationId="long", personaId="room-1")
    sizes = []
    for name in ROOMS:
        newest = f"Hello with {name}"
        assert await whole(harness, newest, conversationId="long", personaId=name) == f"You said: {newest}"
        assert harness.model.requests[-1]["messages"][0]["role"] == "system"
        assert shape(harness)[-1] == ("user", newest)
        sizes.append(len(asked(harness)))

    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert sizes[-1] == 10 + 2 * (len(ROOMS) - 1) + 1


async def test_calls_of_one_reply_run_side_by_side_and_answer_in_its_order(harness: Harness) -> None:
    """There, they run one after the other: this turn would hang."""
    harness.model.call([("first", {}), ("second", {}), ("nobody", {})])
    harness.model.say("Both.")
    await whole(harness, "Go")

    one, two, missing = (str(text) for _, text in shape(harness)[-3:])
    assert (one, two) == ("one", "two")
    assert errors.TOOL_NOT_FOUND in missing


async def test_feedback_is_read_as_it_is_meant_and_a_healthy_instance_says_so(harness: Harness) -> None:
    """There, the label "positive" counts as negative, and every instance is degraded for ever."""
    gmi = await instance(harness, "health")
    for rating in ("positive", "negative", 5):
        await gmi.record_user_feedback({"userId": "local", "rating": rating})
    entries = (await gmi.get_reasoning_trace())["entries"]

    told = [entry["details"]["polarity"] for entry in entries if "polarity" in (entry.get("details") or {})]
    assert told == ["positive", "negative", "positive"]
    assert (await gmi.get_overall_health())["overallStatus"] == "HEALTHY"


async def test_a_paused_turn_can_be_cancelled_and_its_conversation_goes_on(harness: Harness) -> None:
    """There, neither a turn nor a pause can be cancelled."""
    turn, _ = await paused(harness, "ask", conversationId="left")
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()
    with pytest.raises(TurnError):
        await turn.answer([{"toolCallId": "whatever1", "output": 1}])
    await whole(harness, "Still there?", conversationId="left")

    assert [role for role, _ in shape(harness)] == ["user", "assistant", "tool", "user"]
    assert errors.EXTERNAL_TOOL_NOT_RUN in str(shape(harness)[2])
