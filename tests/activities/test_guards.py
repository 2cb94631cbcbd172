"""What guardrails say comes to one judgement, whatever they do instead of saying it."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities import side_loop
from activities.guardrail import Block, GuardContext, Guardrail, Pass, Sanitise, as_guardrail, guardrail
from activities.guards import Guards, Judged
from activities.personas import InstanceTurn, Persona
from activities.turn_input import TurnInput

CONTEXT = GuardContext("input", "t1", "c1", "ren", None, "p")


@pytest.fixture
def guards() -> Iterator[Guards]:
    made = Guards(threads=2)
    yield made
    made.close()


def made(judge: Any, name: str = "g", **about: Any) -> Guardrail:
    return guardrail(name=name, **about)(judge)


def without_cards(text: str, context: GuardContext) -> Pass | Sanitise:
    return Sanitise(text.replace("4111", "[card]"), "a card number") if "4111" in text else Pass()


async def no_swearing(text: str, context: GuardContext) -> Pass | Block:
    await asyncio.sleep(0)
    return Block("rude") if "damn" in text else Pass()


def told(judged: Judged) -> list[tuple[str, str, str]]:
    return [(note.guardrail, note.verdict, note.reason) for note in judged.notes]


async def test_each_reads_what_the_one_before_left_and_the_first_block_ends_it(guards: Guards) -> None:
    seen: list[str] = []

    def last(text: str, context: GuardContext) -> Pass:
        seen.append(text)
        return Pass()

    chain = [made(without_cards, "cards"), made(no_swearing, "manners"), made(last, "last")]

    good = await guards.judge(chain, "card 4111", CONTEXT)
    bad = await guards.judge(chain, "damn 4111", CONTEXT)

    assert good.text == "card [card]"
    assert told(good) == [("cards", "sanitised", "a card number")]
    assert good.error is None
    assert seen == ["card [card]"]
    assert told(bad)[1] == ("manners", "blocked", "rude")
    assert bad.error is not None
    assert bad.error.model_dump() == {
        "code": "GUARDRAIL_BLOCKED",
        "message": "rude",
        "details": {"guardrail": "manners", "stage": "input"},
    }


def raises(text: str, context: GuardContext) -> Pass:
    raise ValueError(f"cannot read {text}")


async def raises_later(text: str, context: GuardContext) -> Pass:
    raise KeyError(text)


def exits(text: str, context: GuardContext) -> Pass:
    raise SystemExit(text)


async def cancels_itself(text: str, context: GuardContext) -> Pass:
    raise asyncio.CancelledError


def sleeps(text: str, context: GuardContext) -> Pass:
    time.sleep(0.5)
    return Pass()


async def never_ends(text: str, context: GuardContext) -> Pass:
    await asyncio.Event().wait()
    return Pass()


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (raises, "raised ValueError"),
        (raises_later, "raised KeyError"),
        (exits, "raised SystemExit"),
        (cancels_itself, "raised CancelledError"),
        (sleeps, "gave no verdict within 0.2 seconds"),
        (never_ends, "gave no verdict within 0.2 seconds"),
        (lambda text, context: None, "gave back a NoneType"),
        (lambda text, context: True, "gave back a bool"),
        (lambda text, context: "fine", "gave back a str"),
        (lambda text, context: Sanitise(7), "gave back a Sanitise"),  # type: ignore[arg-type]
        (lambda text, context: Sanitise("x" * 2_000_001), "gave a text of more than 2,000,000 characters"),
    ],
)
async def test_one_that_cannot_judge_blocks_unless_it_may_fail(guards: Guards, judge: Any, why: str) -> None:
    closed = await guards.judge([made(judge, timeout="PT0.2S")], "my secret", CONTEXT)
    opened = await guards.judge([made(judge, timeout="PT0.2S", on_error="pass")], "my secret", CONTEXT)

    assert closed.error is not None
    assert closed.error.code == "GUARDRAIL_FAILED"
    assert why in closed.error.message
    assert opened.error is None
    assert opened.text == "my secret"
    assert [note.verdict for note in (*closed.notes, *opened.notes)] == ["failed", "failed"]
    assert "my secret" not in repr(closed.notes)


async def test_a_text_of_which_nothing_is_left_is_blocked(guards: Guards) -> None:
    judged = await guards.judge([made(lambda text, context: Sanitise(" \n"))], "x", CONTEXT)
    assert judged.error is not None
    assert judged.error.message == "nothing of the text was left"


async def test_a_sync_function_may_give_back_an_awaitable_and_an_object_may_judge(guards: Guards) -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        async def __call__(self, text: str, context: GuardContext) -> Sanitise:
            self.calls += 1
            return Sanitise(f"{text}{self.calls}")

    counting = as_guardrail(Counting())
    judged = await guards.judge([made(lambda text, context: no_swearing(text, context)), counting], "a", CONTEXT)
    assert (judged.text, counting.name) == ("a1", "Counting")


async def test_an_async_one_that_blocks_does_not_hold_up_the_worker(
    guards: Guards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_loop, "LOOP_PATIENCE", 0.1)
    free = threading.Event()

    async def blocks(text: str, context: GuardContext) -> Pass:
        free.wait(5)  # the guardrail under test is a bad one
        return Pass()

    blocked = await guards.judge([made(blocks, timeout="PT0.2S")], "x", CONTEXT)
    later = await guards.judge([made(no_swearing)], "x", CONTEXT)
    free.set()

    assert blocked.error is not None
    assert later.error is None


async def test_what_is_read_again_is_judged_once_but_for_a_failure(guards: Guards) -> None:
    calls: list[str] = []

    def judge(text: str, context: GuardContext) -> Pass | Sanitise:
        calls.append(text)
        if text == "fails":
            raise ValueError
        return Sanitise("clean") if text == "dirty" else Pass()

    chain = (made(judge),)
    for text in ("dirty", "fine", "fails") * 2:
        await guards.judge_again(chain, text, CONTEXT)
    again = await guards.judge_again(chain, "fine", GuardContext("input", "t2", "c1", "ren", None, "p"))

    assert calls == ["dirty", "fine", "fails", "fails"]
    assert again.text == "fine"
    assert (await guards.judge_again(chain, "dirty", CONTEXT)).text == "clean"


def named(persona: Persona, **given: Any) -> list[str]:
    guards = Guards([made(without_cards, "a"), made(without_cards, "b"), made(without_cards, "must", required=True)])
    turn = guards.of_turn("t", "c", persona, TurnInput.model_validate({"content": "x", **given}))
    return [each.name for each in turn.guardrails]


def test_a_persona_names_its_own_and_cannot_drop_a_required_one() -> None:
    assert named(Persona(id="p")) == ["a", "b", "must"]
    assert named(Persona(id="p", guardrails=())) == ["must"]
    assert named(Persona(id="p", guardrails=("b",))) == ["b", "must"]
    assert named(Persona(id="p", guardrails=()), requiredGuardrails=["a"]) == ["a", "must"]


@pytest.mark.parametrize(
    ("persona", "given"),
    [
        (Persona(id="p", guardrails=("gone",)), {}),
        (Persona(id="p"), {"requiredGuardrails": ["a", "gone"]}),
        (Persona(id="p"), {"instance": InstanceTurn(gmi_id="g", persona=Persona(id="q", guardrails=("gone",)))}),
    ],
)
def test_one_that_is_asked_for_and_missing_is_refused(persona: Persona, given: dict[str, Any]) -> None:
    with pytest.raises(ApplicationError, match="no guardrail named gone") as refused:
        named(persona, **given)
    assert refused.value.type == "SYS_GUARDRAIL_REQUIRED_MISSING"
    assert refused.value.non_retryable


@pytest.mark.parametrize(
    "about",
    [{"name": "no name"}, {"stages": ()}, {"stages": ("inputs",)}, {"timeout": "PT11M"}, {"on_error": "ignore"}],
)
def test_a_guardrail_that_cannot_be_used_is_refused_when_it_is_made(about: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"guardrail"):
        guardrail(**{"name": "g", **about})(without_cards)


def test_what_cannot_be_called_is_no_guardrail() -> None:
    with pytest.raises(TypeError, match="not a str"):
        as_guardrail("no_cards")
