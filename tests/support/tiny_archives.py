"""Tiny archives in the real formats of MNIST, Fashion-MNIST and CIFAR-10."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

import numpy as np

TRAIN, TEST = 7, 3


def images(samples: int) -> np.ndarray:
    """Grey images of 28 × 28 bytes, each different."""
    return np.random.default_rng(samples).integers(0, 256, (samples, 28, 28), np.uint8)


def labels(samples: int) -> np.ndarray:
    """Class ids that take turns."""
    return (np.arange(samples) % 10).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    """An IDX file, gzipped."""
    header = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes())


def cifar_records(samples: int, seed: int) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Records as in CIFAR-10's binary version, their pictures (n, 32, 32, 3) and classes."""
    generator = np.random.default_rng(seed)
    pictures = generator.integers(0, 256, (samples, 32, 32, 3), np.uint8)
    classes = generator.integers(0, 10, samples).astype(np.uint8)
    planes = pictures.transpose(0, 3, 1, 2).reshape(samples, -1)
    return np.concatenate([classes[:, None], planes], axis=1).tobytes(), pictures, classes


def cifar_archive(members: Mapping[str, bytes]) -> bytes:
    """The archive of CIFAR-10's binary version, with these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
