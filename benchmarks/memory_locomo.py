"""Conversations and questions of LoCoMo: https://github.com/snap-research/locomo, CC BY-NC 4.0, for evaluation; not kept here."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory_corpus import Row

_MOST_SESSIONS = 60


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation, and each question with the ids of the turns that answer it."""

    rows: list[Row]
    questions: list[tuple[str, frozenset[str]]]


def conversations(path: Path, *, with_dates: bool) -> Iterator[Conversation]:
    """A turn is "speaker: text [caption of the picture]"; with dates, the day stands behind the speaker."""
    for sample in json.loads(path.read_text("utf-8")):
        said, rows = sample["conversation"], list[Row]()
        for number in range(1, _MOST_SESSIONS):
            day = said.get(f"session_{number}_date_time", "")
            for turn in said.get(f"session_{number}", ()):
                caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
                speaker = f"{turn['speaker']} ({day})" if with_dates else turn["speaker"]
                rows.append(Row(turn["dia_id"], f"{speaker}: {turn['text']}{caption}", f"session {number}"))
        asked = [
            (question["question"], frozenset(question["evidence"]))
            for question in sample["qa"]
            if question.get("evidence")
        ]
        yield Conversation(rows, asked)
