"""From the arrays that a file holds to samples and targets that training can use, or a sentence why not.

| in the file                         | becomes                                                      |
|-------------------------------------|--------------------------------------------------------------|
| x of bytes (uint8) that are pixels  | float32 in 0…1; (n, rows, columns) gets a channel axis       |
| x of integers, (n, length)          | int32 token ids                                              |
| any other numbers in x              | float32 as they are                                          |
| y of integers, (n,) or (n, 1)       | int32 class ids                                              |
| y of floats, (n,) or (n, 1)         | float32 values (n, 1): regression                            |
"""

from __future__ import annotations

import math

import numpy as np

from gpu_studio.plan.pixels import BRIGHTEST, are_pixels
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError

# Finite numbers are looked for in pieces of this many samples, to need no mask as large as the data.
_PIECE = 4096


def split_of(source: str, x_name: str, x: Array, y_name: str, y: Array) -> Split:
    """The samples `x` and targets `y` found in `source` under these names. Raises DataError naming what is wrong."""
    if x.ndim < 2 or y.ndim < 1 or len(x) == 0:
        raise _empty(source, x_name, x)
    if len(x) != len(y):
        raise _lengths(source, x_name, x, y_name, y)
    return Split(samples(source, x_name, x), targets(source, y_name, y))


def test_split_of(source: str, x: Array, y: Array, whole: Split) -> Split:
    """The same of the arrays x_test and y_test, which must be as those of `whole`, the training split."""
    test = split_of(source, "x_test", x, "y_test", y)
    for part, one, other in (("x", whole.x, test.x), ("y", whole.y, test.y)):
        if one.shape[1:] != other.shape[1:] or one.dtype != other.dtype:
            raise DataError(
                f"{source}: a sample of {part}_train is {_sample(one)}, but one of {part}_test is {_sample(other)}.",
                ["Prepare the training and the test samples in the same way."],
            )
    return test


def samples(source: str, name: str, x: Array) -> Array:
    """`x` as float32, or as int32 if it holds token ids."""
    if are_pixels(x.dtype.name, x.shape):
        pixels = x.astype(np.float32)
        pixels /= BRIGHTEST
        return pixels[..., None] if x.ndim == 3 else pixels
    if np.issubdtype(x.dtype, np.integer) and x.ndim == 2:
        return _ids(source, name, x)
    if not (np.issubdtype(x.dtype, np.floating) or np.issubdtype(x.dtype, np.integer) or x.dtype == np.bool_):
        raise _kind(source, name, x, "numbers")
    return _finite(source, name, x)


def targets(source: str, name: str, y: Array) -> Array:
    """`y` as int32 class ids (n,), or as float32 values (n, 1)."""
    if y.ndim > 2 or (y.ndim == 2 and y.shape[1] != 1):
        raise _one_each(source, name, y)
    if np.issubdtype(y.dtype, np.integer) or y.dtype == np.bool_:
        return _ids(source, name, y.reshape(-1))
    if not np.issubdtype(y.dtype, np.floating):
        raise _kind(source, name, y, "class ids (integers) or values (floats)")
    return _finite(source, name, y.reshape(-1, 1))


def _ids(source: str, name: str, ids: Array) -> Array:
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high > np.iinfo(np.int32).max:
        raise DataError(
            f"{source}: {name} holds {low if low < 0 else high}, but ids count from 0 and fit in 31 bits.",
            [f"Number the ids in {name} from 0 without gaps.", "Give measured values as floats, not as integers."],
        )
    return ids.astype(np.int32, copy=False)


def _finite(source: str, name: str, found: Array) -> Array:
    with np.errstate(over="ignore"):
        values = found.astype(np.float32, copy=False)
    for first in range(0, len(values), _PIECE):
        good = np.isfinite(values[first : first + _PIECE])
        if not good.all():
            sample = first + int(np.argwhere(~good)[0][0])
            raise DataError(
                f"{source}: {name} holds a value that is no finite float32 number, first in sample {sample}.",
                ["Drop the samples with missing values, or fill them in.", "Scale values that are too large."],
            )
    return values


def _empty(source: str, name: str, x: Array) -> DataError:
    return DataError(
        f"{source}: {name} has the shape {x.shape}, but samples need at least one sample and one axis besides theirs.",
        [f"Give {name} the shape (samples, features) or (samples, rows, columns, channels)."],
    )


def _lengths(source: str, x_name: str, x: Array, y_name: str, y: Array) -> DataError:
    return DataError(
        f"{source}: {x_name} has {len(x)} samples but {y_name} has {len(y)}.",
        ["Give one target for each sample, in the same order."],
    )


def _one_each(source: str, name: str, y: Array) -> DataError:
    if _are_one_hot(y):
        return DataError(
            f"{source}: {name} has the shape {y.shape}, which are one-hot labels.",
            [f"Give class ids instead: {name}.argmax(axis=1)."],
        )
    numbers, way = math.prod(y.shape[1:]), "is trained by Keras' own fit, in a script."
    return DataError(
        f"{source}: {name} has the shape {y.shape}: {numbers:,} numbers for each sample, where GPU Studio learns one "
        "class id or one value.",
        [
            f"Learn one of them: {name}[:, 0]." if y.ndim == 2 else "Give one class id or one value for each sample.",
            f"What learns all of them (an autoencoder, segmentation, several labels or steps ahead) {way}",
        ],
    )


def _are_one_hot(y: Array) -> bool:
    first = y[:_PIECE]
    return y.ndim == 2 and bool(np.isin(first, (0, 1)).all() and (first.sum(axis=1) == 1).all())


def _sample(array: Array) -> str:
    return f"{array.dtype} of shape {array.shape[1:]}"


def _kind(source: str, name: str, array: Array, wanted: str) -> DataError:
    return DataError(
        f"{source}: {name} holds {array.dtype} where {wanted} are needed.",
        [f"Convert {name} to numbers; texts can be numbered with numpy.unique(…, return_inverse=True)."],
    )
