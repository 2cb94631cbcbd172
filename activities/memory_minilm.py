"""all-MiniLM-L6-v2 on numpy alone: sentences to vectors, from weights that lie on this machine.

Reimers and Gurevych, Sentence-BERT, https://arxiv.org/abs/1908.10084; Wang et al., MiniLM, https://arxiv.org/abs/2002.10957.
Six layers are little enough that no framework of several gigabytes is needed to run them.
"""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

MOST_TOKENS = 256
"""What of a longer text is read; the model was trained on no more."""
BATCH = 32

_FILES = ("config.json", "model.safetensors", "tokenizer.json")


class MiniLm:
    """Vectors of one length for texts of any: the mean over the tokens, as the model was trained."""

    def __init__(self, folder: Path) -> None:
        """Reads a model's folder.

        Raises:
            ImportError: `tokenizers` or `safetensors` is not installed.
            FileNotFoundError: a file of the model is missing.
            ValueError: it is a model of another kind.
        """
        for name in _FILES:
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} does not exist")
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if not isinstance(config, dict) or (config.get("model_type"), config.get("hidden_act")) != ("bert", "gelu"):
            raise ValueError(f"{folder} does not hold a BERT model with GELU")
        self._tokenizer = _tokenizer(folder / "tokenizer.json", int(config["max_position_embeddings"]))
        self._weights: dict[str, Array] = import_module("safetensors.numpy").load_file(folder / "model.safetensors")
        self._layers, self._heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])

    def embed(self, texts: Sequence[str]) -> Array:
        """(n, d) float32, each of length 1. Texts of like length are read together, so that little is padding."""
        # Half an emoji, which a peer may have stored, is no text to the tokenizer.
        read = self._tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        order = sorted(range(len(read)), key=lambda at: len(read[at].ids))
        vectors = np.zeros((len(read), self._weights["embeddings.word_embeddings.weight"].shape[1]), np.float32)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            vectors[places] = self._embed([read[at].ids for at in places])
        return vectors

    def _embed(self, ids: Sequence[Sequence[int]]) -> Array:
        longest = max(map(len, ids))
        tokens = np.array([[*each, *[0] * (longest - len(each))] for each in ids], np.int64)  # (n, t)
        mask = np.array([[1.0] * len(each) + [0.0] * (longest - len(each)) for each in ids], np.float32)
        states = self._embeddings(tokens)
        for layer in range(self._layers):
            states = self._layer(f"encoder.layer.{layer}", states, mask)
        means = (states * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1, keepdims=True), 1.0)
        lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        unit: Array = (means / lengths).astype(np.float32, copy=False)
        return unit

    def _embeddings(self, tokens: NDArray[np.int64]) -> Array:
        words: Array = self._weights["embeddings.word_embeddings.weight"][tokens]
        places = self._weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed("embeddings.LayerNorm", words + places + kind)

    def _layer(self, name: str, states: Array, mask: Array) -> Array:
        attended = self._linear(
            f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", states, mask)
        )
        states = self._normed(f"{name}.attention.output.LayerNorm", states + attended)
        inner = _gelu(self._linear(f"{name}.intermediate.dense", states))
        return self._normed(f"{name}.output.LayerNorm", states + self._linear(f"{name}.output.dense", inner))

    def _attention(self, name: str, states: Array, mask: Array) -> Array:
        queries, keys, values = (
            self._split(self._linear(f"{name}.{part}", states)) for part in ("query", "key", "value")
        )
        scores = queries @ keys.swapaxes(2, 3) / np.float32(np.sqrt(queries.shape[-1]))  # (n, heads, t, t)
        scores += (mask[:, None, None, :] - 1.0) * np.float32(1e9)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        joined: Array = (scores @ values).swapaxes(1, 2).reshape(states.shape)
        return joined

    def _split(self, states: Array) -> Array:
        count, tokens, width = states.shape
        return states.reshape(count, tokens, self._heads, width // self._heads).swapaxes(1, 2)

    def _linear(self, name: str, states: Array) -> Array:
        product: Array = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return product

    def _normed(self, name: str, states: Array) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        normed: Array = centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normed


def _tokenizer(path: Path, most_places: int) -> Any:
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(min(MOST_TOKENS, most_places))
    tokenizer.no_padding()
    return tokenizer


def _gelu(values: Array) -> Array:
    activated: Array = values * np.float32(0.5) * (np.float32(1.0) + _erf(values * np.float32(np.sqrt(0.5))))
    return activated


def _erf(values: Array) -> Array:
    """The error function within 2e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26."""
    size = np.abs(values)
    t = np.float32(1.0) / (np.float32(1.0) + np.float32(0.3275911) * size)
    series: Array = np.full_like(t, 1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    error: Array = np.sign(values) * (np.float32(1.0) - series * t * np.exp(-size * size))
    return error
