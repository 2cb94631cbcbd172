"""`TurnClient` tells its caller what happens, also when nothing does."""

import asyncio
import time
from typing import Any

import pytest

from tests.support import Harness, event_types, events_of, external
from worker.client import AnswerRefused, NoWorker, TurnEnded, TurnExists, TurnFailed, TurnSilent


async def test_it_says_within_ten_seconds_that_no_worker_polls(harness: Harness) -> None:
    """With the command that shows it."""
    turn = await harness.turns.start("Hi")
    started = time.monotonic()
    with pytest.raises(NoWorker, match="task-queue describe"):
        await turn.next_stop()

    assert time.monotonic() - started < 10


async def test_an_answer_without_a_worker_says_so_and_a_signal_still_works(harness: Harness) -> None:
    """The signal waits in the history for the next worker."""
    worker = await harness.work()
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("ask")])
    (call,) = (await harness.pause(turn)).tool_calls or ()
    await worker.stop()
    # The server remembers a poller for a while, so the other queue is asked about.
    await turn.signal([{"toolCallId": call.id, "output": 1}])
    await harness.work()

    assert (await turn.result()).response_text == "Done."


async def test_a_used_id_is_told_to_the_starter(harness: Harness) -> None:
    """Running or ended, the second message is not taken in silence."""
    await harness.work()
    harness.model.handler = lambda _: "ok"
    turn = await harness.turns.start("Hi", turn_id="used", conversationId="c-client")
    with pytest.raises(TurnExists):
        await harness.turns.start("Again", turn_id="used", conversationId="c-client")
    await turn.result()
    with pytest.raises(TurnExists):
        await harness.turns.start("Again", turn_id="used", conversationId="c-client")


async def test_what_is_too_large_or_no_json_is_refused_before_it_is_sent(harness: Harness) -> None:
    """Start and answer."""
    with pytest.raises(ValueError, match="bytes"):
        await harness.turns.start("x" * 3_000_000)
    with pytest.raises(ValueError, match="surrogate"):
        await harness.turns.start("\ud800")
    turn = harness.turns.of("anything")
    with pytest.raises(AnswerRefused, match="bytes"):
        await turn.answer([{"toolCallId": "x", "output": "x" * 3_000_000}])
    with pytest.raises(AnswerRefused, match="nan"):
        await turn.signal([{"toolCallId": "x", "output": float("nan")}])


async def test_a_turn_nobody_started_is_told_apart_from_one_that_ended(harness: Harness) -> None:
    """For answers, settle and cancel."""
    with pytest.raises(TurnEnded, match="there is no turn"):
        await harness.turns.of("never-started").signal([{"toolCallId": "x", "output": 1}])
    with pytest.raises(TurnEnded, match="there is no turn"):
        await harness.turns.of("never-started").settle()
    with pytest.raises(TurnEnded, match="there is no turn"):
        await harness.turns.of("never-started").cancel()


async def test_next_stop_gives_each_pause_once_answered_the_following(harness: Harness) -> None:
    """Pause, pause, end."""
    await harness.work()
    harness.model.call([("a", {})])
    harness.model.call([("b", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", externalTools=[external("a"), external("b")])
    names = []
    stop = await turn.next_stop()
    while not stop.is_final:
        names += [call.name for call in stop.tool_calls or ()]
        await turn.answer([{"toolCallId": call.id, "output": 1} for call in stop.tool_calls or ()])
        stop = await turn.next_stop()

    assert names == ["a", "b"]
    assert stop.response_text == "Done."


async def test_a_worker_that_answers_late_does_not_end_the_wait(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence is told when nobody polls the queue; while somebody does, the caller's own time-out decides."""
    worker = await harness.work()
    harness.model.call([("ask", {})])
    turn = await harness.turns.start("Hi", externalTools=[external("ask")])
    await harness.pause(turn)
    await worker.stop()
    # Nobody answers a question now, but the server remembers who polled.
    monkeypatch.setattr("worker.client.ASK_SECONDS", 0.1)
    with pytest.raises(TimeoutError):
        await turn.next_stop(timeout=1.0)
    monkeypatch.undo()
    await harness.work()

    assert not (await turn.next_stop()).is_final


async def test_an_answer_is_asked_again_while_somebody_polls_and_is_taken_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker was just replaced, and the one before it was asked."""
    worker = await harness.work()
    harness.model.call([("ask", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Hi", externalTools=[external("ask")])
    (call,) = (await harness.pause(turn)).tool_calls or ()
    await worker.stop()
    monkeypatch.setattr("worker.client.ASK_SECONDS", 0.1)
    with pytest.raises(TurnSilent, match="did not take the answer in time"):
        await turn.answer([{"toolCallId": call.id, "output": 1}])
    monkeypatch.setattr("worker.client.ANSWER_ASKS", 200)
    answering = asyncio.create_task(turn.answer([{"toolCallId": call.id, "output": 1}]))
    await harness.work()

    assert call.id in ((ack := await answering).accepted + ack.repeated)
    assert (await turn.result()).response_text == "Done."


async def test_a_caller_who_does_not_wait_for_its_answer_is_let_go(harness: Harness) -> None:
    worker = await harness.work()
    harness.model.call([("ask", {})])
    turn = await harness.turns.start("Hi", externalTools=[external("ask")])
    (call,) = (await harness.pause(turn)).tool_calls or ()
    await worker.stop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await turn.answer([{"toolCallId": call.id, "output": 1}])


async def test_a_turn_is_found_before_any_worker_has_seen_it(harness: Harness) -> None:
    """By whose it is; the worker then has nothing to add but the persona, which goes with the next change."""
    turn = await harness.turns.start("Hi", userId="ren", conversationId="c-found")
    started = dict((await turn.handle.describe()).typed_search_attributes)
    await harness.work()
    harness.model.say("Hello.")
    await turn.result()
    types = event_types(await events_of(turn.handle))
    ended = (await turn.handle.describe()).typed_search_attributes

    assert {key.name: value for key, value in started.items()} == {
        "TurnState": "running",
        "ConversationId": "c-found",
        "UserId": "ren",
    }
    assert types.count("UPSERT_WORKFLOW_SEARCH_ATTRIBUTES") == 1
    assert {pair.key.name: pair.value for pair in ended}["TurnState"] == "completed"
    assert {pair.key.name: pair.value for pair in ended}["PersonaId"] == "default"


async def test_a_turn_that_cannot_begin_is_not_shown_as_running(harness: Harness) -> None:
    """Neither one with an invalid input, nor one whose persona does not exist."""
    await harness.work()
    wrong: list[dict[str, Any]] = [{"colour": "red"}, {"personaId": "nobody"}]
    for fields in wrong:
        turn = await harness.turns.start("Hi", **fields)
        with pytest.raises(TurnFailed):
            await turn.result()
        shown = {pair.key.name: pair.value for pair in (await turn.handle.describe()).typed_search_attributes}
        assert shown["TurnState"] == "failed"
