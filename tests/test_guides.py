"""The short guides do what they say: their Python blocks are apps that load."""

import re
from typing import Any

import pytest
from temporalio.client import Client

from activities.guardrail import GuardContext
from tests.support import Harness
from tests.walks import ROOT, blocks_of
from worker.app import AgentApp, Block, Pass, Sanitise

CONTEXT = GuardContext("output", "t", "c", "u", None, "p")


def loaded(guide: str) -> dict[str, Any]:
    """The names of the guide's Python blocks, run one after the other."""
    names: dict[str, Any] = {}
    for block in blocks_of((ROOT / "docs" / guide).read_text(), "python"):
        exec(compile(block, guide, "exec"), names)
    return names


async def test_the_guardrails_of_the_guide_judge_as_it_says() -> None:
    names = loaded("guardrails.md")
    assert isinstance(names["app"], AgentApp)
    assert names["no_card_numbers"]("pay 4111 1111 1111 1111 now", CONTEXT) == Sanitise(
        "pay [card number] now", "a card number was taken out"
    )
    assert names["no_card_numbers"]("order 1042", CONTEXT) == Pass()
    assert await names["no_promises"]("We will refund you", CONTEXT) == Block("the agent may not promise a refund")


async def test_the_structured_answer_of_the_guide_is_given(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    names = loaded("structured-output.md")
    harness.model.script("Let me think.", '```json\n{"order_id": 1042, "amount": 12.5, "reason": "late"}\n```')
    await harness.work()

    async def connect() -> Client:
        return harness.client

    names["connect"] = connect
    names["TurnClient"] = lambda client: harness.turns
    refund = await names["refund_of"]("Refund 12.50 of order 1042, it came late")
    assert refund.model_dump() == {"order_id": 1042, "amount": 12.5, "reason": "late"}


@pytest.mark.parametrize("guide", ["guardrails.md", "output.md", "structured-output.md"])
def test_its_links_lead_somewhere(guide: str) -> None:
    text = (ROOT / "docs" / guide).read_text()
    for target in re.findall(r"\]\(([^)#:]+)", text):
        assert (ROOT / "docs" / target).exists(), target
