"""Which of the things that a data function may return come batch by batch, and as which split.

This needs no TensorFlow: whoever returned a dataset of TensorFlow or Keras has imported it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from gpu_studio.plan.data import VALIDATION_NAMES
from gpu_studio.trainer.user_code import UserFunction

SPLITS = ("training", "validation", "test")
_NAMES = {
    "train": "training",
    "training": "training",
    **dict.fromkeys(VALIDATION_NAMES, "validation"),
    "test": "test",
}


def is_dataset(value: object) -> bool:
    """Return whether this is a `tf.data.Dataset`."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(value, tensorflow.data.Dataset)


def is_sequence(value: object) -> bool:
    """Return whether this is a `keras.utils.PyDataset`."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.utils.PyDataset)


def is_stream(value: object) -> bool:
    """Return whether this gives batches one after another, rather than holding all samples."""
    return is_dataset(value) or is_sequence(value) or callable(value) or _is_iterable(value)


def _is_iterable(value: object) -> bool:
    if isinstance(value, Mapping | tuple | list | str | bytes | np.ndarray | np.generic):
        return False
    return isinstance(value, Iterable) and not hasattr(value, "__array__")


def opener(value: Any) -> Callable[[], Iterator[Any]] | None:
    """Return what begins reading `value` anew; None if it can be read only once."""
    if callable(value):
        return lambda: iter(value())
    return None if isinstance(value, Iterator) else lambda: iter(value)


def streams_in(function: UserFunction, found: object) -> dict[str, Any] | None:
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
        return _given(named) if known and is_stream(named.get(SPLITS[0])) else None
    if isinstance(found, tuple | list) and 1 < len(found) <= len(SPLITS) and is_stream(found[0]):
        last = len(found) - 1
        return _given(dict(zip((*SPLITS[:last], SPLITS[last]), found, strict=True)))
    return None


def _given(named: Mapping[str, Any]) -> dict[str, Any]:
    return {split: each for split, each in named.items() if each is not None}
