"""The compiled steps of a placed model, with unrolled micro-batches.

TensorFlow's executor overlaps the stages. A batch comes as M parts whose weights sum to 1
together, so the sum of their losses is the batch's loss, and the sum of their gradients its
gradient, also where M does not divide it. A stage starts on a part as soon as its input is
there (Huang et al. 2019, "GPipe", arXiv:1811.06965). The order is left to the executor; only
the number of parts under way at once is limited to what keeps the devices busy. The state that
layers change in the parts is combined once per step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.contract.events import Event, Timeline, Warned
from gpu_studio.placement.stage_memory import at_once
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.communication import CommunicationMeter
from gpu_studio.trainer.environment import cores
from gpu_studio.trainer.errors import PlanRefused
from gpu_studio.trainer.input_wait import moment_after
from gpu_studio.trainer.layer_state import BatchPart, Caught, contribution, joined
from gpu_studio.trainer.meters import Deltas, Meters, added_up
from gpu_studio.trainer.model_layers import graph_of, sole_output
from gpu_studio.trainer.placed.devices import Updates, following_inputs, move_slots
from gpu_studio.trainer.placed.placing import LayerAssignment, PlacedModel
from gpu_studio.trainer.placed.proof import Proof
from gpu_studio.trainer.placed.recomputing import Recomputing
from gpu_studio.trainer.placed.step_timeline import timeline_of
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.step_recording import Recorded, StepRecorder


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
            return tf.identity(x)

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

    None where there is none. A `GradientTape` would compute them all on the device of its own
    scope; this is TensorFlow's only way to colocate gradients. It works only inside a tf.function.
    """
    storage = [variable.value for variable in variables]
    found: list[Any] = tf.compat.v1.gradients(
        loss, storage, colocate_gradients_with_ops=True, name="gradients"
    )
    return found


def _sum(whole: Any, part: Any, variable: Any) -> Any:
    some = [each for each in (whole, part) if each is not None]
    if len(some) < 2:
        return some[0] if some else None
    with tf.device(variable.value.device):
        if all(isinstance(each, tf.IndexedSlices) for each in some):
            return _appended(some)
        return tf.add_n([tf.convert_to_tensor(each) for each in some])


def _appended(slices: Sequence[Any]) -> Any:
    """Concatenate the sparse gradients of an embedding.

    The optimizer adds rows that occur twice.
    """
    values = tf.concat([each.values for each in slices], axis=0)
    indices = tf.concat([each.indices for each in slices], axis=0)
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)


def notes(placed: PlacedModel, cut: Cut) -> Iterator[Warned]:
    """Warnings of what micro-batches and recomputation do that the plan may not expect."""
    count = len(normalisations(placed.seats))
    if count and cut.replicas > 1:
        layers = (
            "Its batch normalisation normalises"
            if count == 1
            else f"Its {count} batch normalisations normalise"
        )
        yield Warned(
            message=(
                f"{layers} each micro-batch of about {cut.batch / cut.replicas:.3g} samples by "
                "itself; the moving statistics are those of the whole batch (deferred batch "
                "normalisation)."
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
                "stages cannot be told apart."
            ),
            suggestion=(
                "Build it as a functional or Sequential model, or leave "
                "distribution.placed.recompute out."
            ),
        )


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of a micro-batch, and what its layers changed."""

    loss: Any
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
        super().__init__(tf.distribute.get_strategy(), placed.model, optimizer, loss, meters, seed)
        # Stages take turns: a device waits for data only while none of them computes.
        self._cards, self._device = ("",) * cut.replicas, placed.last_home
        self.placed, self._micro_batches = placed, cut.replicas
        self._part_rows = cut.batch / cut.replicas
        self._at_once = _at_once({device for seat in placed.seats for device in seat.devices})
        move_slots(optimizer, placed.trainable)
        self._updates = Updates(optimizer, placed.owners())
        self._statistics = Statistics(normalisations(placed.seats))
        self._proof = Proof(placed.seats, tell)
        self._meter = CommunicationMeter(
            (each for seat in placed.seats for each in (*seat.devices, seat.home)), 1
        )
        self._recorder = StepRecorder(self._proving, [self._timeline, self._meter.read], tell)
        self._traced: Any = None
        self._recomputing = (
            Recomputing(placed.model, placed.seats) if placed.plan.recompute else None
        )
        for note in notes(placed, cut):
            tell(note)

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
        return tuple(next(stream) for _ in range(self._micro_batches))

    def _timed(self, batch: Any) -> tuple[Any, list[Any]]:
        return [samples for *samples, _ in batch], [ready for *_, ready in batch]

    # Traced by TensorFlow, which unrolls Python's loops.

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Deltas, list[Any]]:
        self._traced = tf.compat.v1.get_default_graph()
        with self._scopes(), self._recomputing.entered() if self._recomputing else nullcontext():
            sums = Accumulation(self.placed.trainable, self._at_once)
            results = [
                self._train_part(part, step, number, sums) for number, part in enumerate(batch)
            ]
            # First, because an update changes the state that the layers left.
            self._keep(results)
            computed = [moment_after([each]) for each in sums.last]
            self._apply(sums.whole)
            return *self._together(results), computed

    def _evaluate_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        with self._scopes():
            results = [
                self._judged(part, step, number, training=False)
                for number, part in enumerate(batch)
            ]
            self._keep(results)
            return self._together(results)

    @contextmanager
    def _scopes(self) -> Iterator[None]:
        with following_inputs(), self.placed.placed_calls():
            yield

    def _train_part(self, part: Any, step: Any, number: int, sums: Accumulation) -> _Result:
        x, y, weight = part
        result = self._judged((sums.next_input(x), y, weight), step, number, training=True)
        sums.add(self.optimizer.scale_loss(result.loss))
        return result

    def _judged(self, samples: Any, step: Any, number: int, *, training: bool) -> _Result:
        x, y, weight = samples
        part = BatchPart(number, tf.reduce_sum(weight))
        with self._caught(step * self._micro_batches + number) as caught:
            outputs = sole_output(self.model(x, training=training))
            # The regularizers are the same for every micro-batch, so they are computed once.
            weights = self._weight_penalties() if number == 0 else []
        terms = [*map(part.of_batch, caught.losses), *weights]
        # Loss and metrics are computed where the outputs are, and not where the labels come from.
        with tf.device(outputs.device):
            losses, counted = self.loss.judged(y, outputs)
            loss = tf.reduce_sum(weight * losses)
            if counted is not None:
                loss = tf.math.divide_no_nan(loss, self._whole(tf.reduce_sum(weight * counted)))
            deltas = self.meters.added(y, outputs, tf.cast(weight > 0, tf.float32))
        return _Result(tf.add_n([loss, *terms]), deltas, part, caught)

    def _whole(self, counted: Any) -> Any:
        """Return the share of the batch that counts, where it is in one part. Raises PlanRefused.

        Of several parts, the last is computed after the first one's gradients.
        """
        if self._micro_batches > 1:
            raise PlanRefused(
                "Some outputs are masked, so that the loss is the mean over those of a batch that "
                "count; in micro-batches their number is not known in time.",
                ["Set distribution.placed.micro_batches to 1.", "Or leave out the mask."],
            )
        return counted

    def _keep(self, results: list[_Result]) -> None:
        self._statistics.write([(result.caught, result.part) for result in results])

    def _weight_penalties(self) -> list[Any]:
        """The regularizers of the weights, each computed on its weight's device."""
        terms = []
        for variable in self.placed.trainable:
            if variable.regularizer is not None:
                with tf.device(variable.value.device):
                    terms.append(tf.cast(variable.regularizer(variable), tf.float32))
        return terms

    def _apply(self, gradients: list[Any]) -> None:
        with self._updates.placed():
            self.optimizer.apply(gradients, self.placed.trainable)

    def _together(self, results: list[_Result]) -> tuple[Any, Deltas]:
        return tf.add_n([result.loss for result in results]), reduce(
            added_up, [result.deltas for result in results]
        )


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
            total += tf.cast(_spread(moving_mean, parts), total.dtype) / (1.0 - momentum)
        return joined(variable.value, total)


def _spread(variable: Any, parts: Sequence[tuple[Caught, BatchPart]]) -> Any:
    """Return the variance of what the micro-batches left, weighted by samples."""
    values = [
        (tf.cast(caught.get_current_value(variable), tf.float32), part.share)
        for caught, part in parts
    ]
    centre = tf.add_n([value * share for value, share in values])
    return tf.add_n([tf.square(value - centre) * share for value, share in values])
