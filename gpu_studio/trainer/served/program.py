"""The steps of a model whose variables lie on servers, done by workers that a chief sends them to.

This process, the chief, reads the data and numbers the steps: each sample is in one step of an
epoch, whoever does it, and a step that a lost worker had is given to another one as it was.
Apart, a worker does whole steps: it reads the weights, computes, and updates them at once, so that
others may have updated them meanwhile; what it adds is added on the server, where nothing is lost.
Together, the workers compute the parts of each step from the same weights, as replicas do, and the
chief adds their gradients up in the order of the parts and updates the weights once. A mean over
what counts in the whole batch has them count it first: that needs no weights, or few.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gpu_studio.contract import Warned, WorkerShare
from gpu_studio.trainer.input_wait import operations_so_far, written_since
from gpu_studio.trainer.keras_objects.objective import Judged
from gpu_studio.trainer.layer_state import (
    BatchPart,
    Caught,
    Changes,
    contribution,
    is_random_state,
    joined,
)
from gpu_studio.trainer.meters import Call, Deltas, Meters, added_up
from gpu_studio.trainer.program import PARTED, Program
from gpu_studio.trainer.replica_updates import applying, in_one_place
from gpu_studio.trainer.served.counting import counted
from gpu_studio.trainer.served.dispatch import Dispatch
from gpu_studio.trainer.served.homes import homes_of
from gpu_studio.trainer.served.refusals import (
    refuse_alone,
    refuse_python,
    refuse_written,
)
from gpu_studio.trainer.served.shares import Shares, StepDone
from gpu_studio.trainer.step_gradients import rows_once
from gpu_studio.trainer.strategies import Spread
from gpu_studio.trainer.whole_batches import as_part

AHEAD = 2
"""So many pieces of work a worker has: one that it does, and the next."""
TELL_SECONDS = 0.5
Tell = Callable[[Sequence[WorkerShare], Sequence[int]], None]
_NUMBER = tf.TensorSpec([], tf.int64)
_COUNTS = tf.TensorSpec([None], tf.float32)


class ServedProgram(Program):
    """A `Program` whose steps are done by the workers of `spread.served`."""

    def __init__(
        self,
        spread: Spread,
        model: Any,
        optimizer: Any,
        loss: Any,
        meters: Meters,
        seed: int,
        tell: Tell,
    ) -> None:
        """`tell` gets what each worker has done, and the bytes that each server holds."""
        served = spread.served
        assert served is not None
        self._served, self._tell = served, tell
        self._dispatch = Dispatch(served.coordinator, AHEAD * served.workers)
        self._shares = Shares(served.workers)
        self._reported_at = 0.0
        self._base = 0
        self._last = False
        super().__init__(spread.strategy, model, optimizer, loss, meters, seed)
        self._replicas = served.parts
        with spread.strategy.scope():
            self._ledger = tf.Variable(0, dtype=tf.int64, trainable=False, name="updates")
        self._counted = self._doubled = 0
        self.homes = homes_of(self.storage, spread.strategy.extended._num_ps)  # noqa: SLF001

    def begin_with(self, optimizer: Any) -> None:
        """Train with this optimizer from the next step on, and the weights that are trained now.

        Raises PlanRefused for what workers on their own cannot do.
        """
        self.optimizer = optimizer
        if not self._served.together:
            refuse_alone(self.model, optimizer)
        self._take_over()
        self._functions: dict[Any, Any] = {}
        self._asks_for_counts = False
        self._written: list[Any] = []
        self._sums = tf.function(self._update, autograph=False, reduce_retracing=True)

    def train(self, stream: Any, first_step: int, count: int, left: int | None = None) -> Call:
        """Train `count` steps or more on the next parts of `stream`; see `Program`.

        Apart, further steps are under way when it returns, of the `left` ones of the epoch.
        """
        self._shares.begin()
        if self._served.together:
            call = self._train_together(stream, first_step, count)
        else:
            call = self._train_apart(stream, first_step, count, left)
        if time.monotonic() - self._reported_at > TELL_SECONDS:
            self._tell_shares()
        return call

    def settled(self, first_step: int) -> Call | None:
        """Wait for the steps that are under way; None if there are none."""
        made = []
        while self._dispatch:
            made += list(self._dispatch.done())
        self._tell_shares()
        return self._call_of(first_step, made) if made else None

    def evaluate(self, stream: Any, first_batch: int, count: int) -> Call:
        """As of `Program`: the workers evaluate the parts, and the chief adds them up."""
        batches, facts = [], []
        for index in range(count):
            parts = self._parts_of(stream)
            number = tf.constant(-1 - first_batch - index, tf.int64)
            evaluates = self._function(self._evaluates_part, parts[0])
            counts = self._counts_in(parts, number, self._counts_evaluated)
            batches.append(self._give_all(evaluates, parts, number, counts))
            facts.append(facts_of(parts[0]))
            if facts[-1][1]:
                break
        losses, deltas = [], self.meters.nothing()
        for batch in batches:
            found = [self._dispatch.result(each) for each in batch]
            losses.append(sum(np.float32(loss) for loss, _ in found))
            for _, added in found:
                deltas = added_up(deltas, added)
        return Call(np.array(losses, np.float32), deltas, 0.0, batches=np.array(facts))

    # Each worker by itself.

    def _train_apart(self, stream: Any, first_step: int, count: int, left: int | None) -> Call:
        if not self._dispatch:
            self._base = first_step - int(self.optimizer.iterations.numpy())
        wanted = count if left is None else min(count, left)
        begun, made = first_step + len(self._dispatch), list[Any]()
        while True:
            while len(self._dispatch) < self._dispatch.most and not self._last:
                if left is not None and begun - first_step >= left:
                    break
                (part,) = self._parts_of(stream)
                self._last = bool(facts_of(part)[1])
                number = tf.constant(begun, tf.int64)
                function, nothing = self._function(self._trains_alone, part), tf.zeros([0])
                self._give(function, part, number, self._base, nothing)
                begun += 1
            if not self._dispatch or (len(made) >= wanted and not self._last):
                return self._call_of(first_step, made)
            made += list(self._dispatch.done())

    def _call_of(self, first_step: int, made: list[Any]) -> Call:
        """What came of these steps, in the order in which they were done."""
        deltas, sizes = self.meters.nothing(), []
        for _, added, (worker, lag, size), seconds in made:
            self._shares.add(StepDone(int(worker), int(size), int(lag), float(seconds)))
            deltas = added_up(deltas, added)
            sizes.append(int(size))
        self._count(first_step, len(made))
        facts = np.zeros((len(made), 2))
        facts[:, 0] = sizes
        if self._last and not self._dispatch:
            self._last = False
            facts[-1:, 1] = 1
        losses = np.array([loss for loss, *_ in made], np.float32)
        return Call(losses, deltas, 0.0, batches=facts, sizes=np.array(sizes, np.int64))

    def _count(self, first_step: int, steps: int) -> None:
        """Count so many steps as done, and look whether the servers have got more updates."""
        self._counted += steps
        self.optimizer.iterations.assign(first_step + steps - self._base)
        if self._dispatch:
            return
        doubled = int(self._ledger.numpy()) - self._counted
        if doubled > self._doubled:
            again = doubled - self._doubled
            self._doubled = doubled
            self.noticed.append(
                Warned(
                    message=f"{again} of the last updates were made twice: a worker was lost just "
                    "after it had made its own, and the step was done again."
                )
            )

    def _trains_alone(self, part: Any, step: Any, base: Any, counts: Any) -> tuple[Any, ...]:
        """A whole step: its loss, what the metrics get, who did it with which lag, and the time."""
        self._goes_by, self._counts = step - base, counts
        began, before = tf.timestamp(), self._ledger.read_value()
        known = operations_so_far()
        with tf.control_dependencies([began, before]):
            loss, added, _ = self.strategy.run(self._train_replica, (*part, step))
        with tf.control_dependencies([loss, *written_since(known)]):
            after = self._ledger.assign_add(1, read_value=True).read_value()
        with tf.control_dependencies([after]):
            seconds = tf.timestamp() - began
        about = _worker(), after - before - 1, tf.size(part[3], tf.int64)
        return loss, added, tf.stack(about), seconds

    def _apply_at(self, gradients: list[Any], trainable: list[Any], step: Any) -> None:
        del step
        with counted(self.optimizer, self._goes_by):
            self.optimizer.apply(gradients, trainable)

    def _caught(self, number: Any) -> Caught:
        """Also read each weight that is not trained once, so that what is added to it is known."""
        caught = super()._caught(number)
        if not self._served.together:
            for variable in self.model.non_trainable_variables:
                if is_random_state(variable):
                    continue  # to read it is to draw
                if caught.get_current_value(variable) is None:
                    caught.state_mapping[id(variable)] = tf.identity(variable.value)
            self._read = dict(caught.state_mapping)
        return caught

    def _write(self, context: Any, caught: Changes, part: BatchPart) -> None:
        """Add what layers have changed; others may have changed it too since it was read."""
        del context, part  # the part is the whole batch
        refuse_written(each.path for each in caught.changed if each.trainable)
        for variable in caught.changed:
            change = caught.get_current_value(variable) - self._read[id(variable)]
            variable.value.assign_add(change)

    # All workers together.

    def _train_together(self, stream: Any, first_step: int, count: int) -> Call:
        losses, deltas, facts = [], self.meters.nothing(), []
        for index in range(count):
            parts = self._parts_of(stream)
            facts.append(facts_of(parts[0]))
            number = tf.constant(first_step + index, tf.int64)
            computes = self._function(self._computes_part, parts[0])
            counts = self._counts_in(parts, number, self._counts_trained)
            given = self._give_all(computes, parts, number, counts)
            found = [self._dispatch.result(each) for each in given]
            self._sums([each[2] for each in found], [each[3] for each in found])
            losses.append(sum(np.float32(loss) for loss, *_ in found))
            for _, added, _, _, (worker, size), seconds in found:
                self._shares.add(StepDone(int(worker), int(size), 0, float(seconds)))
                deltas = added_up(deltas, added)
            if facts[-1][1]:
                break
        return Call(np.array(losses, np.float32), deltas, 0.0, batches=np.array(facts))

    def _computes_part(self, part: Any, step: Any, number: Any, counts: Any) -> tuple[Any, ...]:
        """A worker's part of a step: loss, metrics, gradients, changes, who, how many, how long."""
        began, self._counts = tf.timestamp(), counts
        with tf.control_dependencies([began]):
            made = self.strategy.run(self._part_replica, (*part, step, number))
        with tf.control_dependencies(tf.nest.flatten(made)):
            seconds = tf.timestamp() - began
        # A part for which no sample is left has one that weighs nothing.
        size = tf.math.count_nonzero(part[3])
        return *made, tf.stack((_worker(), size)), seconds

    def _part_replica(
        self, x: Any, y: Any, sample_weight: Any, weight: Any, step: Any, number: Any
    ) -> tuple[Any, Deltas, list[Any], list[Any]]:
        trainable = self.model.trainable_variables
        wanted = y, self.loss.weighted(y, sample_weight)
        with tf.GradientTape() as tape:
            loss, judged, (caught, part) = self._judged_replica(
                _Part(number), x, wanted, weight, step, training=True
            )
            trained = self.loss.trained(loss, judged[0], weight)
            scaled = self.optimizer.scale_loss(trained)
        gradients = tape.gradient(scaled, [v.value for v in trainable])
        self._learning = [v for v, g in zip(trainable, gradients, strict=True) if g is not None]
        self._written = caught.changed
        brought = [contribution(variable, caught, part) for variable in self._written]
        there = [plain_of(gradient) for gradient in gradients if gradient is not None]
        return loss, self.meters.added(*judged, weight, number), there, brought

    def _update(self, gradients: list[list[Any]], brought: list[list[Any]]) -> None:
        """Update the weights once, by what all parts have brought. The chief computes it."""
        for variable, *shares in zip(self._written, *brought, strict=True):
            variable.value.assign(joined(variable.value, tf.add_n(shares)))
        summed = [
            sum_of_parts(parts, variable.shape)
            for variable, *parts in zip(self._learning, *gradients, strict=True)
        ]
        with self.strategy.scope():
            in_one_place(applying(self.optimizer), summed, self._learning)

    def _count_of_batch(self, context: Any, weight: Any, judged: Judged) -> Any:
        """As of `Program`, where workers do not meet: all have counted their parts before."""
        if self._replicas == 1:
            return super()._count_of_batch(context, weight, judged)
        self._asks_for_counts = True
        return self._counts[[each is judged.head for each in self.loss.heads].index(True)]

    def _counts_in(self, parts: Sequence[Any], step: Any, of: Callable[..., Any]) -> Any:
        """What counts for each output in all parts, `of` which each worker counts its own.

        Nothing, where no function that was compiled has asked for it.
        """
        if not self._asks_for_counts:
            return tf.zeros([0])
        counts = self._function(of, parts[0])
        given = self._give_all(counts, parts, step, tf.zeros([len(self.loss.heads)]))
        return tf.add_n([self._dispatch.result(each) for each in given])

    def _counts_trained(self, part: Any, step: Any, number: Any, counts: Any) -> Any:
        x, y, sample_weight, weight = part
        wanted = y, self.loss.weighted(y, sample_weight)
        return self._counts_part((x, wanted, weight), step, number, counts, training=True)

    def _counts_evaluated(self, part: Any, step: Any, number: Any, counts: Any) -> Any:
        x, y, sample_weight, weight = part
        wanted = y, sample_weight
        return self._counts_part((x, wanted, weight), step, number, counts, training=False)

    def _counts_part(
        self, part: tuple[Any, Any, Any], step: Any, number: Any, counts: Any, *, training: bool
    ) -> Any:
        """What counts in a part for each output; TensorFlow leaves out what that does not need."""
        self._counts = counts

        def replica() -> Any:
            _, (judged, *_), _ = self._judged_replica(_Part(number), *part, step, training=training)
            return tf.stack([_count_in(each, part[-1]) for each in judged])

        return self.strategy.run(replica)

    # Both.

    def _evaluates_part(self, part: Any, step: Any, number: Any, counts: Any) -> tuple[Any, Deltas]:
        x, y, sample_weight, weight = part
        self._counts = counts

        def replica() -> tuple[Any, Deltas]:
            loss, judged, _ = self._judged_replica(
                _Part(number), x, (y, sample_weight), weight, step, training=False
            )
            return loss, self.meters.added(*judged, weight, number)

        made: tuple[Any, Deltas] = self.strategy.run(replica)
        return made

    def _function(self, of: Callable[..., Any], part: Any) -> Any:
        """The function `of` for parts of this kind, compiled. Raises PlanRefused."""
        kinds = tf.nest.map_structure(_any_rows, part[:PARTED])
        key = of.__name__, str(kinds)
        if key not in self._functions:
            signature = kinds, _NUMBER, _NUMBER, _COUNTS
            made = tf.function(of, autograph=False, input_signature=signature)
            with self.strategy.scope():
                refuse_python(made.get_concrete_function().graph)
            self._functions[key] = made
        return self._functions[key]

    def _parts_of(self, stream: Any) -> list[Any]:
        return next_parts(stream, self._served.parts)

    def _give_all(self, function: Any, parts: Sequence[Any], step: Any, counts: Any) -> list[Any]:
        """Give each worker its part of a step."""
        return [self._give(function, part, step, n, counts) for n, part in enumerate(parts)]

    def _give(self, function: Any, part: Any, step: Any, number: int, counts: Any) -> Any:
        numbered = step, tf.constant(number, tf.int64)
        return self._dispatch.give(function, (part[:PARTED], *numbered, counts))

    def _tell_shares(self) -> None:
        self._reported_at = time.monotonic()
        self._tell(self._shares.of_workers(), self.homes.bytes)


class _Part:
    """Stands for the context of a replica: which part of a step it has."""

    def __init__(self, number: Any) -> None:
        self.replica_id_in_sync_group = number


def _worker() -> Any:
    return tf.cast(tf.distribute.coordinator.experimental_get_current_worker_index(), tf.int64)


def _count_in(judged: Judged, weight: Any) -> Any:
    return tf.zeros(()) if judged.counted is None else tf.reduce_sum(weight * judged.counted)


def _any_rows(tensor: Any) -> tf.TensorSpec:
    return tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype)


def next_parts(stream: Any, count: int) -> list[Any]:
    """The `count` parts of the next step, as they lie in this process."""
    return [as_part(next(stream)) for _ in range(count)]


def facts_of(part: Any) -> tuple[float, float]:
    """How many samples the whole batch has, and whether it is the last; zeros of arrays."""
    if len(part) == PARTED or not part[PARTED].shape.rank:
        return 0.0, 0.0
    _, size, last = part[PARTED].numpy()
    return float(size), float(last)


def plain_of(gradient: Any) -> Any:
    """A gradient as tensors: of one by rows its values and which rows they are of."""
    if isinstance(gradient, tf.IndexedSlices):
        return gradient.values, gradient.indices
    return gradient


def sum_of_parts(parts: Sequence[Any], shape: Sequence[int]) -> Any:
    """What `plain_of` gradients of a weight of this shape are together."""
    if not isinstance(parts[0], tuple):
        return tf.add_n(parts)
    values, rows = (tf.concat(each, axis=0) for each in zip(*parts, strict=True))
    there = tf.IndexedSlices(values, rows, tf.constant([*shape]))
    return rows_once(there, len(parts))
