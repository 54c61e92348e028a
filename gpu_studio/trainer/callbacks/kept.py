"""What callbacks remember, in a form that a checkpoint holds: JSON and arrays, nothing pickled.

Kept are attributes of plain kind (numbers, texts, None, lists, tuples, dicts and arrays of such)
that have changed since `on_train_begin`. All others are made again, by `__init__` and
`on_train_begin`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, MutableSet
from typing import Any

import numpy as np

DEEPEST = 16
_PLAIN = (type(None), bool, int, float, str)
_KERAS_OWN = ("params", "_model")
_SET_BY_MODE = ("monitor_op", "min_delta", "mode")
"""What callbacks make of their mode, once: kept, they would be made twice."""
_LARGE = 1 << 24
"""Bytes of an array that counts as changed only if another has taken its place."""


# Scripts have all of this as it stands, see `export.script_text`: lines of 88 columns at most.


class NotPlainError(Exception):
    """A value that no checkpoint holds."""


def encoded(value: Any, arrays: dict[str, np.ndarray], path: str, depth: int = DEEPEST) -> Any:
    """Return `value` as JSON; `arrays` gets the arrays in it, by names under `path`.

    Raises NotPlainError.
    """
    if type(value) in _PLAIN:
        return value
    if depth == 0:
        raise NotPlainError
    numbers = isinstance(value, np.ndarray | np.generic)
    if numbers and not np.asarray(value).dtype.hasobject:
        arrays[path] = np.asarray(value)
        return {"array" if isinstance(value, np.ndarray) else "number": path}
    if type(value) in (list, tuple):
        named = ((f"{path}.{place}", each) for place, each in enumerate(value))
        several = [encoded(each, arrays, name, depth - 1) for name, each in named]
        return several if isinstance(value, list) else {"tuple": several}
    if type(value) is dict:
        pairs = [
            [
                encoded(each, arrays, f"{path}.{place}{side}", depth - 1)
                for side, each in zip("kv", pair, strict=True)
            ]
            for place, pair in enumerate(value.items())
        ]
        return {"dict": pairs}
    raise NotPlainError


def decoded(stored: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return what `encoded` made `stored` of.

    Raises KeyError, TypeError, ValueError.
    """
    if isinstance(stored, list):
        return [decoded(each, arrays) for each in stored]
    if not isinstance(stored, dict):
        return stored
    ((kind, inner),) = stored.items()
    if kind in ("array", "number"):
        return arrays[inner].copy() if kind == "array" else arrays[inner][()]
    if kind == "tuple":
        return tuple(decoded(each, arrays) for each in inner)
    return {decoded(key, arrays): decoded(value, arrays) for key, value in inner}


def attributes(callback: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of a callback that are its own, and not set by Keras."""
    left_out = _KERAS_OWN + (_SET_BY_MODE if hasattr(callback, "monitor_op") else ())
    for name, value in list(vars(callback).items()):
        if name not in left_out:
            yield name, value


class KeptAttributes:
    """What one callback remembers beyond what `on_train_begin` left it with."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback
        self._before = {name: _print_of(value) for name, value in attributes(callback)}

    def state(self, arrays: dict[str, np.ndarray], path: str) -> tuple[dict[str, Any], list[str]]:
        """Return what to keep, and the attributes that have changed and cannot be kept.

        Arrays are copies: a callback may write into its own while they are saved.
        """
        kept: dict[str, Any] = {}
        lost: list[str] = []
        for name, value in attributes(self._callback):
            try:
                found: dict[str, np.ndarray] = {}
                if _print_of(value) != self._before.get(name):
                    kept[name] = encoded(value, found, f"{path}/{name}")
                    arrays |= {place: array.copy() for place, array in found.items()}
                elif _is_other(value):
                    lost.append(name)
            except NotPlainError:
                if not callable(value):
                    lost.append(name)
        return kept, lost

    def restore(self, kept: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Set what was kept."""
        for name, each in kept.items():
            vars(self._callback)[name] = decoded(each, arrays)


def _print_of(value: Any) -> str:
    """Return a text that changes if the value does.

    For what is not plain, it changes if another object takes its place.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        words = json.dumps(encoded(value, arrays, ""))
    except NotPlainError:
        return f"{id(value)}"
    return words + "".join(map(_digest, arrays.values()))


def _digest(array: np.ndarray) -> str:
    """Return a text that changes if the array does; if it is large, with the object."""
    if array.nbytes > _LARGE:
        return f" {id(array)}"
    return f" {array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _is_other(value: Any) -> bool:
    """Return whether a value in its place may have changed that is not plain."""
    if not isinstance(value, MutableMapping | MutableSequence | MutableSet):
        return False
    try:
        encoded(value, {}, "")
    except NotPlainError:
        return True
    return False
