"""The compiled functions of a run whose model brings its own `train_step` or parts of it.

Steps are called as `fit` calls them, with what `fit` gives them. In one replica nothing stands
between a step and Keras; in several, `own_replicas` says what is added up, and how. What a step
returns are its logs: a number by name. A log that is a metric's result is its running value since
the epoch began, as in `fit`; any other is this step's, over several replicas the mean by samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.distribute.values import PerReplicaSpec

from gpu_studio.contract import Log, Warned
from gpu_studio.contract.events import Event
from gpu_studio.trainer.curves import curves_of
from gpu_studio.trainer.data import Split
from gpu_studio.trainer.input_wait import moment_after
from gpu_studio.trainer.keras_objects import Objective
from gpu_studio.trainer.layer_state import DRAWS_PER_STEP, BatchPart
from gpu_studio.trainer.meters import Call, Deltas, Meters
from gpu_studio.trainer.models.own_training import (
    TEST_STEP,
    TRAIN_STEP,
    built,
    is_own,
    optimizers_of,
    packed,
    speaks_of_replicas,
    symbols_of,
)
from gpu_studio.trainer.own_logs import (
    Entry,
    LoggedCall,
    LogTally,
    entry_of,
    events_of_arrays,
    logs_of,
    named_as_metrics,
    not_evaluated,
    numbers,
    several_losses,
    shown_losses,
    warnings_on,
    watched_loss,
)
from gpu_studio.trainer.own_replicas import ReplicaStep, as_replica, noting_results, outside
from gpu_studio.trainer.replica_updates import update_by_sums
from gpu_studio.trainer.xla import By, CompiledProgram


class OwnSteps(CompiledProgram):
    """A compiled model whose own steps train it under a strategy."""

    def __init__(
        self,
        strategy: Any,
        model: Any,
        seed: int,
        tell: Callable[[Event], object] | None = None,
        device: str | None = None,
        cards: Sequence[str] = (),
        *,
        class_weight: Mapping[int, float] | None = None,
        compiled: By = False,
    ) -> None:
        """All is as of `Program`, `class_weight` of `Objective`. Call `prepare` before a step.

        XLA compiles the steps of training if `compiled`.
        """
        self._compile(compiled)
        self.optimizers = optimizers_of(model)
        first = next(iter(self.optimizers.values()), None)
        self._used: dict[int, Any] = {}
        self._only_builds = False
        self.entries: dict[str, list[Entry]] = {}
        """What each kind of step returns, in order; known once it is traced."""
        self._results: dict[str, list[tuple[Any, Any]]] = {}
        self._found: dict[int, tuple[Any, Any, Any]] = {}
        self._by_shares = not speaks_of_replicas(model)
        loss = Objective(class_weight=class_weight or {})
        super().__init__(strategy, model, first, loss, Meters(()), seed, tell, device, cards)
        self._once = {kind: self._traceable(kind) for kind in (TRAIN_STEP, TEST_STEP)}
        self._held: list[Any] = []

    def _traceable(self, kind: str) -> Any:
        run = self._alone if self._replicas == 1 else self._shared
        return tf.function(
            lambda batch, number: run(kind, batch, number),
            autograph=False,
            reduce_retracing=True,
            jit_compile=(self.by_xla and kind == TRAIN_STEP) or None,
        )

    def _without_xla(self) -> None:
        self.by_xla = False
        self._once[TRAIN_STEP] = self._traceable(TRAIN_STEP)
        self._train = tf.function(self._train_steps, autograph=False)

    def _take_over(self) -> None:
        for optimizer in self.optimizers.values():
            optimizer.__dict__["apply"] = self._applying(optimizer)
            if self._replicas > 1:
                update_by_sums(optimizer, self.strategy)

    def prepare(self, samples: Split, held_out: Split | None) -> Iterator[Log | Warned]:
        """Trace the steps, by which everything that is still to be built is built.

        It trains on `samples`, and evaluates those `held_out`, if any. Yields what deserves a
        warning. Raises UserCodeError for steps that return no logs, and what the steps raise.
        """
        given = samples.given(slice(1))
        self._build(given, samples.size)
        losses: set[tuple[int | None, ...]] = set()
        with watched_loss(self.model, losses), noting_results(self._metrics, self._found):
            traced = self._traced(TRAIN_STEP, given, samples.size)
        results = (metric for metric, _ in self._results[TRAIN_STEP])
        names = (entry.name for entry in self.entries[TRAIN_STEP])
        logs = dict(zip(names, results, strict=True))
        # A model of several optimizers is often compiled with one more, which nothing uses.
        self.optimizer = next(iter(self._used.values()), None)
        yield from several_losses(self.model, losses)
        yield from named_as_metrics(self.model, logs)
        yield from warnings_on(self.model, self._replicas, traced.graph)
        yield from events_of_arrays(self.model, TRAIN_STEP, self.entries[TRAIN_STEP])
        if held_out:
            try:
                self._traced(TEST_STEP, given, held_out.size)
            except Exception as error:
                if is_own(self.model, TEST_STEP) or not is_own(self.model, TRAIN_STEP):
                    raise
                yield not_evaluated(self.model, error)

    def _build(self, given: tuple[Any, Any, Any], size: int | None) -> None:
        """Build what no step can while it is traced for replicas."""
        x, y, weights = given
        given = x, y, self.loss.weighted(y, weights)
        with tf.device(self._device), self.strategy.scope():
            built(self.model, given, size)
            if self._replicas > 1 and self.model.built:
                self._build_for_replicas(given)
        if self._replicas > 1:
            with tf.device(self._device):
                self._held = [tf.Variable(np.asarray(v), trainable=False) for v in self._states]

    def _build_for_replicas(self, given: tuple[Any, Any, Any]) -> None:
        # It raises of a loss for targets that the step alone makes fit.
        with suppress(Exception):
            self.model._symbolic_build(data_batch=packed(*given))  # noqa: SLF001
            # A metric that only the step updates may make its variables there.
            if all(metric.variables for metric in self._metrics):
                return
        kinds = symbols_of(packed(*given))
        self._only_builds = True
        with as_replica(self.model, by_shares=False):
            keras.src.backend.compute_output_spec(self.model.train_step, kinds)
        self._only_builds = False

    def _traced(self, kind: str, given: tuple[Any, Any, Any], size: int | None) -> Any:
        # A step may reckon with the size, which `fit` lets it see, as with images.shape[0].
        size = size if self._replicas == 1 else None
        samples = tf.nest.map_structure(
            lambda each: tf.TensorSpec((size, *each.shape[1:]), tf.as_dtype(each.dtype)), given
        )
        batch = (*samples, tf.TensorSpec((None,), tf.float32))
        if self._replicas > 1:
            batch = tf.nest.map_structure(lambda s: PerReplicaSpec(*[s] * self._replicas), batch)
        with tf.device(self._device):
            return self._once[kind].get_concrete_function(batch, tf.TensorSpec((), tf.int64))

    @property
    def _metrics(self) -> list[Any]:
        """The metrics whose states a step may change."""
        own = [m for layer in self.model._flatten_layers() for m in layer._metrics]  # noqa: SLF001
        return list({id(each): each for each in (*self.model.metrics, *own)}.values())

    @property
    def _states(self) -> list[Any]:
        found = [v for metric in self._metrics for v in metric.variables]
        return list({id(v): v for v in found}.values())

    @property
    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint holds, under names that stay the same in every strategy."""
        weights = {f"model/{i}/{v.path}": v for i, v in enumerate(self.model.weights)}
        slots = {
            f"optimizer/{name}/{i}": v
            for name, optimizer in self.optimizers.items()
            for i, v in enumerate(optimizer.variables)
        }
        metrics = {f"metric/{i}": v for i, v in enumerate(self._held or self._states)}
        known = {id(v) for v in (*self.model.weights, *self._states)}
        random = [v for v in self.model.variables if id(v) not in known]
        others = [v for v in vars(self.model).values() if isinstance(v, tf.Variable)]
        rest = {f"other/{i}": v for i, v in enumerate([*random, self._random.shared, *others])}
        return weights | slots | metrics | rest

    @property
    def storage(self) -> list[Any]:
        """All variables as they lie on the devices."""
        slots = [v for optimizer in self.optimizers.values() for v in optimizer.variables]
        return [*self.model.variables, *slots]

    @property
    def optimizer_name(self) -> str:
        """The classes of the optimizers that its step uses."""
        return ", ".join(type(each).__name__ for each in self._used.values())

    @property
    def evaluates(self) -> bool:
        """Whether there is a step that evaluates."""
        return TEST_STEP in self.entries

    @property
    def measures(self) -> list[str]:
        """The names of the curves that are drawn of the logs."""
        entries = [each for kind in self.entries.values() for each in kind]
        return list(curves_of({each.name: np.zeros(each.shape) for each in entries}))

    def tally(self) -> LogTally:
        """Begin to count anew, as `fit` does when an epoch begins."""
        if self._replicas == 1:
            self.model.reset_metrics()
        else:
            self._reset_held()
        return LogTally(self.entries)

    def _reset_held(self) -> None:
        with keras.StatelessScope() as scope:
            self.model.reset_metrics()
            anew = [scope.get_current_value(v) for v in self._states]
        for variable, value in zip(self._held, anew, strict=True):
            if value is not None:
                variable.assign(value)

    def _call(self, stream: Any, first_step: int, count: int) -> Call:
        return self._logged(TRAIN_STEP, super()._call(stream, first_step, count))

    def evaluate(self, stream: Any, first_batch: int, count: int) -> Call:
        """As of `Program`, with the logs of the last batch for what the metrics got."""
        return self._logged(TEST_STEP, super().evaluate(stream, first_batch, count))

    def _logged(self, kind: str, call: Call) -> Call:
        """Return the call with losses and the last logs for the logs of each step."""
        logs = call.losses
        losses, last = shown_losses(self.entries[kind], logs), [[kind, logs[-1]]]
        return LoggedCall(
            losses,
            last,
            call.input_seconds,
            call.aside_seconds,
            call.batches,
            call.exchange_seconds,
        )

    # Traced by TensorFlow.

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Deltas, list[Any]]:
        logs, computed = self._once[TRAIN_STEP](tuple(batch), step)
        return logs, [], computed

    def _evaluate_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        return self._once[TEST_STEP](tuple(batch), step)[0], []

    def _alone(self, kind: str, batch: Any, _number: Any) -> tuple[Any, list[Any]]:
        logs = self.strategy.run(lambda *samples: self._logs(kind, *samples), batch[:3])
        return self._local(logs)[0], []

    def _shared(self, kind: str, batch: Any, number: Any) -> tuple[Any, list[Any]]:
        held = [variable.read_value() for variable in self._held]

        def in_replica(*part: Any) -> Any:
            return self._in_replica(kind, part, number, held)

        self._found.clear()
        # Not in each replica: they are traced by turns.
        noting = noting_results(self._metrics, self._found)
        with as_replica(self.model, by_shares=self._by_shares), noting:
            logs, added, computed = self.strategy.run(in_replica, batch)
        for variable, value in zip(self._held, added, strict=True):
            variable.assign_add(tf.cast(self._total(value), variable.dtype))
        return self._joined(kind, self._total(logs)), self._local(computed)

    def _joined(self, kind: str, logs: Any) -> Any:
        """Return the logs of the whole batch, from the replicas' sum: results of metrics anew."""
        held = [variable.read_value() for variable in self._held]
        entries = self.entries[kind]
        values = tf.split(logs, [entry.size for entry in entries])
        with keras.StatelessScope(zip(self._states, held, strict=True)):
            for place, (metric, key) in enumerate(self._results[kind]):
                if metric is not None:
                    result = metric.result()
                    found = result if key is None else result[key]
                    values[place] = numbers(found, entries[place])
        return tf.concat(values, 0)

    # In each replica.

    def _logs(self, kind: str, x: Any, y: Any, sample_weight: Any) -> Any:
        """Call the model's step, and return the numbers of its logs, shape (numbers,).

        As in `fit`, one that trains is given the weights of classes as weights of samples.
        """
        if kind == TRAIN_STEP:
            sample_weight = self.loss.weighted(y, sample_weight)
        logs = logs_of(self.model, kind, getattr(self.model, kind)(packed(x, y, sample_weight)))
        self.entries[kind] = [entry_of(name, value) for name, value in logs.items()]
        nothing = (None, None, None)
        self._results[kind] = [self._found.get(id(v), nothing)[1:] for v in logs.values()]
        pairs = zip(logs.values(), self.entries[kind], strict=True)
        return tf.concat([numbers(value, entry) for value, entry in pairs], 0)

    def _in_replica(
        self, kind: str, batch: Any, step: Any, held: Sequence[Any]
    ) -> tuple[Any, list[Any], Any]:
        """Return the replica's share of the logs, what it adds to the metrics, and when it did."""
        x, y, sample_weight, weight = batch
        context = tf.distribute.get_replica_context()
        number = tf.cast(context.replica_id_in_sync_group, tf.int64)
        part = BatchPart(number, tf.reduce_sum(weight))
        states = self._states
        start = {id(v): value for v, value in zip(states, held, strict=True)}
        draw = (step * self._replicas + number) * DRAWS_PER_STEP
        with ReplicaStep(self._random, draw, part, start) as scope:
            logs = self._logs(kind, x, y, sample_weight)
        self._note(scope, self._replicas, training=kind == TRAIN_STEP)
        computed = moment_after([*scope.gradients, logs])
        counts = tf.cast(tf.sign(part.share), tf.float64)
        added = [
            counts * tf.cast(scope.get_current_value(v) - start[id(v)], tf.float64) for v in states
        ]
        scope.forget(states)
        self._write(context, scope, part)
        return logs * part.share, added, computed

    def _applying(self, optimizer: Any) -> Callable[..., Any]:
        """Return the optimizer's `apply`, which gets the gradients of the whole batch."""
        apply = optimizer.apply

        def applied(gradients: Any, trainable_variables: Any = None) -> Any:
            self._used[id(optimizer)] = optimizer
            gradients = list(gradients)
            variables = None if trainable_variables is None else list(trainable_variables)
            context = tf.distribute.get_replica_context()
            scope = ReplicaStep.here()
            with outside():
                if self._only_builds:
                    _built(self.strategy, optimizer, variables)
                    return None
                if variables is not None and context is not None:
                    context.merge_call(_built, args=(optimizer, variables))
                if scope is None:
                    return apply(gradients, variables)
                self._write(context, scope.trainable, scope.part)
                scope.gradients = [each for each in gradients if each is not None]
                share = scope.part.share if self._by_shares else tf.sign(scope.part.share)
                weighed = [_weighed(each, share) for each in gradients]
                made = apply(self._summed(context, weighed), variables)
                if self._constraints:
                    context.merge_call(self._constrain)
                return made

        return applied


def _built(strategy: Any, optimizer: Any, variables: Sequence[Any] | None) -> None:
    """Make the optimizer's variables while a step is traced, so that a checkpoint can set them."""
    if variables is not None and not optimizer.built:
        with tf.init_scope(), strategy.scope():
            optimizer.build(variables)


def _weighed(gradient: Any, share: Any) -> Any:
    if gradient is None:
        return None
    return tf.math.scalar_mul(tf.cast(share, gradient.dtype), gradient)
