"""What becomes of each call of a reply."""

import pytest

from activities.contracts import RequestedCall, ToolFacts
from activities.conversation import ErrorDetails
from activities.turn_input import ExternalTool
from tests.workflows.strategies import EXTERNAL, GUARDED, WORKER, broken, reply, requested
from workflows.corrections import Corrections
from workflows.rounds import Disposition, Refuse, Run, Wait, judge_call, plan_round

BOOK = ExternalTool(name="book")
# A function of the worker that the host runs, and one of which a person fills a part.
LENT = ToolFacts(kind="worker", external=True)
ASKING = ToolFacts(kind="worker", needs_approval=True, human_schema={"type": "object"})


@pytest.mark.parametrize(
    ("call", "external", "meant"),
    [
        (requested("a", tool=WORKER), None, Run(WORKER)),
        (requested("a", tool=ToolFacts(kind="memory")), None, Run(ToolFacts(kind="memory"))),
        (requested("a", tool=EXTERNAL), BOOK, Wait(EXTERNAL, "external", BOOK)),
        (requested("a", tool=GUARDED), None, Wait(GUARDED, "approval")),
        # A tool of the worker stays the worker's, even if the host has one of that name.
        (requested("a", tool=GUARDED), BOOK, Wait(GUARDED, "approval")),
        (requested("a", tool=WORKER), BOOK, Run(WORKER)),
        (requested("a", tool=LENT), None, Wait(LENT, "external")),
        (requested("a", tool=ASKING), None, Wait(ASKING, "human")),
    ],
)
def test_a_call_runs_here_or_waits_by_the_facts_of_its_tool(
    call: RequestedCall, external: ExternalTool | None, meant: Disposition
) -> None:
    assert judge_call(call, external, Corrections()) == meant


@pytest.mark.parametrize("tool", [None, WORKER, EXTERNAL, GUARDED])
def test_a_call_with_a_problem_never_runs_and_never_waits(tool: ToolFacts | None) -> None:
    problem = ErrorDetails(code="TOOL_ARGUMENTS_INVALID", message="n is missing")
    disposition = judge_call(requested("a", tool=tool, problem=problem), BOOK, Corrections())
    assert isinstance(disposition, Refuse)
    assert disposition.result.error_details == problem
    assert disposition.result.output == {"code": problem.code, "message": problem.message}
    assert (disposition.result.is_error, disposition.result.tool_call_id) == (True, "a")


def test_a_call_to_a_tool_nobody_has_is_answered_with_its_name() -> None:
    disposition = judge_call(requested("a", "teleport", None), None, Corrections())
    assert isinstance(disposition, Refuse)
    assert disposition.result.output["code"] == "TOOL_NOT_FOUND"
    assert "teleport" in disposition.result.output["message"]


def test_each_call_has_its_row_after_the_reply_in_the_models_order() -> None:
    planned = plan_round(
        reply(requested("c1", tool=WORKER), broken("c2"), requested("c3"), row=7), [BOOK], Corrections()
    )
    assert [(each.call.id, each.row) for each in planned] == [("c1", 8), ("c2", 9), ("c3", 10)]
    assert [type(each.disposition) for each in planned] == [Run, Refuse, Wait]
