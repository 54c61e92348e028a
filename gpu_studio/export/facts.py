"""What the parts of a script need to know about the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_studio.export.builders import CalledLayer, called_layers
from gpu_studio.export.learning import Met, met_of
from gpu_studio.export.script_data import ScriptData, source_of
from gpu_studio.placement.plan_facts import DataFacts, ModelFacts
from gpu_studio.plan import (
    Machine,
    ModelSettings,
    Placed,
    Plan,
    placement_of,
    reference,
    strategy_of,
)
from gpu_studio.plan.catalogue import MODELS
from gpu_studio.plan.keras_objects import COMPILED, OPTIMIZERS, keras_name
from gpu_studio.plan.rules.server_rules import alone
from gpu_studio.plan.rules.training_rules import CLIPPING, CONDITIONAL


@dataclass(frozen=True, slots=True)
class ScriptFacts:
    """A valid plan, its data, and the machine that the script is made on, if any.

    `layers` are those of a built-in model up to its outputs; a script that trains `by_fit` needs
    none. `met` says how the outputs are held against the targets.
    """

    plan: Plan
    machine: Machine | None
    base: Path
    source: ScriptData
    layers: tuple[CalledLayer, ...]
    met: Met
    by_fit: bool = False

    @classmethod
    def of(
        cls,
        plan: Plan,
        machine: Machine | None,
        base: Path,
        seen: DataFacts | None,
        built: ModelFacts | None = None,
    ) -> ScriptFacts:
        """Return the facts of a plan.

        Raises ExportError if its data file cannot be read, or its function was not `seen`, or if
        only the model as it was `built` tells how it meets the targets.
        """
        source = source_of(plan.data, base, seen)
        met = met_of(plan, source.target, built)
        return cls(plan, machine, base, source, _model_layers(plan.model, source), met)

    @property
    def several(self) -> bool:
        """Whether there may be more than one replica."""
        return strategy_of(self.plan).replicates

    @property
    def clusters(self) -> bool:
        """Whether the script is started several times, once for each process of the plan."""
        return strategy_of(self.plan).clusters

    @property
    def serves(self) -> bool:
        """Whether servers hold the variables, and one process, the coordinator, trains."""
        return strategy_of(self.plan).serves

    @property
    def agrees(self) -> bool:
        """Whether several processes train, which must agree on what they do."""
        return self.clusters and not self.serves

    @property
    def apart(self) -> bool:
        """Whether each worker of servers does whole steps, and updates the variables alone."""
        return alone(self.plan)

    @property
    def placed(self) -> Placed | None:
        """Where the layers are, if each one has a device of its own."""
        return placement_of(self.plan)

    @property
    def micro_batches(self) -> int:
        """The number of parts in which a batch passes through a placed model."""
        return self.placed.micro_batches if self.placed else 1

    @property
    def recomputes(self) -> bool:
        """Whether stages of a placed model compute most of themselves again."""
        return self.placed is not None and self.placed.recompute

    @property
    def in_parts(self) -> bool:
        """Whether a batch is trained in parts, be it one.

        What layers change and draw in a part is then caught, so that it can be done again.
        """
        return self.micro_batches > 1 or self.recomputes

    @property
    def may_use_cards(self) -> bool:
        """Whether TensorFlow may see a card of the machine that the script runs on."""
        visible = self.plan.devices.visible
        if self.serves:
            return False
        return not visible or any(not name.startswith("CPU") for name in visible)

    @property
    def devices(self) -> tuple[str, ...]:
        """The logical devices that the plan names; empty if it leaves them to the script."""
        layers = self.placed.layers if self.placed else {}
        return (
            tuple(each for on in layers.values() for each in on) or self.plan.distribution.devices
        )

    @property
    def validates(self) -> bool:
        """Whether there is a validation split."""
        return self.source.brings_validation or self.plan.data.validation_fraction > 0

    @property
    def tests(self) -> bool:
        """Whether there is a test split."""
        return self.source.brings_test or self.plan.data.test_fraction > 0

    @property
    def model_arguments(self) -> dict[str, Any]:
        """The arguments of a built-in model's builder.

        A vocabulary of 0 means that the script counts the tokens, if the data are tokens.
        """
        return _model_arguments(self.plan.model, self.source)

    @property
    def from_file(self) -> bool:
        """Whether the model comes from a file, or from a function in one.

        Nothing is known here about such a model.
        """
        return self.plan.model.name is None

    @property
    def draws(self) -> bool:
        """Whether layers draw random numbers while training."""
        return self.from_file or any(layer.draws for layer in self.layers)

    @property
    def numbers_evaluation(self) -> bool:
        """Whether layers may draw random numbers while they are evaluated too."""
        return self.from_file or (self.serves and self.draws)

    @property
    def keeps_statistics(self) -> bool:
        """Whether layers keep statistics of what they saw."""
        return self.from_file or any(layer.kind == "BatchNormalization" for layer in self.layers)

    @property
    def catches(self) -> bool:
        """Whether a placed model is called in a scope.

        The scope gives layers their random states, or keeps their statistics. No built-in model
        needs both for a whole batch: it would lose the statistics.
        """
        return self.draws or self.recomputes or (self.in_parts and self.keeps_statistics)

    @property
    def scales(self) -> bool:
        """Whether the loss may be scaled, because gradients may be too small for float16."""
        training = self.plan.training
        own = reference(training.optimizer) is not None
        return own or training.mixed_precision or "loss_scale_factor" in training.options

    @property
    def clips(self) -> bool:
        """Whether the gradients of several replicas are clipped.

        Clipping must wait until they have been summed.
        """
        return self.several and any(key in self.plan.training.options for key in CLIPPING)

    @property
    def sums_first(self) -> bool:
        """Whether gradients are summed before Keras gets them.

        They are then to be clipped, or checked for infinities.
        """
        own = self.several and reference(self.plan.training.optimizer) is not None
        scaled = self.several and self.plan.training.mixed_precision
        return self.clips or scaled or own or self.joins

    @property
    def joins(self) -> bool:
        """Whether replicas that mirror each other must join to update weights in a condition."""
        training, strategy = self.plan.training, strategy_of(self.plan)
        mirrored = self.several and not strategy.has_parameter_device
        asked = any(training.options.get(option) for option in CONDITIONAL)
        return mirrored and (asked or reference(training.optimizer) is not None)

    @property
    def outputs(self) -> str:
        """The number of outputs as an expression."""
        if self.met.kind != "classes" or self.met.as_built:
            return str(self.met.units)
        return self.source.counted_classes

    @property
    def moves_slots(self) -> bool:
        """Whether the optimizer may keep variables where those that they are for are not."""
        chosen = self.plan.training.optimizer
        unknown = reference(chosen) is not None or (self.by_fit and chosen in ("auto", COMPILED))
        adafactor = keras_name(chosen, OPTIMIZERS) == "adafactor"
        return self.placed is not None and (unknown or adafactor)

    @property
    def logits(self) -> str:
        """Whether the model ends in scores that are not probabilities, as an expression."""
        if self.met.as_built:
            return str(self.met.logits)
        return "logits" if self.from_file else "True"

    @property
    def found_later(self) -> str:
        """The parameters that only the script can compute, in the order `classes, logits`."""
        return ", ".join(
            each for each in (self.outputs, self.logits) if each in ("classes", "logits")
        )


def _model_arguments(model: ModelSettings, source: ScriptData) -> dict[str, Any]:
    entry = MODELS[str(model.name)]
    values = entry.values(model.options)
    return {**values, "vocabulary": 0} if entry.reads_tokens and not source.tokens else values


def _model_layers(model: ModelSettings, source: ScriptData) -> tuple[CalledLayer, ...]:
    if model.name is None:
        return ()
    arguments = _model_arguments(model, source)
    if MODELS[model.name].reads_tokens and source.tokens:
        arguments["vocabulary"] = 1  # the layers are the same for any number of tokens
    return called_layers(model.name, source.shape, arguments)
