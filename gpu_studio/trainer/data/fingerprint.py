"""How a checkpoint recognises the samples of a split without storing them."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from gpu_studio.trainer.data.values import Array, Dataset, Split

TRAINING, VALIDATION = "training_samples", "validation_samples"
"""The names under which a checkpoint keeps the digests of its splits."""
LOOKED_AT_BYTES = 1 << 24
"""At most so much of the samples is read: of larger splits some samples, evenly spaced."""


def fingerprints(dataset: Dataset) -> dict[str, str | None]:
    """Return the digests of the training and validation splits, by their names in a checkpoint."""
    return {TRAINING: fingerprint(dataset.train), VALIDATION: fingerprint(dataset.validation)}


def fingerprint(split: Split | None) -> str | None:
    """Return a hex digest of the samples in a split, in their order; None if there is no split.

    It covers the split's rows and all of its targets. Of the samples themselves it covers
    `LOOKED_AT_BYTES`. Raises DataError if they are in a file that has changed.
    """
    if split is None:
        return None
    digest = hashlib.blake2b(digest_size=16)
    digest.update(
        f"{split.x.shape[1:]} {split.x.dtype.str} {split.y.dtype.str} {split.pixels}".encode()
    )
    rows = np.arange(len(split)) if split.rows is None else split.rows
    for part in (rows, split.wanted(slice(None)), _some_samples(split, rows)):
        digest.update(part.tobytes())
    return digest.hexdigest()


def _some_samples(split: Split, rows: Array) -> Array:
    sample_bytes = math.prod(split.x.shape[1:]) * split.x.itemsize
    count = max(1, min(len(rows), LOOKED_AT_BYTES // sample_bytes))
    chosen: Array = split.x[rows[np.linspace(0, len(rows) - 1, count).astype(np.intp)]]
    return chosen
