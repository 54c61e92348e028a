"""Turn named arrays into splits of samples and targets, and get such arrays from a function.

The arrays come from the user's file or from a Python function of the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.plan.data import are_pixels, further_arrays
from gpu_studio.trainer.data.values import Array, LoadedData, Split, are_ids, is_whole
from gpu_studio.trainer.errors import DataError, UserCodeError
from gpu_studio.trainer.user_code import UserFunction, give
from gpu_studio.trainer.user_code.telling import kind_in_words

# Arrays are checked in pieces of about this many numbers, so that no check makes a copy as
# large as its array.
_PIECE = 1 << 20


def split_of(source: str, x_name: str, x: Array, y_name: str, y: Array) -> Split:
    """Return the samples `x` and targets `y` of `source` under these names. Raises DataError."""
    if x.ndim < 2 or y.ndim < 1 or x.size == 0:
        raise _empty(source, x_name, x)
    if len(x) != len(y):
        raise _lengths(source, x_name, x, y_name, y)
    if y.size == 0:
        raise _nothing_to_learn(source, y_name, y)
    return Split(samples(source, x_name, x), targets(source, y_name, y))


def further_split_of(
    source: str, names: tuple[str, str], x: Array, y: Array, whole: Split
) -> Split:
    """Return a further split, whose arrays must match those of `whole`."""
    further = split_of(source, names[0], x, names[1], y)
    for name, one, other in zip(names, _given(whole), _given(further), strict=True):
        if one != other:
            raise DataError(
                f"{source}: a sample of {name[0]}_train is {one}, but one of {name} is {other}.",
                ["Prepare the samples of all splits in the same way."],
            )
    return further


def groups_of(source: str, name: str, groups: Array, whole: Split) -> Array:
    """The group of each sample of `whole`: a number or a text.

    Raises DataError where there is not one for each.
    """
    if groups.shape not in ((len(whole),), (len(whole), 1)) or groups.dtype.kind not in "biufSU":
        raise DataError(
            f"{source}: {name} is {groups.dtype} of shape {groups.shape}, but there must be one "
            f"group for each of the {len(whole):,} samples.",
            [
                (
                    f"Give {name} the shape ({len(whole)},): a number or a text, the same for all "
                    "samples of one group."
                )
            ],
        )
    flat: Array = groups.reshape(-1)
    if flat.dtype.kind == "f" and len(unknown := np.flatnonzero(np.isnan(flat))):
        raise DataError(
            f"{source}: {name} is nan for {len(unknown):,} samples, first for sample {unknown[0]}. "
            "They may belong to any group, and that group would be in two splits.",
            ["Drop these samples, or give each a group of its own."],
        )
    return flat


def _given(split: Split) -> tuple[str, str]:
    """Say in words what the data hold for a sample and its target."""
    shapes = split.x.shape[1:], split.y.shape[1:]
    bytes_ = " (bytes of pictures)" if are_pixels(split.x.dtype.name, split.x.shape) else ""
    return (
        f"{split.seen_type} of shape {shapes[0]}{bytes_}",
        f"{split.wanted_type} of shape {shapes[1]}",
    )


def samples(source: str, name: str, x: Array) -> Array:
    """Return `x`; grey pictures get an axis for their one channel."""
    if are_ids(x):
        return _ids(source, name, x)
    if are_pixels(x.dtype.name, x.shape):
        return x[..., None] if x.ndim == 3 else x
    if not (np.issubdtype(x.dtype, np.floating) or is_whole(x) or x.dtype == np.bool_):
        raise _kind(source, name, x, "numbers")
    return _finite(source, name, x)


def targets(source: str, name: str, y: Array) -> Array:
    """Return `y` in its own shape; but a single id is a number (n,), and a single value (n, 1)."""
    if is_whole(y) or y.dtype == np.bool_:
        return _ids(source, name, y.reshape(-1) if y.size == len(y) else y)
    if not np.issubdtype(y.dtype, np.floating):
        raise _kind(source, name, y, "class ids (integers) or values (floats)")
    return _finite(source, name, y.reshape(-1, 1) if y.ndim == 1 else y)


def _ids(source: str, name: str, ids: Array) -> Array:
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high > np.iinfo(np.int32).max:
        raise DataError(
            f"{source}: {name} holds {low if low < 0 else high}, but ids "
            "count from 0 and fit in 31 bits.",
            [
                f"Number the ids in {name} from 0 without gaps.",
                "Give measured values as floats, not as integers.",
            ],
        )
    return ids


def _finite(source: str, name: str, found: Array) -> Array:
    """Return `found` if all of its numbers are finite, also as a model's float32."""
    rows = max(1, _PIECE // max(1, math.prod(found.shape[1:])))
    for first in range(0, len(found) if np.issubdtype(found.dtype, np.floating) else 0, rows):
        with np.errstate(over="ignore"):
            good = np.isfinite(found[first : first + rows].astype(np.float32, copy=False))
        if not good.all():
            sample = first + int(np.argwhere(~good)[0][0])
            raise DataError(
                f"{source}: {name} holds a value that is no finite float32 "
                f"number, first in sample {sample}.",
                [
                    "Drop the samples with missing values, or fill them in.",
                    "Scale values that are too large.",
                ],
            )
    return found


def _empty(source: str, name: str, x: Array) -> DataError:
    return DataError(
        f"{source}: {name} has the shape {x.shape}, but samples need at least one sample and one "
        "axis besides theirs.",
        [f"Give {name} the shape (samples, features) or (samples, rows, columns, channels)."],
    )


def _nothing_to_learn(source: str, name: str, y: Array) -> DataError:
    return DataError(
        f"{source}: {name} has the shape {y.shape}, so that there is nothing to learn of a sample.",
        [f"Give {name} one number for each sample or more."],
    )


def _lengths(source: str, x_name: str, x: Array, y_name: str, y: Array) -> DataError:
    return DataError(
        f"{source}: {x_name} has {len(x)} samples but {y_name} has {len(y)}.",
        ["Give one target for each sample, in the same order."],
    )


def _kind(source: str, name: str, array: Array, wanted: str) -> DataError:
    return DataError(
        f"{source}: {name} holds {array.dtype} where {wanted} are needed.",
        [
            (
                f"Convert {name} to numbers; texts can be numbered with numpy.unique(…, "
                "return_inverse=True)."
            )
        ],
    )


NAMES = (
    "x_train and y_train, or x and y (with x_val and y_val, x_test and "
    "y_test if there are such splits)"
)
_WHOLE = (("x_train", "y_train"), ("x", "y"))


def wanted_names(there: Collection[str], groups: str | None = None) -> tuple[str, ...] | None:
    """Choose the arrays to read, samples before their targets; None if they make no data.

    `groups` is the name of the array with the group of each sample, if the plan splits by it.
    """
    wholes = [pair for pair in _WHOLE if set(pair) & set(there)]
    names = tuple(name for pair in (*wholes, *further_arrays(there).values()) for name in pair)
    if len(wholes) != 1 or not set(names) <= set(there):
        return None
    return (*names, groups) if groups is not None else names


def source_of(source: str, arrays: Mapping[str, Array], groups: str | None = None) -> LoadedData:
    """Build the source from the arrays that `wanted_names` chose.

    Raises DataError where they do not go together.
    """
    x, y = next(pair for pair in _WHOLE if pair[0] in arrays)
    whole = split_of(source, x, arrays[x], y, arrays[y])
    further = {
        part: further_split_of(source, names, arrays[names[0]], arrays[names[1]], whole)
        for part, names in further_arrays(arrays).items()
    }
    of_each = groups_of(source, groups, arrays[groups], whole) if groups is not None else None
    return LoadedData(whole, further.get("val"), further.get("test"), of_each, arrays=tuple(arrays))


def no_groups(source: str, there: Collection[str], groups: str) -> DataError:
    """The error for data without the array that the plan splits by."""
    return DataError(
        f'data.split is "grouped", but {source} has no array {groups}. It has '
        f"{', '.join(sorted(there))}.",
        [
            f"Give the group of each sample in an array {groups}: a number or a text.",
            "Name another array in data.groups.",
            'Or set data.split to "random".',
        ],
    )


_HOW = (
    "Let it return (x, y), or ((x_train, y_train), (x_test, y_test)), or a dictionary with the "
    "names that arrays have in an .npz file: arrays of numbers."
)
_PAIRS = {2: ("train", "test"), 3: ("train", "val", "test")}


def python_data(
    text: str, options: Mapping[str, Any], seed: int, base: Path, groups: str | None = None
) -> tuple[str, LoadedData]:
    """Call the function `text` (`data.py:load`).

    Return its name, its samples, and its splits if any.

    The function is called with `options`, and with `seed` if its signature names that. It returns
    `(x, y)`, a pair for each of training and testing, or one for each of training, validation and
    testing; or all of that under the names that arrays have in an `.npz` file. Each value must be
    what NumPy turns into an array of numbers. Raises UserCodeError for whatever goes wrong in the
    function, and DataError for arrays that do not match.
    """
    function, found = give("data", text, options, {"seed": seed}, base)
    named = found if isinstance(found, Mapping) else _named(function, found)
    names = wanted_names([name for name in named if isinstance(name, str)], groups)
    if names is None:
        raise _not_samples(function, found)
    if groups is not None and groups not in named:
        raise no_groups(function.name, [str(name) for name in named], groups)
    arrays = {name: _array(function, name, named[name]) for name in names}
    return function.name, source_of(function.name, arrays, groups)


def _named(function: UserFunction, found: Any) -> dict[str, Any]:
    """Give a function's unnamed results the names that they would have in a file."""
    if _is_pair(found) and not any(isinstance(part, tuple) and _is_pair(part) for part in found):
        _refuse_several(function, *found)
        return {"x": found[0], "y": found[1]}
    if not isinstance(found, tuple | list) or len(found) not in _PAIRS:
        raise _not_samples(function, found)
    if len(found) == 2:
        _refuse_several(function, *found)
    named: dict[str, Any] = {}
    for part, pair in zip(_PAIRS[len(found)], found, strict=True):
        if not _is_pair(pair):
            raise _not_samples(function, pair if len(found) == 2 else found)
        named |= {f"x_{part}": pair[0], f"y_{part}": pair[1]}
    return named


def _is_pair(part: Any) -> bool:
    return isinstance(part, tuple | list) and len(part) == 2


def _not_samples(function: UserFunction, found: Any) -> UserCodeError:
    return UserCodeError(
        f"{function.name} returned {_shape_in_words(found)} where samples and targets are needed.",
        [_HOW, f"It begins in line {function.line} of {function.file}."],
    )


def _refuse_several(function: UserFunction, x: Any, y: Any) -> None:
    """Raises UserCodeError for several inputs or targets per sample: training takes one."""
    for what, part, other in (("inputs", x, y), ("targets", y, x)):
        if isinstance(part, Mapping) or _are_several(part, other):
            many = f"{what} by name" if isinstance(part, Mapping) else f"{len(part)} {what}"
            joined = (
                "If they have one shape, join them: numpy.stack(…, axis=-1), "
                "taken apart again in the model."
            )
            raise UserCodeError(
                f"{function.name} returned {many} for each sample, and GPU "
                "Studio trains models with one.",
                [
                    joined
                    if what == "inputs"
                    else "Join them to one array, which may have any shape.",
                    f"A model with several {what} is trained by Keras' own fit, in a script.",
                    _HOW,
                ],
            )


def _are_several(part: Any, other: Any) -> bool:
    """Return whether a tuple or list holds arrays rather than samples.

    Each of those is as long as `other`, which belongs to it.
    """
    if not isinstance(part, tuple | list) or len(part) < 2:
        return False
    return {_length(each) for each in part} == {_length(other)} != {len(part)}


def _length(value: Any) -> int | None:
    try:
        return len(value)
    except TypeError:
        return None


def _shape_in_words(found: Any) -> str:
    many = f" of {len(found)}" if isinstance(found, tuple | list) else ""
    return f"{kind_in_words(found)}{many}"


def _array(function: UserFunction, name: str, value: Any) -> Array:
    array: Array = function.guarded(lambda: np.asarray(value))
    if array.dtype.hasobject and all(isinstance(each, str) for each in array.flat):
        return array.astype(str)  # as in a column of texts in pandas
    if array.dtype.hasobject:
        raise DataError(
            f"{function.name}: {name} holds Python objects ({kind_in_words(value)}) "
            "where numbers are needed.",
            [f"Convert {name}: one array of numbers, all samples of one shape."],
        )
    return array
