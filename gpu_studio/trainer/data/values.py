"""The data of a run as plain arrays, ready to be batched.

Also whether they fit into memory, and how a checkpoint recognises them without storing them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import psutil
from numpy.typing import NDArray

from gpu_studio.common.figures import size
from gpu_studio.plan.data import BRIGHTEST, SCALES, are_scaled
from gpu_studio.plan.keras_objects import Task
from gpu_studio.plan.targets import Target
from gpu_studio.trainer.errors import DataError

Array = NDArray[Any]
Images = NDArray[np.float32]
_LOOKED_AT = 64
"""Samples that show between which numbers all are."""


class File(Protocol):
    """A file that arrays are mapped from while they are used."""

    def check(self) -> None:
        """Raises DataError if the file has changed."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Some of the samples of a source, with their targets.

    `x` and `y` are the source's arrays in their original types: all of its samples, held once, and
    shared by the splits that are cut from it. `rows` says which of them belong to this split; None
    means all. `seen` and `wanted` convert a few at a time into what a model is given. `file` is
    where the arrays are, if not in memory. `scale` is what the plan says about bytes.
    """

    x: Array
    y: Array
    rows: Array | None = None
    file: File | None = None
    scale: str = SCALES[0]

    def seen(self, places: Any) -> Array:
        """Return the samples at these places in the split, a NumPy index, as a model sees them.

        They are int32 token ids, else float32, pixels in 0…1. Raises DataError if they are in a
        file that was changed.
        """
        samples: Array = self.x[self._rows(places)]
        if self.pixels:
            return np.true_divide(samples, np.float32(BRIGHTEST), dtype=np.float32)
        return samples.astype(self.seen_type, copy=False)

    def wanted(self, places: Any) -> Array:
        """Return the targets at these places for a loss.

        They keep their shape: int32 where they are whole numbers, float32 where they are floats.
        """
        targets: Array = self.y[self._rows(places)]
        return targets.astype(self.wanted_type, copy=False)

    def _rows(self, places: Any) -> Any:
        if self.file is not None:
            self.file.check()
        return places if self.rows is None else self.rows[places]

    @property
    def pixels(self) -> bool:
        """Whether the samples are bytes, mostly of pictures, which a model sees divided by 255."""
        return are_scaled(self.x.dtype.name, self.x.shape, self.scale)

    @property
    def ids(self) -> bool:
        """Whether a sample is a row of token ids rather than of measured values."""
        return are_ids(self.x) and not self.pixels

    @property
    def seen_type(self) -> np.dtype[Any]:
        """The type of the numbers that a model sees."""
        return np.dtype(np.int32 if self.ids else np.float32)

    @property
    def wanted_type(self) -> np.dtype[Any]:
        """The type of the targets that a loss takes."""
        return np.dtype(np.float32 if np.issubdtype(self.y.dtype, np.floating) else np.int32)

    @property
    def seen_bytes(self) -> int:
        """The bytes that all samples would take as a model sees them."""
        return len(self) * math.prod(self.x.shape[1:]) * self.seen_type.itemsize

    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that a model sees in the first samples."""
        first = self.seen(slice(_LOOKED_AT))
        return float(first.min()), float(first.max())

    def __len__(self) -> int:
        return len(self.x if self.rows is None else self.rows)


def are_ids(x: Array) -> bool:
    """Whether samples are rows of token ids.

    Whole numbers, and one axis besides the samples' own.
    """
    return is_whole(x) and x.ndim == 2


def is_whole(array: Array) -> bool:
    """Return whether the array holds integers.

    Spans of time (timedelta64) do not count, unlike in NumPy.
    """
    return array.dtype.kind in "iu"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedData:
    """Samples to train on, perhaps further splits of the data's own, and each sample's group (n,).

    `class_names` is empty where the classes have no names. `arrays` are the names of the arrays
    used, in the file or in what the function returns.
    """

    train: Split
    validation: Split | None = None
    test: Split | None = None
    groups: Array | None = None
    class_names: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()

    def with_all(self, **changes: Any) -> LoadedData:
        """Return a copy with these changes of every split."""
        validation, test = (
            each and replace(each, **changes) for each in (self.validation, self.test)
        )
        return replace(self, train=replace(self.train, **changes), validation=validation, test=test)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Everything that a run trains, validates and tests on. A split that the plan omits is None.

    `target` says what is to be learnt of a sample. `class_names` are the classes'
    names, empty where they have none. `notes` are sentences that the user
    should know about the splits. `arrays` are the names of the arrays used, in the file or in what
    the function returns.
    """

    name: str
    train: Split
    validation: Split | None
    test: Split | None
    target: Target
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """The shape of one sample, without the samples' axis."""
        return tuple(int(size) for size in self.train.x.shape[1:])

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that exist: training first, then validation and test."""
        return tuple(
            split for split in (self.train, self.validation, self.test) if split is not None
        )

    @property
    def tokens(self) -> bool:
        """Whether a sample is a row of token ids rather than of measured values."""
        return self.train.ids

    def check(self) -> None:
        """Raises DataError if samples are in a file that has changed."""
        for split in self.splits:
            if split.file is not None:
                split.file.check()

    @property
    def bytes(self) -> int:
        """The bytes of the arrays as they are held; arrays that splits share count once."""
        held = {id(array): array.nbytes for split in self.splits for array in (split.x, split.y)}
        return sum(held.values())

    @property
    def largest_token(self) -> int:
        """The largest token id of all splits."""
        return max(int(split.x.max()) for split in self.splits)

    @property
    def task(self) -> Task:
        """Whether classes are learnt or values."""
        return self.target.task

    @property
    def classes(self) -> int | None:
        """How many classes there are; None for values."""
        return self.target.classes

    @property
    def outputs(self) -> int:
        """The number of units that the last layer of a model for these data has."""
        return self.target.outputs


def free_bytes() -> int:
    """Return the host memory that is free now, or can be freed without writing anything out."""
    return int(psutil.virtual_memory().available)


def check_memory(what: str, needed: int, free: int, advice: Sequence[str]) -> None:
    """Raises DataError with both figures if `what`, a plural, takes more than `free` bytes."""
    if needed > free:
        raise DataError(f"{what} take {size(needed)}, but {size(free)} of memory are free.", advice)


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


_PIECE = 1 << 20
"""Numbers that are looked at together."""


def target_of(splits: Sequence[Split | None], classes: int | None = None) -> Target:
    """Return what is learnt of a sample, by all targets of these splits.

    `classes` is the number that the data themselves state.
    """
    held = {id(split.y): split.y for split in splits if split is not None}
    arrays = list(held.values())
    first = arrays[0]
    ids = _ids(arrays)
    return Target(
        shape=tuple(int(size) for size in first.shape[1:]),
        measured=first.dtype.kind == "f",
        ids=ids if ids is None else max(ids, classes or 0),
        one_hot=ids == 2 and _one_hot(arrays),
    )


def strata_of(y: Array, target: Target) -> Array:
    """Return the class of each sample, where the targets say one."""
    found: Array = y.argmax(axis=-1) if target.one_hot else y.reshape(-1)
    return found.astype(np.int32, copy=False)


def _ids(arrays: Iterable[Array]) -> int | None:
    largest = 0
    for piece in _pieces(arrays):
        if piece.dtype.kind == "f" and not np.array_equal(piece, np.rint(piece)):
            return None
        if piece.min() < 0 or piece.max() > np.iinfo(np.int32).max:
            return None
        largest = max(largest, int(piece.max()))
    return largest + 1


def _one_hot(arrays: Sequence[Array]) -> bool:
    if arrays[0].ndim < 2 or arrays[0].shape[-1] < 2:
        return False
    return all(bool((piece.sum(axis=-1) == 1).all()) for piece in _pieces(arrays))


def _pieces(arrays: Iterable[Array]) -> Iterator[Array]:
    for array in arrays:
        rows = max(1, _PIECE // max(1, math.prod(array.shape[1:])))
        for first in range(0, len(array), rows):
            yield array[first : first + rows]
