"""CIFAR-10 (Krizhevsky 2009, "Learning multiple layers of features from tiny images") from its binary version.

`keras.datasets.cifar10` reads the Python version, which is pickled; the binary version holds the same images as plain
records: https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

import numpy as np

from gpu_studio.trainer.data.cache import Download, damaged, fetch, keras_home
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

ARCHIVE = Download(
    "datasets/cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c32a1d4ab5d03f1284b67883e8d87530",
)
_SIDE, _CHANNELS, _CLASSES = 32, 3, 10
_RECORD = 1 + _SIDE * _SIDE * _CHANNELS
_TRAIN = [f"data_batch_{number}.bin" for number in range(1, 6)]
_PICKLED = (
    "datasets/cifar-10-batches-py-target",
    "datasets/cifar-10-python.tar.gz",
    "datasets/cifar-10-batches-py.tar.gz",
)


def cifar10() -> tuple[Split, Split]:
    """50,000 pictures to train on and 10,000 to test on: x uint8 (n, 32, 32, 3), y int32 in 0…9."""
    try:
        path = fetch(ARCHIVE)
    except DataError as error:
        raise DataError(error.message + _pickled_version_note(), error.suggestions) from error
    members = _members(path)
    return _split(path, b"".join(members[name] for name in _TRAIN)), _split(path, members["test_batch.bin"])


def _pickled_version_note() -> str:
    """What to say if only the version that Keras uses is in the cache."""
    found = [place for place in _PICKLED if (keras_home() / place).exists()]
    if not found:
        return ""
    return f" ({keras_home() / found[0]} is the pickled version of CIFAR-10, which GPU Studio never loads.)"


def _members(path: Path) -> dict[str, bytes]:
    try:
        with tarfile.open(path, "r:gz") as archive:
            found = {Path(info.name).name: _content(archive, info) for info in archive if info.isfile()}
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise damaged(path, "cannot be unpacked") from error
    missing = {*_TRAIN, "test_batch.bin"} - set(found)
    if missing:
        raise damaged(path, f"lacks {', '.join(sorted(missing))}")
    return found


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    return file.read() if file else b""


def _split(path: Path, records: bytes) -> Split:
    """A record is one byte for the class, then 1,024 bytes of red, of green and of blue, row by row."""
    if not records or len(records) % _RECORD:
        raise damaged(path, f"holds {len(records)} bytes of pictures, which is no multiple of {_RECORD}")
    table: Array = np.frombuffer(records, np.uint8).reshape(-1, _RECORD)
    if table[:, 0].max() >= _CLASSES:
        raise damaged(path, f"holds the class {table[:, 0].max()}, but there are {_CLASSES}")
    pixels = table[:, 1:].reshape(-1, _CHANNELS, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    return Split(np.ascontiguousarray(pixels), table[:, 0].astype(np.int32))
