"""The compiled steps of a placed model, with unrolled micro-batches.

TensorFlow's executor overlaps the stages. A batch comes as M parts whose weights sum to 1
together, so the sum of their losses is the batch's loss, and the sum of their gradients its
gradient, also where M does not divide it. A stage starts on a part as soon as its input is
there (Huang et al. 2019, "GPipe", arXiv:1811.06965), on a card when it is its turn (`Turns`).
Else the order is left to the executor; only the number of parts under way at once is limited to
what keeps the devices busy. The state that layers change in the parts is combined once per step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.contract import Timeline, Warned
from gpu_studio.contract.events import Event
from gpu_studio.placement.stage_memory import at_once, turns_at_once
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.communication import CommunicationMeter
from gpu_studio.trainer.environment import cores
from gpu_studio.trainer.input_wait import moment_after
from gpu_studio.trainer.keras_objects.objective import Judged
from gpu_studio.trainer.layer_state import (
    BatchPart,
    Caught,
    contribution,
    few_turns_at_once,
    joined,
    normalising,
    overflows_apart,
    spread,
)
from gpu_studio.trainer.meters import Deltas, Meters, added_up
from gpu_studio.trainer.model_layers import graph_of
from gpu_studio.trainer.placed.counts import Counts
from gpu_studio.trainer.placed.devices import Updates, following_inputs, move_slots
from gpu_studio.trainer.placed.placing import LayerAssignment, PlacedModel
from gpu_studio.trainer.placed.proof import Proof
from gpu_studio.trainer.placed.recomputing import called_in_stages
from gpu_studio.trainer.placed.step_timeline import timeline_of
from gpu_studio.trainer.placed.turns import Turns
from gpu_studio.trainer.program import PARTED, Program
from gpu_studio.trainer.step_gradients import (
    filters_first,
    refuse_without,
    rows_once,
    shapes_first,
)
from gpu_studio.trainer.step_recording import Recorded, StepRecorder
from gpu_studio.trainer.whole_batches import as_part


class Accumulation:
    """For each variable, on its device, the sum of the gradients of successive micro-batches.

    `at_once` micro-batches are under way together: what the next one computes waits until the first
    of them has been added. So there are activations of that many, and of each variable that many
    gradients and their sum, however many micro-batches there are. 1F1B has the same bound
    (Narayanan et al. 2019, "PipeDream", section 3.2); the executor decides in which order the
    passes run.
    """

    def __init__(self, variables: Sequence[Any], at_once: int) -> None:
        self._variables, self._at_once = variables, at_once
        self._sums: list[list[Any]] = []

    def next_input(self, x: Any) -> Any:
        """Return the samples `x` of the next micro-batch, available only once it may begin."""
        before = len(self._sums) - self._at_once
        if before < 0:
            return x
        # Grouped by device, so that each device signals the input's device once only.
        with tf.control_dependencies(
            [tf.group(*[each for each in self._sums[before] if each is not None])]
        ):
            return tf.nest.map_structure(tf.identity, x)

    def add(self, loss: Any) -> None:
        """Add the gradients of a micro-batch, computed from its loss."""
        found = gradients_of(loss, self._variables)
        if self._sums:
            found = [
                _sum(*pair) for pair in zip(self._sums[-1], found, self._variables, strict=True)
            ]
        self._sums.append(found)

    @property
    def last(self) -> list[Any]:
        """For each micro-batch a gradient that is among the last to be computed: the first's."""
        return [next((each for each in some if each is not None), None) for some in self._sums]

    @property
    def whole(self) -> list[Any]:
        """The sum of all that were added."""
        return self._sums[-1]


def gradients_of(loss: Any, variables: Sequence[Any]) -> list[Any]:
    """Return the gradients of `loss` by Keras variable, each on its forward operation's device.

    What several calls of a layer give for one is added up on the variable's device. None where
    there is none. A `GradientTape` would compute them all on the device of its own
    scope; this is TensorFlow's only way to colocate gradients. It works only inside a tf.function.
    """
    storage = [variable.value for variable in variables]
    found: list[Any] = tf.compat.v1.gradients(
        loss, storage, colocate_gradients_with_ops=True, name="gradients"
    )
    for each, gradient in zip(storage, found, strict=True):
        for part in tf.nest.flatten(gradient, expand_composites=True):
            # It would be any card's: what holds a variable in a function has no device.
            if part is not None and not part.op.device:
                part.op._set_device(each.device)  # noqa: SLF001 (no public way)
    return found


def _sum(whole: Any, part: Any, variable: Any) -> Any:
    some = [each for each in (whole, part) if each is not None]
    if len(some) < 2:
        return some[0] if some else None
    with tf.device(variable.value.device):
        if all(isinstance(each, tf.IndexedSlices) for each in some):
            return rows_once(_appended(some), len(some))
        return tf.add_n([tf.convert_to_tensor(each) for each in some])


def _appended(slices: Sequence[Any]) -> Any:
    """Concatenate the sparse gradients of an embedding."""
    values = tf.concat([each.values for each in slices], axis=0)
    indices = tf.concat([each.indices for each in slices], axis=0)
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)


def notes(placed: PlacedModel, cut: Cut, optimizer: Any) -> Iterator[Warned]:
    """Warnings of what micro-batches and recomputation do that the plan may not expect."""
    if cut.replicas > 1:
        yield from overflows_apart(optimizer, f"{cut.replicas} micro-batches")
    count = sum(each.trainable for each in normalisations(placed.seats))
    if count and cut.replicas > 1:
        yield Warned(
            message=(
                f"{normalising(count)} each micro-batch of about "
                f"{cut.batch / cut.replicas:.3g} samples by itself; the moving "
                "statistics are those of the whole batch (deferred batch normalisation)."
            ),
            suggestion=(
                "Losses differ a little from micro_batches = 1; keep "
                "micro-batches at 16 samples or more."
            ),
        )
    if placed.plan.recompute and graph_of(placed.model) is None:
        yield Warned(
            message=(
                "Nothing is recomputed: this model is no graph, so that its "
                "stages cannot be distinguished."
            ),
            suggestion=(
                "Build it as a functional or Sequential model, or leave "
                "distribution.placed.recompute out."
            ),
        )


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of a micro-batch, and what its layers changed. `trained` is made small."""

    loss: Any
    trained: Any
    deltas: Deltas
    part: BatchPart
    caught: Caught


class PlacedProgram(Program):
    """A placed model with its optimizer and loss, stepped in `micro_batches` parts at a time."""

    def __init__(
        self,
        placed: PlacedModel,
        optimizer: Any,
        loss: Any,
        meters: Meters,
        seed: int,
        cut: Cut,
        tell: Callable[[Event], object],
    ) -> None:
        """`cut` says how a batch is cut.

        `tell` gets what was observed of the first step's operations.
        """
        self.placed = placed
        super().__init__(tf.distribute.get_strategy(), placed.model, optimizer, loss, meters, seed)
        # Stages take turns: a device waits for data only while none of them computes.
        self._cards, self._device = ("",) * cut.replicas, placed.last_home
        self._micro_batches = cut.replicas
        self._part_rows = cut.batch / cut.replicas
        devices = [seat.devices for seat in placed.seats]
        self._at_once = _at_once({device for some in devices for device in some})
        self._turns_at_once = turns_at_once(devices)
        self._statistics = Statistics(normalisations(placed.seats))
        self._proof = Proof(placed.seats, tell)
        self._meter = CommunicationMeter(
            (each for seat in placed.seats for each in (*seat.devices, seat.home)), 1
        )
        self._recorder = StepRecorder(self._proving, [self._timeline, self._meter.read], tell)
        self._traced: Any = None
        self._counts = Counts(loss, ())
        for note in notes(placed, cut, optimizer):
            tell(note)

    def begin_with(self, optimizer: Any) -> None:
        """Train with this optimizer from the next step on, and the weights that are trained now."""
        super().begin_with(optimizer)
        move_slots(optimizer, self.placed.trainable_variables)
        self._updates = Updates(optimizer, self.placed.owners())

    @property
    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint holds, under names that stay the same in every strategy."""
        return self.placed.state(self.optimizer)

    @property
    def storage(self) -> list[Any]:
        """All variables as they lie on the devices."""
        return [*self.placed.storage, *self.optimizer.variables]

    @contextmanager
    def _proving(self) -> Iterator[None]:
        """Observe and report which operations TensorFlow executed."""
        with self._proof.watching():
            yield
        self._meter.learn(self._proof.graphs)
        self._proof.report(self._traced, self._part_rows)
        self._traced = None

    def _timeline(self, recorded: Recorded) -> Timeline | None:
        return timeline_of(recorded.executed, self.placed.seats, recorded.step, self._micro_batches)

    def _next(self, stream: Any) -> Any:
        return tuple(as_part(next(stream)) for _ in range(self._micro_batches))

    def _timed(self, batch: Any) -> tuple[Any, list[Any]]:
        ready_parts = [ready for part in batch for ready in part[PARTED:]]
        return [part[:PARTED] for part in batch], ready_parts

    # Traced by TensorFlow, which unrolls Python's loops.

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Deltas, list[Any]]:
        self._traced = tf.compat.v1.get_default_graph()
        batch = [(x, y, self.loss.weighted(y, own), weight) for x, y, own, weight in batch]
        self._counts = Counts(self.loss, batch)
        turns, sums = self._turns(), Accumulation(self.placed.trainable_variables, self._at_once)
        with self._scopes(turns):
            results = [
                self._train_part(part, step, number, sums, turns)
                for number, part in enumerate(batch)
            ]
            few_turns_at_once()
            filters_first(sums.whole)
            shapes_first(sums.whole)
            # First, because an update changes the state that the layers left.
            self._keep(results)
            computed = [moment_after([each]) for each in sums.last]
            self._apply(sums.whole)
            return *self._together(results), computed

    def _evaluate_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        turns, self._counts = self._turns(), Counts(self.loss, batch)
        with self._scopes(turns):
            results = [
                self._judged(part, step, number, turns, training=False)
                for number, part in enumerate(batch)
            ]
            self._keep(results)
            return self._together(results)

    @contextmanager
    def _scopes(self, turns: Turns) -> Iterator[None]:
        with following_inputs(), self.placed.placed_calls(turns):
            yield

    def _turns(self) -> Turns:
        return Turns(self._turns_at_once)

    def _train_part(
        self, part: Any, step: Any, number: int, sums: Accumulation, turns: Turns
    ) -> _Result:
        x, y, sample_weight, weight = part
        samples = sums.next_input(x), y, sample_weight, weight
        result = self._judged(samples, step, number, turns, training=True)
        sums.add(self.optimizer.scale_loss(result.trained))
        refuse_without(sums.whole, self.loss)
        turns.end(sums.whole)
        return result

    def _judged(
        self, samples: Any, step: Any, number: int, turns: Turns, *, training: bool
    ) -> _Result:
        x, y, sample_weight, weight = samples
        turns.begin()
        part = BatchPart(number, tf.reduce_sum(weight))
        with self._caught(step * self._micro_batches + number) as caught:
            outputs = self._called(x, caught, training=training)
            turns.turn_back()
            # The regularizers are the same for every micro-batch, so they are computed once.
            weights = self._weight_penalties() if number == 0 else []
        self._note(caught, self._micro_batches, training=training)
        terms = [*map(part.of_batch, caught.losses), *weights]
        judged = self.loss.judged(y, outputs, sample_weight, _beside)
        losses = [self._share(None, weight, each) for each in judged]
        inner = self.meters.inner.taken(caught, part)
        deltas = self.meters.added(judged, losses, inner, weight, number, _beside)
        loss = tf.add_n([self.loss.total(losses), *terms])
        return _Result(loss, self.loss.trained(loss, judged, weight), deltas, part, caught)

    def _called(self, x: Any, caught: Caught, *, training: bool) -> Any:
        if not (training and self.placed.plan.recompute):
            return self.model(x, training=training)
        seats = self.placed.seats
        devices = {id(seat.layer): None if seat.split else seat.home for seat in seats}
        return called_in_stages(self.model, devices, caught.again, x, training=True)

    def _share(self, context: Any, weight: Any, judged: Judged) -> Any:
        """Return this part's share of an output's loss. Raises PlanRefused."""
        with _beside(judged.outputs):
            return super()._share(context, weight, judged)

    def _count_of_batch(self, context: Any, weight: Any, judged: Judged) -> Any:
        if self._micro_batches == 1:
            return super()._count_of_batch(context, weight, judged)
        return self._counts.of(judged)

    def _keep(self, results: list[_Result]) -> None:
        self._statistics.write([(result.caught, result.part) for result in results])

    def _weight_penalties(self) -> list[Any]:
        """The regularizers of the weights, each computed on its weight's device."""
        terms = []
        for variable in self.placed.trainable_variables:
            if variable.regularizer is not None:
                with tf.device(variable.value.device):
                    terms.append(tf.cast(variable.regularizer(variable), tf.float32))
        return terms

    def _apply(self, gradients: list[Any]) -> None:
        with self._updates.placed():
            self.optimizer.apply(gradients, self.placed.trainable_variables)

    def _together(self, results: list[_Result]) -> tuple[Any, Deltas]:
        return tf.add_n([result.loss for result in results]), reduce(
            added_up, [result.deltas for result in results]
        )


def _beside(output: Any) -> Any:
    """Loss and metrics are computed where the output is, and not where the labels come from."""
    return tf.device(output.device)


def _at_once(devices: Collection[str]) -> int:
    """Return how many micro-batches are under way; logical CPUs share this process's cores."""
    shared = any(device.startswith("CPU") for device in devices)
    return at_once(len(devices), cores() if shared else 0)


def normalisations(seats: Sequence[LayerAssignment]) -> list[Any]:
    """Return the batch normalisations of a model, also those within composite layers."""
    # They have no public name.
    layers = [layer for seat in seats for layer in seat.layer._flatten_layers()]  # noqa: SLF001
    return [layer for layer in layers if isinstance(layer, keras.layers.BatchNormalization)]


class Statistics:
    """Writes, once per step, what a model's layers changed in the step's micro-batches.

    Each micro-batch starts from the same state V and leaves V_i behind. Their combination is
    mostly their mean, weighted by samples. For the moving variance of batch normalisation that is
    not enough: with momentum m, V_i = m·V + (1 − m)·b_i, and the variance of the whole batch is the
    mean of the variances plus the variance of the means, so that Σ w_i (M_i − M)² / (1 − m) is
    added, M_i being the moving means. Each micro-batch is normalised by itself.

    This is the deferred batch normalisation of Kim et al. 2020, "torchgpipe" (arXiv:2004.09910),
    section 3.2.1, after Huang et al. 2019, "GPipe" (arXiv:1811.06965), section 2.2.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        """`layers` are the model's batch normalisations."""
        self._means = {
            id(layer.moving_variance): (layer.moving_mean, layer.momentum) for layer in layers
        }

    def write(self, parts: Sequence[tuple[Caught, BatchPart]]) -> None:
        """Write what was recorded in each micro-batch."""
        for variable in parts[0][0].changed:
            with tf.device(variable.value.device):
                variable.value.assign(self._together(variable, parts))

    def _together(self, variable: Any, parts: Sequence[tuple[Caught, BatchPart]]) -> Any:
        if len(parts) == 1:
            return parts[0][0].get_current_value(variable)
        total = tf.add_n([contribution(variable, *each) for each in parts])
        moving_mean, momentum = self._means.get(id(variable), (None, 1.0))
        if moving_mean is not None and momentum != 1.0:
            left = [caught.get_current_value(moving_mean) for caught, _ in parts]
            between = spread(left, [part.share for _, part in parts])
            total += tf.cast(between, total.dtype) / (1.0 - momentum)
        return joined(variable.value, total)
