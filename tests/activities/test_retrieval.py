"""Documents: cut into passages, read again when they change, and shown only to those who may see them."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from activities.documents import MAX_DOCUMENT_BYTES, Document, DocumentUnreadable, read_document
from activities.passages import PASSAGE_CHARS, passages_of
from activities.personas import Persona
from activities.retrieval import DocumentRetriever, RetrievalContext
from tests.memory_engine.test_passages import Broken, Topics
from worker.app import AgentApp

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def context(*documents: Document, **fields: Any) -> RetrievalContext:
    persona = Persona(id="p", documents=documents)
    return RetrievalContext(**{"persona": persona, "user_id": "u", "tenant": "acme", "now": NOW, "limit": 5, **fields})


def found(retriever: DocumentRetriever, query: str, at: RetrievalContext) -> list[str]:
    return [each.id for each in asyncio.run(retriever.retrieve(query, at))]


def texts(text: str, **fields: Any) -> list[tuple[str, str]]:
    document = Document(id="d", text=text, **fields)
    return [(each.heading, each.text) for each in passages_of(document, read_document(document))]


def test_a_passage_stands_under_its_headings_and_holds_whole_paragraphs() -> None:
    text = "Before.\n\n# One\n\nFirst.\n\nSecond.\n## Deep\nThird.\n# Two\n```\n# no heading\n```\n"
    assert texts(text, title="Book") == [
        ("Book", "Before."),
        ("Book > One", "First.\n\nSecond."),
        ("Book > One > Deep", "Third."),
        ("Book > Two", "```\n# no heading\n```"),
    ]


def test_long_text_is_cut_at_sentences_and_passages_overlap() -> None:
    sentences = [f"Sentence number {at} says something about the matter." for at in range(100)]
    passages = [text for _, text in texts(" ".join(sentences))]
    assert all(len(text) <= PASSAGE_CHARS and text.endswith(".") for text in passages)
    for before, after in pairwise(passages):
        assert before.endswith(after.split(". ")[0] + ".") or after.split(". ")[0] in before
    assert all(any(sentence in text for text in passages) for sentence in sentences)


@given(st.text(alphabet=st.sampled_from("ab .!?\n#`。\u2028"), max_size=6_000))
def test_no_text_is_lost_and_no_passage_is_too_long(text: str) -> None:
    passages = [each for _, each in texts(text)]
    assert all(0 < len(each) <= PASSAGE_CHARS for each in passages)
    kept = "".join(passages)
    assert all(
        kept.count(letter) >= sum(line.count(letter) for line in text.splitlines() if "#" not in line)
        for letter in "ab"
    )


def test_a_document_has_one_origin_and_no_unknown_field() -> None:
    for wrong in ({"id": "d"}, {"id": "d", "text": "x", "path": "y"}, {"id": "d", "text": "x", "titel": "T"}):
        with pytest.raises(ValidationError):
            Document.model_validate(wrong)


def test_only_documents_that_may_be_shown_are_searched() -> None:
    at = context(
        Document(id="own", text="The refund rule of acme.", tenant_id="acme"),
        Document(id="other", text="The refund rule of others.", tenant_id="other"),
        Document(id="old", text="The refund rule of last year.", expires_at=NOW - DAY),
        Document(id="next", text="The refund rule of next year.", effective_date=NOW + DAY),
        Document(id="draft", text="The refund rule as a draft.", status="draft"),
        Document(id="board", text="The refund rule of the board.", acl_groups=("board",)),
    )
    retriever = DocumentRetriever()
    assert found(retriever, "refund rule", at) == ["own#0"]
    later = context(*at.persona.documents, now=NOW + 2 * DAY, tenant="other", groups=("board",))
    assert set(found(retriever, "refund rule", later)) == {"other#0", "next#0", "board#0"}


def test_a_passage_carries_what_its_document_says() -> None:
    document = Document(
        id="d", title="Rules", text="# Refunds\nFive days.", metadata={"lang": "en"}, source="https://e/d"
    )
    [chunk] = asyncio.run(DocumentRetriever().retrieve("refunds", context(document)))
    assert (chunk.original_document_id, chunk.data_source_id, chunk.source) == ("d", "documents", "https://e/d")
    assert chunk.metadata == {"lang": "en", "title": "Rules", "heading": "Rules > Refunds"}


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "rules.md"
    path.write_text("Refunds take five days.")
    at, retriever = context(Document(id="d", path=str(path))), DocumentRetriever()
    assert found(retriever, "refunds", at) == ["d#0"]

    path.write_text("Returns are free of charge now.")
    os.utime(path, ns=(1, 1))
    assert found(retriever, "refunds", at) == []
    assert found(retriever, "returns", at) == ["d#0"]

    path.unlink()
    with pytest.raises(DocumentUnreadable, match=r"document d: .*no such file"):
        found(retriever, "returns", at)


def test_an_app_with_a_document_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    huge = tmp_path / "huge.txt"
    huge.write_bytes(b"x" * (MAX_DOCUMENT_BYTES + 1))
    for path, reason in ((tmp_path / "none.md", "no such file"), (tmp_path, "directory"), (huge, "more than")):
        with pytest.raises(ValueError, match=f"persona p: document d: .*{reason}"):
            AgentApp(personas=[Persona(id="p", documents=(Document(id="d", path=str(path)),))])


def test_an_embedder_finds_by_meaning_and_costs_nothing_when_it_is_away() -> None:
    at = context(Document(id="d", text="A refund takes five days."), Document(id="e", text="Open from nine to six."))
    assert found(DocumentRetriever(Topics()), "Where is my cash?", at) == ["d#0"]
    assert found(DocumentRetriever(Broken()), "refund", at) == ["d#0"]


def test_an_empty_message_or_document_finds_nothing() -> None:
    at = context(Document(id="d", text=""), Document(id="e", text=" \n\ufffd\n"))
    assert found(DocumentRetriever(), "  ", at) == []
    assert found(DocumentRetriever(), "refund", at) == []
