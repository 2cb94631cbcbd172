"""The lexical index over all memories of all tiers.

Three tables: stems for ranking, distinctive words for finding what a statement resembles, and dictionaries from
identifier, normalised text and subject to ids.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .identifiers import identifier_keys
from .index_keys import beside, subject_keys, text_keys
from .lookups import Lookup
from .matches import Matches, Scores, Slots
from .postings import Postings, counted
from .ranking import bm25_weights, inverse_document_frequency
from .records import Record
from .sessions import Sessions
from .slots import SlotTable
from .tokens import distinctive_tokens, without_label, words
from .vectors import VectorIndex
from .word_table import WordTable

_COMMON_SHARE = 0.2
"""A query word in more than this share of the memories is left out if the query has rarer ones."""
_MOST_TERMS = 32
"""Of a longer query, such as a whole turn, only its rarest words are looked up."""
_NEWEST = 512
"""From one identifier or subject at most so many of the memories that hold it are looked at, the newest first."""


class LexicalIndex:
    """Finds memories by their words. It holds ids and numbers, never the memories."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._slots = SlotTable(records)
        contents = {record.id: record.content for record in records}
        self._texts = Lookup(text_keys, contents)
        self._identifiers = Lookup(identifier_keys, contents)
        self._subjects = Lookup(subject_keys, contents)
        self.sessions = Sessions()
        self.vectors = VectorIndex()
        for record in records:
            self.sessions.add(record)
            self.vectors.add(record)
        self._read_all(records)

    def _read_all(self, records: Sequence[Record]) -> None:
        table, used = WordTable(), len(records)
        said = table.read([without_label(record.content) for record in records])
        labels = table.read([beside(record) for record in records])
        slots, numbers = np.concatenate((said.texts, labels.texts)), np.concatenate((said.words, labels.words))
        is_relevant = np.array([word.is_relevant for word in table.words], np.bool_)
        is_distinctive = np.array([word.is_distinctive for word in table.words], np.bool_)
        ranked, telling = is_relevant[numbers], is_distinctive[said.words]
        self._stems = _postings(slots[ranked], numbers[ranked], [word.stem for word in table.words])
        self._distinctive = _postings(said.texts[telling], said.words[telling], [word.singular for word in table.words])
        self._slots.lengths[:used] = np.bincount(slots[ranked], minlength=used)
        self._slots.stem_counts[:used] = self._stems.words_by_slot(used)
        self._slots.distinct_counts[:used] = self._distinctive.words_by_slot(used)
        self._total_length = int(ranked.sum())

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def created(self) -> NDArray[np.int64]:
        """(n,) when each memory was made, by slot, in milliseconds."""
        return self._slots.created

    def add(self, record: Record) -> None:
        """Enters a memory that is not in the index."""
        slot = self._slots.add(record)
        ranked, distinctive = _words_of(record)
        stems = counted(ranked)
        self._stems.add(slot, stems)
        self._distinctive.add(slot, dict.fromkeys(distinctive, 1))
        self._slots.lengths[slot] = len(ranked)
        self._slots.stem_counts[slot] = len(stems)
        self._slots.distinct_counts[slot] = len(distinctive)
        self._total_length += len(ranked)
        self.sessions.add(record)
        self.vectors.add(record)
        for lookup in (self._texts, self._identifiers, self._subjects):
            lookup.add(record.id, record.content)

    def remove(self, record: Record) -> None:
        """Takes a memory out. `record` must still have the text it was entered with."""
        slot = self._slots.remove(record.id)
        self._total_length -= int(self._slots.lengths[slot])
        self._stems.bury(set(_words_of(record)[0]))
        self.sessions.remove(record.id)
        self.vectors.remove(record.id)
        for lookup in (self._texts, self._identifiers, self._subjects):
            lookup.remove(record.id, record.content)
        if self._slots.is_sparse:
            moved = self._slots.compact()
            self._stems, self._distinctive = self._stems.compacted(moved), self._distinctive.compacted(moved)

    def fork(self) -> LexicalIndex:
        """An index of its own with the same entries."""
        other = copy.copy(self)
        other._stems, other._distinctive = self._stems.fork(), self._distinctive.fork()
        other._texts, other._identifiers = self._texts.fork(), self._identifiers.fork()
        other._subjects = self._subjects.fork()
        other.sessions, other.vectors = self.sessions.fork(), self.vectors.fork()
        other._slots = self._slots.fork()
        return other

    def hide(self, memory_id: str, is_hidden: bool) -> None:
        """Keeps a superseded memory out of ordinary searches."""
        self._slots.visible[self.slot_of(memory_id)] = not is_hidden

    def id_at(self, slot: int) -> str:
        """The id of the memory in a slot."""
        return self._slots.ids[slot]

    def slot_of(self, memory_id: str) -> int:
        """The slot of a memory that is in the index."""
        return self._slots.slot_of[memory_id]

    def is_hidden(self, slot: int) -> bool:
        """Whether the memory in a slot stays out of ordinary searches."""
        return not self._slots.visible[slot]

    def same_text(self, content: str) -> list[str]:
        """Ids of the memories that are exact restatements of a text, oldest entry first."""
        return self._texts.of(*text_keys(content))

    def with_identifiers(self, identifiers: Iterable[str]) -> dict[str, int]:
        """Ids of the memories that hold any of these case-folded identifiers, with the number they hold."""
        return self._identifiers.count(identifiers, _NEWEST)

    def with_subject(self, content: str) -> dict[str, int]:
        """Ids of the memories whose subject has a word in common with the subject of a statement."""
        return self._subjects.count(sorted(subject_keys(content)), _NEWEST)

    def rank(
        self, terms: Iterable[str], wholes: Iterable[Iterable[str]] = (), *, include_hidden: bool = False
    ) -> Matches:
        """BM25 over the stems; the sum is over words in sorted order, so equal queries give equal bits.

        Args:
            terms: Words that count one by one.
            wholes: Groups of words, such as the parts of a host name, that count only where all of a group occur.
        """
        known = self._rare_enough(sorted({term for term in terms if term in self._stems}))
        groups = [(group, self._holding_all(group)) for group in (sorted(set(whole) - set(known)) for whole in wholes)]
        groups = [(group, holders) for group, holders in groups if len(holders)]
        scores = self._blank()
        for term in known:
            slots = self._stems.slots(term)
            scores[slots] += self._weights(term, slots, self._stems.counts(term))
        for group, holders in groups:
            held = scores[holders]
            for term in group:
                held += self._weights(term, holders, self._stems.counts_at(term, holders))
            scores[holders] = held

        def shares(slots: Slots) -> Scores:
            held = np.zeros(len(slots), np.float32)
            for term in known:
                held += self._stems.counts_at(term, slots) > 0
            for group, holders in groups:
                held += _among(holders, slots) * np.float32(len(group))
            asked = len(known) + sum(len(group) for group, _ in groups)
            return _share(held, self._slots.stem_counts[slots], asked)

        seen = self._slots.alive if include_hidden else self._slots.visible
        found = np.flatnonzero((scores > 0.0) & seen[: len(scores)])
        return Matches(found, scores[found], shares)

    def _weights(self, term: str, slots: Slots, counts: Scores) -> Scores:
        rarity = inverse_document_frequency(len(self), self._stems.living(term))
        mean_length = max(self._total_length / max(len(self), 1), 1.0)
        return np.float32(rarity) * bm25_weights(counts, self._slots.lengths[slots], mean_length)

    def _holding_all(self, group: Sequence[str]) -> Slots:
        """The living slots that hold every word of a group, looked for among those of its rarest word."""
        if not group or not all(term in self._stems for term in group):
            return np.zeros(0, np.int64)
        rarest = min(group, key=self._stems.length)
        holders = self._stems.slots(rarest)
        holders = holders[self._slots.alive[holders]]
        for term in group:
            holders = holders[self._stems.counts_at(term, holders) > 0]
        return holders

    def resembling(self, content: str, floor: float) -> Matches:
        """Memories whose distinctive words overlap with those of a text by at least `floor` of the smaller set.

        The score is the share in common.
        """
        needle = distinctive_tokens(content)
        held = self._blank()
        for token in needle:
            if token in self._distinctive:
                held[self._distinctive.slots(token)] += 1.0
        slots = np.flatnonzero((held > 0.0) & self._slots.visible[: len(held)])
        shares = _share(held[slots], self._slots.distinct_counts[slots], len(needle))
        close = shares >= floor - 1e-6
        return Matches(slots[close], shares[close], lambda slots: np.zeros(len(slots), np.float32))

    def _blank(self) -> Scores:
        # A new array each time: a buffer kept for reuse would make two threads that search at once read each other's sums.
        return np.zeros(self._slots.used, np.float32)

    def _rare_enough(self, terms: list[str]) -> list[str]:
        ceiling = max(self._slots.used * _COMMON_SHARE, 1_000)
        rare = [term for term in terms if self._stems.length(term) <= ceiling] or terms
        if len(rare) <= _MOST_TERMS:
            return rare
        return sorted(sorted(rare, key=self._stems.length)[:_MOST_TERMS])


def _words_of(record: Record) -> tuple[list[str], set[str]]:
    """The stems by which a memory is ranked, repeats included, and the words that tell it apart."""
    said = words(without_label(record.content))
    ranked = [word.stem for word in (*said, *words(beside(record))) if word.is_relevant]
    return ranked, {word.singular for word in said if word.is_distinctive}


def _postings(slots: Slots, numbers: Slots, names: Sequence[str]) -> Postings:
    """Postings of words that are numbered by spelling, under names that several spellings share."""
    place_of = {name: place for place, name in enumerate(dict.fromkeys(names))}
    places = np.array([place_of[name] for name in names], np.int64)
    return Postings.of_pairs(slots, places[numbers], list(place_of))


def _among(holders: Slots, slots: Slots) -> NDArray[np.bool_]:
    """Which of the slots are among the holders, which are not empty and rise."""
    found: NDArray[np.bool_] = holders[np.minimum(np.searchsorted(holders, slots), len(holders) - 1)] == slots
    return found


def _share(held: Scores, sizes: Scores, asked: int) -> Scores:
    smaller = np.maximum(np.minimum(sizes, np.float32(asked)), np.float32(1.0))
    return (held / smaller).astype(np.float32, copy=False)
