"""Data that a function of the user's own loads or creates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.trainer.data.arrays import no_groups, source_of, wanted_names
from gpu_studio.trainer.data.values import Array, LoadedData
from gpu_studio.trainer.errors import DataError, UserCodeError
from gpu_studio.trainer.user_code import UserFunction, give
from gpu_studio.trainer.user_code.telling import kind_in_words

_HOW = (
    "Let it return (x, y), or ((x_train, y_train), (x_test, y_test)), or "
    "a dictionary with the names that "
    "arrays have in an .npz file: arrays of numbers."
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
                    else "Give one class id or one value for each sample.",
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
