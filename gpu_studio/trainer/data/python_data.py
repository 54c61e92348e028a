"""Data that a function of the user's own loads or makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.trainer.data.arrays import split_of, test_split_of
from gpu_studio.trainer.data.values import Array, Split
from gpu_studio.trainer.errors import DataError, UserCodeError
from gpu_studio.trainer.user_code import Function, give
from gpu_studio.trainer.user_code.telling import kind_in_words

_HOW = "Let it return (x, y), or ((x_train, y_train), (x_test, y_test)): arrays of numbers."


def python_data(text: str, options: Mapping[str, Any], seed: int, base: Path) -> tuple[str, tuple[Split, Split | None]]:
    """What the function `text` (`data.py:load`) is called, and the samples that it returns, with its test split if any.

    The function is called with `options`, and with `seed` if it names that. It returns `(x, y)` or
    `((x, y), (x_test, y_test))`, each what NumPy makes an array of numbers of. Raises UserCodeError for whatever goes
    wrong in it, and DataError for arrays that do not go together.
    """
    function, found = give("data", text, options, {"seed": seed}, base)
    pair = _pair(function, found)
    _refuse_several(function, *pair)
    if not any(isinstance(part, tuple) and len(part) == 2 for part in pair):
        return function.name, (_split(function, ("x", "y"), pair), None)
    train, test = (_pair(function, part) for part in pair)
    whole = _split(function, ("x_train", "y_train"), train)
    return function.name, (whole, test_split_of(function.name, *_arrays(function, ("x_test", "y_test"), test), whole))


def _pair(function: Function, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise UserCodeError(
            f"{function.name} returned {_shape_in_words(found)} where samples and targets are needed.",
            [_HOW, f"It begins in line {function.line} of {function.file}."],
        )
    return found[0], found[1]


def _refuse_several(function: Function, x: Any, y: Any) -> None:
    """Raises UserCodeError for several inputs or targets of each sample, of which training takes one."""
    for what, part, other in (("inputs", x, y), ("targets", y, x)):
        if isinstance(part, Mapping) or _are_several(part, other):
            many = f"{what} by name" if isinstance(part, Mapping) else f"{len(part)} {what}"
            joined = "If they have one shape, join them: numpy.stack(…, axis=-1), taken apart again in the model."
            raise UserCodeError(
                f"{function.name} returned {many} for each sample, and GPU Studio trains models with one.",
                [
                    joined if what == "inputs" else "Give one class id or one value for each sample.",
                    f"A model with several {what} is trained by Keras' own fit, in a script.",
                    _HOW,
                ],
            )


def _are_several(part: Any, other: Any) -> bool:
    """Whether a tuple or list is not of samples but of arrays, each as long as `other`, which belongs to it."""
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


def _split(function: Function, names: tuple[str, str], pair: tuple[Any, Any]) -> Split:
    x, y = _arrays(function, names, pair)
    return split_of(function.name, names[0], x, names[1], y)


def _arrays(function: Function, names: tuple[str, str], pair: tuple[Any, Any]) -> tuple[Array, Array]:
    x, y = (_array(function, name, value) for name, value in zip(names, pair, strict=True))
    return x, y


def _array(function: Function, name: str, value: Any) -> Array:
    array: Array = function.guarded(lambda: np.asarray(value))
    if array.dtype.hasobject:
        raise DataError(
            f"{function.name}: {name} holds Python objects ({kind_in_words(value)}) where numbers are needed.",
            [f"Convert {name}: one array of numbers, all samples of one shape."],
        )
    return array
