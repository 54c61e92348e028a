"""The compiled steps of a placed model: micro-batches, unrolled, so that TensorFlow's executor overlaps the stages.

A batch comes as M parts whose weights sum to 1 together, so the sum of their losses is the batch's loss, and the sum of
their gradients its gradient, also where M does not divide it. A stage starts on a part as soon as its input is there
(Huang et al. 2019, "GPipe", arXiv:1811.06965); nothing here says in which order, but that no more parts are under way
at once than keep the devices busy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Any

import keras
import tensorflow as tf

from gpu_studio.placement.stage_memory import at_once
from gpu_studio.runs.events import Event, Timeline
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.call import added_up
from gpu_studio.trainer.communication import CommunicationMeter
from gpu_studio.trainer.cores import cores
from gpu_studio.trainer.layer_state import Caught, Part
from gpu_studio.trainer.meters import Deltas, Meters
from gpu_studio.trainer.placed.gradients import Accumulation
from gpu_studio.trainer.placed.notes import notes
from gpu_studio.trainer.placed.placing import PlacedModel
from gpu_studio.trainer.placed.proof import Proof
from gpu_studio.trainer.placed.recomputing import Recomputing
from gpu_studio.trainer.placed.scopes import following_inputs
from gpu_studio.trainer.placed.statistics import Statistics, normalisations
from gpu_studio.trainer.placed.step_timeline import timeline_of
from gpu_studio.trainer.placed.updates import Updates, move_slots
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.sole_output import sole_output
from gpu_studio.trainer.step_recorder import Recorded, StepRecorder


@dataclass(frozen=True, slots=True)
class _Result:
    """What a micro-batch gave, and what its layers changed."""

    loss: Any
    deltas: Deltas
    part: Part
    caught: Caught


class PlacedProgram(Program):
    """A placed model with its optimizer and loss, ready to be stepped `micro_batches` parts at a time."""

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
        """`cut` says how a batch comes in parts; `tell` gets what the first step's operations were seen to do."""
        super().__init__(tf.distribute.get_strategy(), placed.model, optimizer, loss, meters, seed)
        self.placed, self._micro_batches = placed, cut.replicas
        self._part_rows = cut.batch / cut.replicas
        self._at_once = _at_once({device for seat in placed.seats for device in seat.devices})
        move_slots(optimizer, placed.trainable)
        self._updates = Updates(optimizer, placed.owners())
        self._statistics = Statistics(normalisations(placed.seats))
        self._proof = Proof(placed.seats, tell)
        self._meter = CommunicationMeter((each for seat in placed.seats for each in (*seat.devices, seat.home)), 1)
        self._recorder = StepRecorder(self._proving, [self._timeline, self._meter.read], tell)
        self._traced: Any = None
        self._recomputing = Recomputing(placed.model, placed.seats) if placed.plan.recompute else None
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
        """Under TensorFlow's eyes: what it executed is told."""
        with self._proof.watching():
            yield
        self._meter.learn(self._proof.graphs)
        self._proof.report(self._traced, self._part_rows)
        self._traced = None

    def _timeline(self, recorded: Recorded) -> Timeline | None:
        return timeline_of(recorded.executed, self.placed.seats, recorded.step, self._micro_batches)

    def _next(self, stream: Any) -> Any:
        return tuple(next(stream) for _ in range(self._micro_batches))

    def _local(self, batch: Any) -> list[Any]:
        parts: list[Any] = keras.tree.flatten(batch)
        return parts

    # Traced by TensorFlow; Python's own loops are unrolled.

    def _train_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        self._traced = tf.compat.v1.get_default_graph()
        with self._scopes(), self._recomputing.entered() if self._recomputing else nullcontext():
            sums = Accumulation(self.placed.trainable, self._at_once)
            results = [self._train_part(part, step, number, sums) for number, part in enumerate(batch)]
            # First, because an update changes what the layers left.
            self._keep(results)
            self._apply(sums.whole)
            return self._together(results)

    def _evaluate_step(self, batch: Any, step: Any) -> tuple[Any, Deltas]:
        with self._scopes():
            results = [self._judged(part, step, number, training=False) for number, part in enumerate(batch)]
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
        part = Part(number, tf.reduce_sum(weight))
        with self._caught(step * self._micro_batches + number) as caught:
            outputs = sole_output(self.model(x, training=training))
            # The regularizers are the same for every micro-batch, and computed once.
            weights = self._weight_penalties() if number == 0 else []
        terms = [*map(part.of_batch, caught.losses), *weights]
        # Loss and metrics are computed where the outputs are, and not where the labels come from.
        with tf.device(outputs.device):
            loss = tf.reduce_sum(weight * self._per_sample(y, outputs))
            deltas = self.meters.added(y, outputs, tf.cast(weight > 0, tf.float32))
        return _Result(tf.add_n([loss, *terms]), deltas, part, caught)

    def _keep(self, results: list[_Result]) -> None:
        self._statistics.write([(result.caught, result.part) for result in results])

    def _weight_penalties(self) -> list[Any]:
        """The regularizers of the weights, each on its weight's device."""
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
        return tf.add_n([result.loss for result in results]), reduce(added_up, [result.deltas for result in results])


def _at_once(devices: Collection[str]) -> int:
    """How many micro-batches are under way; logical CPUs share the cores that this process may use."""
    shared = any(device.startswith("CPU") for device in devices)
    return at_once(len(devices), cores() if shared else 0)
