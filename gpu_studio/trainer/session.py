"""Everything that a run consists of, built from its plan.

It has devices, strategy, data, model, optimizer and compiled steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from gpu_studio.contract import events
from gpu_studio.plan import Plan
from gpu_studio.plan.data import groups_array
from gpu_studio.plan.keras_objects import VALIDATION
from gpu_studio.trainer import batches, devices, keras_objects, strategies, telemetry, user_code
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.data import Dataset, Split, load_data
from gpu_studio.trainer.data.values import fingerprints
from gpu_studio.trainer.errors import PlanRefused, TrainerError
from gpu_studio.trainer.layer_state import replicas_apart
from gpu_studio.trainer.meters import Meters
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.models.own_models import name_of, notes_on
from gpu_studio.trainer.placed import PlacedModel, PlacedProgram, place
from gpu_studio.trainer.program import Program


@dataclass(frozen=True, slots=True)
class Session:
    """The objects built from a plan. `cut` is that of the training split."""

    plan: Plan
    logical: list[events.LogicalDevice]
    spread: strategies.Spread
    dataset: Dataset
    model: Any
    optimizer: Any
    meters: Meters
    program: Program
    cut: Cut
    policy: str

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of model and optimizer, under the same names in every strategy."""
        return self.program.state

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return float(keras.ops.convert_to_numpy(self.optimizer.learning_rate))

    def cut_for(self, split: Split) -> Cut:
        """Return how another split is cut into batches."""
        return Cut(len(split), self.cut.batch, self.cut.replicas)

    def identity(self) -> dict[str, Any]:
        """How a checkpoint recognises the data it was trained on, and where the plan names them."""
        data = self.plan.data
        return {
            "samples_per_epoch": self.cut.samples,
            "seed": self.plan.training.seed,
            "data": self.dataset.name,
            "split": None if data.split == "random" else data.split,
            "groups": groups_array(data),
            "data_code": user_code.digest_of_part(self.plan, "data"),
            **fingerprints(self.dataset),
        }

    def training_stream(self, epoch: int, offset: int) -> Any:
        """The training batches, from `offset` samples into `epoch` (counted from 0) on."""
        seed = self.plan.training.seed
        stream = batches.training_stream(
            self.dataset.train, self.cut, seed, epoch, offset, timed=True
        )
        return batches.distribute(self.spread.strategy, stream)

    def evaluation_stream(self, split: Split) -> Any:
        """An iterator over the batches of `split`, over and over."""
        return batches.distribute(
            self.spread.strategy, batches.evaluation_stream(split, self.cut_for(split))
        )

    def capture(self) -> dict[str, np.ndarray]:
        """Copy the values of all variables to host memory."""
        return {
            name: np.array(keras.ops.convert_to_numpy(variable))
            for name, variable in self.variables.items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the variables.

        Raises TrainerError if `arrays` are those of another model or optimizer.
        """
        variables = self.variables
        for name, variable in variables.items():
            if name not in arrays or arrays[name].shape != tuple(variable.shape):
                kind = "model" if name.startswith("model/") else "optimizer"
                raise TrainerError(
                    f"The checkpoint is of another {kind}: it has no {name} of shape "
                    f"{tuple(variable.shape)}.",
                    [
                        f"Resume with the {kind} of the run that wrote it.",
                        "Or train from the beginning.",
                    ],
                )
        for name, variable in variables.items():
            variable.assign(arrays[name])


def build(plan: Plan, base: Path, tell: Any) -> Session:
    """Build the session of a plan, reporting devices and model on the way. Raises TrainerError.

    `base` is the folder that relative paths of the plan start from.
    """
    logical = devices.set_up(plan.devices)
    with devices.on_host():
        return _built(plan, base, logical, tell)


def _built(plan: Plan, base: Path, logical: list[events.LogicalDevice], tell: Any) -> Session:
    spread = strategies.spread_over(plan.distribution, logical)
    tell(_devices_event(logical, spread))
    policy = devices.set_precision(plan.training.mixed_precision, spread.replicas)
    seed = plan.training.seed
    dataset = _loaded(plan, base, tell)
    cut = _cut(plan, dataset, spread)
    with tf.device(spread.made_on), spread.strategy.scope():
        model = build_model(plan.model, dataset, base, seed)
        # Asked of the whole model: once its layers are split, only the program can run it.
        form = keras_objects.OutputForm.of(dataset, model, plan.training.loss)
        placed = _placed(spread, logical, model)
        optimizer = keras_objects.make_optimizer(
            plan.training, cut.steps(), cut.steps() * plan.training.epochs
        )
        # Built here and not by the first step, so that slots are on their variables' devices.
        optimizer.build(placed.trainable if placed else model.trainable_variables)
    for note in notes_on(plan.model, model, dataset, dataset.train.range()):
        tell(events.Warned(message=note.text, suggestion=note.why))
    loss = keras_objects.make_loss(plan.training, dataset, form)
    metrics = keras_objects.make_metrics(plan.training, dataset, form)
    meters = Meters(metrics, form.example(dataset))
    if placed:
        program: Program = PlacedProgram(placed, optimizer, loss, meters, seed, cut, tell)
    else:
        reported = tell if telemetry.is_full() else None
        on = spread.made_on, _cards_of(spread, logical)
        program = Program(spread.strategy, model, optimizer, loss, meters, seed, reported, *on)
    for warned in replicas_apart(model, cut) if spread.strategy.num_replicas_in_sync > 1 else ():
        tell(warned)
    session = Session(
        plan, logical, spread, dataset, model, optimizer, meters, program, cut, policy
    )
    tell(_model_event(session))
    return session


def _cards_of(spread: strategies.Spread, logical: list[events.LogicalDevice]) -> list[str]:
    """The physical device of each replica."""
    physical = {device.name: device.physical for device in logical}
    return [physical[name] for name in spread.replicas]


def memory_meter(session: Session) -> devices.MemoryMeter:
    """The meter of the memory of the session's devices."""
    return devices.MemoryMeter(session.logical, devices.bytes_by_device(session.program.storage))


def _loaded(plan: Plan, base: Path, tell: Any) -> Dataset:
    """Load the plan's data, and report what is worth a warning about them."""
    if plan.data.folder:  # with many images it takes minutes
        tell(events.Log(message=f"Reading the images in {plan.data.folder}."))
    dataset = load_data(plan.data, plan.training.seed, base)
    _refuse_unmeasured(plan, dataset)
    for sentence in dataset.notes:
        tell(events.Warned(message=sentence))
    return dataset


def _placed(
    spread: strategies.Spread, logical: list[events.LogicalDevice], model: Any
) -> PlacedModel | None:
    if spread.placement is None:
        return None
    return place(model, spread.placement, [device.name for device in logical], spread.replicas[0])


def _refuse_unmeasured(plan: Plan, dataset: Dataset) -> None:
    """Raises PlanRefused if early stopping needs validation samples and the data have none."""
    rule = plan.training.early_stopping
    if rule is not None and dataset.validation is None and rule.monitor.startswith(VALIDATION):
        raise PlanRefused(
            f"training.early_stopping.monitor is {rule.monitor}, but nothing is validated: "
            f"{dataset.name} brings no validation samples, and data.validation_fraction is 0.",
            [
                "Set data.validation_fraction above 0.",
                f"Or monitor {rule.monitor.removeprefix(VALIDATION)}.",
            ],
        )


def _cut(plan: Plan, dataset: Dataset, spread: strategies.Spread) -> Cut:
    replicas = spread.strategy.num_replicas_in_sync
    batch = plan.training.batch_size * (replicas if plan.training.batch_scope == "replica" else 1)
    if batch < replicas:
        raise TrainerError(
            f"training.batch_size is {batch}, but {replicas} replicas "
            "want at least one sample each.",
            [f"Set training.batch_size to {replicas} or more."],
        )
    # A placed model takes its micro-batches one after another, as replicas take their parts.
    return Cut(
        len(dataset.train), batch, spread.placement.micro_batches if spread.placement else replicas
    )


def _devices_event(
    logical: list[events.LogicalDevice], spread: strategies.Spread
) -> events.Devices:
    build_info = tf.sysconfig.get_build_info()
    return events.Devices(
        logical=logical,
        replicas=list(spread.replicas),
        strategy=spread.name,
        all_reduce=spread.all_reduce,
        parameter_device=spread.parameter_device,
        tensorflow=tf.__version__,
        keras=keras.__version__,
        cuda=build_info.get("cuda_version"),
    )


def _model_event(session: Session) -> events.Model:
    plan, dataset, cut = session.plan, session.dataset, session.cut
    first = cut.parts()[: cut.replicas]
    return events.Model(
        name=name_of(plan.model),
        parameters=session.model.count_params(),
        trainable=sum(int(np.prod(v.shape)) for v in session.model.trainable_variables),
        layers=[_layer(layer) for layer in session.model.layers],
        data=dataset.name,
        train_samples=cut.samples,
        validation_samples=len(dataset.validation) if dataset.validation else 0,
        test_samples=len(dataset.test) if dataset.test else 0,
        epochs=plan.training.epochs,
        steps_per_epoch=cut.steps(),
        global_batch=cut.batch,
        replica_batches=[int(stop - start) for start, stop, _size in first],
        optimizer=plan.training.optimizer,
        loss=session.program.loss.name,
        precision=session.policy,
    )


def _layer(layer: Any) -> events.Layer:
    shape = layer.output.shape if hasattr(layer.output, "shape") else ()
    size = sum(int(np.prod(v.shape)) * tf.as_dtype(v.dtype).size for v in layer.weights)
    text = " × ".join(str(axis) for axis in shape[1:])
    return events.Layer(
        name=layer.name,
        kind=type(layer).__name__,
        output_shape=text,
        parameters=layer.count_params(),
        bytes=size,
    )
