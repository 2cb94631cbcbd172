"""How a document is cut into passages that each can be found, and read, by itself. Pure."""

import re
from collections.abc import Iterator

from activities.documents import Document
from memory_engine import Passage

PASSAGE_CHARS = 1_200
OVERLAP_CHARS = 200

_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_SENTENCE_END = re.compile(r"[.!?。！？][\"')\]]*\s+|\n")


def passages_of(document: Document, text: str) -> Iterator[Passage]:
    """The passages of a document, each under the title and the headings it stands under.

    A passage holds whole paragraphs, at most `PASSAGE_CHARS` of them, and begins with the end of the one before where both
    stand under one heading. A longer paragraph is cut at the end of a sentence where there is one.
    """
    number = 0
    for headings, body in _sections(text):
        heading = " > ".join(filter(None, (document.title, *headings)))
        for passage in _packed(body):
            yield Passage(f"{document.id}#{number}", passage, heading)
            number += 1


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The parts between Markdown headings, each with the headings above it. A heading in a fenced block is none."""
    headings: dict[int, str] = {}
    lines: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = mark[1] if fence is None else None if mark[1] == fence else fence
        found = _HEADING.fullmatch(line) if fence is None else None
        if found is None:
            lines.append(line)
            continue
        yield tuple(headings.values()), "\n".join(lines)
        level = len(line) - len(line.lstrip("#"))
        headings = {above: name for above, name in headings.items() if above < level} | {level: found[1][:200]}
        lines = []
    yield tuple(headings.values()), "\n".join(lines)


def _packed(body: str) -> Iterator[str]:
    """The paragraphs of a section in passages."""
    passage = ""
    for piece in _pieces(body):
        if passage and len(passage) + 2 + len(piece) > PASSAGE_CHARS:
            yield passage
            passage = passage[_tail(passage) :].strip()
            if piece.startswith(passage) or len(passage) + 2 + len(piece) > PASSAGE_CHARS:
                passage = ""
        passage = f"{passage}\n\n{piece}" if passage else piece
    if passage:
        yield passage


def _pieces(body: str) -> Iterator[str]:
    """The paragraphs, one that is too long in pieces that overlap."""
    for paragraph in re.split(r"\n\s*\n", body):
        rest = paragraph.strip()
        while len(rest) > PASSAGE_CHARS:
            end = _cut(rest)
            yield rest[:end].rstrip()
            rest = rest[_tail(rest[:end]) :].lstrip()
        if rest:
            yield rest


def _cut(text: str) -> int:
    """Where to cut a text that is too long: behind the last sentence that fits, else behind a word, else anywhere."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, PASSAGE_CHARS // 2, PASSAGE_CHARS)]
    if ends:
        return ends[-1]
    space = text.rfind(" ", PASSAGE_CHARS // 2, PASSAGE_CHARS)
    return space + 1 if space > 0 else PASSAGE_CHARS


def _tail(text: str) -> int:
    """Where the whole sentences begin that stand within the last `OVERLAP_CHARS`; the end of the text where none does."""
    found = next(_SENTENCE_END.finditer(text, max(0, len(text) - OVERLAP_CHARS)), None)
    return len(text) if found is None else found.end()
