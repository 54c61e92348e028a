"""MNIST, Fashion-MNIST and CIFAR-10 from downloaded files, and the cache that holds them."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import os
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE_S
from tiny_archives import TEST, TRAIN, cifar_archive, cifar_records, idx, images, labels

from gpu_studio.trainer.data.built_in import (
    Download,
    cifar10,
    fashion_mnist,
    fetch,
    keras_home,
    mnist,
    read_idx,
)
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
        assert (split.x.dtype, seen.shape, seen.dtype) == (
            np.uint8,
            (samples, 28, 28, 1),
            np.float32,
        )
        np.testing.assert_allclose(seen[..., 0] * 255, images(samples), rtol=1e-6)
        assert wanted.dtype == np.uint8
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
    with pytest.raises(
        DataError, match=r"The cached file .*mnist\.npz .* incomplete or damaged"
    ) as refused:
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


PLACE = "cifar-10-binary.tar.gz"
NAMES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
PARTS = {name: cifar_records(2 + number, number) for number, name in enumerate(NAMES)}
MEMBERS = {name: part[0] for name, part in PARTS.items()} | {"batches.meta.txt": b"airplane\n"}


def test_that_pictures_and_classes_are_read_in_order(cached):
    cached(PLACE, cifar_archive(MEMBERS))
    for split, names in zip(cifar10(), (NAMES[:5], NAMES[5:]), strict=True):
        pictures = np.concatenate([PARTS[name][1] for name in names])
        assert (split.x.dtype, split.y.dtype) == (np.uint8, np.int32)
        np.testing.assert_allclose(split.seen(slice(None)) * 255, pictures, rtol=1e-6)
        assert split.y.tolist() == np.concatenate([PARTS[name][2] for name in names]).tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (cifar_archive(MEMBERS)[:2000], "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (cifar_archive({name: MEMBERS[name] for name in NAMES[1:]}), r"lacks data_batch_1\.bin"),
        (cifar_archive(MEMBERS | {NAMES[0]: MEMBERS[NAMES[0]][:-1]}), "no multiple of 3073"),
        (cifar_archive(MEMBERS | {NAMES[5]: b""}), "holds 0 bytes of pictures"),
        (
            cifar_archive(MEMBERS | {NAMES[5]: b"\x0b" + MEMBERS[NAMES[5]][1:]}),
            "holds the class 11, but there are 10",
        ),
    ],
    ids=["cut off", "empty", "a part missing", "cut records", "no records", "a wrong class"],
)
def test_that_a_damaged_archive_says_which_file_to_delete(cached, content, words):
    path = cached(PLACE, content)
    with pytest.raises(DataError, match=words) as refused:
        cifar10()
    assert f"Delete {path}" in refused.value.suggestions[0]


@pytest.mark.slow
def test_that_only_the_pickled_version_in_the_cache_is_not_loaded_and_said_so(cached):
    pickled = cached(
        "cifar-10-batches-py-target/cifar-10-batches-py/data_batch_1",
        b"cos\nsystem\n(S'false'\ntR.",
    )
    with pytest.raises(
        DataError, match="is the pickled version of CIFAR-10, which GPU Studio never loads"
    ) as refused:
        cifar10()
    assert str(pickled.parents[1]) in refused.value.message
    assert "cifar-10-binary.tar.gz" in refused.value.suggestions[1]


CONTENT = b"some data" * 1000


@pytest.fixture
def server(tmp_path):
    """A web server with `data.bin` on it; its address."""
    (tmp_path / "data.bin").write_bytes(CONTENT)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join(timeout=PATIENCE_S)


def test_that_a_file_in_the_cache_needs_no_network(cached):
    path = cached("there.bin", b"x")
    assert fetch(Download("datasets/there.bin", "http://127.0.0.1:1/nowhere")) == path


def test_that_the_cache_is_where_keras_home_says(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert keras_home() == tmp_path


def test_that_the_cache_is_in_the_home_folder_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keras_home() == tmp_path / ".keras"


def test_that_the_cache_moves_where_keras_moves_it_if_the_home_cannot_be_written(monkeypatch):
    monkeypatch.delenv("KERAS_HOME")
    monkeypatch.setenv("HOME", "/proc/no-such-home")
    assert keras_home() == Path("/tmp/.keras")


@pytest.mark.slow
def test_that_a_missing_file_is_downloaded_for_its_owner_only(server):
    download = Download(
        "datasets/set/data.bin", f"{server}/data.bin", hashlib.sha256(CONTENT).hexdigest()
    )
    path = fetch(download)
    assert path == Path(os.environ["KERAS_HOME"], "datasets/set/data.bin")
    assert path.read_bytes() == CONTENT
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert socket.getdefaulttimeout() is None


@pytest.mark.slow
def test_that_a_download_with_a_wrong_checksum_is_refused_and_leaves_nothing(server):
    download = Download("datasets/data.bin", f"{server}/data.bin", "0" * 64)
    with pytest.raises(DataError, match="does not match"):
        fetch(download)
    assert list(download.path.parent.iterdir()) == []


@pytest.mark.slow
def test_that_a_file_that_the_server_does_not_have_is_refused(server):
    download = Download("datasets/none.bin", f"{server}/none.bin")
    with pytest.raises(DataError, match="404"):
        fetch(download)
    assert list(download.path.parent.iterdir()) == []


@pytest.mark.slow
def test_that_without_a_network_the_error_says_which_file_to_put_where():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        origin = f"http://127.0.0.1:{held.getsockname()[1]}/data.bin"
        download = Download("datasets/data.bin", origin)
        with pytest.raises(
            DataError, match=r"data\.bin is not there, and it cannot be downloaded"
        ) as refused:
            fetch(download)
    assert "digits" in refused.value.suggestions[0]
    assert (
        f"Download {origin} on a machine with a network and put it at {download.path}."
        in refused.value.suggestions
    )


@pytest.mark.slow
def test_that_a_cache_that_cannot_be_written_is_refused_and_named(monkeypatch):
    monkeypatch.setenv("KERAS_HOME", "/proc/keras")
    with pytest.raises(DataError, match=r"/proc/keras/datasets/data\.bin is not there"):
        fetch(Download("datasets/data.bin", "http://127.0.0.1:1/data.bin"))
