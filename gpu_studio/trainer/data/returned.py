"""Read what a Python function of the user's own returns as data: arrays, or structures of them."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpu_studio.plan.data import VALIDATION_NAMES
from gpu_studio.trainer.data.arrays import WEIGHTS, no_groups, source_of, wanted_names
from gpu_studio.trainer.data.trees import called
from gpu_studio.trainer.data.values import Array, LoadedData, Split
from gpu_studio.trainer.errors import DataError, UserCodeError
from gpu_studio.trainer.user_code import UserFunction, give
from gpu_studio.trainer.user_code.stream_kinds import SPLITS, is_stream
from gpu_studio.trainer.user_code.telling import kind_in_words

_HOW = (
    "Let it return (x, y), or ((x_train, y_train), (x_test, y_test)), or a dictionary with the "
    "names that arrays have in an .npz file: arrays of numbers. Of several inputs or targets, x or "
    "y is a dictionary or a tuple of arrays."
)
_NOT_INPUTS = ("x", "y", "sample", "target", "train", "test", "val")
"""How names begin that are, or may be meant as, those of arrays in an .npz file."""
_NAMES = {
    "train": "training",
    "training": "training",
    **dict.fromkeys(VALIDATION_NAMES, "validation"),
    "test": "test",
}
_PAIRS = {2: ("train", "test"), 3: ("train", "val", "test")}


def python_data(
    text: str, options: Mapping[str, Any], seed: int, base: Path, groups: str | None = None
) -> tuple[str, LoadedData]:
    """Call the function `text` (`data.py:load`).

    Return its name, its samples, and its splits if any.

    The function is called with `options`, and with `seed` if its signature names that. It returns
    `(x, y)` or `(x, y, sample_weight)`, a pair for each of training and testing, or one for each of
    training, validation and testing; or all of that under the names that arrays have in an `.npz`
    file; or an array `x`, or a dictionary of inputs, alone. Each value must be what NumPy turns
    into an array, or a dictionary, a tuple or a list of such: one for each input, or target. `y`
    may be None where a model needs no targets. Or it returns streams: one to train on, two of which
    the second validates, or three of which the last tests. Raises UserCodeError for whatever goes
    wrong in the function, and DataError for arrays that do not match.
    """
    _seed(seed)
    function, found = give("data", text, options, {"seed": seed}, base)
    streams = _streams_in(function, found)
    if streams is not None:
        # Only here is TensorFlow needed, and whoever returned a stream has mostly imported it.
        from gpu_studio.trainer.data.python_streams import streams_of

        read = _streamed(streams_of(function, streams, seed))
        return function.name, replace(read, fit=function.fit)
    named = _by_name(found) if isinstance(found, Mapping) else _named(function, found)
    names = wanted_names([name for name in named if isinstance(name, str)], groups)
    if names is None:
        raise _not_samples(function, found)
    if groups is not None and groups not in named:
        raise no_groups(function.name, [str(name) for name in named], groups)
    trees: dict[str, Any] = {}
    for names_of_one in _together(names, groups):
        rows = _rows([named[name] for name in reversed(names_of_one)])
        for name in names_of_one:
            trees[name] = _tree(function, name, named[name], rows)
    made = source_of(function.name, {n: trees[n] for n in names}, groups).with_all(measured=False)
    if function.begins:
        return function.name, replace(_as_given(made, trees[names[0]]), fit=function.fit)
    return function.name, replace(made, notes=tuple(_ambiguous(function, found)))


def _as_given(made: LoadedData, x: Any) -> LoadedData:
    """Return what a script gives `fit`, which scales no bytes and adds no axis to grey pictures.

    `x` are the samples to train on as they came.
    """

    def pictures(split: Split) -> Any:
        added = getattr(x, "ndim", 0) + 1 == getattr(split.x, "ndim", 0)
        return split.x[..., 0] if added else split.x

    held, test = (each and replace(each, x=pictures(each)) for each in (made.validation, made.test))
    train = replace(made.train, x=pictures(made.train))
    return replace(made, train=train, validation=held, test=test).with_all(scale="none")


def _streams_in(function: UserFunction, found: object) -> dict[str, Any] | None:
    """Return what a data function returned by split, if its training split is a stream.

    None if the training samples are arrays. The function may be a generator itself: then calling it
    begins anew.
    """
    if inspect.isgenerator(found) and inspect.isgeneratorfunction(function.call):
        return {SPLITS[0]: lambda: function.call(**function.arguments)}
    if is_stream(found):
        return {SPLITS[0]: found}
    if isinstance(found, Mapping):
        named = {_NAMES[str(name)]: each for name, each in found.items() if str(name) in _NAMES}
        known = len(named) == len(found)
        return _there(named) if known and is_stream(named.get(SPLITS[0])) else None
    if isinstance(found, tuple | list) and 1 < len(found) <= len(SPLITS) and is_stream(found[0]):
        last = len(found) - 1
        return _there(dict(zip((*SPLITS[:last], SPLITS[last]), found, strict=True)))
    return None


def _there(named: Mapping[str, Any]) -> dict[str, Any]:
    return {split: each for split, each in named.items() if each is not None}


def _seed(seed: int) -> None:
    """Let functions draw the same random numbers whenever a run of the plan calls them."""
    random.seed(seed)
    np.random.seed(seed)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(seed)


def _streamed(streams: Mapping[str, Any]) -> LoadedData:
    """Return splits that hold the first samples of their streams."""
    splits = {
        name: Split(x, y, file=stream, scale="none", weights=weights, stream=stream, measured=False)
        for name, stream in streams.items()
        for x, y, weights in [stream.first]
    }
    return LoadedData(splits["training"], splits.get("validation"), splits.get("test"))


def _together(names: Sequence[str], groups: str | None) -> Iterator[list[str]]:
    """Return the names of the samples of each split, with those of its targets and weights."""
    alike: dict[str, list[str]] = {}
    for name in names:
        key = "" if name == groups else name.removeprefix(WEIGHTS).removeprefix("x").lstrip("y")
        alike.setdefault(name if name == groups else key, []).append(name)
    yield from alike.values()


def _by_name(found: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a dictionary by the names of a file: as `fit` takes it, one of inputs alone is x."""
    names = [str(name).lower() for name in found]
    others = any(name.startswith(_NOT_INPUTS) or "label" in name for name in names)
    return found if others or not names else {"x": found, "y": None}


def _named(function: UserFunction, found: Any) -> dict[str, Any]:
    """Give a function's unnamed results the names that they would have in a file."""
    if getattr(found, "shape", ()):  # an array alone, as fit takes it: samples without targets
        return {"x": found, "y": None}
    if not isinstance(found, tuple | list) or len(found) not in _PAIRS:
        raise _not_samples(function, found)
    if not _are_splits(found):
        return dict(zip(("x", "y", WEIGHTS), found, strict=False))
    named: dict[str, Any] = {}
    for part, pair in zip(_PAIRS[len(found)], found, strict=True):
        named |= {f"x_{part}": pair[0], f"y_{part}": pair[1]}
    return named


def _are_splits(found: Sequence[Any]) -> bool:
    """Return whether these are pairs of samples and targets, and not samples with their targets."""
    if not all(map(_is_pair, found)) or not any(isinstance(part, tuple) for part in found):
        return False
    # Equally long pairs of which one is of another form are no splits: as in fit(*load()).
    flat = [each for pair in found for each in pair]
    if None in map(_form, flat) or len({_length(each) for each in flat}) > 1:
        return True
    return all(len({_form(pair[place]) for pair in found}) == 1 for place in (0, 1))


def _form(array: Any) -> tuple[int, ...] | None:
    """Return the shape of a sample; None for what is no array."""
    return tuple(array.shape[1:]) if hasattr(array, "shape") else None


def _is_pair(part: Any) -> bool:
    return isinstance(part, tuple | list) and len(part) == 2


def _ambiguous(function: UserFunction, found: Any) -> Iterator[str]:
    """Return a sentence where splits might have been meant as several inputs and targets."""
    if isinstance(found, tuple | list) and _are_splits(found):
        lengths = {_length(each) for pair in found for each in pair}
        if len(lengths) == 1:
            read = "), (".join(f"x_{part}, y_{part}" for part in _PAIRS[len(found)])
            yield (
                f"{function.name} returned pairs of arrays that are all equally long. They were "
                f"read as ({read}); two inputs and two targets are returned as "
                '{"x": (a, b), "y": (c, d)}.'
            )


def _not_samples(function: UserFunction, found: Any) -> UserCodeError:
    alone = "If all of it are inputs, as where layers make the loss, let it return (inputs, None)."
    inputs = [alone] if isinstance(found, Mapping) else []
    return UserCodeError(
        f"{function.name} returned {_shape_in_words(found)} where samples and targets are needed.",
        [_HOW, *inputs, f"It begins in line {function.line} of {function.file}."],
    )


def _shape_in_words(found: Any) -> str:
    many = f" of {len(found)}" if isinstance(found, tuple | list) else ""
    return f"{kind_in_words(found)}{many}"


def _rows(parts: Sequence[Any]) -> int | None:
    """Return how many samples these hold together; None if that is not clear.

    A list may hold samples, or arrays of all samples: the longer ones are the samples' axis.
    """
    parts = [part for part in parts if part is not None]
    for part in parts:
        if _is_array(part):
            return len(part)
    for part in parts:
        if isinstance(part, Mapping):
            return _rows(list(part.values()))
    lists = [part for part in parts if isinstance(part, tuple | list) and part]
    for part in lists:
        if all(_length(each) is None for each in part):
            return len(part)
    inner = {_length(each) for part in lists for each in part if each is not None}
    outer = max(map(len, lists), default=0)
    if len(inner) == 1 and (found := inner.pop()) is not None and found > outer:
        return found
    return len(lists[0]) if lists else None


def _is_array(value: Any) -> bool:
    return len(getattr(value, "shape", ())) > 0


def _length(value: Any) -> int | None:
    try:
        return len(value)
    except TypeError:
        return None


def _are_several(part: Any, rows: int | None) -> bool:
    """Return whether a tuple or list holds an array for each input, rather than samples."""
    if not isinstance(part, tuple | list) or len(part) == rows:
        return False
    if any(isinstance(each, Mapping) for each in part):
        return True
    # None stands for the targets of an output that has no loss, as in Keras.
    there = [each for each in part if each is not None]
    lengths = {_length(each) for each in there}
    return bool(there) and (all(map(_is_array, there)) or lengths == {rows} != {None})


def _tree(function: UserFunction, name: str, value: Any, rows: int | None) -> Any:
    """Return a structure of arrays as NumPy reads them. Raises DataError and UserCodeError."""
    if value is None and not name.startswith("x"):
        return ()
    if isinstance(value, Mapping):
        return {
            _key(function, name, key): _tree(function, f"{name}/{key}", each, rows)
            for key, each in value.items()
        }
    if _are_several(value, rows):
        pairs = enumerate(value)
        return tuple(_tree(function, called(name, (n,)), each, rows) for n, each in pairs)
    return _array(function, name, value)


def _key(function: UserFunction, name: str, key: Any) -> str:
    if not isinstance(key, str) or not key or "/" in key:
        raise DataError(
            f"{function.name}: {name} has an array named {key!r}, which is no name.",
            ["Name inputs and targets by texts without a stroke: the names of the model's inputs."],
        )
    return key


def _array(function: UserFunction, name: str, value: Any) -> Array:
    array: Array = function.guarded(lambda: np.asarray(value))
    for kind in (str, bytes) if array.dtype.hasobject else ():
        if all(isinstance(each, kind) for each in array.flat):
            return array.astype(kind)  # as in a column of texts in pandas, or as TensorFlow's are
    if array.dtype.hasobject:
        raise DataError(
            f"{function.name}: {name} holds Python objects ({kind_in_words(value)}) "
            "where numbers are needed.",
            [f"Convert {name}: one array of numbers, all samples of one shape."],
        )
    return array
