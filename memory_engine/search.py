"""Finding memories by words, over every tier. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from .blending import with_meaning, with_neighbours
from .identifiers import extract_identifiers, identifier_keys
from .lossy import COLLAPSE_THRESHOLD, is_lossy_rewrite, similarity
from .matches import Matches
from .profile import Profile
from .ranking import leading
from .records import Record, SearchHit, item_of
from .stems import ranking_stems, ranking_terms
from .store import MemoryStore
from .text import SCAN_LIMIT
from .tokens import overlap_score, relevance_tokens
from .vectors import Vectors

Ranking = Literal["idf", "overlap"]
DEFAULT_LIMIT = 8

_COLLAPSE_ROOM = 4
"""How many more than the limit are ranked, since some collapse into others."""
_MOST_NEAR = 100
_MOST_WHOLES = 16
_TIER_ORDER = {"L1": 0, "L0": 0, "L2": 1, "L3": 2}


def search(
    store: MemoryStore,
    query: str,
    limit: int = DEFAULT_LIMIT,
    *,
    ranking: Ranking = "idf",
    profile: Profile = Profile.V1,
    include_superseded: bool = False,
    neighbours: int = 0,
    query_vector: Vectors | None = None,
) -> list[SearchHit]:
    """The memories that share words with `query`, best first, restatements collapsed; at least one if any matches.

    "idf" is BM25 over stems, memories that hold an identifier of the query first; "overlap" is the order of the original
    TypeScript package. Either way `score` is the share of words in common, in [0, 1].

    Args:
        neighbours: With "idf", how many turns on either side of a hit count with it, in its own session.
        query_vector: With "idf", the (d,) embedding of the query, weighed in with that of each memory.
    """
    wanted = max(limit, 1)
    query = query[:SCAN_LIMIT]
    if ranking == "overlap" or profile is Profile.TS:
        ranked = _by_overlap(store, query, profile, include_superseded)
    else:
        ranked = _by_rarity(store, _Sought(query, wanted, include_superseded, neighbours, query_vector))
    hits: list[SearchHit] = []
    kept: list[Record] = []
    for record, score in ranked:
        if any(_is_covered(record, other, profile) for other in kept):
            continue
        kept.append(record)
        hits.append(SearchHit.model_construct(item=item_of(record), score=score))
        if len(hits) == wanted:
            break
    return hits


def _is_covered(record: Record, kept: Record, profile: Profile) -> bool:
    if similarity(record.content, kept.content, profile) < COLLAPSE_THRESHOLD:
        return False
    return profile is Profile.TS or not is_lossy_rewrite(record.content, kept.content)


@dataclass(frozen=True, slots=True)
class _Sought:
    """One search: its words and how it is done."""

    query: str
    wanted: int
    include_superseded: bool
    neighbours: int
    vector: Vectors | None


def _by_rarity(store: MemoryStore, sought: _Sought) -> Iterator[tuple[Record, float]]:
    terms = ranking_stems(sought.query)
    named = _named(store, sought.query, sought.include_superseded)
    for record in named:
        yield record, _shared_stems(terms, record) or 1.0
    seen = {record.id for record in named}
    matches = _matches(store, sought)
    for record in _ranked(store, matches, sought.wanted):
        if record.id not in seen:
            yield record, _shared_stems(terms, record)


def _matches(store: MemoryStore, sought: _Sought) -> Matches:
    index, hidden = store.index, sought.include_superseded
    # "OPS-7777" is not answered by what is known about OPS-909: the parts of an identifier count together or not at all.
    rest, wholes = sought.query, list[frozenset[str]]()
    for identifier in extract_identifiers(sought.query):
        rest = rest.replace(identifier, " ", 1)
        wholes.append(ranking_stems(identifier))
    matches = index.rank(ranking_terms(rest), wholes[:_MOST_WHOLES], include_hidden=hidden)
    if sought.vector is not None:
        cosines = dict(index.vectors.nearest(sought.vector, max(_MOST_NEAR, 4 * sought.wanted)))
        matches = with_meaning(matches, index, cosines, include_hidden=hidden)
    return with_neighbours(matches, index, sought.neighbours, include_hidden=hidden)


def _named(store: MemoryStore, query: str, include_superseded: bool) -> list[Record]:
    holders = store.index.with_identifiers(identifier_keys(query))
    records = [(count, record) for memory_id, count in holders.items() if (record := store.get(memory_id))]
    visible = [(count, record) for count, record in records if include_superseded or record.superseded_by is None]
    visible.sort(key=lambda pair: (-pair[0], -pair[1].created_at, pair[1].id))
    return [record for _, record in visible]


def _ranked(store: MemoryStore, matches: Matches, wanted: int) -> Iterator[Record]:
    index, count = store.index, wanted * _COLLAPSE_ROOM
    while True:
        best = leading(matches, index.created, count)
        for group in best.groups():
            yield from filter(None, map(store.get, sorted(map(index.id_at, group))))
        if len(best.places) == len(matches):
            return
        # Everything ranked so far collapsed into less than the limit: look at all the rest, without what was seen.
        matches = matches.without(best.places)
        count *= _COLLAPSE_ROOM


def _shared_stems(terms: AbstractSet[str], record: Record) -> float:
    return overlap_score(terms, ranking_stems(_searched_text(record)))


def _by_overlap(
    store: MemoryStore, query: str, profile: Profile, include_superseded: bool
) -> Iterator[tuple[Record, float]]:
    tokens = relevance_tokens(query, profile)
    scored = [
        (overlap_score(tokens, relevance_tokens(_searched_text(record), profile)), record)
        for record in store.all_rows()
        if include_superseded or record.superseded_by is None
    ]
    found = [(score, record) for score, record in scored if score > 0.0]
    found.sort(key=lambda pair: (-pair[0], len(pair[1].content), _TIER_ORDER[pair[1].tier], pair[1].placed))
    return ((record, score) for score, record in found)


def _searched_text(record: Record) -> str:
    return " ".join((record.content, *record.domains))
