"""The compiled functions of a run: some training steps, or some evaluation steps, in one call.

One loop serves every strategy, because Keras 3's own `fit` does not. In a replica: loss =
    sum(weight · loss per sample), where the weights of a global batch sum to 1; gradients are
    summed over the replicas first, and only then clipped and applied. (Keras clips each replica's
    gradients before it sums them, which trains another model on four devices than on one.)
Whatever a layer changes while it is called (statistics, a weight that it normalises) is caught, and
written once for all replicas; see `layer_state`. Random numbers follow from (seed, step, replica):
dropout after a resume is what it would have been. Losses that layers add count in evaluation too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.contract.events import Event
from gpu_studio.trainer.communication import CommunicationMeter, between_replicas
from gpu_studio.trainer.input_wait import HOST, exchanged, moment_after, waited
from gpu_studio.trainer.keras_objects.objective import Judged
from gpu_studio.trainer.layer_state import (
    DRAWS_PER_STEP,
    BatchPart,
    Caught,
    Changes,
    RandomStates,
    contribution,
    few_turns_at_once,
    grown,
    joined,
    lists_in,
    notes_on,
    refuse_used,
    taken_off,
    warned_of_lists,
)
from gpu_studio.trainer.meters import Call, Deltas, Meters, Tally
from gpu_studio.trainer.models.own_training import call_as_fit
from gpu_studio.trainer.replica_updates import update_by_sums
from gpu_studio.trainer.step_gradients import filters_first, in_one_piece, refuse_without, rows_once
from gpu_studio.trainer.step_loops import (
    Left,
    Read,
    Trained,
    evaluation_loop,
    training_loop,
)
from gpu_studio.trainer.step_recording import StepRecorder, logical_name
from gpu_studio.trainer.whole_batches import Held, as_part

RECORDED_STEPS = 5
"""How many steps are timed in parts: a single one may be slow because of other work."""
PARTED = 4
"""What a part consists of: samples, targets, their weights, and the weight in the batch."""
BATCH_FACTS = ("size", "over")
"""What a batch of a stream says: its samples, and whether it is the last; zeros for arrays."""


class Program:
    """A model with its optimizer and loss under a strategy, ready to be stepped."""

    by_xla = False
    """Whether XLA compiles the steps of training."""

    def __init__(
        self,
        strategy: Any,
        model: Any,
        optimizer: Any,
        loss: Any,
        meters: Meters,
        seed: int,
        tell: Callable[[Event], object] | None = None,
        device: str | None = None,
        cards: Sequence[str] = (),
    ) -> None:
        """`loss` is the `keras_objects.Objective` of the model; `seed` is the plan's.

        `tell` gets the traffic between the replicas, if there are several. The steps are counted on
        `device`; on TensorFlow's own choice, the first device, if it is None. `cards` are the
        physical devices of the replicas, one and the same if it is left out.
        """
        self.strategy, self.model, self.optimizer = strategy, model, optimizer
        self.loss, self.meters = loss, meters
        self._replicas = strategy.num_replicas_in_sync
        self._device = device
        self._cards: Sequence[str] = cards or ("",) * self._replicas
        self.noticed: list[Event] = []
        """What compiling the steps has shown, to be reported."""
        self._grown: list[str] = []
        self._noted: list[Event] = []
        self._random = RandomStates(model.variables, seed)
        self._constraints: list[tuple[Any, Any]] = []
        self.begin_with(optimizer)
        self._recorder = _recorder(strategy, tell) if tell and self._replicas > 1 else None

    def begin_with(self, optimizer: Any) -> None:
        """Train with this optimizer from the next step on, and the weights that are trained now."""
        self.optimizer = optimizer
        if self._replicas > 1:
            self._constraints += taken_off(self.model.trainable_variables)
        self._take_over()
        self._train = tf.function(self._train_steps, autograph=False)
        self._evaluate = tf.function(self._evaluate_steps, autograph=False)

    def _take_over(self) -> None:
        update_by_sums(self.optimizer, self.strategy)

    @property
    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint holds, under names that stay the same in every strategy."""
        weights = {f"model/{i}/{v.path}": v for i, v in enumerate(self.model.weights)}
        # The learning rate is the plan's: a resumed run may have a new one.
        slots = [v for v in self.optimizer.variables if v.name != "learning_rate"]
        return weights | {f"optimizer/{i}": v for i, v in enumerate(slots)}

    @property
    def optimizer_name(self) -> str:
        """What the model was compiled with; empty if the plan's optimizer trains it."""
        return ""

    @property
    def evaluates(self) -> bool:
        """Whether the model can be evaluated."""
        return True

    @property
    def measures(self) -> list[str]:
        """The names of what each epoch measures on a split."""
        return list(dict.fromkeys(["loss", *self.meters.names]))

    def tally(self) -> Tally:
        """Begin to count anew, for an epoch or for a pass over a split."""
        return Tally(self.meters)

    @property
    def storage(self) -> list[Any]:
        """All variables as they lie on the devices."""
        return [*self.model.variables, *self.optimizer.variables]

    def train(self, stream: Any, first_step: int, count: int, left: int | None = None) -> Call:
        """Train `count` steps on the next parts of `stream`.

        The first is step `first_step` of the run. `left` steps of the epoch are not done yet, or
        None if only the data know: a program may begin with more of them than it is asked for.
        """
        del left
        if self._recorder is None:
            return self._call(stream, first_step, count)
        return self._recorder.train(self._call, stream, first_step, count)

    def settled(self, first_step: int) -> Call | None:
        """Wait for the steps that have begun, of which the first is step `first_step` of the run.

        None if all have been reported.
        """
        del first_step
        return None

    def _call(self, stream: Any, first_step: int, count: int) -> Call:
        return self._run(self._train, stream, first_step, count)[0]

    def _call_with(self, held: Held, kind: Held, first_step: int) -> Call:
        """Train a step on the batch `held`, compiled once for all of a `kind`: types and shapes."""

        def once(batch: Any, first: Any, count: Any) -> Any:
            return self._train.get_concrete_function(kind, first, count)(batch, first, count)

        return self._run(once, held, first_step, 1)[0]

    def _run(self, steps: Any, stream: Any, first_step: int, count: int) -> tuple[Call, Left]:
        first, many = tf.constant(first_step, tf.int64), tf.constant(count, tf.int32)
        with tf.device(self._device):
            losses, deltas, noted, left = steps(stream, first, many)
            if self._grown:
                self._try_again(stream, first)
        facts, moments = np.split(noted.numpy(), [len(BATCH_FACTS)], axis=1)
        values, ended = losses.numpy(), time.time()
        exchange = exchanged(moments, len(self._cards), ended)
        waiting = waited(moments, self._cards)
        return Call(values, deltas, waiting, 0.0, facts, exchange), left

    def _try_again(self, stream: Any, step: Any) -> None:
        """Compile the step once more where the first time has left tensors in lists of layers.

        `fit` compiles each step twice, and fails where one of the first time is used again. Raises
        UserCodeError there.
        """
        names, self._grown = self._grown, []

        def once(stream: Any, step: Any) -> Any:
            return self._train_step(self._with_facts(self._next(stream))[0], step)[0]

        again = tf.function(once, autograph=False).get_concrete_function(stream, step)
        refuse_used(self.model, names, again.graph)
        self.noticed.append(warned_of_lists(names))

    def evaluate(self, stream: Any, first_batch: int, count: int) -> Call:
        """Return the mean losses of the next `count` batches of `stream`, and the metrics' sums.

        The first is batch `first_batch` of its split: layers draw the same numbers whenever a split
        is evaluated.
        """
        first, batches = tf.constant(first_batch, tf.int64), tf.constant(count, tf.int32)
        with tf.device(self._device):
            losses, deltas, facts = self._evaluate(stream, first, batches)
        return Call(losses.numpy(), deltas, 0.0, batches=facts.numpy())

    # Traced by TensorFlow.

    def _train_steps(self, stream: Any, first: Any, count: Any) -> tuple[Any, Deltas, Any, Left]:
        lists = lists_in(self.model)
        made = training_loop(
            first, count, self._reading(stream), self._trained, self.meters.nothing()
        )
        self._grown = grown(self.model, lists)
        return made

    def _evaluate_steps(self, stream: Any, first: Any, count: Any) -> tuple[Any, Deltas, Any]:
        read, nothing = self._reading(stream), self.meters.nothing()
        return evaluation_loop(first, count, read, self._evaluate_step, nothing)

    def _reading(self, stream: Any) -> Read:
        return lambda: self._with_facts(self._next(stream))

    def _trained(self, batch: Any, step: Any, left: Left) -> Trained:
        del left
        return Trained(*self._train_step(batch, step))

    def _next(self, stream: Any) -> Any:
        return as_part(stream.batch if isinstance(stream, Held) else next(stream))

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Deltas, list[Any]]:
        """Return the loss, what the metrics get, and the moment when each part was computed."""
        loss, added, computed = self.strategy.run(self._train_replica, (*batch, step))
        return *self._reduced(loss, added), self._local(computed) if self._replicas > 1 else []

    def _evaluate_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        return self._reduced(*self.strategy.run(self._evaluate_replica, (*batch, step)))

    def _reduced(self, loss: Any, added: Deltas) -> tuple[Any, Deltas]:
        summed = iter(in_one_piece(self.strategy, self._total, [loss, *chain(*added)]))
        return next(summed), [[next(summed) for _ in row] for row in added]

    def _total(self, value: Any) -> Any:
        with between_replicas():
            return self.strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)

    def _local(self, value: Any) -> list[Any]:
        return list(self.strategy.experimental_local_results(value))

    def _with_facts(self, batch: Any) -> tuple[Any, list[Any], list[Any]]:
        """Return what a step is given, when each part was ready in memory, and `BATCH_FACTS`."""
        samples, parts = self._timed(batch)
        if not parts or parts[0].shape.rank == 0:
            return samples, parts, [tf.zeros((), tf.float64)] * len(BATCH_FACTS)
        with tf.device(HOST):
            first, ready = tf.identity(parts[0]), [part[0] for part in parts]
            return samples, ready, [first[1], first[2]]

    def _timed(self, batch: Any) -> tuple[Any, list[Any]]:
        """Return what a step is given, and what each part says of itself: nothing in evaluation."""
        *samples, ready = batch if len(batch) > PARTED else (*batch, ())
        return samples, [] if isinstance(ready, tuple) else self._local(ready)

    # In each replica.

    def _train_replica(
        self, x: Any, y: Any, sample_weight: Any, weight: Any, step: Any
    ) -> tuple[Any, Deltas, Any]:
        context = tf.distribute.get_replica_context()
        trainable = self.model.trainable_variables
        wanted = y, self.loss.weighted(y, sample_weight)
        with tf.GradientTape() as tape:
            loss, judged, changes = self._judged_replica(
                context, x, wanted, weight, step, training=True
            )
            scaled = self.optimizer.scale_loss(self.loss.trained(loss, judged[0], weight))
        gradients = tape.gradient(scaled, [v.value for v in trainable])
        refuse_without(gradients, self.loss)
        few_turns_at_once()
        filters_first(gradients)
        computed = moment_after(gradients) if self._replicas > 1 else ()
        # First, because an update changes the state that the layers left.
        self._write(context, *changes)
        self._apply_at(self._summed(context, gradients), trainable, step)
        if self._constraints:
            context.merge_call(self._constrain)
        return loss, self.meters.added(*judged, weight, changes[1].number), computed

    def _apply_at(self, gradients: list[Any], trainable: list[Any], step: Any) -> None:
        """Update the weights by their gradients, in step number `step` of the run."""
        del step
        self.optimizer.apply(gradients, trainable)

    def _evaluate_replica(
        self, x: Any, y: Any, sample_weight: Any, weight: Any, step: Any
    ) -> tuple[Any, Deltas]:
        context = tf.distribute.get_replica_context()
        loss, judged, changes = self._judged_replica(
            context, x, (y, sample_weight), weight, step, training=False
        )
        self._write(context, *changes)
        return loss, self.meters.added(*judged, weight, changes[1].number)

    def _judged_replica(
        self,
        context: Any,
        x: Any,
        wanted: tuple[Any, Any],
        weight: Any,
        step: Any,
        *,
        training: bool,
    ) -> tuple[Any, tuple[list[Judged], list[Any], Deltas], tuple[Caught, BatchPart]]:
        """Return the replica's part of the loss, what it is made of, and what layers have changed.

        `wanted` holds the targets and the data's own weights of the samples.
        """
        part = BatchPart(tf.cast(context.replica_id_in_sync_group, tf.int64), tf.reduce_sum(weight))
        with self._caught(step * self._replicas + part.number) as caught:
            outputs = call_as_fit(self.model, x, training=training)
            penalty = self._penalty(caught, part)
        self._note(caught, self._replicas, training=training)
        y, sample_weight = wanted
        judged = self.loss.judged(y, outputs, sample_weight)
        losses = [self._share(context, weight, each) for each in judged]
        made = judged, losses, self.meters.inner.taken(caught, part)
        return self.loss.total(losses) + penalty, made, (caught, part)

    def _share(self, context: Any, weight: Any, judged: Judged) -> Any:
        """Return this replica's part of an output's loss."""
        if judged.head.loss.sums:
            return tf.reduce_sum(tf.where(weight > 0, judged.losses, 0.0))
        loss = tf.reduce_sum(weight * judged.losses)
        if judged.counted is None:
            return loss
        return tf.math.divide_no_nan(loss, self._count_of_batch(context, weight, judged))

    def _count_of_batch(self, context: Any, weight: Any, judged: Judged) -> Any:
        """Return how much counts in the whole batch, which the replicas share."""
        counted = tf.reduce_sum(weight * judged.counted)
        if self._replicas > 1:
            with between_replicas():
                counted = context.all_reduce(tf.distribute.ReduceOp.SUM, counted)
        return counted

    def _penalty(self, caught: Caught, part: BatchPart) -> Any:
        """Return this part's share of the regularizers and of the losses that layers add."""
        weights = [
            v.regularizer(v) for v in self.model.trainable_variables if v.regularizer is not None
        ]
        terms = [part.of_batch(term) for term in (*caught.losses, *weights)]
        return tf.add_n(terms) if terms else 0.0

    def _caught(self, number: Any) -> Caught:
        """Return a scope that records what layers change.

        `number` counts the parts of all steps.
        """
        return Caught(self._random, number * DRAWS_PER_STEP)

    def _note(self, caught: Caught, parts: int, *, training: bool) -> None:
        said = notes_on(self.model, caught, parts, training=training)
        self.noticed += [each for each in said if each not in self._noted]
        self._noted += said

    def _summed(self, context: Any, gradients: list[Any]) -> list[Any]:
        some = [gradient for gradient in gradients if gradient is not None]
        if self._replicas == 1 or not some:  # TensorFlow sums no empty list
            return gradients
        with between_replicas():
            summed = context.all_reduce(tf.distribute.ReduceOp.SUM, some)
        reduced = iter(rows_once(gradient, self._replicas) for gradient in summed)
        return [None if gradient is None else next(reduced) for gradient in gradients]

    def _constrain(self, strategy: Any) -> None:
        for variable, constraint in self._constraints:
            if variable.trainable:  # it may have been frozen since
                assign = _assign_constrained(constraint)
                strategy.extended.update(variable.value, assign, group=False)

    def _write(self, context: Any, caught: Changes, part: BatchPart) -> None:
        variables = caught.changed
        if self._replicas == 1:
            for variable in variables:
                variable.assign(caught.get_current_value(variable))
        elif variables:
            brought = [contribution(variable, caught, part) for variable in variables]
            context.merge_call(_write_joined, args=(variables, brought))


def _write_joined(strategy: Any, variables: list[Any], brought: list[Any]) -> None:
    pairs = [(each, variable.value) for variable, each in zip(variables, brought, strict=True)]
    with between_replicas():
        totals = strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, pairs)
    for variable, total in zip(variables, totals, strict=True):
        strategy.extended.update(variable.value, _assign_joined, args=(total,), group=False)


def _assign_joined(value: Any, total: Any) -> Any:
    return value.assign(joined(value, total))


def _assign_constrained(constraint: Any) -> Callable[[Any], Any]:
    return lambda value: value.assign(constraint(value))


def _recorder(strategy: Any, tell: Callable[[Event], object]) -> StepRecorder:
    extended = strategy.extended
    devices = [
        logical_name(device) for device in (*extended.worker_devices, *extended.parameter_devices)
    ]
    meter = CommunicationMeter(devices, strategy.num_replicas_in_sync)
    return StepRecorder(meter.watching, [meter.read], tell, RECORDED_STEPS)
