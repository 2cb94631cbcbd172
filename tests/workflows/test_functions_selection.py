"""Choosing functions before they are called, in whole turns: what is listed, what waits for the next turn, what is said."""

import json
import re
from typing import Any

import pytest

from tests.support import Harness
from tests.workflows.shop import ask, let_run, offered, results, said, serve
from worker.app import AgentApp, ClassController, Rule
from worker.client import TurnFailed
from worker.demo_script import Saying


class Desk:
    """A desk with a log of what was done at it."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def open_letter(self, name: str) -> str:
        """Open a letter."""
        self.log.append(f"open {name}")
        return f"the text of {name}"

    def write_letter(self, name: str) -> str:
        """Write a letter."""
        self.log.append(f"write {name}")
        return f"wrote {name}"

    def book_flight(self, city: str) -> str:
        """Book a flight to a city."""
        self.log.append(f"fly to {city}")
        return f"booked {city}"

    def water_plants(self) -> str:
        """Water the plants."""
        self.log.append("water")
        return "watered"

    def file_tax(self, year: int) -> str:
        """File a tax return."""
        self.log.append(f"tax {year}")
        return f"filed {year}"


ALL = ["open_letter", "write_letter", "book_flight", "water_plants", "file_tax"]


def options(**selection: Any) -> dict[str, Any]:
    """Options of a turn that chooses."""
    return {"toolSelection": "select", "selection": {"threshold": 0, **selection}}


def choice(*names: str, tool: str = "selectFunctions") -> list[tuple[str, dict[str, Any]]]:
    """A choice of these functions."""
    return [(tool, {"functions": [{"reason": f"{name} is wanted", "name": name} for name in names]})]


def listed(request: dict[str, Any]) -> list[str]:
    """The functions that a request lists to choose from."""
    [text] = [each["content"] for each in request["messages"] if each["role"] == "tool"][:1]
    return [each["name"] for each in json.loads(text)]


async def desk(harness: Harness, **settings: Any) -> Desk:
    """A worker that has the desk."""
    made = Desk()
    await harness.work(AgentApp(controllers=[ClassController(name="desk", instance=made, **settings)]))
    return made


async def test_few_functions_are_offered_at_once(harness: Harness) -> None:
    made = await desk(harness)
    turn = await ask(harness, ("water_plants", {}), options=options(threshold=5))
    await turn.result()

    assert made.log == ["water"]
    assert sorted(offered(harness.model.requests[0])) == sorted(ALL)
    assert len(harness.model.requests) == 2


async def test_it_offers_what_was_chosen_and_refuses_any_other_function(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.call(choice("water_plants"))
    turn = await ask(harness, ("file_tax", {"year": 2024}), ("water_plants", {}), options=options(describe="off"))
    await turn.result()
    select, execute, *_ = harness.model.requests

    assert made.log == ["water"]
    assert (offered(select), sorted(listed(select))) == (["selectFunctions"], sorted(ALL))
    assert offered(execute) == ["water_plants"]
    assert "there is no tool 'file_tax'" in json.dumps(harness.model.requests[2]["messages"])


async def test_candidates_cut_the_list_to_what_the_message_is_about(harness: Harness) -> None:
    await desk(harness)
    harness.model.say("Which city?")
    turn = await harness.turns.start("Please book me a flight", options=options(candidates=2))
    await turn.result()

    names = listed(harness.model.requests[0])
    assert len(names) == 2
    assert "book_flight" in names


@pytest.mark.parametrize("eliticism", [True, False])
async def test_capacity_divides_the_question_and_eliticism_asks_about_the_winners(
    harness: Harness, eliticism: bool
) -> None:
    made = await desk(harness)

    def choose(request: dict[str, Any]) -> Any:
        names = listed(request)
        wanted = [name for name in names if name in ("water_plants", "open_letter")]
        is_final = len(names) == 2 and set(names) == {"water_plants", "open_letter"}
        [(tool, arguments)] = choice(*(["water_plants"] if is_final else wanted))
        call = {"id": "a1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}

    questions = 3 + eliticism
    harness.model.script(*[choose] * questions)
    harness.model.call([("water_plants", {})])
    harness.model.say("Done.")
    turn = await harness.turns.start("Go", options=options(capacity=2, eliticism=eliticism))
    await turn.result()
    asked, execute = harness.model.requests[:questions], harness.model.requests[questions]

    assert sorted(name for request in asked[:3] for name in listed(request)) == sorted(ALL)
    assert sorted(len(listed(request)) for request in asked[:3]) == [1, 2, 2]
    assert sorted(offered(execute)) == (["water_plants"] if eliticism else ["open_letter", "water_plants"])
    assert made.log == ["water"]


async def test_a_name_nobody_knows_is_told_back_with_the_nearest(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.call(choice("water_plant"))
    harness.model.call(choice("water_plants"))
    turn = await ask(harness, ("water_plants", {}), options=options())
    await turn.result()

    assert "Did you mean water_plants" in json.dumps(harness.model.requests[1]["messages"])
    assert made.log == ["water"]


async def test_it_asks_no_more_than_retry_allows_and_then_answers_in_words(harness: Harness) -> None:
    made = await desk(harness)
    for _ in range(3):
        harness.model.call(choice("nothing_like_it"))
    harness.model.say("I cannot do that.")
    output = await (await harness.turns.start("Go", options=options(retry=2))).result()

    assert made.log == []
    assert len(harness.model.requests) == 4
    assert output.response_text == "I cannot do that."


async def test_a_function_chosen_twice_runs_twice_and_leaves_once_each(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.call(choice("open_letter", "open_letter"))
    harness.model.call([("open_letter", {"name": "A"})])
    harness.model.say("A says hello.")
    harness.model.call([("open_letter", {"name": "B"})])
    harness.model.say("B says bye.")
    output = await (await harness.turns.start("Open A and B", options=options())).result()

    assert made.log == ["open A", "open B"]
    assert output.response_text == "A says hello.\nB says bye."
    assert len(harness.model.requests) == 5


async def test_what_was_chosen_waits_for_the_next_turn_and_survives_a_restart(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.call(choice("book_flight", "water_plants"))
    harness.model.say("Which city?")
    turn = await harness.turns.start("Book a flight and water the plants", conversationId="c", options=options())
    assert (await turn.result()).response_text == "Which city?"
    await harness.workers[-1].stop()
    await harness.work()

    harness.model.call(choice("water_plants", tool="cancelFunctions"))
    harness.model.say("Off we go.")
    harness.model.call([("book_flight", {"city": "Oslo"})])
    harness.model.say("Booked.")
    second = await harness.turns.start("Oslo. Leave the plants.", conversationId="c", options=options())
    output = await second.result()
    cancel, select, execute, _ = harness.model.requests[2:]

    assert offered(cancel) == ["cancelFunctions"]
    assert listed(cancel) == ["book_flight", "water_plants"]
    assert offered(select) == ["selectFunctions"]
    assert offered(execute) == ["book_flight"]
    assert made.log == ["fly to Oslo"]
    assert output.response_text == "Off we go.\nBooked."


async def test_nothing_to_cancel_is_told_by_silence_and_asked_once(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.call(choice("book_flight"))
    harness.model.say("Which city?")
    await (await harness.turns.start("Book a flight", conversationId="c", options=options())).result()
    harness.model.say(None)
    harness.model.say("Off we go.")
    harness.model.call([("book_flight", {"city": "Oslo"})])
    harness.model.say("Booked.")
    await (await harness.turns.start("Oslo", conversationId="c", options=options())).result()

    assert [offered(each)[:1] for each in harness.model.requests[2:4]] == [["cancelFunctions"], ["selectFunctions"]]
    assert made.log == ["fly to Oslo"]


async def test_a_chosen_function_that_is_gone_waits_no_longer(harness: Harness) -> None:
    await desk(harness)
    harness.model.call(choice("book_flight", "water_plants"))
    harness.model.say("Which city?")
    await (await harness.turns.start("Go", conversationId="c", options=options())).result()
    await harness.workers[-1].stop()
    made = Desk()
    rules = [Rule("hidden", name="book_flight")]
    await harness.work(AgentApp(controllers=[ClassController(name="desk", instance=made, policy=rules)]))
    harness.model.say("Fine.")
    harness.model.say("Fine.")
    harness.model.call([("water_plants", {})])
    harness.model.say("Watered.")
    await (await harness.turns.start("Oslo", conversationId="c", options=options())).result()

    assert listed(harness.model.requests[2]) == ["water_plants"]
    assert made.log == ["water"]


async def test_another_conversation_has_a_stack_of_its_own(harness: Harness) -> None:
    await desk(harness)
    harness.model.call(choice("book_flight"))
    harness.model.say("Which city?")
    await (await harness.turns.start("Go", conversationId="c", options=options())).result()
    harness.model.say("Hello.")
    await (await harness.turns.start("Hi", conversationId="d", options=options())).result()

    assert offered(harness.model.requests[-1]) == ["selectFunctions"]


@pytest.mark.parametrize(
    ("describe", "texts"), [("each", ["One.", "Two."]), ("end", ["One."]), ("off", ["One."])], ids=lambda value: value
)
async def test_results_are_put_into_words_when_the_options_say(
    harness: Harness, describe: str, texts: list[str]
) -> None:
    made = await desk(harness)
    harness.model.call(choice("open_letter", "write_letter"))
    harness.model.call([("open_letter", {"name": "A"})])
    if describe == "each":
        harness.model.say(texts[0])
    harness.model.call([("write_letter", {"name": "B"})])
    harness.model.say(texts[-1])
    output = await (await harness.turns.start("Go", options=options(describe=describe))).result()

    assert made.log == ["open A", "write B"]
    assert output.response_text == "\n".join(texts)
    last = harness.model.requests[-1]
    # A description is asked for without functions; the model's own words could have been a call.
    assert ("tool_choice" in last and last["tool_choice"] == "none") == (describe != "off")
    assert len(harness.model.requests) == (5 if describe == "each" else 4)


async def test_initialize_asks_first_whether_anything_is_wanted_and_only_until_something_was(harness: Harness) -> None:
    made = await desk(harness)
    harness.model.say("Hello!")
    first = await harness.turns.start("Hi", conversationId="c", options=options(initialize=True))
    assert (await first.result()).response_text == "Hello!"
    assert offered(harness.model.requests[0]) == ["getApiFunctions"]
    assert "water_plants" not in json.dumps(harness.model.requests[0])

    harness.model.call([("getApiFunctions", {})])
    harness.model.call(choice("water_plants"))
    harness.model.call([("water_plants", {})])
    harness.model.say("Watered.")
    await (await harness.turns.start("Water", conversationId="c", options=options(initialize=True))).result()
    harness.model.say("Anything else?")
    await (await harness.turns.start("Thanks", conversationId="c", options=options(initialize=True))).result()

    assert made.log == ["water"]
    assert [offered(each)[:1] for each in harness.model.requests[1:3]] == [["getApiFunctions"], ["selectFunctions"]]
    assert offered(harness.model.requests[-1]) == ["selectFunctions"]


async def test_nothing_chosen_and_nothing_said_still_ends_in_words(harness: Harness) -> None:
    """Of a divided question each group's words are left out: it knows nothing of the other groups."""
    await desk(harness)
    for _ in range(3):
        harness.model.say("I have nothing for this.")
    harness.model.say("Hello!")
    output = await (await harness.turns.start("Hi", options=options(capacity=2))).result()

    assert output.response_text == "Hello!"


@pytest.mark.parametrize(("limit", "capacity"), [(1, None), (2, None), (3, 1), (4, 2)])
async def test_choosing_keeps_to_the_limit_of_model_calls_and_the_turn_ends_in_words(
    harness: Harness, limit: int, capacity: int | None
) -> None:
    await desk(harness)

    def answer(request: dict[str, Any]) -> Any:
        names = offered(request)
        if request.get("tool_choice") == "none" or not names:
            return Saying("That is all.")
        if names == ["selectFunctions"]:
            return Saying(calls=tuple(choice("water_plants" if "water_plants" in listed(request) else "nothing")))
        return Saying(calls=(("water_plants", {}),))

    harness.model.handler = answer
    turn = await harness.turns.start("Go", options=options(capacity=capacity), limits={"maxModelCalls": limit})
    output = await turn.result()

    assert len(harness.model.requests) <= limit
    assert output.response_text == "That is all."


@pytest.mark.parametrize("wanted", ["water_plants", "file_tax"])
async def test_no_request_demands_a_tool_that_it_does_not_offer(harness: Harness, wanted: str) -> None:
    """Providers refuse such a request."""
    await desk(harness)
    demanded = {"type": "function", "function": {"name": wanted}}
    harness.model.call(choice("water_plants"))
    turn = await ask(harness, ("water_plants", {}), options={**options(), "toolChoice": demanded})
    await turn.result()
    execute = harness.model.requests[1]

    assert execute.get("tool_choice") == (demanded if wanted == "water_plants" else None)
    assert all("tool_choice" not in each for each in harness.model.requests[:1])


class Many:
    """More functions than a model takes at once."""


for _number in range(150):
    exec(f"def do_{_number}(self) -> int:\n    return {_number}\n", globals())
    setattr(Many, f"do_{_number}", globals()[f"do_{_number}"])


async def test_more_functions_than_a_model_takes_can_be_chosen_from_but_not_all_of_them(harness: Harness) -> None:
    await harness.work(AgentApp(controllers=[ClassController(name="many", instance=Many())]))
    harness.model.call(choice(*(f"do_{number}" for number in range(75))))
    harness.model.say("Which one?")
    await (await harness.turns.start("Go", conversationId="c", options=options())).result()
    harness.model.say(None)
    harness.model.call(choice(*(f"do_{number}" for number in range(75, 150))))
    harness.model.say("Which one?")
    await (await harness.turns.start("More", conversationId="c", options=options())).result()
    select, *_, execute = harness.model.requests

    assert len(listed(select)) == 150
    assert 75 < len(execute["tools"]) <= 128


async def test_an_approval_in_a_turn_that_chooses_can_be_settled(harness: Harness) -> None:
    shop = await serve(harness, {"POST /orders": [said("201 Created", {"id": "zz9"})]})
    harness.model.call(choice("createOrder"))
    harness.model.call([("createOrder", {"body": {"article": "lamp"}})])
    harness.model.say("Nothing was ordered.")
    turn = await harness.turns.start("Order a lamp", options=options())
    await harness.pause(turn)
    await turn.settle()
    output = await turn.result()

    assert output.response_text == "Nothing was ordered."
    assert "EXTERNAL_TOOL_NOT_RUN" in results(harness)[-1]
    assert shop.requests == []
    harness.model.say("Hello.")
    await (await harness.turns.start("Hi", conversationId=output.conversation_id, options=options())).result()
    assert offered(harness.model.requests[-1]) == ["selectFunctions"]


async def test_a_cancelled_turn_leaves_to_the_next_what_it_chose_and_did_not_call(harness: Harness) -> None:
    shop = await serve(harness)
    harness.model.call(choice("createOrder", "readOrder"))
    harness.model.call([("createOrder", {"body": {"article": "lamp"}})])
    turn = await harness.turns.start("Order a lamp", conversationId="c", options=options())
    await harness.pause(turn)
    await turn.cancel()
    with pytest.raises(TurnFailed):
        await turn.result()
    harness.model.say(None)
    harness.model.say("What now?")
    harness.model.say("What now?")
    await (await harness.turns.start("Hm", conversationId="c", options=options())).result()

    assert offered(harness.model.requests[2]) == ["cancelFunctions"]
    assert listed(harness.model.requests[2]) == ["readOrder"]
    assert shop.requests == []


async def test_a_function_waits_while_its_call_may_still_be_corrected(harness: Harness) -> None:
    refused, fine = said("422 Unprocessable Entity", {"count": "too many"}), said("201 Created", {})
    shop = await serve(harness, {"POST /orders": [refused, fine]}, policy=let_run("createOrder"))
    harness.model.call(choice("createOrder"))
    harness.model.call([("createOrder", {"body": {"article": "lamp", "count": 9}})])
    harness.model.call([("createOrder", {"body": {"article": "lamp", "count": 1}})])
    harness.model.say("Ordered one.")
    output = await (await harness.turns.start("Order lamps", options=options())).result()

    assert [json.loads(each.body)["count"] for each in shop.requests] == [9, 1]
    assert "createOrder" in offered(harness.model.requests[2])
    assert output.response_text == "Ordered one."


async def test_memory_and_tools_of_the_host_go_with_what_was_chosen(harness: Harness) -> None:
    await desk(harness)
    tools = [{"name": "show_map", "description": "Show a map.", "inputSchema": {"type": "object"}}]
    harness.model.call(choice("show_map"))
    harness.model.call([("show_map", {})])
    harness.model.say("There it is.")
    turn = await harness.turns.start("Show me", externalTools=tools, options=options())
    [call] = (await harness.pause(turn)).tool_calls or ()
    await turn.answer([{"toolCallId": call.id, "output": "shown"}])
    await turn.result()
    execute = harness.model.requests[1]

    assert sorted(listed(harness.model.requests[0])) == sorted([*ALL, "show_map"])
    assert offered(execute) == ["show_map"]
    assert "search_memory" in [each["function"]["name"] for each in execute["tools"]]


async def test_prompts_of_the_phases_can_be_replaced_and_tell_the_time_of_the_place(harness: Harness) -> None:
    await desk(harness)
    prompts = {"common": "Speak ${locale}.", "select": "PICK at ${datetime} in ${timezone} for $5"}
    harness.model.say("Hello.")
    chosen = options(systemPrompt=prompts, timezone="Asia/Tokyo", locale="ja-JP")
    await (await harness.turns.start("Hi", options=chosen)).result()
    [request] = harness.model.requests
    system = " ".join(each["content"] for each in request["messages"] if each["role"] == "system")

    assert "Speak ja-JP." in system
    assert re.search(r"PICK at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00 in Asia/Tokyo for \$5", system)


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"capacity": 0}, "capacity"),
        ({"threshold": 101}, "threshold"),
        ({"eliticsm": True}, "eliticsm"),
    ],
)
async def test_options_that_cannot_be_used_are_refused_by_name(
    harness: Harness, selection: dict[str, Any], told: str
) -> None:
    await desk(harness)
    turn = await harness.turns.start("Hi", options={"toolSelection": "select", "selection": selection})
    with pytest.raises(TurnFailed, match=told):
        await turn.result()


async def test_a_model_that_fails_at_the_description_is_asked_again_and_nothing_is_done_twice(harness: Harness) -> None:
    shop = await serve(harness, policy=let_run("createOrder"))
    harness.model.call(choice("createOrder"))
    harness.model.call([("createOrder", {"body": {"article": "lamp"}})])
    harness.model.respond(500, {"error": {"message": "oops"}}, headers={"retry-after-ms": "10"})
    harness.model.say("Ordered.")
    output = await (await harness.turns.start("Order a lamp", options=options())).result()

    assert len(shop.requests) == 1
    assert output.response_text == "Ordered."


async def test_a_model_that_only_searches_its_memory_meets_the_limit_of_rounds(harness: Harness) -> None:
    await desk(harness)
    harness.model.call(choice("water_plants"))

    def search(request: dict[str, Any]) -> Saying:
        if request.get("tool_choice") == "none":
            return Saying("I give up.")
        return Saying(calls=(("search_memory", {"query": "plants"}),))

    harness.model.handler = search
    limits = {"maxToolRounds": 3}
    output = await (await harness.turns.start("Go", options=options(describe="off"), limits=limits)).result()

    assert output.error is not None
    assert output.error.code == "LIMIT_TOOL_ROUNDS"
    assert output.response_text == "I give up."
