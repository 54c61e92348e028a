"""The data that GPU Studio knows by name: bundled, made from a seed, or downloaded.

MNIST, Fashion-MNIST and CIFAR-10 are read from Keras' cache or downloaded into it. The files
are those of `keras.datasets`, in the same places, but they are read here: Keras unpickles
CIFAR-10, and GPU Studio unpickles nothing. An existing file is used as it is, without a
network.
"""

from __future__ import annotations

import gzip
import math
import os
import socket
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpu_studio.common.paths import expanded, resource
from gpu_studio.trainer.data.arrays import split_of
from gpu_studio.trainer.data.npz import read_arrays
from gpu_studio.trainer.data.values import Array, Images, Split
from gpu_studio.trainer.errors import DataError

_LARGEST_PIXEL = 16
_BOX, _FRAME = 20, 28


def digits() -> Split:
    """All digits: x float32 (1797, 28, 28, 1) in 0…1, y int32 (1797,) in 0…9."""
    with np.load(resource("data/digits.npz"), allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    return Split(grow(images.astype(np.float32) / _LARGEST_PIXEL), labels.astype(np.int32))


def grow(images: Images) -> Images:
    """Square images (n, k, k) as MNIST shows its digits.

    In a box of 20 × 20 amid a black frame of 28 × 28.

    Bilinear between the pixels' centres, so that no pixel is doubled or lost and 0…1 stays 0…1.
    MNIST's box and frame: LeCun et al. 1998, "Gradient-based learning applied to document
    recognition", section III.
    """
    margin = (_FRAME - _BOX) // 2
    framed = np.zeros((len(images), _FRAME, _FRAME, 1), np.float32)
    left, share = bilinear_taps(images.shape[1], _BOX)
    rows = _between(images[:, left], images[:, left + 1], share[:, np.newaxis])
    framed[:, margin : margin + _BOX, margin : margin + _BOX, 0] = _between(
        rows[..., left], rows[..., left + 1], share
    )
    return framed


def bilinear_taps(old: int, new: int) -> tuple[Array, Images]:
    """Resample a line of `old` pixels to `new`: for each the left of two pixels, and the share.

    The share (0 to 1) is that of the right one. Both have the shape (new,).
    """
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    left = np.minimum(centres.astype(np.intp), old - 2)
    return left, (centres - left).astype(np.float32)


def _between(first: Images, second: Images, share: Images) -> Images:
    """Return first · (1 - share) + second · share, to the same bits on every processor.

    A checkpoint knows its samples by these bits. A matrix product rounds once or twice, as the
    processor has fused multiply-add or not; here a fused one is computed in double precision.
    """
    rounded = (first * (1 - share)).astype(np.float64)
    return (rounded + second.astype(np.float64) * share).astype(np.float32)


# Noise is made and added in pieces of about this many numbers, so that the samples are the only
# large array.
_PIECE = 1 << 22
_NOISE = 0.25


def synthetic(shape: Sequence[int], classes: int, samples: int, seed: int) -> Split:
    """Samples around one prototype a class: x float32 (samples, *shape), y int32 (samples,).

    Prototypes are uniform in 0…1 and the noise is normal with a standard deviation of 0.25, so that
    a model learns the classes within a few epochs but not from one pixel. Class ids take turns, and
    so every class is there if there are enough samples. Memory is that of `x` and a few MiB.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    prototypes = generator.random((classes, math.prod(shape)), np.float32)
    y = np.arange(samples, dtype=np.int32) % classes
    x = np.empty((samples, math.prod(shape)), np.float32)
    _fill(x, prototypes, y, generator)
    return Split(x.reshape(samples, *shape), y)


def _fill(x: Images, prototypes: Images, y: Array, generator: np.random.Generator) -> None:
    rows = max(1, _PIECE // max(1, x.shape[1]))
    for first in range(0, len(x), rows):
        piece = x[first : first + rows]
        generator.standard_normal(dtype=np.float32, out=piece)
        piece *= _NOISE
        piece += prototypes[y[first : first + rows]]


def regression(samples: int, slope: float, intercept: float, noise: float, seed: int) -> Split:
    """A line with noise, y = slope · x + intercept + noise · N(0, 1): x uniform in -1…1.

    Both float32 (samples, 1).
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    x = generator.uniform(-1.0, 1.0, (samples, 1))
    y = slope * x + intercept + noise * generator.standard_normal((samples, 1))
    return Split(x.astype(np.float32), y.astype(np.float32))


_SECONDS_OF_SILENCE = 30.0


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a data set: name below Keras' home, address, and SHA-256 or MD5, if known."""

    place: str
    origin: str
    checksum: str | None = None

    @property
    def path(self) -> Path:
        """Where the file is, or belongs."""
        return keras_home() / self.place


def keras_home() -> Path:
    """Return Keras' own folder, by Keras' own rule.

    It is $KERAS_HOME, else ~/.keras, else /tmp/.keras if home cannot be written.
    """
    if "KERAS_HOME" in os.environ:
        return expanded(os.environ["KERAS_HOME"])
    home = Path.home()
    # Keras looks there.
    return (home if os.access(home, os.W_OK) else Path("/tmp")) / ".keras"  # noqa: S108


def fetch(download: Download) -> Path:
    """Return the file's path, and download the file first if it is missing.

    Raises DataError saying which file to put where.
    """
    path = download.path
    if not path.is_file():
        try:
            _download(download, path)
        except (
            Exception
        ) as error:  # Keras raises bare Exception; whatever it is, the file is not there
            raise _not_there(download, error) from error
    return path


def _download(download: Download, path: Path) -> None:
    """Download under a name of this process first.

    A partial download must never look like the file.
    """
    import keras

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        with _impatient():
            keras.utils.get_file(
                part.name,
                download.origin,
                file_hash=download.checksum,
                cache_dir=path.parent,
                cache_subdir="",
            )
        part.chmod(0o600)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _impatient() -> Iterator[None]:
    """Give up on a silent network: Keras' download has no time limit of its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS_OF_SILENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def damaged(path: Path, what: str) -> DataError:
    """The error for a cached file that is not what it should be."""
    return DataError(
        f"The cached file {path} {what}: it is incomplete or damaged.",
        [
            f"Delete {path}; the next run downloads it again.",
            'Use data.name = "digits", which needs no download.',
        ],
    )


def _not_there(download: Download, error: Exception) -> DataError:
    return DataError(
        f"The file {download.path} is not there, and it cannot be downloaded: {error}",
        [
            'Use data.name = "digits", which needs no network.',
            (
                f"Download {download.origin} on a machine with a network and put it at "
                f"{download.path}."
            ),
            "Check the network, and $https_proxy if there is a proxy.",
        ],
    )


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
    return _images(path, arrays["x_train"], arrays["y_train"]), _images(
        path, arrays["x_test"], arrays["y_test"]
    )


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
    """The bytes of a gzipped IDX file with so many axes.

    Raises DataError if it is cut off or something else.

    The format: two zero bytes, the kind of number, the number of axes, each axis' size in 4 bytes
    (big end first), the numbers.
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
    return _split(path, b"".join(members[name] for name in _TRAIN)), _split(
        path, members["test_batch.bin"]
    )


def _pickled_version_note() -> str:
    """Return a note if the cache holds only the version that Keras uses."""
    found = [place for place in _PICKLED if (keras_home() / place).exists()]
    if not found:
        return ""
    return (
        f" ({keras_home() / found[0]} is the pickled version of CIFAR-10, "
        "which GPU Studio never loads.)"
    )


def _members(path: Path) -> dict[str, bytes]:
    try:
        with tarfile.open(path, "r:gz") as archive:
            found = {
                Path(info.name).name: _content(archive, info) for info in archive if info.isfile()
            }
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
    """Read records of one byte for the class, then 1,024 bytes each of red, green and blue.

    A colour's bytes are the rows of the picture, one after another.
    """
    if not records or len(records) % _RECORD:
        raise damaged(
            path, f"holds {len(records)} bytes of pictures, which is no multiple of {_RECORD}"
        )
    table: Array = np.frombuffer(records, np.uint8).reshape(-1, _RECORD)
    if table[:, 0].max() >= _CLASSES:
        raise damaged(path, f"holds the class {table[:, 0].max()}, but there are {_CLASSES}")
    pixels = table[:, 1:].reshape(-1, _CHANNELS, _SIDE, _SIDE).transpose(0, 2, 3, 1)
    return Split(np.ascontiguousarray(pixels), table[:, 0].astype(np.int32))
