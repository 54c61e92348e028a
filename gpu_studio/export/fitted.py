"""What a plan must be that Keras' `fit` trains, and what its script must know of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpu_studio.export.facts import ScriptFacts
from gpu_studio.export.keras_objects import LOSS_CLASSES, METRIC_CLASSES
from gpu_studio.export.learning import ExportError, Met, UnseenError
from gpu_studio.export.locating import located
from gpu_studio.export.own_code import called, place_of
from gpu_studio.export.script_data import ScriptData, source_of, stay_in_files
from gpu_studio.export.tables import table_facts
from gpu_studio.placement.plan_facts import ArrayFacts, DataFacts, Learnt, ModelFacts, paired
from gpu_studio.plan import (
    Machine,
    Named,
    OutputTraining,
    Plan,
    Target,
    placement_of,
    reference,
    strategy_of,
)
from gpu_studio.plan.data import TEXT_FILES, ImageFolderError, Layout, files_in, layout_of
from gpu_studio.plan.keras_objects import COMPILED, LOSSES, METRICS, OPTIMIZERS, keras_name
from gpu_studio.plan.rules.server_rules import alone
from gpu_studio.plan.rules.training_rules import CONDITIONAL

AS_COMPILED = ("auto", COMPILED)


def why_fitted(plan: Plan, seen: DataFacts | None, built: ModelFacts | None) -> list[str]:
    """Return what only `fit` trains in a script, as nouns; nothing for a script with a loop."""
    found = [*_asked_of_fit(plan), *_data_for_fit(plan, seen)]
    return list(dict.fromkeys([*found, *(_needs_fit(built) if built is not None else ())]))


def _asked_of_fit(plan: Plan) -> Iterator[str]:
    training = plan.training
    named = {
        "the optimizer of the compiled model": training.optimizer == COMPILED,
        "callbacks": bool(training.callbacks),
        "weights of classes": bool(training.class_weight),
        "what the plan says of single outputs": bool(training.outputs),
        "later phases on replicas": _begins_phases(plan),
        "epochs that count as trained before": training.initial_epoch > 0,
        "what counts in the whole batch only": _sums_apart(plan),
        "the placing of a model of your own": placement_of(plan) is not None
        and plan.model.name is None,
    }
    yield from (what for what, there in named.items() if there)
    if not _is_written(LOSSES, LOSS_CLASSES, training.loss):
        yield f"the loss {training.loss.name}"
    for each in training.metrics:
        if not _is_written(METRICS, METRIC_CLASSES, each):
            yield f"the metric {each.name}"
    of_functions = plan.model.python is not None and plan.data.python is not None
    if of_functions and not strategy_of(plan).serves:
        if reference(training.optimizer):
            yield "an optimizer of your own"
        if training.steps_per_epoch > 0:
            yield "epochs of so many steps"


def _data_for_fit(plan: Plan, seen: DataFacts | None) -> Iterator[str]:
    if seen is not None and seen.streamed:
        yield "data that come batch by batch"
    if seen is not None and seen.nested:
        yield "several inputs, targets or weights"
    if holds_texts(plan):
        yield "texts"


def holds_texts(plan: Plan) -> bool:
    """Whether the data are a folder of texts."""
    return plan.data.folder is not None and files_in(plan.data) is TEXT_FILES


def _is_written(known: Collection[str], written: Collection[str], named: Named) -> bool:
    """Whether the loop of a script can write a loss or a metric."""
    name = keras_name(named.name, known) if not reference(named.name) else None
    return named.name == "auto" or name == "accuracy" or name in written


def _begins_phases(plan: Plan) -> bool:
    """Whether replicas begin later phases of a model that Keras alone knows."""
    strategy = strategy_of(plan)
    several = strategy.replicates and not strategy.clusters
    return bool(plan.training.phases) and several and plan.model.name is None


def _sums_apart(plan: Plan) -> bool:
    """Whether only the whole batch, or one update for all replicas, gives what a run has.

    A mean over what a loss leaves of a batch is not that of its parts; replicas that share their
    variables cannot each change what is changed in a condition.
    """
    training, strategy = plan.training, strategy_of(plan)
    placed = placement_of(plan)
    in_parts = strategy.replicates or (placed is not None and placed.micro_batches > 1)
    in_parts = in_parts or (strategy.serves and not alone(plan))
    together = any(training.options.get(option) for option in (*CONDITIONAL, "use_ema"))
    together = together or keras_name(training.optimizer, OPTIMIZERS) in strategy.refused_optimizers
    return (in_parts and "ignore_class" in training.loss.options) or (
        strategy.has_parameter_device and together
    )


def _needs_fit(built: ModelFacts) -> Iterator[str]:
    learnt = built.learnt
    yield from (f"the model's own {each}" for each in built.own_steps[:1])
    if len(built.outputs) > 1:
        yield "several outputs"
    if learnt is not None and learnt.compiled:
        yield "a model as it was compiled"
    if learnt is not None and learnt.masked:
        yield "outputs that are masked"


class FittedPlan:
    """A plan that `fit` trains, with what its data and its model are: what the parts are made of.

    Raises ExportError, in words, for what no script can train so: an UnseenError where data or
    model must be looked at first.
    """

    def __init__(
        self,
        plan: Plan,
        machine: Machine | None,
        base: Path,
        seen: DataFacts | None,
        built: ModelFacts | None,
    ) -> None:
        if seen is None or built is None or built.model_error:
            raise UnseenError(_unseen(plan), of_model=True)
        if built.training_error:
            raise ExportError(built.training_error)
        self.plan, self.seen, self.built = plan, seen, built
        source = _source(plan, base, seen)
        self.facts = ScriptFacts(plan, machine, base, source, (), _met(built), by_fit=True)
        """What the parts of all scripts ask for; of several outputs it says nothing."""
        self.joins = self.facts.joins or (built.conditional and self.facts.several)
        """Whether replicas must join to update weights in a condition."""
        if plan.training.initial_epoch and (self.facts.clusters or plan.training.phases):
            raise ExportError(
                "A script of several processes, or of phases, begins with the first epoch. Leave "
                "training.initial_epoch out."
            )
        if plan.training.phases and built.own_steps:
            raise ExportError(
                f"The model has its own {built.own_steps[0]}, which decides by itself what "
                "optimizer it uses. Leave training.phases out."
            )

    @property
    def draws(self) -> bool:
        """Whether layers draw random numbers that a run places: not those of steps of its own."""
        return not self.built.own_steps and self.built.state_bytes > 0

    @property
    def learners(self) -> Mapping[str, Learnt]:
        """How each output is held against its target, by the output's name."""
        only = {"": self.built.learnt} if self.built.learnt is not None else {}
        several = len(self.built.learners) > 1 or len(self.built.outputs) > 1
        return self.built.learners if several else only

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs, also of those that learn nothing; "" of a single one."""
        if len(self.learners) < 2 and len(self.built.outputs) < 2:
            return list(self.learners)
        return [each.name for each in self.built.outputs] or list(self.learners)

    @property
    def only_output(self) -> str:
        """The name of the only output, as far as it is known."""
        return self.built.outputs[0].name if len(self.built.outputs) == 1 else ""

    def of_plan(self, output: str) -> OutputTraining:
        """What the plan says of an output alone."""
        name = output or self.only_output
        return self.plan.training.outputs.get(name, OutputTraining())

    @property
    def splits(self) -> list[str]:
        """The splits that `load_data` returns: all three of a stream, of which some may be None."""
        data, streamed = self.plan.data, bool(self.seen.streamed)
        there = {
            "validation": self.brings("val") or data.validation_fraction > 0,
            "test": self.brings("test") or data.test_fraction > 0,
        }
        return ["training", *(name for name, found in there.items() if found or streamed)]

    @property
    def epochs(self) -> str:
        """How many epochs are trained, as an expression."""
        before = self.plan.training.initial_epoch
        return f"arguments.epochs - {before}" if before else "arguments.epochs"

    @property
    def counts_steps(self) -> bool:
        """Whether the steps of an epoch are known before they are made."""
        asked = self.plan.training.steps_per_epoch > 0
        return asked or not (self.seen.of_unknown_length or self.seen.endless)

    @property
    def of_loop(self) -> bool:
        """Whether the data are loaded as in a script with a loop: one array and its targets."""
        return self.plan.data.python is None and not self.seen.nested

    def of_output(self, output: str, learnt: Learnt) -> ScriptFacts:
        """What is known of one output, as the parts of all scripts ask for it."""
        target = self.facts.source.target if self.of_loop else self.seen.target
        shape = self.facts.met.shape
        for given, end in paired(self.seen.targets, self.built.outputs) if output else ():
            if end is not None and end.name == output:
                shape, target = end.shape, given.target if given is not None else target
        met = Met(learnt.kind, shape, learnt.logits, as_built=True)
        return replace(self.facts, met=met, source=replace(self.facts.source, target=target))

    @property
    def names(self) -> frozenset[str]:
        """The names of the arrays of samples, targets and weights, as in an .npz file."""
        if self.plan.data.table is not None:
            return frozenset(("x", "y", *(["sample_weight"] if self.seen.weights else [])))
        return frozenset(name.partition("/")[0] for name in self.seen.arrays)

    def brings(self, part: str) -> bool:
        """Whether the data bring a split of their own, `val` or `test`."""
        own = {"val": self.facts.source.brings_validation, "test": self.facts.source.brings_test}
        return own[part] or f"x_{part}" in self.names

    @property
    def named_loss(self) -> bool:
        """Whether the plan itself, rather than the model, says by what the model learns."""
        training = self.plan.training
        return bool(training.outputs) or training.loss.name not in AS_COMPILED

    @property
    def named_metrics(self) -> bool:
        """Whether the plan itself names the metrics."""
        return any(each.name not in AS_COMPILED for each in self.plan.training.metrics)

    @property
    def is_compiled(self) -> bool:
        """Whether anything counts of what the model was compiled with."""
        return any(each.compiled for each in self.learners.values())

    def place(self, variable: str, field: str, text: str, what: str) -> tuple[str, str]:
        """Return the line that says where a function's file is, and the literal of its name."""
        named = reference(text)
        if named is None:
            raise AssertionError(text)  # a valid plan names one
        part = field.partition(".")[0]
        place = place_of(variable, field, named.file, self.facts, what)
        return place, called(named, part, self.facts)


def _unseen(plan: Plan) -> str:
    data = plan.data.python or "the data"
    model = plan.model.python or plan.model.file or plan.model.name
    allow = "allow the files, and " if plan.data.python or plan.model.python else ""
    return (
        f"What {data} {'returns' if plan.data.python else 'hold'} and how {model} learns are known "
        f"once they were looked at, and a script depends on it: {allow}export when the Plan page "
        "shows the model."
    )


def _source(plan: Plan, base: Path, seen: DataFacts) -> ScriptData:
    """Return what is known of the data. Raises ExportError."""
    if plan.data.python is not None:
        return ScriptData(Target(), (), None, brings_test=False)
    if holds_texts(plan):
        layout = folder_of_texts(plan, base)
        brings = layout.test is not None, layout.validation is not None
        files = stay_in_files(seen)
        return ScriptData(
            Target(), (), None, brings[0], brings_validation=brings[1], in_files=files
        )
    if not seen.nested:
        return source_of(plan.data, base, seen)
    first = seen.inputs[0] if seen.inputs else ArrayFacts()
    shape = tuple(size or 1 for size in first.shape)
    header = ("x", "x", ((0, *shape), np.dtype(first.dtype if first.dtype != "string" else "S1")))
    target = seen.targets[0].target if seen.targets else Target()
    table = None
    if plan.data.table is not None:
        table = table_facts(located("data.table", plan.data.table, base), plan.data, seen)
    return ScriptData(target, shape, None, brings_test=False, headers=(header,), table=table)


def _met(built: ModelFacts) -> Met:
    """Return how the only output meets its target, as far as it is known."""
    learnt, graph = built.learnt, built.graph
    if learnt is None:
        return Met("values", (1,))
    shape = (1,) if graph is None else graph.output_shape
    return Met(learnt.kind, shape, learnt.logits, as_built=True)


def folder_of_texts(plan: Plan, base: Path) -> Layout:
    """Return where the texts are in the plan's folder. Raises ExportError."""
    path = located("data.folder", str(plan.data.folder), base)
    try:
        return layout_of(path, TEXT_FILES)
    except (ImageFolderError, OSError) as error:
        raise ExportError(f"The folder of texts {path} cannot be used ({error}).") from error
