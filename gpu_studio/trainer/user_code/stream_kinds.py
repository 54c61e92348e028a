"""Which of the things that a data function may return, or `fit` be given, come batch by batch.

This needs no TensorFlow: whoever returned a dataset of TensorFlow or Keras has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

SPLITS = ("training", "validation", "test")


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


# Scripts have this function as it stands, see `export.script_text`.
def opener(value: Any) -> Callable[[], Iterator[Any]] | None:
    """Return what begins reading this anew; None if it can be read only once."""
    if callable(value):
        return lambda: iter(value())
    return None if hasattr(value, "__next__") else lambda: iter(value)
