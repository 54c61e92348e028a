"""Keras metrics as sums, and the results of one call of the compiled training steps.

Keras keeps a metric's state in variables that each strategy treats in its own way. Its metrics
are accumulators that start from zero, so what a batch adds can be computed as a value
(`stateless_update_state`), summed over replicas and steps, and read at the end
(`stateless_result`): the same numbers under every strategy, and nothing to reset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Deltas = list[list[Any]]


class Meters:
    """The metrics of one pass over a split. Make it outside of a strategy's scope."""

    def __init__(self, metrics: Sequence[Any], example: tuple[Any, Any]) -> None:
        """`example` is (labels, outputs) of one sample or more.

        Some metrics create their state when they first see a sample.
        """
        self.metrics = list(metrics)
        for metric in self.metrics:
            metric.update_state(*example)
            metric.reset_state()
        self._initial = [[np.asarray(v) for v in metric.variables] for metric in self.metrics]

    def nothing(self) -> Deltas:
        """Return the contribution of no sample: zeros in the shape of each metric's state."""
        return [
            [tf.zeros(state.shape, state.dtype) for state in states] for states in self._initial
        ]

    def added(self, labels: Any, outputs: Any, weight: Any) -> Deltas:
        """Return what these samples add to each metric's state, in a replica.

        `weight` is one per sample.
        """
        rows = []
        for metric, initial in zip(self.metrics, self._initial, strict=True):
            start = [tf.constant(state) for state in initial]
            after = metric.stateless_update_state(start, labels, outputs, sample_weight=weight)
            rows.append([new - old for new, old in zip(after, start, strict=True)])
        return rows

    def results(self, sums: Sequence[Sequence[np.ndarray]]) -> dict[str, float]:
        """Return the value of each metric, by name, from the sum of all contributions."""
        values = {}
        for metric, initial, added in zip(self.metrics, self._initial, sums, strict=True):
            state = [
                tf.constant((old + new).astype(old.dtype))
                for old, new in zip(initial, added, strict=True)
            ]
            values[metric.name] = float(metric.stateless_result(state))
        return values


class Tally:
    """The sums of an epoch so far, in double precision: the loss and each metric's state."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self.loss = 0.0
        self.samples = 0
        self.sums = [
            [np.zeros(s.shape, np.float64) for s in states] for states in _values(meters.nothing())
        ]

    def add(self, loss: float, samples: int, deltas: Sequence[Sequence[Any]]) -> None:
        """Count in `samples` samples whose losses sum to `loss`."""
        self.loss += loss
        self.samples += samples
        for states, added in zip(self.sums, _values(deltas), strict=True):
            for state, value in zip(states, added, strict=True):
                state += value

    def results(self) -> dict[str, float]:
        """Return `loss`, the mean over the samples, and every metric."""
        return {"loss": self.loss / max(self.samples, 1), **self._meters.results(self.sums)}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the tally as named arrays, for a checkpoint."""
        states = {
            f"{m}.{s}": value for m, row in enumerate(self.sums) for s, value in enumerate(row)
        }
        counts = {
            "loss": np.array(self.loss, np.float64),
            "samples": np.array(self.samples, np.int64),
        }
        return counts | states

    def restore(self, arrays: dict[str, np.ndarray]) -> bool:
        """Continue from `arrays()`. Those of other metrics change nothing; then return False."""
        mine = self.arrays()
        if {k: v.shape for k, v in mine.items()} != {k: v.shape for k, v in arrays.items()}:
            return False
        self.loss, self.samples = float(arrays["loss"]), int(arrays["samples"])
        self.sums = [
            [arrays[f"{m}.{s}"].copy() for s in range(len(row))] for m, row in enumerate(self.sums)
        ]
        return True


def _values(deltas: Sequence[Sequence[Any]]) -> list[list[np.ndarray]]:
    return [[np.asarray(value) for value in row] for row in deltas]


@dataclass(frozen=True, slots=True)
class Call:
    """`losses` has shape (steps,): the mean over each global batch.

    `deltas` is what the metrics got.

    `input_seconds` were spent waiting for data, as `input_wait` counts it; `aside_seconds` on
    watching the call, which is no training.
    """

    losses: np.ndarray
    deltas: Deltas
    input_seconds: float
    aside_seconds: float = 0.0

    def followed_by(self, other: Call) -> Call:
        """Join this call and a call of later steps into one."""
        return Call(
            np.concatenate([self.losses, other.losses]),
            added_up(self.deltas, other.deltas),
            self.input_seconds + other.input_seconds,
            self.aside_seconds + other.aside_seconds,
        )


def added_up(total: Deltas, added: Deltas) -> Deltas:
    """Return what two batches together add to each metric's state."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, added, strict=True)]
