"""How a checkpoint recognises the data of a run without storing them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpu_studio.trainer.data.trees import flat, is_nested, mapped
from gpu_studio.trainer.data.values import Array, Dataset, Split, is_text

TRAINING, VALIDATION, TEST = "training_samples", "validation_samples", "test_samples"
"""The names under which a checkpoint keeps the digests of its splits."""
LOOKED_AT_BYTES = 1 << 24
"""At most so much of the samples is read: of larger splits some samples, evenly spaced."""


def fingerprints(dataset: Dataset) -> dict[str, str | None]:
    """Return the digests of the splits, by their names in a checkpoint."""
    return {
        TRAINING: fingerprint(dataset.train),
        VALIDATION: fingerprint(dataset.validation),
        TEST: fingerprint(dataset.test),
    }


def first_batch(dataset: Dataset) -> dict[str, str]:
    """Return the digest of a stream's first batch, by its name in a checkpoint.

    It tells whether a stream gives the same in a resumed run.
    """
    if dataset.train.stream is None:
        return {}
    digest = hashlib.blake2b(digest_size=16)
    x, y, weights = _of_older_types(dataset.train)
    for array in flat((x, y, weights)):
        digest.update(array.tobytes())
    return {"first_batch": digest.hexdigest()}


def fingerprint(split: Split | None) -> str | None:
    """Return a hex digest of the samples in a split, in their order; None if there is no split.

    It covers the split's rows and all of its targets. Of the samples themselves it covers
    `LOOKED_AT_BYTES`; of a stream only their types and shapes. Raises DataError if they are in a
    file that has changed.
    """
    if split is None:
        return None
    if split.file is not None:
        split.file.check()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_described(split).encode())
    if split.stream is not None:
        return digest.hexdigest()
    rows = np.arange(len(split)) if split.rows is None else split.rows
    targets = len(flat((split.x, split.y)))
    digest.update(rows.tobytes())
    for number in range(len(flat(split.x)), len(split.arrays)):
        for places in _in_pieces(rows, _row_bytes(split.arrays[number])):
            kind = _older_type(split.arrays[number], weighs=number >= targets)
            digest.update(split.arrays[number][places].astype(kind, copy=False).tobytes())
    for part in _some_samples(split, rows):
        digest.update(part.tobytes())
    return digest.hexdigest()


_AT_ONCE = 1 << 22
"""So many bytes are read at once: copies of as much are made in memory that was used before."""


def _in_pieces(rows: Array, row_bytes: int) -> list[Array]:
    return np.array_split(rows, 1 + rows.size * row_bytes // _AT_ONCE)


def _row_bytes(array: Array) -> int:
    return math.prod(array.shape[1:]) * array.itemsize


def _described(split: Split) -> str:
    # As older versions wrote it, which converted what came in a stream as soon as they read it.
    x, y, _ = (split.x, split.y, ()) if split.stream is None else _of_older_types(split)
    if is_nested(x) or is_nested(y):
        y = mapped(_of_older_shape, y)
        parts = mapped(lambda each: f"{each.shape[1:]} {each.dtype.str}", (x, y))
        return f"{parts} {split.pixels}"
    return f"{x.shape[1:]} {x.dtype.str} {y.dtype.str} {split.pixels}"


def _of_older_types(split: Split) -> tuple[Any, Any, Any]:
    """Return the first samples of a stream in the types that older versions gave them."""

    def of(tree: Any, *, weighs: bool) -> Any:
        return mapped(lambda each: each.astype(_older_type(each, weighs=weighs), copy=False), tree)

    x = mapped(lambda each: each.astype("f4") if each.dtype == np.float64 else each, split.x)
    return x, of(split.y, weighs=False), of(split.weights, weighs=True)


def _older_type(array: Array, *, weighs: bool) -> np.dtype[Any]:
    """The type that older versions gave targets and weights."""
    if is_text(array.dtype):
        return array.dtype
    return np.dtype(np.float32 if weighs or array.dtype.kind == "f" else np.int32)


def _of_older_shape(y: Array) -> Array:
    """Return targets in the shape that older versions gave them: values (n, 1), and ids (n,)."""
    if y.dtype.kind == "f" and y.ndim == 1:
        return y[:, None]
    return y.reshape(-1) if y.size == len(y) and y.dtype.kind in "biu" else y


def _some_samples(split: Split, rows: Array) -> Iterator[Array]:
    arrays = flat(split.x)
    sample_bytes = max(1, sum(map(_row_bytes, arrays)))
    count = max(1, min(len(rows), LOOKED_AT_BYTES // sample_bytes))
    chosen = rows[np.linspace(0, len(rows) - 1, count).astype(np.intp)]
    for x in arrays:
        for places in _in_pieces(chosen, _row_bytes(x)):
            yield x[places]
