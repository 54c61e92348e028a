"""Keras metrics as sums, and the results of one call of the compiled training steps.

Keras keeps a metric's state in variables that each strategy treats in its own way. Its metrics
are accumulators that start from zero, so what a batch adds can be computed as a value
(`stateless_update_state`), summed over replicas and steps, and read at the end
(`stateless_result`): the same numbers under every strategy, and nothing to reset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.trainer.curves import curves_of, logged, words_of
from gpu_studio.trainer.inner_metrics import InnerMetrics
from gpu_studio.trainer.keras_objects import Head
from gpu_studio.trainer.keras_objects.given import GivenMetric
from gpu_studio.trainer.keras_objects.objective import Judged

Deltas = list[list[Any]]
_RUNNING = "running."


class Meters:
    """The metrics of one pass over a split. Make it outside of a strategy's scope.

    Where several outputs learn, the mean loss of each is among them; where a model has several, all
    names begin with that of their output, as in Keras, which does not name those of which it knows
    the places alone.
    """

    def __init__(self, heads: Sequence[Head], inner: InnerMetrics | None = None) -> None:
        """`heads` are what the outputs learn by, see `keras_objects.objective`.

        Some metrics create their state when they first see a sample. `inner` are those that the
        model's layers update themselves.
        """
        self.inner = inner or InnerMetrics()
        self._of_head = _by_names(heads)
        self._counted = [metric for own in self._of_head for metric in own.values()]
        self._names = [name for own in self._of_head for name in own]
        self._initial = [[np.asarray(v) for v in metric.variables] for metric in self._counted]

    @property
    def metrics(self) -> list[Any]:
        """All metrics."""
        return [*self._counted, *self.inner.metrics]

    @property
    def names(self) -> list[str]:
        """The names of the curves that are drawn of the metrics."""
        return list(dict.fromkeys([*curves_of(self._examples), *self.inner.names]))

    @property
    def words(self) -> list[str]:
        """What is to be said of metrics that give several numbers."""
        return [words_of(name, value) for name, value in self._examples.items() if np.ndim(value)]

    @property
    def _examples(self) -> dict[str, Any]:
        pairs = zip(self._names, self._counted, strict=True)
        return logged({name: getattr(metric, "example", 0.0) for name, metric in pairs})

    def nothing(self) -> Deltas:
        """Return the contribution of no sample: zeros in the shape of each metric's state."""
        own = [[tf.zeros(state.shape, state.dtype) for state in states] for states in self._initial]
        return own + [[*map(tf.constant, row)] for row in self.inner.nothing_counted()]

    def added(
        self,
        judged: Sequence[Judged],
        losses: Sequence[Any],
        inner: Deltas,
        weight: Any,
        number: Any,
        near: Callable[[Any], AbstractContextManager[Any]] = lambda _output: nullcontext(),
    ) -> Deltas:
        """Return what these samples add to each metric's state, in a replica.

        `losses` are the heads' shares of the mean over the batch, `inner` is what the layers have
        counted, `weight` is that of each sample in the batch, and `number` is the part's. `near`
        gives the scope to compute what belongs to an output in.
        """
        rows: Deltas = []
        for each, loss, metrics in zip(judged, losses, self._of_head, strict=True):
            with near(each.outputs):
                counts, share = tf.cast(weight > 0, tf.float32), tf.reduce_sum(weight)
                for metric in metrics.values():
                    start = [tf.constant(state) for state in self._initial[len(rows)]]
                    if isinstance(metric, GivenMetric):
                        pair = each.targets, each.outputs
                        rows.append(metric.added(start, *pair, each.weights, share, number))
                        continue
                    if isinstance(metric, MeanLoss):
                        rows.append(_mean_loss(loss, share, counts, each.head))
                        continue
                    after = metric.stateless_update_state(
                        start, each.targets, each.outputs, sample_weight=counts
                    )
                    rows.append([new - old for new, old in zip(after, start, strict=True)])
        return rows + inner

    def begin(self, sums: Sequence[Sequence[np.ndarray]]) -> None:
        """Begin a pass, or go on with one that has these sums: some metrics keep their state."""
        own, inner = sums[: len(self._counted)], sums[len(self._counted) :]
        for metric, initial, added in zip(self._counted, self._initial, own, strict=True):
            if isinstance(metric, GivenMetric):
                pairs = zip(initial, added, strict=True)
                metric.begin([(old + new).astype(old.dtype) for old, new in pairs])
        self.inner.begin(inner)

    @property
    def running(self) -> list[Any]:
        """The variables that go on from batch to batch: sums tell their values up to rounding."""
        given = [each for each in self._counted if isinstance(each, GivenMetric)]
        own = [v for metric in given if metric.sequential for v in metric.variables]
        return own + self.inner.variables

    def results(self, sums: Sequence[Sequence[np.ndarray]]) -> dict[str, Any]:
        """Return what `fit` logs of each metric, from the sum of all contributions."""
        values: dict[str, Any] = {}
        own = len(self._counted)
        rows = zip(self._names, self._counted, self._initial, sums[:own], strict=True)
        for name, metric, initial, added in rows:
            state = [
                tf.constant((old + new).astype(old.dtype))
                for old, new in zip(initial, added, strict=True)
            ]
            values |= logged({name: metric.stateless_result(state)})
        return values | self.inner.results(sums[own:])


class MeanLoss(keras.metrics.Mean):  # type: ignore[misc]  # Keras has no types
    """The mean of one output's loss over the batches.

    A last, smaller batch counts as much as any other, which is how Keras' `fit` tells it: as it
    traces a step, it knows no batch's size. (The loss of the whole model it means over samples.)
    Where it runs eagerly it knows, and means over samples.
    """


def _mean_loss(loss: Any, share: Any, counts: Any, head: Head) -> list[Any]:
    """Return what a part adds to `MeanLoss`: its own part of the batch's `loss`, and `share`."""
    if not head.by_samples:
        return [loss, share]
    samples = tf.reduce_sum(counts)
    return [loss * tf.math.divide_no_nan(samples, share), samples]


def _by_names(heads: Sequence[Head]) -> list[dict[str, Any]]:
    """Return the metrics of each head by their names in the results, with their states created.

    Where `fit` does not name the outputs, they are not named, if all names differ.
    """
    own = [_metrics_of(head) for head in heads]
    if not any(head.name for head in heads):
        return own
    learn = [head for head in heads if head.learns]
    short = [*(head.result for head in learn), *(name for mine in own for name in mine)]
    plain = bool(learn) and all(head.result for head in learn) and len(set(short)) == len(short)
    named = [
        mine if plain else {f"{head.name}_{name}": metric for name, metric in mine.items()}
        for head, mine in zip(heads, own, strict=True)
    ]
    if len(learn) < 2:  # the one loss is that of the whole model
        return named
    return [
        {head.result if plain else f"{head.name}_loss": MeanLoss()} | mine if head.learns else mine
        for head, mine in zip(heads, named, strict=True)
    ]


def _metrics_of(head: Head) -> dict[str, Any]:
    own = {metric.name: metric for metric in head.metrics}
    for metric in own.values():
        if not isinstance(metric, GivenMetric):
            metric.update_state(*head.example)
            metric.reset_state()
    return own


class Tally:
    """The sums of an epoch so far, in double precision: the loss and each metric's state."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self.loss = 0.0
        self.samples = 0
        self.sums = [
            [np.zeros(s.shape, np.float64) for s in states] for states in _values(meters.nothing())
        ]
        meters.begin(self.sums)

    def add(self, loss: float, samples: int, deltas: Deltas) -> None:
        """Count in `samples` samples whose losses sum to `loss`."""
        self.loss += loss
        self.samples += samples
        for states, added in zip(self.sums, _values(deltas), strict=True):
            for state, value in zip(states, added, strict=True):
                state += value

    def results(self) -> dict[str, Any]:
        """Return `loss`, the mean over the samples, and what `fit` logs of every metric."""
        # The loss last: a model may keep a metric of this name, which nothing has to update.
        found = self._meters.results(self.sums)
        return {"loss": 0.0} | found | {"loss": self.loss / max(self.samples, 1)}

    def arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the tally as named arrays: a checkpoint is written as steps go on."""
        running = {f"{_RUNNING}{n}": each for n, each in enumerate(self._meters.running)}
        return {name: np.array(each) for name, each in (self._counts() | running).items()}

    def _counts(self) -> dict[str, np.ndarray]:
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
        counts = {k: v for k, v in arrays.items() if not k.startswith(_RUNNING)}
        if _shapes(self._counts()) != _shapes(counts):
            return False
        self.loss, self.samples = float(arrays["loss"]), int(arrays["samples"])
        self.sums = [
            [arrays[f"{m}.{s}"].copy() for s in range(len(row))] for m, row in enumerate(self.sums)
        ]
        self._meters.begin(self.sums)
        # A batch in several parts, and an older version, keeps none of these.
        for n, variable in enumerate(self._meters.running):
            kept = arrays.get(f"{_RUNNING}{n}")
            if kept is not None and kept.shape == tuple(variable.shape):
                variable.assign(kept)
        return True


def _shapes(arrays: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: value.shape for name, value in arrays.items()}


def _values(deltas: Sequence[Sequence[Any]]) -> list[list[np.ndarray]]:
    return [[np.asarray(value) for value in row] for row in deltas]


@dataclass(frozen=True, slots=True)
class Call:
    """`losses` has shape (steps,): the mean over each global batch.

    `deltas` is what the metrics got. `batches` has shape (steps, 2): of a stream's batches how many
    samples each has, and 1 if it is the last of its pass. `input_seconds` were spent waiting for
    data, as `input_wait` counts it; `aside_seconds` on watching the call, which is no training;
    `exchange_seconds` from a step's own gradients to its end, where replicas wait for each other.
    `sizes` are the samples of each step, where steps are not done in the order of the data.
    """

    losses: np.ndarray
    deltas: Deltas
    input_seconds: float
    aside_seconds: float = 0.0
    batches: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    exchange_seconds: float = 0.0
    sizes: np.ndarray | None = None

    @property
    def over(self) -> bool:
        """Whether a stream's pass is over."""
        return bool(self.batches[-1:, 1].any())

    def followed_by(self, other: Call) -> Call:
        """Join this call and a call of later steps into one."""
        return Call(
            np.concatenate([self.losses, other.losses]),
            added_up(self.deltas, other.deltas),
            self.input_seconds + other.input_seconds,
            self.aside_seconds + other.aside_seconds,
            np.concatenate([self.batches, other.batches]),
            self.exchange_seconds + other.exchange_seconds,
        )


def added_up(total: Deltas, added: Deltas) -> Deltas:
    """Return what two batches together add to each metric's state."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, added, strict=True)]
