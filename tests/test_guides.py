"""The short guides do what they say: their Python blocks are apps that load."""

import re
from typing import Any

import pytest

from activities.guardrail import GuardContext
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


@pytest.mark.parametrize("guide", ["guardrails.md", "output.md"])
def test_its_links_lead_somewhere(guide: str) -> None:
    text = (ROOT / "docs" / guide).read_text()
    for target in re.findall(r"\]\(([^)#:]+)", text):
        assert (ROOT / "docs" / target).exists(), target
