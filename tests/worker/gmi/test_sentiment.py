"""An instance that watches how its user feels, on the real server."""

import json
from typing import Any

import pytest

from activities.personas import Persona
from activities.sentiment import SentimentTracking
from tests.support import Harness, event_types, events_of, until
from tests.worker.gmi.instances import instance
from worker.app import AgentApp, Block, GuardContext, Pass, guardrail
from worker.gmi import GMI

HISTORY = "gmi_sentiment_history"


async def watched(harness: Harness, **tracking: Any) -> GMI:
    await harness.work(AgentApp())
    gmi = instance(harness)
    await gmi.initialize(Persona(id="own", sentiment_tracking=SentimentTracking(**tracking)))
    return gmi


def is_about(request: dict[str, Any], words: str) -> bool:
    return words in json.dumps(request["messages"])


async def until_mood(gmi: GMI, mood: str) -> None:
    async def is_there() -> bool:
        return (await gmi.get_status()).mood == mood

    await until(is_there)


async def window_of(gmi: GMI, size: int) -> list[dict[str, Any]]:
    async def is_full() -> list[dict[str, Any]]:
        window: list[dict[str, Any]] = (await gmi.get_working_memory_snapshot()).get(HISTORY, [])
        return window if len(window) == size else []

    found: list[dict[str, Any]] = await until(is_full)
    return found


async def test_a_frustrated_user_makes_it_think_though_its_worker_is_replaced(harness: Harness) -> None:
    """The lexicon asks no model; the meta prompt of the event does, once."""

    def reply(request: dict[str, Any]) -> str:
        return '{"updatedGmiMood": "empathetic"}' if is_about(request, "seems frustrated") else "ok"

    harness.model.handler = reply
    gmi = await watched(harness)
    await gmi.process_turn("Show me the orders of today")
    await gmi.process_turn("Not bad, but Esto no funciona")
    assert [record["events"] for record in await window_of(gmi, 2)] == [[], []]
    await harness.workers[-1].stop()
    await harness.work()
    await gmi.process_turn("This is terrible!")
    await until_mood(gmi, "empathetic")

    third = (await window_of(gmi, 3))[-1]
    assert (third["events"], third["excerpt"]) == (["user_frustrated"], "This is terrible!")
    assert sum(is_about(request, "seems frustrated") for request in harness.model.requests) == 1
    assert len(harness.model.requests) == 4
    await gmi.replace_history([])
    assert "excerpt" not in (await window_of(gmi, 3))[-1]


async def test_a_model_may_say_it_in_any_language_and_may_fail(harness: Harness) -> None:
    answers = iter(['{"score": -0.9, "intensity": 1, "confused": false}', "I think they are sad.", '{"score": 7}'])

    def reply(request: dict[str, Any]) -> str:
        if is_about(request, "Say how the user feels"):
            return next(answers)
        return '{"updatedGmiMood": "focused"}' if is_about(request, "seems frustrated") else "ok"

    harness.model.handler = reply
    gmi = await watched(harness, method="llm", model_id="small-1", presets=["gmi_frustration_recovery"])
    for text in ("Das ist furchtbar", "Na ja", "Und jetzt?"):
        assert (await gmi.process_turn(text)).response_text == "ok"

    await until_mood(gmi, "focused")

    async def are_told() -> bool:
        entries = (await gmi.get_reasoning_trace())["entries"]
        return sum("feels is not known" in entry["message"] for entry in entries) == 2

    await until(are_told)
    assert [record["events"] for record in await window_of(gmi, 1)] == [["user_frustrated"]]
    models = [each["model"] for each in harness.model.requests if is_about(each, "Say how the user feels")]
    assert models == ["small-1"] * 3
    assert (await gmi.get_status()).failed == 0


async def test_no_model_reads_a_message_before_the_guardrails_that_judge_it(harness: Harness) -> None:
    """Neither the one that is asked how the user feels, nor the one that reflects on what was kept of the message."""

    @guardrail(stages=("input",))
    def no_cards(text: str, context: GuardContext) -> Block | Pass:
        return Block("no card numbers here") if "4111" in text else Pass()

    harness.model.handler = lambda request: "{}"
    await harness.work(AgentApp(guardrails=[no_cards]))
    gmi = instance(harness)
    await gmi.initialize(Persona(id="own", sentiment_tracking=SentimentTracking(method="llm")))
    blocked = await gmi.process_turn("This is terrible! My card is 4111 1111 1111 1111.")
    assert blocked.error is not None
    await window_of(gmi, 1)
    await gmi.process_turn("Go on please, and thank you")

    async def has_reflected() -> bool:
        return any(is_about(request, "seems frustrated") for request in harness.model.requests)

    await until(has_reflected)
    assert not any(is_about(request, "4111 1111") for request in harness.model.requests)
    assert not any(is_about(request, "Say how the user feels") for request in harness.model.requests)


async def test_a_persona_that_does_not_ask_for_it_costs_no_event_more(harness: Harness) -> None:
    harness.model.handler = lambda request: "ok"
    await harness.work(AgentApp())
    gmi = instance(harness)
    await gmi.initialize(Persona(id="own"))
    await gmi.process_turn("This is terrible!")

    types = event_types(await events_of(gmi._channel.handle))
    # The one marker is that of the start.
    assert types.count("MARKER_RECORDED") == 1
    assert HISTORY not in await gmi.get_working_memory_snapshot()


@pytest.mark.parametrize("wrong", [{"method": "magic"}, {"historyWindow": 0}, {"presets": ["gmi_bribe"]}])
async def test_a_wrong_setting_is_refused_at_the_start(harness: Harness, wrong: dict[str, Any]) -> None:
    await harness.work(AgentApp())
    gmi = instance(harness)
    await gmi._channel.start({"gmiId": gmi.gmi_id, "persona": {"id": "p", "sentimentTracking": wrong}})
    with pytest.raises(Exception, match="sentimentTracking") as refused:
        await gmi.process_turn("Hello")
    assert getattr(refused.value, "code", None) == "SYS_VALIDATION_ERROR"
