"""An instance and sources: those the host gives are the next turn's, those a turn found are kept until the next begins."""

from pathlib import Path

import pytest

from activities.errors import SYS_VALIDATION_ERROR
from tests.support import Harness, external
from worker.app import AgentApp, Document, Persona
from worker.gmi import GMI, GMIError

RULES = Document(id="rules", title="Rules", text="A refund takes five working days.")


def made(harness: Harness) -> GMI:
    return GMI(harness.client, harness.task_queue, task_queue=harness.task_queue)


async def test_sources_of_the_host_are_those_of_the_next_turn_alone(harness: Harness) -> None:
    """It looks up none itself and carries them over its pause; the turn after it looks up its own again."""
    await harness.work(AgentApp(personas=[Persona(id="p", documents=(RULES,))]))
    gmi = made(harness)
    await gmi.initialize("p", {"externalTools": [external("ask")]})
    assert (await gmi.get_persona()).documents == ()
    await gmi.hydrate_turn_context(
        {"ragSources": [{"id": "x", "content": "Refunds are instant.", "expiresAt": "2999-01-01"}]}
    )
    harness.model.call([("ask", {})])
    harness.model.script("Instant.", "Five days.")

    stop = await gmi.process_turn("How long does a refund take?")
    first = await gmi.handle_tool_result(
        (stop.tool_calls or ())[0].id, "ask", {"type": "success", "result": 1}, "local"
    )
    second = await gmi.process_turn("How long does a refund take?")

    assert [each.id for each in stop.rag_sources or ()] == ["x"]
    assert first.rag_sources == stop.rag_sources
    assert [each.id for each in second.rag_sources or ()] == ["rules#0"]
    prompts = [request["messages"][0]["content"] for request in harness.model.requests]
    assert ["Refunds are instant." in prompt for prompt in prompts] == [True, True, False]
    assert ["five working days" in prompt for prompt in prompts] == [False, False, True]


async def test_a_persona_sent_as_data_brings_its_documents_but_no_file_of_the_worker(
    harness: Harness, tmp_path: Path
) -> None:
    """A path, or a text too large to cross a history, is refused before anything begins."""
    await harness.work(AgentApp())
    secret = tmp_path / "secret.txt"
    secret.write_text("the refund password")
    wrong = [(Document(id="d", path=str(secret)), "path"), (Document(id="d", text="x" * 9_000), "8,000")]
    for document, reason in wrong:
        with pytest.raises(GMIError, match=reason) as refused:
            await made(harness).initialize(Persona(id="own", documents=(document,)))
        assert refused.value.code == SYS_VALIDATION_ERROR

    gmi = made(harness)
    await gmi.initialize(Persona(id="own", documents=(RULES,)))
    output = await gmi.process_turn("Refund?")
    assert [each.id for each in output.rag_sources or ()] == ["rules#0"]

    turn = await harness.turns.start(
        "Refund password?",
        personaId="own",
        instance={"gmiId": "x", "persona": {"id": "own", "documents": [{"id": "d", "path": str(secret)}]}},
    )
    assert (await turn.result()).rag_sources is None
