"""Making vectors for memories that have none, a bounded number at a time.

They stand in the index and not on the rows, so that no snapshot has them: whoever keeps an embedder keeps its vectors.
"""

from __future__ import annotations

from .store import MemoryStore
from .text import SCAN_LIMIT
from .vectors import Embedder, embedded


def give_vectors(store: MemoryStore, embedder: Embedder, size: int | None, most: int) -> tuple[int, int | None]:
    """Makes vectors for at most `most` rows that have none of the embedder's size, the hottest first.

    Returns how many got one, and the size; `size` is what is known of it before.
    """
    rows, vectors = list(store.all_rows()), store.index.vectors
    if rows and size is None:
        size = embedded(embedder, [rows[0].content[:SCAN_LIMIT]]).shape[1]
    pending = [record for record in rows if not vectors.has(record.id, size)][: max(most, 0)]
    if not pending:
        return 0, size
    made = embedded(embedder, [record.content[:SCAN_LIMIT] for record in pending])
    for record, vector in zip(pending, made, strict=True):
        vectors.put(record.id, vector)
    return len(pending), made.shape[1]
