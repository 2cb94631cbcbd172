"""Guardrails over whole turns: what they take out is in no prompt, no row, no chunk and no answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from activities.guard_input import WITHHELD
from activities.guarding import WITHHELD_RESULT
from activities.personas import Persona
from activities.streaming_chunks import GMIOutputChunk
from tests.support import Harness, event_types, events_of, external, until
from tests.workflows.guarded_app import LOG_VARIABLE
from worker.app import AgentApp, Block, GuardContext, Pass, Sanitise, guardrail, tool
from worker.chunks import ChunkReader
from worker.client import Turn, TurnFailed
from worker.gmi import GMI

CARD = "4111"


@guardrail(stages=("input", "result", "output"))
def no_cards(text: str, context: GuardContext) -> Pass | Sanitise:
    """Take card numbers out."""
    return Sanitise(text.replace(CARD, "[card]"), "a card number") if CARD in text else Pass()


@guardrail(stages=("input", "result", "output"))
async def manners(text: str, context: GuardContext) -> Pass | Block:
    """End a turn that swears."""
    return Block("we do not swear here") if "damn" in text else Pass()


@tool(side_effects=False)
def look(card: str) -> str:
    """Look at a card."""
    return f"saw {card} and {CARD}"


def app(**fields: Any) -> AgentApp:
    return AgentApp(**{"guardrails": [no_cards, manners], "tools": [look], **fields})


async def warnings(turn: Turn) -> list[str]:
    page = await turn.handle.query("get_reasoning_trace")
    return [entry["message"] for entry in page["entries"] if entry["type"] == "WARNING"]


def asked(harness: Harness, number: int = -1) -> str:
    """What the model read, as text."""
    return json.dumps(harness.model.requests[number]["messages"])


async def test_what_is_taken_out_stands_nowhere_over_a_pause(harness: Harness) -> None:
    harness.model.call([("look", {"card": CARD}), ("approve", {"card": CARD})], f"I see {CARD}.")
    harness.model.say(f"Done with {CARD}.")
    harness.model.say("Again.")
    await harness.work(app(), cached=False)
    turn = await harness.turns.start(f"Charge {CARD}", conversationId="c", externalTools=[external("approve")])

    stop = await harness.pause(turn)
    [call] = stop.tool_calls or ()
    await turn.answer([{"toolCallId": call.id, "output": f"charged {CARD}"}])
    output = await turn.result()

    assert call.arguments == {"card": "[card]"}
    assert output.response_text == "I see [card].\nDone with [card]."
    assert output.error is None
    assert "Charge [card]" in asked(harness, 0)
    assert "saw [card] and [card]" in asked(harness, 1)
    assert "charged [card]" in asked(harness, 1)
    assert not any(CARD in asked(harness, number) for number in (0, 1))
    assert await warnings(turn) == [
        "Guardrail no_cards, input: sanitised. a card number",
        "Guardrail no_cards, output: sanitised. a card number",
        "Guardrail no_cards, output: sanitised. a card number",
        "Guardrail no_cards, output: sanitised. a card number",
        "Guardrail no_cards, result: sanitised. a card number",
        "Guardrail no_cards, result: sanitised. a card number",
        "Guardrail no_cards, output: sanitised. a card number",
    ]
    rows = [message for _, message in harness.store().rows(turn.key or "")]
    said = [row for row in rows if row.role != "tool"]
    assert CARD not in repr(said)
    assert [note["stage"] for note in (rows[-1].meta or {})["guardrails"]] == ["result", "result", "output"]  # type: ignore[union-attr]
    entries = (await turn.handle.query("get_history"))["entries"]
    assert entries[0] == {"role": "user", "content": "Charge [card]"}

    await (await harness.turns.start("And?", conversationId="c")).result()
    assert CARD not in asked(harness)


async def test_a_blocked_message_reaches_no_model_and_no_memory(harness: Harness) -> None:
    await harness.work(app())
    turn = await harness.turns.start("My name is Ren and damn you", conversationId="c", userId="ren")
    output = await turn.result()

    assert harness.model.requests == []
    assert output.response_text is None
    assert output.error is not None
    assert output.error.model_dump() == {
        "code": "GUARDRAIL_BLOCKED",
        "message": "we do not swear here",
        "details": {"guardrail": "manners", "stage": "input"},
    }
    assert (output.memory or {})["learned"]["stored"] == 0
    assert await warnings(turn) == ["Guardrail manners, input: blocked. we do not swear here"]
    assert (await turn.handle.query("get_history"))["entries"][0]["content"] == WITHHELD

    later = await (await harness.turns.start("Hello", conversationId="c", userId="ren")).result()
    assert later.error is None
    assert "damn" not in asked(harness)
    assert WITHHELD in asked(harness)


async def test_of_a_message_of_parts_the_texts_are_judged(harness: Harness) -> None:
    await harness.work(app())
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    parts = [{"type": "text", "text": f"a {CARD}"}, image, {"type": "text", "text": "b"}]
    await (await harness.turns.start(parts)).result()
    [user] = [each for each in harness.model.requests[0]["messages"] if each["role"] == "user"]
    assert [part.get("text") for part in user["content"]] == ["a [card]", None, "b"]

    blocked = await (await harness.turns.start([*parts, {"type": "text", "text": "damn"}])).result()
    assert blocked.error is not None
    assert len(harness.model.requests) == 1


@pytest.mark.parametrize("calls", [[("approve", {})], [("approve", {"note": "damn"})]])
async def test_a_blocked_reply_shows_neither_text_nor_calls(harness: Harness, calls: Any) -> None:
    """Streamed text is held until it is judged, so a reader sees nothing of it either."""
    harness.model.call(calls, "damn it" if calls == [("approve", {})] else "Shall I?")
    await harness.work(app())
    turn = await harness.turns.start(
        "go", conversationId="c", externalTools=[external("approve")], options={"stream": True}
    )
    output = await turn.result()
    async with ChunkReader(harness.settings.database_url) as reader:
        chunks: list[GMIOutputChunk] = [chunk async for chunk in turn.stream(reader)]

    assert output.error is not None
    assert output.error.code == "GUARDRAIL_BLOCKED"
    assert (output.response_text, output.tool_calls) == (None, None)
    assert output.usage is not None
    assert output.usage.total_tokens > 0
    assert harness.model.requests[0]["stream"]
    assert [chunk.type for chunk in chunks] == ["usage_update", "step_finished", "error", "final_response_marker"]

    later = await (await harness.turns.start("Hello", conversationId="c")).result()
    assert later.response_text == "You said: Hello"


async def test_streamed_text_is_shown_as_it_is_left(harness: Harness) -> None:
    harness.model.say(f"It is {CARD}.")
    await harness.work(app())
    turn = await harness.turns.start("go", options={"stream": True})
    async with ChunkReader(harness.settings.database_url) as reader:
        texts = [chunk.content async for chunk in turn.stream(reader) if chunk.type == "text_delta"]
    assert texts == ["It is [card]."]


async def test_a_blocked_result_ends_the_turn_and_is_read_by_no_later_one(harness: Harness) -> None:
    harness.model.call([("ask", {}), ("ask", {})])
    await harness.work(app())
    turn = await harness.turns.start("go", conversationId="c", externalTools=[external("ask")])
    first, second = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": first.id, "output": "fine"}, {"toolCallId": second.id, "output": "damn"}])
    output = await turn.result()

    assert output.error is not None
    assert output.error.details == {"guardrail": "manners", "stage": "result", "tool": "ask"}
    assert output.usage is not None
    assert output.usage.calls_without_usage == 0
    assert len(harness.model.requests) == 1

    later = await (await harness.turns.start("Hello", conversationId="c")).result()
    assert later.error is None
    assert "damn" not in asked(harness)
    assert WITHHELD_RESULT in asked(harness)
    assert "fine" in asked(harness)


async def test_a_choice_of_functions_is_judged_too(harness: Harness) -> None:
    chosen = [{"reason": "damn, why not", "name": "look"}]
    harness.model.call([("selectFunctions", {"functions": chosen})])
    await harness.work(app())
    options = {"toolSelection": "select", "selection": {"threshold": 0}}
    output = await (await harness.turns.start("go", options=options)).result()
    assert output.error is not None
    assert output.error.code == "GUARDRAIL_BLOCKED"
    assert len(harness.model.requests) == 1


async def test_a_turn_without_guardrails_has_no_step_of_theirs(harness: Harness) -> None:
    await harness.work(AgentApp(guardrails=[manners], personas=[Persona(id="free", guardrails=())]))
    turn = await harness.turns.start("damn")
    assert (await turn.result()).error is None
    events = await events_of(turn.handle)
    assert event_types(events).count("ACTIVITY_TASK_SCHEDULED") == 2
    assert "uardrail" not in repr(events).replace("free", "")


async def test_a_turn_that_needs_one_this_worker_lacks_is_refused(harness: Harness) -> None:
    await harness.work(app())
    turn = await harness.turns.start("go", requiredGuardrails=["no_cards", "legal"])
    with pytest.raises(TurnFailed, match="no guardrail named legal") as refused:
        await turn.result()
    assert refused.value.code == "SYS_GUARDRAIL_REQUIRED_MISSING"


async def test_an_instance_with_a_persona_of_its_own_cannot_drop_them(harness: Harness) -> None:
    await harness.work(app())
    gmi = GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)
    await gmi.initialize(Persona(id="own", guardrails=()))
    output = await gmi.process_turn("damn")
    history = await gmi.get_conversation_history()
    again = await gmi.process_turn(f"card {CARD}")

    assert output.error is not None
    assert output.error.code == "GUARDRAIL_BLOCKED"
    assert [message["content"] for message in history] == [WITHHELD]
    assert again.response_text == "You said: card [card]"


async def test_a_turn_that_ends_before_the_verdict_leaves_no_message_behind(harness: Harness) -> None:
    judging = asyncio.Event()

    @guardrail(stages=("input",))
    async def thinks(text: str, context: GuardContext) -> Pass:
        loop.call_soon_threadsafe(judging.set)
        if "secret" in text:
            await asyncio.Event().wait()
        return Pass()

    loop = asyncio.get_running_loop()
    await harness.work(AgentApp(guardrails=[thinks]))
    turn = await harness.turns.start("my secret", conversationId="c")
    await asyncio.wait_for(judging.wait(), 20)
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()
    await (await harness.turns.start("Hello", conversationId="c")).result()
    assert "secret" not in asked(harness)
    assert WITHHELD in asked(harness)


async def test_a_worker_killed_while_it_judges_leaves_the_judging_to_the_next(harness: Harness, tmp_path: Path) -> None:
    log = tmp_path / "asked.log"
    process = harness.work_apart("tests.workflows.guarded_app:app", **{LOG_VARIABLE: str(log)})
    turn = await harness.turns.start(f"card {CARD}")
    await until(log.exists, 60)
    process.kill()
    await asyncio.to_thread(process.wait)
    harness.work_apart("tests.workflows.guarded_app:app", **{LOG_VARIABLE: str(log)})
    output = await asyncio.wait_for(turn.result(), 90)

    assert output.response_text == "You said: card [card]"
    assert log.read_text().count("asked") == 2
    assert len(harness.model.requests) == 1
