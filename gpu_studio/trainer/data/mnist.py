"""MNIST and Fashion-MNIST from Keras' cache.

MNIST: LeCun, Cortes, Burges, http://yann.lecun.com/exdb/mnist; as an `.npz` by Keras.
Fashion-MNIST: Xiao, Rasul, Vollgraf 2017, arXiv:1708.07747; four gzipped files in the IDX format.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpu_studio.trainer.data.arrays import split_of
from gpu_studio.trainer.data.cache import Download, damaged, fetch
from gpu_studio.trainer.data.npz import read_arrays
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

_ADDRESS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_MNIST = Download(
    "datasets/mnist.npz",
    f"{_ADDRESS}mnist.npz",
    "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
)
_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_BYTES = 0x08  # the IDX format's code for unsigned bytes


def mnist() -> tuple[Split, Split]:
    """60,000 digits to train on and 10,000 to test on: x uint8 (n, 28, 28, 1), y in 0…9."""
    path = fetch(_MNIST)
    try:
        arrays = read_arrays(path, _all_four).arrays
    except DataError as error:
        raise damaged(path, "cannot be read as an .npz file with images and labels") from error
    return _images(path, arrays["x_train"], arrays["y_train"]), _images(path, arrays["x_test"], arrays["y_test"])


def fashion_mnist() -> tuple[Split, Split]:
    """60,000 pictures of clothes to train on and 10,000 to test on, shaped like MNIST's."""
    return _idx_pair("train"), _idx_pair("t10k")


def _all_four(path: Path, found: Sequence[str]) -> Sequence[str]:
    if not set(_ARRAYS) <= set(found):
        raise DataError(f"{path} lacks {', '.join(sorted(set(_ARRAYS) - set(found)))}.")
    return _ARRAYS


def _images(path: Path, images: Array, labels: Array) -> Split:
    if images.dtype != np.uint8 or images.ndim != 3 or not np.issubdtype(labels.dtype, np.integer):
        raise damaged(path, "does not hold images of bytes with integer labels")
    return split_of(path.name, "images", images, "labels", labels)


def _idx_pair(part: str) -> Split:
    images, labels = (
        fetch(Download(place, _ADDRESS + Path(place).name))
        for place in (
            f"datasets/fashion-mnist/{part}-images-idx3-ubyte.gz",
            f"datasets/fashion-mnist/{part}-labels-idx1-ubyte.gz",
        )
    )
    return _images(images, read_idx(images, axes=3), read_idx(labels, axes=1))


def read_idx(path: Path, axes: int) -> Array:
    """The bytes of a gzipped IDX file with so many axes. Raises DataError if it is cut off or something else.

    The format: two zero bytes, the kind of number, the number of axes, each axis' size in 4 bytes (big end first),
    the numbers.
    """
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, "cannot be unpacked") from error
    if content[:4] != bytes((0, 0, _BYTES, axes)) or len(content) < 4 + 4 * axes:
        raise damaged(path, f"is no IDX file of bytes with {axes} axes")
    shape = [int(size) for size in np.frombuffer(content, ">u4", axes, offset=4)]
    numbers = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if len(numbers) != np.prod(shape):
        raise damaged(path, f"announces {np.prod(shape)} bytes but holds {len(numbers)}")
    return numbers.reshape(shape)
