"""The part of a function's arguments that a person gives: asked for, checked, merged, kept for a correction, told to nobody."""

import base64
import json
from typing import Any

import pytest

from tests.activities.recording import Recorded, answer
from tests.support import Harness
from tests.workflows.shop import (
    Shop,
    ask,
    assert_told_to_nobody,
    is_password,
    let_run,
    offered,
    results,
    said,
    serve,
)
from worker.client import AnswerRefused, Turn

SECRET = "4111-S3CRET-1111"
PAID = said("200 OK", {"paid": True})
REFUSED = said("422 Unprocessable Entity", {"amount": "too much"})
CARD = {"body": {"card": {"number": SECRET}}}


def payment(amount: float) -> tuple[str, dict[str, Any]]:
    """A call with the model's part."""
    return "payOrder", {"orderId": "7", "body": {"amount": amount, "card": {"holder": "Ada"}}}


async def serving(harness: Harness, *answers: bytes, **settings: Any) -> Shop:
    """The shop whose card numbers are a person's to give."""
    settings = {"separate": is_password, "policy": let_run("payOrder"), **settings}
    return await serve(harness, {"POST /orders/7/payment": list(answers or (PAID,))}, **settings)


async def asked(harness: Harness, turn: Turn) -> str:
    """The id of the one call that waits for a person's part."""
    [call] = (await harness.pause(turn)).tool_calls or ()
    pending = await turn.pending()
    assert pending is not None
    assert [each.kind for each in pending.tool_calls] == ["human"]
    return call.id


def bodies(shop: Shop) -> list[Any]:
    """What the API was sent."""
    return [json.loads(each.body) for each in shop.calls("POST")]


async def test_it_asks_a_person_for_their_part_and_the_model_for_the_rest(harness: Harness) -> None:
    shop = await serving(harness)
    turn = await ask(harness, payment(5))
    call_id = await asked(harness, turn)
    pending = await turn.pending()
    assert pending is not None
    [call] = pending.tool_calls
    assert call.input_schema is not None
    assert call.input_schema["properties"]["body"]["properties"]["card"]["properties"].keys() == {"number"}
    assert "holder" in json.dumps(harness.model.requests[0]["tools"])
    assert '"number": {"type": "string"' not in json.dumps(harness.model.requests[0]["tools"])

    await turn.answer([{"toolCallId": call_id, "output": CARD}])
    await turn.result()

    assert bodies(shop) == [{"amount": 5, "card": {"holder": "Ada", "number": SECRET}}]
    assert json.loads(results(harness)[0])["body"] == {"paid": True}
    assert_told_to_nobody(harness, SECRET)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"output": {"body": {"card": {"number": 4111}}}}, r"output\.body\.card\.number"),
        ({"output": {"body": {"card": {"number": SECRET, "holder": "Eve"}}}}, r"output\.body\.card"),
        ({"output": "4111"}, "output"),
        ({"output": {}}, "output"),
        ({"decision": "approve"}, "send that as `output`"),
    ],
)
async def test_it_refuses_a_part_of_another_shape_and_goes_on_waiting(
    harness: Harness, sent: dict[str, Any], told: str
) -> None:
    shop = await serving(harness)
    turn = await ask(harness, payment(5))
    call_id = await asked(harness, turn)
    with pytest.raises(AnswerRefused, match=told) as refused:
        await turn.answer([{"toolCallId": call_id, **sent}])

    assert SECRET not in str(refused.value)
    assert (await turn.state()).waiting_for == (call_id,)
    assert shop.requests == []


async def test_it_tells_the_model_when_a_person_gives_nothing(harness: Harness) -> None:
    shop = await serving(harness)
    turn = await ask(harness, payment(5))
    await turn.answer([{"toolCallId": await asked(harness, turn), "decision": "reject", "reason": "not my card"}])
    await turn.result()

    assert shop.requests == []
    assert "not my card" in results(harness)[0]


async def test_it_keeps_the_part_for_a_corrected_call(harness: Harness) -> None:
    shop = await serving(harness, REFUSED, PAID)
    turn = await ask(harness, payment(5_000), payment(50))
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": CARD}])
    output = await turn.result()

    assert [each["amount"] for each in bodies(shop)] == [5_000, 50]
    assert [each["card"]["number"] for each in bodies(shop)] == [SECRET, SECRET]
    assert output.response_text == "Done."
    assert_told_to_nobody(harness, SECRET)


async def test_it_asks_for_an_approval_of_a_corrected_call_and_takes_edits_of_the_models_part(harness: Harness) -> None:
    shop = await serving(harness, REFUSED, PAID, policy=())
    turn = await ask(harness, payment(5_000), payment(500))
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": CARD}])
    [call] = (await harness.pause(turn)).tool_calls or ()
    pending = await turn.pending()
    assert pending is not None
    assert pending.tool_calls[0].kind == "approval"
    assert '"format": "password"' not in json.dumps(pending.tool_calls[0].input_schema)
    await turn.answer([{"toolCallId": call.id, "decision": "edit", "arguments": payment(50)[1]}])
    await turn.result()

    assert [each["amount"] for each in bodies(shop)] == [5_000, 50]
    assert bodies(shop)[1]["card"] == {"holder": "Ada", "number": SECRET}
    assert_told_to_nobody(harness, SECRET)


async def test_it_asks_again_when_the_model_sends_the_same_arguments(harness: Harness) -> None:
    """Then there was nothing to correct but the person's part."""
    shop = await serving(harness, said("422 Unprocessable Entity", {"card": "unknown"}), PAID)
    turn = await ask(harness, payment(5), payment(5))
    first = await asked(harness, turn)
    await turn.answer([{"toolCallId": first, "output": {"body": {"card": {"number": "0000-WRONG"}}}}])
    second = await asked(harness, turn)
    assert second != first
    await turn.answer([{"toolCallId": second, "output": CARD}])
    await turn.result()

    assert [each["card"]["number"] for each in bodies(shop)] == ["0000-WRONG", SECRET]
    for secret in ("0000-WRONG", SECRET):
        assert_told_to_nobody(harness, secret)


async def test_it_asks_again_after_a_success(harness: Harness) -> None:
    shop = await serving(harness)
    turn = await ask(harness, payment(5), payment(6))
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": CARD}])
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": CARD}])
    await turn.result()

    assert len(bodies(shop)) == 2


@pytest.mark.parametrize(
    "echo",
    [
        said("200 OK", {"card": SECRET, SECRET: [f"card={SECRET}!"]}, f"X-Card: {SECRET}"),
        said("422 Unprocessable Entity", {"detail": f"{SECRET} is no card"}),
        answer("200 OK", f"<p>{SECRET}</p>".encode(), "text/html"),
        answer("500 Internal Server Error", SECRET.encode(), "text/plain"),
    ],
)
async def test_it_keeps_the_part_from_the_model_when_the_server_repeats_it(harness: Harness, echo: bytes) -> None:
    await serving(harness, echo)
    turn = await ask(harness, payment(5))
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": CARD}])
    await turn.result()

    assert len(results(harness)) == 1
    assert_told_to_nobody(harness, SECRET)
    assert SECRET not in json.dumps(await turn.handle.query("get_chunks"))


async def test_it_keeps_a_number_from_the_model_too(harness: Harness) -> None:
    pin = {"type": "object", "properties": {"pin": {"type": "integer", "x-pin": True}}, "required": ["pin"]}
    paths = {
        "/unlock": {
            "post": {
                "operationId": "unlock",
                "requestBody": {"required": True, "content": {"application/json": {"schema": pin}}},
                "responses": {"200": {"description": "ok"}},
            }
        }
    }
    document = {"openapi": "3.1.0", "info": {"title": "Door", "version": "1"}, "paths": paths}
    echo = said("200 OK", {"pin": 904_417, "told": "904417 is right"})
    await serve(
        harness,
        {"POST /unlock": [echo]},
        document=document,
        separate=lambda schema: schema.get("type") == "integer",
        policy=let_run("unlock"),
    )
    turn = await ask(harness, ("unlock", {}))
    await turn.answer([{"toolCallId": await asked(harness, turn), "output": {"body": {"pin": 904_417}}}])
    await turn.result()

    assert_told_to_nobody(harness, "904417")


async def test_it_asks_for_a_file_and_sends_it_as_a_part(harness: Harness) -> None:
    def received(request: Recorded) -> bytes:
        return said("200 OK", {"bytes": len(request.body)})

    shop = await serve(harness, {"POST /orders/7/photo": [received]})
    turn = await ask(harness, ("addPhoto", {"orderId": "7", "body": {"note": "front"}}))
    call_id = await asked(harness, turn)
    picture = bytes(range(256))
    file = {"filename": "lamp.png", "mediaType": "image/png", "base64": base64.b64encode(picture).decode()}
    with pytest.raises(AnswerRefused, match=r"output\.body"):
        await turn.answer([{"toolCallId": call_id, "output": {"body": {"file": 7}}}])
    await turn.answer([{"toolCallId": call_id, "output": {"body": {"file": file}}}])
    await turn.result()

    [request] = shop.requests
    assert (request.header("content-type") or "").startswith("multipart/form-data; boundary=")
    assert picture in request.body
    assert b'filename="lamp.png"' in request.body
    assert b"front" in request.body
    assert "addPhoto" in offered(harness.model.requests[0])
    assert_told_to_nobody(harness, file["base64"])
