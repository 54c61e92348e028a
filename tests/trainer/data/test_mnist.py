"""MNIST and Fashion-MNIST out of Keras' cache, from small files in the real formats."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_archives import TEST, TRAIN, idx, images, labels

from gpu_studio.trainer.data.mnist import fashion_mnist, mnist, read_idx
from gpu_studio.trainer.errors import DataError

FASHION = {
    "train-images-idx3-ubyte.gz": images(TRAIN),
    "train-labels-idx1-ubyte.gz": labels(TRAIN),
    "t10k-images-idx3-ubyte.gz": images(TEST),
    "t10k-labels-idx1-ubyte.gz": labels(TEST),
}


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def mnist_arrays(**changed: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "x_train": images(TRAIN),
        "y_train": labels(TRAIN),
        "x_test": images(TEST),
        "y_test": labels(TEST),
        **changed,
    }


def check(train, test):
    for split, samples in ((train, TRAIN), (test, TEST)):
        seen, wanted = split.seen(slice(None)), split.wanted(slice(None))
        assert (split.x.dtype, seen.shape, seen.dtype) == (np.uint8, (samples, 28, 28, 1), np.float32)
        np.testing.assert_allclose(seen[..., 0] * 255, images(samples), rtol=1e-6)
        assert wanted.dtype == np.int32
        assert wanted.tolist() == labels(samples).tolist()


def test_that_mnist_is_read_from_the_cache(cached):
    cached("mnist.npz", npz(**mnist_arrays()))
    check(*mnist())


def test_that_fashion_mnist_is_read_from_the_cache(cached):
    for name, array in FASHION.items():
        cached(f"fashion-mnist/{name}", idx(array))
    check(*fashion_mnist())


@pytest.mark.parametrize(
    "content",
    [
        npz(**mnist_arrays())[:500],
        b"",
        npz(x_train=images(TRAIN), y_train=labels(TRAIN)),
        npz(**mnist_arrays(x_train=images(TRAIN).astype(np.float32))),
        npz(**mnist_arrays(y_test=np.array([{"a": 1}] * TEST, dtype=object))),
    ],
    ids=["cut off", "empty", "without test", "not bytes", "pickled"],
)
def test_that_a_damaged_mnist_says_which_file_to_delete(cached, content):
    path = cached("mnist.npz", content)
    with pytest.raises(DataError, match=r"The cached file .*mnist\.npz .* incomplete or damaged") as refused:
        mnist()
    assert refused.value.suggestions[0] == f"Delete {path}; the next run downloads it again."
    assert "digits" in refused.value.suggestions[1]


@pytest.mark.slow
def test_that_one_missing_file_of_fashion_mnist_is_named(cached):
    for name in list(FASHION)[:3]:
        cached(f"fashion-mnist/{name}", idx(FASHION[name]))
    with pytest.raises(DataError, match=r"fashion-mnist/t10k-labels-idx1-ubyte\.gz is not there"):
        fashion_mnist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (idx(images(TRAIN))[:-20], "cannot be unpacked"),
        (b"no gzip", "cannot be unpacked"),
        (idx(labels(TRAIN)), "is no IDX file of bytes with 3 axes"),
        (idx(images(TRAIN).astype(np.uint16)), "announces 5488 bytes but holds 10976"),
    ],
    ids=["cut off", "no gzip", "labels for images", "other numbers"],
)
def test_that_a_damaged_idx_file_is_refused_in_words(cached, content, words):
    with pytest.raises(DataError, match=words):
        read_idx(cached("some.gz", content), axes=3)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_that_idx_files_of_any_shape_are_read_back(tmp_path_factory, shape):
    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    path = tmp_path_factory.mktemp("idx") / "any.gz"
    path.write_bytes(idx(array))
    np.testing.assert_array_equal(read_idx(path, axes=len(shape)), array)


def test_that_cached_data_are_read_without_importing_keras(cached, monkeypatch):
    cached("mnist.npz", npz(**mnist_arrays()))
    monkeypatch.setitem(sys.modules, "keras", None)
    check(*mnist())
