"""The lexical index over all memories of all tiers.

Three tables: stems for ranking, distinctive words for finding what a statement resembles, and dictionaries from
identifier, normalised text and subject to ids. Documents live in slots. A removed one leaves a dead slot behind; when three
in ten are dead the tables are compacted, so that removal is cheap and the arrays stay dense.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .frames import frame_of
from .holders import Holders
from .index_keys import beside, keys_of, text_key
from .matches import Matches
from .postings import Postings, counted
from .ranking import bm25_weights, inverse_document_frequency
from .records import Record
from .sessions import Sessions
from .tokens import distinctive_tokens, without_label, words
from .vectors import VectorIndex

_DEAD_SHARE = 0.3
_FEWEST_DEAD = 64
_COMMON_SHARE = 0.2
"""A query word in more than this share of the memories is left out if the query has rarer ones."""
_MOST_TERMS = 32
"""Of a longer query, such as a whole turn, only its rarest words are looked up."""
_NEWEST = 512
"""From one identifier or subject at most so many of the memories that hold it are looked at, the newest first."""


_ARRAYS = ("_alive", "_hidden", "_lengths", "_stem_counts", "_distinct_counts", "created")


class LexicalIndex:
    """Finds memories by their words. It holds ids and numbers, never the memories."""

    def __init__(self) -> None:
        self._stems = Postings()
        self._distinctive = Postings()
        self._ids: list[str] = []
        self._slot_of: dict[str, int] = {}
        self._alive: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._hidden: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._lengths: NDArray[np.float32] = np.zeros(64, np.float32)
        self._stem_counts: NDArray[np.float32] = np.zeros(64, np.float32)
        self._distinct_counts: NDArray[np.float32] = np.zeros(64, np.float32)
        self.created: NDArray[np.int64] = np.zeros(64, np.int64)
        self._total_length = 0
        self._keyed = Holders()
        self.sessions = Sessions()
        self.vectors = VectorIndex()

    def __len__(self) -> int:
        return len(self._slot_of)

    def add(self, record: Record) -> None:
        """Enters a memory that is not in the index."""
        slot = len(self._ids)
        self._make_room(slot)
        said = list(words(without_label(record.content)))
        ranked = [word.stem for word in (*said, *words(beside(record))) if word.is_relevant]
        stems = counted(ranked)
        distinctive = {word.singular for word in said if word.is_distinctive}
        self._stems.add(slot, stems)
        self._distinctive.add(slot, dict.fromkeys(distinctive, 1))
        length = len(ranked)
        self._ids.append(record.id)
        self._slot_of[record.id] = slot
        self._alive[slot] = True
        self._hidden[slot] = record.superseded_by is not None
        self._lengths[slot] = length
        self._stem_counts[slot] = len(stems)
        self._distinct_counts[slot] = len(distinctive)
        self.created[slot] = record.created_at
        self._total_length += length
        self.sessions.add(record)
        self.vectors.add(record)
        for key in keys_of(record):
            self._keyed.add(key, record.id)

    def remove(self, record: Record) -> None:
        """Takes a memory out. `record` must still have the text it was entered with."""
        slot = self._slot_of.pop(record.id)
        self._alive[slot] = False
        self._total_length -= int(self._lengths[slot])
        self.sessions.remove(record.id)
        self.vectors.remove(record.id)
        for key in keys_of(record):
            self._keyed.discard(key, record.id)
        dead = len(self._ids) - len(self._slot_of)
        if dead >= _FEWEST_DEAD and dead > len(self._ids) * _DEAD_SHARE:
            self._compact()

    def fork(self) -> LexicalIndex:
        """An index of its own with the same entries."""
        other = copy.copy(self)
        other._stems, other._distinctive = self._stems.fork(), self._distinctive.fork()
        other._keyed = self._keyed.fork()
        other.sessions, other.vectors = self.sessions.fork(), self.vectors.fork()
        other._ids, other._slot_of = list(self._ids), dict(self._slot_of)
        for name in _ARRAYS:
            setattr(other, name, getattr(self, name).copy())
        return other

    def hide(self, memory_id: str, is_hidden: bool) -> None:
        """Keeps a superseded memory out of ordinary searches."""
        self._hidden[self._slot_of[memory_id]] = is_hidden

    def id_at(self, slot: int) -> str:
        """The id of the memory in a slot."""
        return self._ids[slot]

    def slot_of(self, memory_id: str) -> int:
        """The slot of a memory that is in the index."""
        return self._slot_of[memory_id]

    def is_hidden(self, slot: int) -> bool:
        """Whether the memory in a slot stays out of ordinary searches."""
        return bool(self._hidden[slot])

    def same_text(self, content: str) -> list[str]:
        """Ids of the memories that are exact restatements of a text, oldest entry first."""
        return list(self._keyed.of(text_key(content)))

    def with_identifiers(self, identifiers: Iterable[str]) -> dict[str, int]:
        """Ids of the memories that hold any of these case-folded identifiers, with the number they hold."""
        return self._keyed.count((f"#{identifier}" for identifier in identifiers), _NEWEST)

    def with_subject(self, content: str) -> dict[str, int]:
        """Ids of the memories whose subject has a word in common with the subject of a statement."""
        frame = frame_of(content)
        return self._keyed.count((f"@{key}" for key in sorted(frame.keys)), _NEWEST) if frame else {}

    def rank(
        self, terms: Iterable[str], wholes: Iterable[Iterable[str]] = (), *, include_hidden: bool = False
    ) -> Matches:
        """BM25 over the stems; the sum is over words in sorted order, so equal queries give equal bits.

        Args:
            terms: Words that count one by one.
            wholes: Groups of words, such as the parts of a host name, that count only where all of a group occur.
        """
        known = self._rare_enough(sorted({term for term in terms if term in self._stems}))
        scores, shared = self._blank(), self._blank()
        for term in known:
            self._score(term, None, scores, shared)
        whole_terms = 0
        for whole in wholes:
            group = sorted(set(whole) - set(known))
            holders = self._holding_all(group)
            if holders is not None:
                whole_terms += len(group)
                for term in group:
                    self._score(term, holders, scores, shared)
        return self._collect(scores, shared, include_hidden, self._stem_counts, len(known) + whole_terms)

    def _score(
        self, term: str, only: NDArray[np.bool_] | None, scores: NDArray[np.float32], shared: NDArray[np.float32]
    ) -> None:
        slots, counts = self._stems.slots(term), self._stems.counts(term)
        weight = inverse_document_frequency(len(self._slot_of), int(np.count_nonzero(self._alive[slots])))
        if only is not None:
            chosen = only[slots]
            slots, counts = slots[chosen], counts[chosen]
        mean_length = max(self._total_length / max(len(self._slot_of), 1), 1.0)
        scores[slots] += np.float32(weight) * bm25_weights(counts, self._lengths[slots], mean_length)
        shared[slots] += 1.0

    def _holding_all(self, group: list[str]) -> NDArray[np.bool_] | None:
        """Which slots hold every word of a group; None if none does."""
        if not group or not all(term in self._stems for term in group):
            return None
        held = np.zeros(len(self._ids), np.int16)
        for term in group:
            held[self._stems.slots(term)] += 1
        every: NDArray[np.bool_] = held == len(group)
        return every if every.any() else None

    def resembling(self, content: str, floor: float) -> Matches:
        """Memories whose distinctive words overlap with those of a text by at least `floor` of the smaller set."""
        needle = distinctive_tokens(content)
        shared = self._blank()
        for token in needle:
            if token in self._distinctive:
                shared[self._distinctive.slots(token)] += 1.0
        matches = self._collect(shared, shared, False, self._distinct_counts, len(needle))
        close = matches.shared >= floor - 1e-6
        return Matches(matches.slots[close], matches.scores[close], matches.shared[close])

    def _blank(self) -> NDArray[np.float32]:
        # A new array each time: a buffer kept for reuse would make two threads that search at once read each other's sums.
        return np.zeros(len(self._ids), np.float32)

    def _rare_enough(self, terms: list[str]) -> list[str]:
        ceiling = max(len(self._ids) * _COMMON_SHARE, 1_000)
        rare = [term for term in terms if self._stems.length(term) <= ceiling] or terms
        if len(rare) <= _MOST_TERMS:
            return rare
        return sorted(sorted(rare, key=self._stems.length)[:_MOST_TERMS])

    def _collect(
        self,
        scores: NDArray[np.float32],
        shared: NDArray[np.float32],
        include_hidden: bool,
        sizes: NDArray[np.float32],
        query_size: int,
    ) -> Matches:
        used = len(scores)
        visible = self._alive[:used] if include_hidden else self._alive[:used] & ~self._hidden[:used]
        slots = np.flatnonzero((scores > 0.0) & visible)
        smaller = np.maximum(np.minimum(sizes[slots], np.float32(query_size)), np.float32(1.0))
        return Matches(slots, scores[slots], (shared[slots] / smaller).astype(np.float32, copy=False))

    def _make_room(self, slot: int) -> None:
        if slot < len(self._alive):
            return
        for name in _ARRAYS:
            held = getattr(self, name)
            setattr(self, name, np.concatenate([held, np.zeros_like(held)]))

    def _compact(self) -> None:
        used = len(self._ids)
        alive = self._alive[:used]
        moved = np.where(alive, np.cumsum(alive) - 1, -1)
        self._stems = self._stems.compacted(moved)
        self._distinctive = self._distinctive.compacted(moved)
        kept = np.flatnonzero(alive)
        self._ids = [self._ids[slot] for slot in kept]
        self._slot_of = {memory_id: slot for slot, memory_id in enumerate(self._ids)}
        for name in _ARRAYS:
            held = getattr(self, name)
            held[: len(kept)] = held[kept]
        self._alive[: len(kept)] = True
        self._alive[len(kept) : used] = False
