"""The metrics that a model or its layers keep and update themselves, which `fit` tells in its logs.

In one part of a batch their state goes on from batch to batch in their own variables, as in `fit`.
Of several parts each begins with what a metric holds before the first sample, and what all of them
add is summed: the same for every metric whose state is a sum over the samples, as Keras' own are.
What is one number for a batch, whatever its size, counts by a part's share, as `batch_parts` says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.trainer.batch_parts import Added, counting_of, of_part, one_number
from gpu_studio.trainer.errors import PlanRefused, UserCodeError
from gpu_studio.trainer.keras_objects.as_compiled import made_by_user
from gpu_studio.trainer.layer_state import BatchPart, Caught, contribution, wide_type
from gpu_studio.trainer.models.own_training import call_as_fit

_FEW = (5, 3)
"""The samples of the batches by which a metric's state is found out to be a sum."""


class InnerMetrics:
    """The metrics that layers update while they are called."""

    def __init__(self, model: Any = None, strategy: Any = None, *, running: bool = True) -> None:
        """Find those of `model`, made in the scope of `strategy`; there are none without a model.

        `running` says whether their own variables hold what they have counted: in one part only.
        """
        self.metrics = [] if model is None else _metrics_in(model)
        self.running = running
        self._by_share: set[int] = set()
        """The variables that get one number for a batch, whatever its size, by their ids."""
        self.apart: list[str] = []
        """The names of metrics of which parts of a batch give other numbers than the whole."""
        self.undecided: set[str] = set()
        """Those among them of which it is not known how they count in parts."""
        with (strategy or tf.distribute.get_strategy()).scope():
            for metric in self.metrics:
                metric.reset_state()  # building the model may have called it
        self._initial = [[np.asarray(v) for v in metric.variables] for metric in self.metrics]

    @property
    def names(self) -> list[str]:
        """The names of what they measure, which `fit` gives them."""
        return list(self.results(self.nothing_counted()))

    @property
    def variables(self) -> list[Any]:
        """Their own variables, where these hold what they have counted."""
        return [v for metric in self.metrics for v in metric.variables] if self.running else []

    @property
    def caution(self) -> str:
        """What differs from `fit` in the logs; empty if nothing does."""
        if "loss" not in self.names:
            return ""
        return (
            "The model keeps a metric loss of its own, which fit would show in place of the loss. "
            "Here loss is what is trained on."
        )

    def cautions(self, parts: int, what: str) -> Iterator[tuple[str, str]]:
        """What differs from `fit`, and what helps, where a batch is cut into `parts`, `what`."""
        if self.caution:
            yield self.caution, "Give that metric another name."
        for name in self.apart:
            said = one_number(name, parts, what, is_mean=name not in self.undecided)
            yield said, "Train on one device for it as it is."

    def nothing_counted(self) -> list[list[np.ndarray]]:
        """What no sample adds, a number for each of a metric's state."""
        return [
            [np.zeros(state.shape, wide_type(state.dtype).as_numpy_dtype) for state in states]
            for states in self._initial
        ]

    def taken(self, caught: Caught, part: BatchPart) -> list[list[Any]]:
        """Return what a part of a batch has added to each state.

        Where they do not go on in their own variables, it is taken from what was `caught`.
        """
        added = [
            [
                of_part(change, variable.value.dtype, part.share, part.number)
                if id(variable) in self._by_share
                else change
                for variable, change in (
                    (each, _change(each, caught, part)) for each in metric.variables
                )
            ]
            for metric in self.metrics
        ]
        if not self.running:
            caught.leave([v for metric in self.metrics for v in metric.variables])
        return added

    def begin(self, sums: Sequence[Sequence[np.ndarray]]) -> None:
        """Begin a pass, or go on with one that has these sums."""
        if not self.running:
            return
        for metric, states in zip(self.metrics, self._states(sums), strict=True):
            for variable, state in zip(metric.variables, states, strict=True):
                variable.assign(state)

    def results(self, sums: Sequence[Sequence[np.ndarray]]) -> dict[str, float]:
        """Return what they measure, by name, as `fit` does. Raises UserCodeError."""
        values: dict[str, float] = {}
        for metric, states in zip(self.metrics, self._states(sums), strict=True):
            result = metric.stateless_result([tf.constant(state) for state in states])
            several = isinstance(result, Mapping)
            for name, value in result.items() if several else ((metric.name, result),):
                values[name] = _number(name, value)
        return values

    def _states(self, sums: Sequence[Sequence[np.ndarray]]) -> Iterator[list[np.ndarray]]:
        for initial, added in zip(self._initial, sums, strict=True):
            yield [_plus(old, new) for old, new in zip(initial, added, strict=True)]

    def look_at(self, model: Any, dataset: Any) -> None:
        """Raises PlanRefused for what several parts of a batch cannot measure together.

        Asked of the whole model, before its layers are split.
        """
        if self.running or not self.metrics:
            return
        first, second = _batch(dataset, 0, _FEW[0]), _batch(dataset, *_FEW)
        with _watched(self.metrics) as read:
            one, other = self._after(model, first, {}), self._after(model, second, {})
            both = self._after(model, second, one)
        whole = self._after(model, _batch(dataset, 0, sum(_FEW)), {})
        again = self._after(model, first, {}, times=2)
        doubled = self._after(model, keras.tree.map_structure(_doubled, first), {})
        for metric, initial in zip(self.metrics, self._initial, strict=True):
            if metric.name in read:
                raise _read(metric)
            added: dict[int, Added] = {}
            unsteady: set[int] = set()
            for variable, start in zip(metric.variables, initial, strict=True):
                after = one, other, both, whole, again, doubled
                found = [each.get(id(variable), start) for each in after]
                if not _is_sum(start, *found[:3]):
                    raise _no_sum(metric)
                first_adds, *more = (_change_from(start, each) for each in found)
                if start.dtype == bool and not any(map(np.any, (first_adds, *more))):
                    continue  # it is no number, and nothing counts in it
                if _is_unsteady(first_adds, *more[3:]):
                    unsteady.add(len(added))
                added[id(variable)] = first_adds, more[0], more[2]
            self._count(metric, added, unsteady)

    def _count(self, metric: Any, added: Mapping[int, Added], unsteady: Collection[int]) -> None:
        """Note how a metric counts whose states, by their ids, were given so much.

        At the places of `unsteady` ones the probe does not tell a sum over the samples.
        """
        found = counting_of(list(added.values()), _FEW, unsteady)
        by_share = found.by_share
        count = added.get(id(getattr(metric, "count", None)))
        if isinstance(metric, keras.metrics.Mean) and count and count[0] == count[1] == 1:
            by_share = (True,) * len(added)
        elif not found.splits:
            self.apart.append(metric.name)
            self.undecided |= set() if found.is_mean else {metric.name}
        self._by_share |= {key for key, once in zip(added, by_share, strict=True) if once}

    def _after(
        self, model: Any, samples: Any, held: Mapping[int, Any], times: int = 1
    ) -> dict[int, Any]:
        """The metrics' states after a batch, seen so many `times`, by their variables' ids.

        Each time draws other random numbers; the first time always draws the same.
        """
        variables = [v for metric in self.metrics for v in metric.variables]
        begun = [(v, tf.constant(held[id(v)])) for v in variables if id(v) in held]
        with keras.StatelessScope(state_mapping=begun) as scope:
            for _ in range(times):
                call_as_fit(model, samples, training=True)
        found = {id(v): scope.get_current_value(v) for v in variables}
        return {key: np.asarray(value) for key, value in found.items() if value is not None}


def _metrics_in(model: Any) -> list[Any]:
    """Return the metrics of the model's own and of its layers, in `fit`'s order.

    A model within the model keeps its own to itself.
    """
    own = made_by_user(model)
    found = list(own._metrics)  # noqa: SLF001 (`metrics` has those that it was compiled with, too)
    for layer in own._flatten_layers(include_self=False):  # noqa: SLF001
        if not isinstance(layer, keras.Model):
            found += layer.metrics
    return list({id(each): each for each in found}.values())


def _change(variable: Any, caught: Caught, part: BatchPart) -> Any:
    if caught.get_current_value(variable) is None:
        return tf.zeros(variable.shape, wide_type(variable.value.dtype))
    return contribution(variable, caught, part)


def _plus(initial: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return the state after what was added; a state without limit is counted from 0."""
    found: np.ndarray = np.where(
        np.isfinite(initial) | (added == 0), initial + added, added
    ).astype(initial.dtype)
    return found


def _number(name: str, value: Any) -> float:
    found = np.asarray(value)
    if found.shape:
        shape = " × ".join(map(str, found.shape))
        raise UserCodeError(
            f"The metric {name} within the model gives {shape} numbers, and a curve is of one.",
            ["Let its result be one number, such as the mean, or a dictionary of such numbers."],
        )
    return float(found)


def _batch(dataset: Any, first: int, count: int) -> Any:
    rows = np.arange(first, first + count) % len(dataset.train)
    return keras.tree.map_structure(tf.constant, dataset.train.seen(rows))


def _doubled(samples: Any) -> Any:
    return tf.concat((samples, samples), axis=0)


def _change_from(start: np.ndarray, found: np.ndarray) -> np.ndarray:
    """What was added, in a type that has it; a state without limit is counted from 0."""
    kind = np.int64 if start.dtype.kind in "biu" else start.dtype
    base = np.where(np.isfinite(start), start, 0)
    change: np.ndarray = found.astype(kind) - base.astype(kind)
    return change


def _is_unsteady(adds: np.ndarray, again: np.ndarray, doubled: np.ndarray) -> bool:
    """Whether what a batch adds changes with random numbers or with statistics of the batch.

    Then a sum over the samples need not be that of the parts. The batch seen `again` adds something
    else, or each sample twice in a batch, which has the same statistics, adds twice as much.
    """
    same, twice = (np.allclose(each, 2 * adds, rtol=1e-4, atol=1e-5) for each in (again, doubled))
    return twice or not same


@contextmanager
def _watched(metrics: Sequence[Any]) -> Iterator[set[str]]:
    """While entered, note the names of the metrics whose result a layer asks for."""
    read: set[str] = set()

    def noting(metric: Any, result: Any) -> Any:
        def noted() -> Any:
            read.add(metric.name)
            return result()

        return noted

    for metric in metrics:
        metric.__dict__["result"] = noting(metric, metric.result)
    try:
        yield read
    finally:
        for metric in metrics:
            metric.__dict__.pop("result", None)


def _is_sum(start: Any, one: Any, other: Any, both: Any) -> bool:
    base = np.where(np.isfinite(start), start, 0)
    return bool(np.allclose(both - base, (one - base) + (other - base), rtol=1e-4, atol=1e-5))


_ALONE = "Train on one device, in whole batches."


def _read(metric: Any) -> PlanRefused:
    return PlanRefused(
        f"A layer asks its metric {metric.name} for its result while it is called, and each part "
        "of a batch would get another: the plan trains batches in several parts.",
        [_ALONE, "Or keep what the layer needs in a weight of its own."],
    )


def _no_sum(metric: Any) -> PlanRefused:
    return PlanRefused(
        f"The metric {metric.name} within the model is no sum over the samples: it must see one "
        "batch after another, and here several parts of a batch are seen at once.",
        [_ALONE, f"Or leave {metric.name} out."],
    )
