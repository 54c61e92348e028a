"""Samples that hold values which are no finite numbers: what is said of them.

`fit` trains on them, and so does a run: a layer may mask or replace them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_studio.plan import listed
from gpu_studio.trainer.data.trees import Path
from gpu_studio.trainer.errors import FILL_IN, REPLACE, DataError

Array = NDArray[Any]
# Arrays are looked through in pieces of about this many numbers, so that none is copied whole.
_PIECE = 1 << 20
_NAMED = 4
UNLESS = "Unless a layer replaces or masks them, the loss will be no number, either."


@dataclass(frozen=True, slots=True)
class Lacking:
    """How many `values` of an array are no finite float32 numbers, in how many `samples`.

    `path` leads to the array, which is called `name`; `first` is the first such sample. `columns`
    are those of rows that have some, from 0 on; empty where a sample is no row.
    """

    path: Path
    name: str
    values: int
    samples: int
    first: int
    columns: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """A sentence that says so."""
        one = self.values == 1
        said = f"{self.name} holds {'a value' if one else f'{self.values:,} values'}"
        said += f" that {'is no finite number' if one else 'are no finite numbers'}"
        if self.samples > 1:
            said += f", in {self.samples:,} samples"
        said += f", {'' if one else 'first '}in sample {self.first}"
        return f"{said}{self._columns()}."

    def _columns(self) -> str:
        if not self.columns:
            return ""
        named = [str(each) for each in self.columns[:_NAMED]]
        more = len(self.columns) - len(named)
        word = "column" if len(self.columns) == 1 else "columns"
        return f"; {word} {listed([*named, f'{more:,} more'] if more else named)}, counted from 0"


def lacking(path: Path, name: str, array: Array) -> Lacking | None:
    """Return what an array of samples lacks; None if all of its numbers are finite."""
    values, first, samples = 0, -1, 0
    columns = np.zeros(array.shape[1] if array.ndim == 2 else 0, np.bool_)
    for begun, good in goods(array):
        if good.all():
            continue
        bad = ~good.reshape(len(good), -1)
        rows = np.flatnonzero(bad.any(axis=1))
        values, samples = values + int(bad.sum()), samples + len(rows)
        first = begun + int(rows[0]) if first < 0 else first
        if array.ndim == 2:
            columns |= bad.any(axis=0)
    found = tuple(np.flatnonzero(columns).tolist())
    return Lacking(path, name, values, samples, first, found) if values else None


def refuse_unmasked(model: str | None, source: str, found: Iterable[Lacking]) -> None:
    """Raises DataError where a built-in model is given these: it masks and replaces nothing."""
    for each in found if model is not None else ():
        raise DataError(
            f"{source}: {each.words} {model} makes a loss of it that is no number, either.",
            [FILL_IN, "Scale values that are too large for float32.", REPLACE],
        )


def goods(array: Array) -> Iterator[tuple[int, Array]]:
    """Yield which numbers of an array are finite, also as a model's float32, piece by piece.

    With each piece comes the place of its first sample. Only floats may be no finite numbers.
    """
    if not np.issubdtype(array.dtype, np.floating):
        return
    rows = max(1, _PIECE // max(1, math.prod(array.shape[1:])))
    for begun in range(0, len(array), rows):
        with np.errstate(over="ignore"):
            yield begun, np.isfinite(array[begun : begun + rows].astype(np.float32, copy=False))
