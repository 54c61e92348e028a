"""Turn named arrays, and structures of arrays, into splits of samples, targets and weights.

The arrays come from the user's file or from a Python function of the user's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gpu_studio.plan.data import are_pixels, further_arrays
from gpu_studio.trainer.data.lacking import goods, lacking
from gpu_studio.trainer.data.trees import Path, called, flat, is_nested, leaves, with_paths
from gpu_studio.trainer.data.values import Array, LoadedData, Split, are_ids, is_text, is_whole
from gpu_studio.trainer.errors import FILL_IN, DataError


def split_of(
    source: str, x_name: str, x: Any, y_name: str, y: Any, weights: Any = (), weights_name: str = ""
) -> Split:
    """Return samples `x`, targets `y` and weights of `source`, structures of arrays by these names.

    Raises DataError, which names the array.
    """
    if not flat(x):
        raise _nothing(source, x_name)
    named = [*_named(x_name, x), *_named(y_name, y), *_named(weights_name, weights)]
    first, rows = named[0]
    for name, array in named:
        if array.ndim < 1 or (array.size == 0 and name.startswith(x_name)):
            raise _empty(source, name, array)
        if len(array) != len(rows):
            raise _lengths(source, first, rows, name, array)
        if array.size == 0:
            raise _nothing_to_learn(source, name, array)
    inside = is_nested(x)
    seen = with_paths(lambda at, each: samples(source, called(x_name, at), each, inside), x)
    found = (lacking(at, called(x_name, at), each) for at, each in leaves(seen))
    return Split(
        seen,
        with_paths(lambda at, each: targets(source, called(y_name, at), each), y),
        weights=with_paths(
            lambda at, each: _weights(source, called(weights_name, at), each), weights
        ),
        lacking=tuple(each for each in found if each is not None),
        signed=not inside and are_ids(seen) and not _can_be_ids(seen),
    )


def _named(name: str, tree: Any) -> list[tuple[str, Array]]:
    return [(called(name, path), array) for path, array in leaves(tree)]


def further_split_of(
    source: str, names: tuple[str, str, str], arrays: Mapping[str, Any], whole: Split
) -> Split:
    """Return a further split, whose arrays must match those of `whole`."""
    x, y, weights = names
    further = split_of(source, x, arrays[x], y, arrays[y], arrays.get(weights, ()), weights)
    for name, mine, others in ((x, further.x, whole.x), (y, further.y, whole.y)):
        given, wanted = _given(further, mine), _given(whole, others)
        for path in sorted({*given, *wanted}, key=str):
            one, other = wanted.get(path, "missing"), given.get(path, "missing")
            if one != other:
                raise DataError(
                    f"{source}: a sample of {called(f'{name[0]}_train', path)} is {one}, but one "
                    f"of {called(name, path)} is {other}.",
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


def _given(split: Split, tree: Any) -> dict[Path, str]:
    """Say in words what the data hold for each array of a sample or of its target."""
    kinds = dict(leaves(split.seen_type if tree is split.x else split.wanted_type))
    bytes_ = " (bytes of pictures)"
    return {
        path: f"{_kind_in_words(kinds[path])} of shape {array.shape[1:]}"
        + (bytes_ if tree is split.x and are_pixels(array.dtype.name, array.shape) else "")
        for path, array in leaves(tree)
    }


def _kind_in_words(kind: np.dtype[Any]) -> str:
    """Name a type as far as splits must agree in it: each keeps its own, as in `fit`."""
    if is_text(kind):
        return "text"
    return "integers" if kind.kind in "biu" else kind.name


def samples(source: str, name: str, x: Array, inside: bool = False) -> Array:
    """Return `x`; grey pictures get an axis for their one channel.

    One that is `inside` a structure stays as it is. Some of it may be no numbers.
    """
    if is_text(x.dtype):
        return x
    if are_pixels(x.dtype.name, x.shape):
        return x[..., None] if x.ndim == 3 and not inside else x
    if not (np.issubdtype(x.dtype, np.floating) or is_whole(x) or x.dtype == np.bool_):
        raise _kind(source, name, x, "numbers or texts")
    return x


def targets(source: str, name: str, y: Array) -> Array:
    """Return `y` in its own shape, as `fit` hands it over.

    Some of it may be no numbers: a loss of the user's own may leave them out. Whole numbers that
    number no classes, as those below 0, are for a loss that takes them.
    """
    if is_whole(y) or y.dtype == np.bool_:
        return y
    if not np.issubdtype(y.dtype, np.floating):
        raise _kind(source, name, y, "class ids (integers) or values (floats)")
    return _finite(source, name, y, lacks=True)


def _weights(source: str, name: str, weights: Array) -> Array:
    if weights.dtype.kind not in "biuf":
        raise _kind(source, name, weights, "weights (numbers)")
    return _finite(source, name, weights)


def _can_be_ids(numbers: Array) -> bool:
    """Whether all of these whole numbers can number something."""
    return int(numbers.min()) >= 0 and int(numbers.max()) <= np.iinfo(np.int32).max


def _finite(source: str, name: str, found: Array, *, lacks: bool = False) -> Array:
    """Return `found` if all of its numbers are finite, also as a model's float32.

    Where it `lacks` some, they are no numbers, which is let through.
    """
    for first, good in goods(found):
        some = good | np.isnan(found[first : first + len(good)]) if lacks else good
        if not some.all():
            sample = first + int(np.argwhere(~some)[0][0])
            raise DataError(
                f"{source}: {name} holds a value that is no finite float32 "
                f"number, first in sample {sample}.",
                [
                    FILL_IN,
                    "Scale values that are too large.",
                ],
            )
    return found


def _empty(source: str, name: str, x: Array) -> DataError:
    return DataError(
        f"{source}: {name} has the shape {x.shape}, but there must be at least one sample, and a "
        "number of it.",
        [f"Give {name} the shape (samples, features) or (samples, rows, columns, channels)."],
    )


def _nothing(source: str, name: str) -> DataError:
    return DataError(
        f"{source}: {name} holds no array, so that there are no samples.",
        [f"Give {name} an array, or a dictionary or a tuple of arrays: one for each input."],
    )


def _nothing_to_learn(source: str, name: str, y: Array) -> DataError:
    return DataError(
        f"{source}: {name} has the shape {y.shape}, so that there is nothing to learn of a sample.",
        [f"Give {name} one number for each sample or more."],
    )


def _lengths(source: str, x_name: str, x: Array, y_name: str, y: Array) -> DataError:
    one = "weight" if y_name.startswith(WEIGHTS) else "target"
    return DataError(
        f"{source}: {x_name} has {len(x)} samples but {y_name} has {len(y)}.",
        [f"Give one {one} for each sample, in the same order."],
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
WEIGHTS = "sample_weight"


def weights_of(x_name: str) -> str:
    """Return the name of the weights of the samples of this name: `sample_weight_val`."""
    return WEIGHTS + x_name.removeprefix("x")


def wanted_names(there: Collection[str], groups: str | None = None) -> tuple[str, ...] | None:
    """Choose the arrays to read, samples before their targets; None if they make no data.

    `groups` is the name of the array with the group of each sample, if the plan splits by it.
    """
    wholes = [pair for pair in _WHOLE if set(pair) & set(there)]
    names = tuple(name for pair in (*wholes, *further_arrays(there).values()) for name in pair)
    if len(wholes) != 1 or not set(names) <= set(there):
        return None
    weights = tuple(weights_of(name) for name in names[::2] if weights_of(name) in there)
    return (*names, *weights, groups) if groups is not None else (*names, *weights)


def nested(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the arrays by name, with one structure for all named `x/left`, `x/right`.

    It is a tuple where those are numbered from 0.
    """
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        first, *path = name.split("/")
        _put(found, (first, *path), array)
    return {name: _tuples(each) for name, each in found.items()}


def _put(found: dict[str, Any], path: Sequence[str], array: Array) -> None:
    for name in path[:-1]:
        inner = found.setdefault(name, {})
        if not isinstance(inner, dict):
            raise DataError(
                f"There is an array {name}, and one {'/'.join(path)} within it.",
                [f"Name the first one {name}/… too, or leave one out."],
            )
        found = inner
    if path[-1] in found:
        raise DataError(f"There are two arrays {'/'.join(path)}.", ["Leave one out."])
    found[path[-1]] = array


def _tuples(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    inner = {name: _tuples(each) for name, each in tree.items()}
    numbered = [str(number) for number in range(len(inner))]
    return tuple(inner[n] for n in numbered) if set(inner) == set(numbered) else inner


def source_of(source: str, arrays: Mapping[str, Any], groups: str | None = None) -> LoadedData:
    """Build the source from the structures that `wanted_names` chose.

    Raises DataError where they do not go together.
    """
    x, y = next(pair for pair in _WHOLE if pair[0] in arrays)
    own = weights_of(x)
    whole = split_of(source, x, arrays[x], y, arrays[y], arrays.get(own, ()), own)
    further = {
        part: further_split_of(source, (*names, weights_of(names[0])), arrays, whole)
        for part, names in further_arrays(arrays).items()
    }
    of_each = groups_of(source, groups, arrays[groups], whole) if groups is not None else None
    used = tuple(name for top, tree in arrays.items() for name, _ in _named(top, tree))
    found = LoadedData(whole, further.get("val"), further.get("test"), of_each, arrays=used)
    signed = any(split.signed for split in (whole, *further.values()))
    return found.with_all(signed=True) if signed else found


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
