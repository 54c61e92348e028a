"""The data of a run as plain arrays, ready to be batched.

Also whether they fit into memory, and how a checkpoint recognises them without storing them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpu_studio.plan import Target
from gpu_studio.plan.data import BRIGHTEST, SCALES, are_scaled, are_seen_as_floats
from gpu_studio.plan.keras_objects import Task
from gpu_studio.plan.targets import mostly_absent
from gpu_studio.trainer.data.lacking import Lacking
from gpu_studio.trainer.data.trees import Path, called, flat, is_nested, leaves, mapped, packed

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
    """Some of the samples of a source, with their targets and, if it has any, their weights.

    `x`, `y` and `weights` are structures of the source's arrays in their original types (see
    `trees`): all of its samples, held once, and shared by the splits that are cut from it. Without
    targets or weights, `y` or `weights` is `()`. `rows` says which of them belong to this split;
    None means all. `seen`, `wanted` and `weighted` convert a few at a time into what a step is
    given: as `fit` gives it, which keeps all types but those of floats. `file` is where the arrays
    are, if not in memory. `scale` is what the plan says about bytes, `measured` is as in
    `plan.data.are_seen_as_floats`, and rows of whole numbers that are `signed` are no ids. Where
    samples come in a `stream`, the arrays are only the first of it. Of a `streamed` split no more
    than a few batches are to be in memory at once. `lacking` says which arrays of its source's
    samples hold values that are no finite numbers.
    """

    x: Any
    y: Any
    rows: Array | None = None
    file: File | None = None
    scale: str = SCALES[0]
    weights: Any = ()
    stream: Any = None
    measured: bool = True
    signed: bool = False
    streamed: bool = False
    lacking: tuple[Lacking, ...] = ()

    @property
    def size(self) -> int | None:
        """How many samples each batch of its stream has, if that is known before they come."""
        found: int | None = None if self.stream is None else self.stream.size
        return found

    def seen(self, places: Any) -> Any:
        """Return the samples at these places in the split, a NumPy index, as a model sees them.

        Raises DataError if their file changed.
        """
        rows = self._rows(places)
        return mapped(lambda x: self._as_seen(x[rows], x), self.x)

    def wanted(self, places: Any) -> Any:
        """Return the targets at these places for a loss, in their own shape."""
        return self._given(self.y, places)

    def weighted(self, places: Any) -> Any:
        """Return how much each of these samples counts in a loss."""
        return self._given(self.weights, places)

    def given(self, places: Any) -> tuple[Any, Any, Any]:
        """Return samples, targets and weights at these places, as a step is given them."""
        return self.seen(places), self.wanted(places), self.weighted(places)

    def leaf(self, number: int, rows: Any) -> Array:
        """Return one of the `arrays` as a step is given it, at these rows of the source."""
        array = self.arrays[number]
        if number < len(flat(self.x)):
            return self._as_seen(array[rows], array)
        given: Array = array[rows].astype(self._given_type(array), copy=False)
        return given

    def is_scaled(self, number: int) -> bool:
        """Whether one of the `arrays` holds bytes that a model sees divided by 255."""
        return number < len(flat(self.x)) and _are_pixels(self.arrays[number], self.scale)

    def blame(self, error: BaseException) -> None:
        """Raises DataError if `error`, of a step, came from these data."""
        for each in (self.stream, *self.arrays):
            if hasattr(each, "blame"):
                each.blame(error)

    def _given(self, tree: Any, places: Any) -> Any:
        rows = self._rows(places)
        return mapped(lambda each: each[rows].astype(self._given_type(each), copy=False), tree)

    def _rows(self, places: Any) -> Any:
        if self.file is not None:
            self.file.check()
        return places if self.rows is None else self.rows[places]

    @property
    def arrays(self) -> list[Array]:
        """All arrays: samples, targets, weights."""
        return flat((self.x, self.y, self.weights))

    @property
    def pixels(self) -> bool:
        """Whether the samples are bytes, mostly of pictures, which a model sees divided by 255."""
        return any(_are_pixels(x, self.scale) for x in flat(self.x))

    @property
    def ids(self) -> bool:
        """Whether a sample is a row of token ids rather than of measured values."""
        rows = not is_nested(self.x) and are_ids(self.x)
        return rows and not self.signed and not self.pixels

    @property
    def seen_type(self) -> Any:
        """The type of the numbers that a model sees, of each array in `x`."""
        return mapped(self._seen_type, self.x)

    @property
    def wanted_type(self) -> Any:
        """The type of the targets that a loss takes, of each array in `y`."""
        return mapped(self._given_type, self.y)

    @property
    def weighted_type(self) -> Any:
        """The type of the weights, of each array in `weights`."""
        return mapped(self._given_type, self.weights)

    @property
    def seen_bytes(self) -> int:
        """The bytes that all samples would take as a model sees them."""
        sizes = (math.prod(x.shape[1:]) * self._seen_type(x).itemsize for x in flat(self.x))
        return len(self) * int(sum(sizes))

    def _seen_type(self, x: Array) -> np.dtype[Any]:
        alone = self.measured and not is_nested(self.x)
        floats = are_seen_as_floats(x.dtype.name, x.shape, self.scale, measured=alone)
        return np.dtype(np.float32) if floats and self.stream is None else _native(x)

    def _given_type(self, array: Array) -> np.dtype[Any]:
        """The type in which `fit` gives an array: of arrays, but of no stream, it casts floats."""
        cast = self.stream is None and array.dtype.kind == "f"
        return np.dtype(np.float32) if cast else _native(array)

    def _as_seen(self, samples: Array, whole: Array) -> Array:
        """Return samples of the array `whole` as a model sees them."""
        if _are_pixels(whole, self.scale):
            scaled: Array = np.true_divide(samples, np.float32(BRIGHTEST), dtype=np.float32)
            return scaled
        return samples.astype(self._seen_type(whole), copy=False)

    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that a model sees in the first samples."""
        seen = [x for x in flat(self.seen(slice(_LOOKED_AT))) if x.dtype.kind in "biuf"]
        first = [x for x in (each[np.isfinite(each)] for each in seen) if x.size]
        if not first:
            return 0.0, 0.0
        return float(min(x.min() for x in first)), float(max(x.max() for x in first))

    def __len__(self) -> int:
        return len(flat(self.x)[0] if self.rows is None else self.rows)


def _native(array: Array) -> np.dtype[Any]:
    """The array's type in the order of bytes that TensorFlow takes."""
    return array.dtype.newbyteorder("=")


def _are_pixels(x: Array, scale: str) -> bool:
    return are_scaled(x.dtype.name, x.shape, scale)


def are_ids(x: Array) -> bool:
    """Whether samples are rows of token ids.

    Whole numbers, and one axis besides the samples' own.
    """
    return is_whole(x) and x.ndim == 2


def is_text(kind: np.dtype[Any]) -> bool:
    """Return whether an array of this type holds texts."""
    return kind.kind in "SU"


def type_name(kind: Any) -> str:
    """Return what TensorFlow and Keras call the type of an array, or of a tensor."""
    text = isinstance(kind, np.dtype) and is_text(kind)
    return "string" if text else str(kind.name)


def is_whole(array: Array) -> bool:
    """Return whether the array holds integers. Unlike in NumPy, spans of time do not count."""
    return array.dtype.kind in "iu"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedData:
    """Samples to train on, perhaps further splits of the data's own, and each sample's group (n,).

    `class_names` is empty where the classes have no names. `arrays` are the names of the arrays
    used, in the file or in what the function returns. `notes` say how the data were read where that
    may surprise. `fit` is as in `Dataset`.
    """

    train: Split
    validation: Split | None = None
    test: Split | None = None
    groups: Array | None = None
    class_names: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)

    def with_all(self, **changes: Any) -> LoadedData:
        """Return a copy with these changes of every split."""
        validation, test = (
            each and replace(each, **changes) for each in (self.validation, self.test)
        )
        return replace(self, train=replace(self.train, **changes), validation=validation, test=test)


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Everything that a run trains, validates and tests on. A split that the plan omits is None.

    `target` says what is to be learnt of a sample; of several targets it is a structure of them,
    and `()` of none. `class_names` is empty where classes have no names. `notes` are sentences that
    the user should know about the splits. `arrays` names those used, in the file or in the result.
    `fit` is what the `fit` of a script gets beside them of what a plan has by the same names.
    """

    name: str
    train: Split
    validation: Split | None
    test: Split | None
    target: Any
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sample_shape(self) -> Any:
        """The shape of one sample, without the samples' axis; of each array of a structure."""
        return mapped(lambda x: tuple(int(size) for size in x.shape[1:]), self.train.x)

    @property
    def nested(self) -> bool:
        """Whether a sample has several inputs or targets, no targets, or a weight."""
        return any(map(is_nested, (self.train.x, self.train.y))) or bool(flat(self.train.weights))

    @property
    def targets(self) -> list[tuple[Path, Target]]:
        """Each target with its path."""
        return list(leaves(self.target))

    def of_target(self, path: Path) -> Dataset:
        """Return these data with the target at this path only."""
        chosen: dict[str, Any] = {}

        def alone(split: Split) -> Split:
            return replace(split, y=dict(leaves(split.y))[path], weights=())

        for name in ("train", "validation", "test"):
            split = getattr(self, name)
            chosen[name] = split and alone(split)
        name = called("y", path) if path else ""
        return replace(
            self,
            name=f"{self.name} ({name})" if name else self.name,
            target=dict(self.targets)[path],
            class_names=self.class_names if not path else (),
            **chosen,
        )

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
        held = {id(array): array.nbytes for split in self.splits for array in split.arrays}
        return sum(held.values())

    @property
    def largest_token(self) -> int:
        """The largest token id of all splits."""
        return max(int(x.max()) for split in self.splits for x in flat(split.x))

    @property
    def task(self) -> Task:
        """Whether classes are learnt or values."""
        task: Task = "values" if is_nested(self.target) else self.target.task
        return task

    @property
    def classes(self) -> Any:
        """How many classes there are, of each target; None for values."""
        return mapped(lambda target: target.classes, self.target)

    @property
    def outputs(self) -> Any:
        """The number of units that the last layer of a model for these data has, of each target."""
        return mapped(lambda target: target.outputs, self.target)


def samples_in(split: Split | None) -> int | None:
    """Return how many samples a split has, None if only reading all of it could tell."""
    if split is None:
        return 0
    stream = split.stream
    if stream is None:
        return len(split)
    length: int | None = None if stream.batched else stream.length
    return length


_PIECE = 1 << 20  # numbers that are looked at together


def target_of(splits: Sequence[Split | None], classes: int | None = None) -> Any:
    """Return what is learnt of a sample, by all targets of these splits: of each, in a structure.

    `classes` is the number that the data themselves state.
    """
    there = [split for split in splits if split is not None]
    together = zip(*(flat(split.y) for split in there), strict=True)
    whole = classes is None and there[0].stream is None
    return packed(there[0].y, [_target(list(arrays), classes, whole) for arrays in together])


def _target(given: Sequence[Array], classes: int | None, whole: bool) -> Target:
    """Return what these arrays hold. If they are not the `whole` data, none of it is `sparse`."""
    arrays = list({id(array): array for array in given}.values())
    first = arrays[0]
    ids, measured = _ids(arrays), first.dtype.kind == "f"
    lowest, highest = _range(arrays, ids)
    one_each = whole and not measured and first.shape[1:] in ((), (1,))
    return Target(
        shape=tuple(int(size) for size in first.shape[1:]),
        measured=measured,
        ids=ids if ids is None else max(ids, classes or 0),
        one_hot=ids == 2 and _one_hot(arrays),
        sparse=one_each and ids is not None and _sparse(arrays, ids),
        lowest=lowest,
        highest=highest,
        missing=_missing(arrays) if measured and ids is None else None,
    )


def _missing(arrays: Sequence[Array]) -> int | None:
    """Return the place of the first sample with a value that is not a number."""
    for array in arrays:
        first = 0
        for piece in _pieces([array]):
            lacking = np.isnan(piece)
            if lacking.any():
                return first + int(np.argwhere(lacking)[0][0])
            first += len(piece)
    return None


def _range(arrays: Sequence[Array], ids: int | None) -> tuple[float, float]:
    """Return the least and the greatest number: of ids the greatest of all, else as far as seen."""
    seen = [next(_pieces([each])) for each in arrays if each.size]
    seen = [each[~np.isnan(each)] if each.dtype.kind == "f" else each for each in seen]
    seen = [each for each in seen if each.size]
    if not seen:
        return 0.0, 0.0
    highest = max(float(each.max()) for each in seen) if ids is None else ids - 1.0
    return min(float(each.min()) for each in seen), highest


def _sparse(arrays: Sequence[Array], ids: int) -> bool:
    """Whether these ids are `mostly_absent`. Takes at most 2 bytes of memory a sample."""
    most = sum(map(len, arrays))
    if not mostly_absent(ids, 0) or mostly_absent(ids, most):
        return mostly_absent(ids, most)
    occurs = np.zeros(ids, np.bool_)
    for piece in _pieces(arrays):
        occurs[piece.reshape(-1)] = True
    return mostly_absent(ids, int(np.count_nonzero(occurs)))


def strata_of(y: Array, target: Target) -> Array:
    """Return the class of each sample, where the targets say one."""
    found: Array = y.argmax(axis=-1) if target.one_hot else y.reshape(-1)
    return found.astype(np.int32, copy=False)


def _ids(arrays: Iterable[Array]) -> int | None:
    largest = 0
    for piece in _pieces(arrays):
        if piece.dtype.kind == "f" and not np.array_equal(piece, np.rint(piece)):
            return None
        if piece.min() < 0 or float(piece.max()) > np.iinfo(np.int32).max:
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
