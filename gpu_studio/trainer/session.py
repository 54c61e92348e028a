"""All that a run has, built from its plan: devices, data, model, optimizer, compiled steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from gpu_studio.contract import events
from gpu_studio.plan import Plan, cluster_of, listed
from gpu_studio.plan.data import files_in, groups_array
from gpu_studio.plan.keras_objects import VALIDATION
from gpu_studio.plan.rules.start_rules import unmeasured
from gpu_studio.plan.scripts import in_words
from gpu_studio.trainer import batches, devices, keras_objects, strategies, telemetry, user_code
from gpu_studio.trainer.batches import Cut
from gpu_studio.trainer.data import Dataset, Split, load_data
from gpu_studio.trainer.data.fingerprints import fingerprints, first_batch
from gpu_studio.trainer.data.lacking import refuse_unmasked
from gpu_studio.trainer.data.values import samples_in
from gpu_studio.trainer.errors import PlanRefused, TrainerError
from gpu_studio.trainer.inner_metrics import InnerMetrics
from gpu_studio.trainer.meters import Meters
from gpu_studio.trainer.models import build_model
from gpu_studio.trainer.models.building import refuse_layers_of_phases
from gpu_studio.trainer.models.own_models import name_of, notes_on
from gpu_studio.trainer.models.own_training import (
    compile_as_planned,
    own_in_steps,
    refuse_beside_own_steps,
    training_note,
)
from gpu_studio.trainer.own_steps import OwnSteps
from gpu_studio.trainer.passes import Passes, SplitReading, passes_of, words_of_streams
from gpu_studio.trainer.placed import PlacedModel, PlacedProgram, place
from gpu_studio.trainer.program import Program
from gpu_studio.trainer.seen_apart import mixing_apart, refuse_unkept_states, replicas_apart
from gpu_studio.trainer.served.program import ServedProgram
from gpu_studio.trainer.served.refusals import refuse_own_steps, refuse_sequential
from gpu_studio.trainer.session_events import devices_event, layer_event, measured_events
from gpu_studio.trainer.sized_steps import undivided
from gpu_studio.trainer.target_words import odd_warnings, warnings_before, warnings_of
from gpu_studio.trainer.team import ALONE, Team
from gpu_studio.trainer.user_code.earlier_fits import trained_in
from gpu_studio.trainer.user_code.scripts import left_out
from gpu_studio.trainer.xla import XLA, By, compiles, runs_on

PHASE = "phase"
"""What a checkpoint calls the number of the phase whose optimizer it holds."""


@dataclass(slots=True)
class Session:
    """The objects built from a plan: `cut` of the training split, `phase` counted from 0."""

    plan: Plan
    logical: list[events.LogicalDevice]
    spread: strategies.Spread
    dataset: Dataset
    model: Any
    optimizer: Any
    meters: Meters
    program: Program
    cut: Cut
    passes: Passes
    policy: str
    phase: int = 0

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of model and optimizer, under the same names in every strategy."""
        return self.program.state

    @property
    def rate(self) -> float | None:
        """The learning rate of the next step; None if no Keras optimizer is known."""
        if self.optimizer is None:
            return None
        return float(keras.ops.convert_to_numpy(self.optimizer.learning_rate))

    def cut_for(self, split: Split) -> Cut:
        """Return how another split is cut into batches."""
        return replace(self.cut, samples=len(split))

    def identity(self) -> dict[str, Any]:
        """How a checkpoint recognises the data it was trained on, and where the plan names them."""
        data = self.plan.data
        return {
            "samples_per_epoch": None if self.dataset.train.stream else self.cut.samples,
            "seed": self.plan.training.seed,
            "data": self.dataset.name,
            "split": None if data.split == "random" else data.split,
            "groups": groups_array(data),
            "data_code": user_code.digest_of_part(self.plan, "data"),
            **fingerprints(self.dataset),
            **first_batch(self.dataset),
        }

    @property
    def standing(self) -> dict[str, Any]:
        """How its steps are trained now, as a checkpoint says it."""
        return {PHASE: self.phase, XLA: self.program.by_xla}

    def reading(self, split: Split, most: int) -> SplitReading:
        """Return how `split` is read to be evaluated: at most so many batches, or all if 0."""
        return SplitReading(self.spread.reads_by, split, self.cut_for(split), most)

    def training_stream(self, epoch: int, offset: int) -> Any:
        """The training batches of arrays, from `offset` samples into pass `epoch` (from 0) on."""
        given = self.dataset.train, self.cut, self.plan.training.seed
        stream = batches.training_stream(*given, epoch, offset, timed=True)
        return batches.distribute(self.spread.reads_by, stream)

    def evaluation_stream(self, split: Split) -> Any:
        """An iterator over the batches of `split`, over and over."""
        return batches.distribute(
            self.spread.reads_by, batches.evaluation_stream(split, self.cut_for(split))
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

    def finish(self) -> None:
        """Do what `fit` does at its end: averages that the optimizer keeps become the weights."""
        for variable, average in keras_objects.averages(self.optimizer):
            variable.assign(keras.ops.convert_to_numpy(average))


def build(
    plan: Plan, base: Path, tell: Any, team: Team = ALONE, before: Mapping[str, Any] | None = None
) -> Session:
    """Build the session of a plan, reporting devices and model on the way. Raises TrainerError.

    `base` is the folder that relative paths of the plan start from, `before` the state of the
    checkpoint that the run goes on from, if any.
    """
    made = strategies.Maker(plan.distribution, cluster_of(plan))
    logical = devices.set_up(plan, team.share, lambda: made.first(devices.own_names))
    team.joined(made.joined)
    with devices.on_host():
        return _built(plan, base, logical, tell, made.spread(logical), team, before)


def _built(
    plan: Plan,
    base: Path,
    logical: list[events.LogicalDevice],
    tell: Any,
    spread: strategies.Spread,
    team: Team,
    before: Mapping[str, Any] | None,
) -> Session:
    tell(devices_event(logical, spread))
    own = plan.model.python is not None
    devices.set_precision(plan.training.mixed_precision, spread.replicas, own=own)
    with trained_in(spread.making, lambda said: tell(events.Log(message=said))):
        plan, dataset = _loaded(plan, base, tell)
        cut = cut_of(plan, dataset, spread, team.own(spread.replicas))
        passes = passes_of(plan, dataset, cut, spread.reads_by)
        with spread.making():
            model = build_model(plan.model, dataset, base, plan.training.seed)
    passes.gathers_rows = _looks_up_rows(model)
    policy = keras.config.dtype_policy().name
    refuse_unkept_states(plan, model, dataset, cut, served=spread.served is not None)
    for note in notes_on(plan, model, dataset, dataset.train.range(), whole=True):
        tell(events.Warned(message=note.text, suggestion=note.why))
    for sentence in left_out(plan):
        tell(events.Log(message=sentence))
    steps, stream = passes.steps_per_epoch or 0, dataset.train.stream
    by = compiles(plan, model, runs_on(spread.replicas, stream), tell, before)
    if own_in_steps(model):
        program = _own_steps(plan, dataset, model, spread, logical, steps, tell, team, by)
    else:
        program = _default_steps(plan, dataset, model, spread, logical, cut, steps, tell, team, by)
    if spread.shares > 1:
        served = spread.served is not None
        for warned in replicas_apart(model, dataset, cut, program.optimizer, served=served):
            tell(warned)
    _refuse_unknown_monitor(plan, program)
    trained = program.optimizer, program.meters, program
    session = Session(plan, logical, spread, dataset, model, *trained, cut, passes, policy)
    tell(_model_event(session))
    return session


def _looks_up_rows(model: Any) -> bool:
    layers = model._flatten_layers()  # noqa: SLF001 (no public name)
    return any(isinstance(each, keras.layers.Embedding) for each in layers)


def _default_steps(
    plan: Plan,
    dataset: Dataset,
    model: Any,
    spread: strategies.Spread,
    logical: list[events.LogicalDevice],
    cut: Cut,
    steps: int,
    tell: Any,
    team: Team,
    by: By,
) -> Program:
    """The program of a model that learns by its outputs."""
    seed = plan.training.seed
    with spread.making(), keras_objects.looking_at(cut.part):
        # Asked of the whole model: once its layers are split, only the program can run it.
        learners = keras_objects.learners_of(plan.training, dataset, model)
        mixing = () if spread.placement is None else mixing_apart(model, dataset, cut, placed=True)
        for said in (*warnings_of(plan, dataset, learners), *mixing):
            tell(said)
        refuse_layers_of_phases(model, plan.training.phases)
        inner = _inner_metrics(dataset, model, spread, cut, tell)
        placed = _placed(spread, logical, model)
        total = steps * plan.training.first_epochs
        optimizer = keras_objects.make_optimizer(plan.training, steps, total, model)
        # Built here and not by the first step, so that slots are on their variables' devices.
        keras_objects.build_optimizer(optimizer, placed or model, plan.training, model)
    loss, meters = _measuring(plan, dataset, learners, inner)
    odd = odd_warnings(dataset, learners, loss.heads)
    for event in (*odd, *measured_events(loss, meters, cut.replicas, placed=placed is not None)):
        tell(event)
    if placed:
        return PlacedProgram(placed, optimizer, loss, meters, seed, cut, tell)
    if spread.served:
        refuse_sequential(each for head in loss.heads for each in head.metrics)
        served = ServedProgram(spread, model, optimizer, loss, meters, seed, team.shared)
        return _saying_homes(served, tell)
    on = _recorded_on(tell, team, spread, logical)
    given = spread.strategy, model, optimizer, loss, meters, seed, *on
    return undivided(given, by, spread.replicas, dataset.train, plan.training, steps)


def _measuring(plan: Plan, dataset: Dataset, learners: Any, inner: Any) -> tuple[Any, Meters]:
    """The losses and the metrics of what learns."""
    loss = keras_objects.make_objective(learners)
    meters = Meters(loss.heads, inner)
    _refuse_unknown_monitors(plan, dataset, meters)
    return loss, meters


def _saying_homes(served: ServedProgram, tell: Any) -> ServedProgram:
    """Return the program once it is said which servers hold what."""
    tell(events.Log(message=served.homes.words))
    return served


def _inner_metrics(
    dataset: Dataset, model: Any, spread: strategies.Spread, cut: Cut, tell: Any
) -> InnerMetrics:
    inner = InnerMetrics(model, spread.strategy, running=cut.replicas == 1 and not spread.served)
    inner.look_at(model, dataset)
    what = "micro-batches" if spread.placement is not None else "replicas"
    for said, helps in inner.cautions(cut.replicas, what):
        tell(events.Warned(message=said, suggestion=helps))
    return inner


def _own_steps(
    plan: Plan,
    dataset: Dataset,
    model: Any,
    spread: strategies.Spread,
    logical: list[events.LogicalDevice],
    steps: int,
    tell: Any,
    team: Team,
    by: By,
) -> Program:
    """The program of a model that brings a `train_step` or parts of it."""
    source, own = name_of(plan.model), own_in_steps(model)[0]
    total = steps * plan.training.trained_epochs
    if spread.served:
        refuse_own_steps(source, own)
    refuse_beside_own_steps(plan.training, source, own, placed=spread.placement is not None)
    with spread.making():
        compile_as_planned(
            source,
            model,
            plan.training,
            lambda: keras_objects.make_optimizer(plan.training, steps, total),
        )
    tell(events.Log(message=training_note(source, model)))
    given = spread.strategy, model, plan.training.seed, *_recorded_on(tell, team, spread, logical)
    classes = keras_objects.class_weights(plan.training, dataset)
    program = OwnSteps(*given, class_weight=classes, compiled=by)
    for warned in program.prepare(dataset.train, dataset.validation or dataset.test):
        tell(warned)
    return program


def _recorded_on(
    tell: Any, team: Team, spread: strategies.Spread, logical: list[events.LogicalDevice]
) -> tuple[Any, str | None, list[str]]:
    """Who hears the profile of some steps, if any; their device; each replica's physical one."""
    physical = {device.name: device.physical for device in logical}
    heard = tell if telemetry.is_full() and team.profiles else None
    return heard, spread.made_on, [physical[name] for name in spread.replicas]


def memory_meter(session: Session) -> devices.MemoryMeter:
    """The meter of the memory of the session's devices."""
    return devices.MemoryMeter(session.logical, devices.bytes_by_device(session.program.storage))


def _loaded(plan: Plan, base: Path, tell: Any) -> tuple[Plan, Dataset]:
    """Load the plan's data, and report what is worth a warning about them.

    Also return the plan with what it leaves to the script that gives them.
    """
    if plan.data.folder:  # with many images it takes minutes
        tell(events.Log(message=f"Reading the {files_in(plan.data).word} in {plan.data.folder}."))
    dataset = load_data(plan.data, plan.training.seed, base)
    left = plan.training.as_in_script
    if taken := in_words({name: value for name, value in dataset.fit.items() if name in left}):
        tell(events.Log(message=f"As in {dataset.name}: {taken}."))
    plan = plan.completed(dataset.fit)
    lacking = (each for split in dataset.splits for each in split.lacking)
    refuse_unmasked(plan.model.name, dataset.name, lacking)
    _refuse_unmeasured(plan, dataset)
    for sentence in dataset.notes:
        tell(events.Warned(message=sentence))
    for said in warnings_before(plan, dataset):
        tell(said)
    for sentence in words_of_streams(plan.training, dataset.train, dataset.validation):
        tell(events.Log(message=sentence))
    return plan, dataset


def _placed(
    spread: strategies.Spread, logical: list[events.LogicalDevice], model: Any
) -> PlacedModel | None:
    if spread.placement is None:
        return None
    return place(model, spread.placement, [device.name for device in logical], spread.replicas[0])


def _refuse_unknown_monitor(plan: Plan, program: Program) -> None:
    """Raises PlanRefused for a monitor of what the model's steps do not measure."""
    names = program.measures
    if plan.training.callbacks:
        return  # which may add measures of their own
    for each in unmeasured(plan.training, names, validated=True):
        raise PlanRefused(
            f"{each.field} is {each.monitor}, which nothing measures: "
            f"{name_of(plan.model)} measures {', '.join(names)}.",
            [f"Monitor {names[0]}, or {VALIDATION}{names[0]}."],
        )


def _refuse_unmeasured(plan: Plan, dataset: Dataset) -> None:
    """Raises PlanRefused for a monitor that needs validation samples if the data have none."""
    stream = dataset.train.stream
    for each in unmeasured(plan.training, (), validated=dataset.validation is not None):
        why = (
            f"and {stream.kind} cannot be split" if stream else "and data.validation_fraction is 0"
        )
        mend = "Return (train, validation)." if stream else "Set data.validation_fraction above 0."
        raise PlanRefused(
            f"{each.field} is {each.monitor}, but nothing is validated: "
            f"{dataset.name} brings no validation samples, {why}.",
            [mend, f"Or monitor {each.name}."],
        )


def _refuse_unknown_monitors(plan: Plan, dataset: Dataset, meters: Meters) -> None:
    """Raises PlanRefused for a monitor that nothing measures.

    Which names metrics of the user's own have is known only now.
    """
    names, validated = ["loss", *meters.names], dataset.validation is not None
    known = [*names, *(VALIDATION + name for name in names if validated)]
    for each in unmeasured(plan.training, names, validated=validated):
        raise PlanRefused(
            f"{each.field} is {each.monitor}, which nothing measures.",
            [f"Monitor {listed(known, 'or')}."],
        )


def cut_of(
    plan: Plan, dataset: Dataset, spread: strategies.Spread, own: tuple[int, int] | None = None
) -> Cut:
    """Return how the training split is cut into batches, `own` as in `Cut`.

    Raises TrainerError if it cannot be.
    """
    replicas = spread.shares
    batch = plan.training.batch_size * (replicas if plan.training.batch_scope == "replica" else 1)
    if batch < replicas:
        raise TrainerError(
            f"training.batch_size is {batch}, but {replicas} replicas "
            "want at least one sample each.",
            [f"Set training.batch_size to {replicas} or more."],
        )
    # A placed model takes its micro-batches one after another, as replicas take their parts.
    parts = spread.placement.micro_batches if spread.placement else replicas
    stream = dataset.train.stream
    if stream is not None and stream.batched:  # of which only the first are known
        return Cut(stream.batch, stream.batch, parts, own, plan.training.shuffle)
    return Cut(len(dataset.train), batch, parts, own, plan.training.shuffle)


def _model_event(session: Session) -> events.Model:
    plan, dataset, cut = session.plan, session.dataset, session.cut
    first, stream = cut.parts()[: cut.replicas], dataset.train.stream
    return events.Model(
        name=name_of(plan.model),
        parameters=sum(int(np.prod(v.shape)) for v in session.model.weights),
        trainable=sum(int(np.prod(v.shape)) for v in session.model.trainable_variables),
        layers=[layer_event(layer) for layer in session.model.layers],
        data=dataset.name,
        train_samples=samples_in(dataset.train),
        validation_samples=samples_in(dataset.validation),
        test_samples=samples_in(dataset.test),
        epochs=plan.training.epochs,
        steps_per_epoch=session.passes.steps_per_epoch,
        global_batch=(stream and stream.batch) or cut.batch,
        replica_batches=[int(stop - start) for start, stop, _size in first],
        optimizer=session.program.optimizer_name or keras_objects.optimizer_name(session.optimizer),
        loss=session.program.loss.name or " and ".join(own_in_steps(session.model)),
        precision=session.policy,
    )
