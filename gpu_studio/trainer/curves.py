"""What metrics give as `fit` logs it, and the numbers of it that curves are drawn of.

Most metrics give one number. Of several, as of a score by class, Keras' `fit` hands callbacks the
array, and its progress bar shows the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MOST = 100
"""Of an array of more numbers, its mean alone is a curve."""


def logged(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results as `fit` logs them: floats and arrays, without the names of dictionaries."""
    found: dict[str, Any] = {}
    for name, value in results.items():
        if isinstance(value, Mapping):
            found |= logged(value)
            continue
        several = np.asarray(value)
        found[name] = float(several.reshape(())) if several.size == 1 else several
    return found


def curves_of(logs: Mapping[str, Any]) -> dict[str, float]:
    """Return a number by name: of an array its mean, and each number of it as `f1_score[2]`."""
    found: dict[str, float] = {}
    for name, value in logs.items():
        several = np.asarray(value, np.float64)
        found[name] = float(several.mean())
        if several.ndim and several.size <= MOST:
            for place, each in np.ndenumerate(several):
                found[f"{name}[{', '.join(map(str, place))}]"] = float(each)
    return found


def words_of(name: str, several: Any) -> str:
    """Say which curves there are of a metric that gives several numbers."""
    count = np.size(several)
    if count > MOST:
        return f"{name} gives {count} numbers: its curve is their mean."
    first, *_, last = list(curves_of({name: several}))[1:]
    return (
        f"{name} gives {count} numbers: its curve is their mean, as in Keras' progress bar, and "
        f"each has one of its own, {first} to {last}."
    )
