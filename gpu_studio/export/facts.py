"""What the pieces of a script need to know of its plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_studio.export.source import Source, source_of
from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.plan import Machine, Placed, Plan
from gpu_studio.plan.catalogue import MODELS
from gpu_studio.plan.rules.distribution_rules import SPREADING
from gpu_studio.plan.rules.training_rules import CLIPPING

_NORMALISING = ("cifar_cnn", "resnet20")


@dataclass(frozen=True, slots=True)
class Facts:
    """A valid plan, its data, and the machine that the script is made on, if any."""

    plan: Plan
    machine: Machine | None
    base: Path
    source: Source

    @classmethod
    def of(cls, plan: Plan, machine: Machine | None, base: Path, seen: DataFacts | None) -> Facts:
        """The facts of a plan. Raises ExportError if its data file cannot be read, or its function was not `seen`."""
        return cls(plan, machine, base, source_of(plan.data, base, seen))

    @property
    def several(self) -> bool:
        """Whether there may be more than one replica."""
        return self.plan.distribution.strategy in SPREADING

    @property
    def under_strategy(self) -> bool:
        """Whether there is a strategy of `tf.distribute`."""
        return self.plan.distribution.strategy not in ("none", "placed")

    @property
    def placed(self) -> Placed | None:
        """Where the layers are, if each is on a device of its own choosing."""
        return self.plan.distribution.placed if self.plan.distribution.strategy == "placed" else None

    @property
    def micro_batches(self) -> int:
        """In how many parts a batch goes through a placed model."""
        return self.placed.micro_batches if self.placed else 1

    @property
    def devices(self) -> tuple[str, ...]:
        """The logical devices that the plan names; empty if it leaves them to the script."""
        layers = self.placed.layers if self.placed else {}
        return tuple(each for on in layers.values() for each in on) or self.plan.distribution.devices

    @property
    def validates(self) -> bool:
        """Whether there is a validation split."""
        return self.source.brings_validation or self.plan.data.validation_fraction > 0

    @property
    def tests(self) -> bool:
        """Whether there is a test split."""
        return self.source.brings_test or self.plan.data.test_fraction > 0

    @property
    def model_options(self) -> dict[str, Any]:
        """Every option of a built-in model with its value."""
        return MODELS[str(self.plan.model.name)].values(self.plan.model.options)

    @property
    def from_file(self) -> bool:
        """Whether the model is one from a file, or from a function in one, of which nothing is known here."""
        return self.plan.model.name is None

    @property
    def draws(self) -> bool:
        """Whether layers draw random numbers while training."""
        return self.from_file or self.model_options.get("dropout", 0) > 0

    @property
    def numbers_evaluation(self) -> bool:
        """Whether layers may draw random numbers while they are evaluated too."""
        return self.from_file

    @property
    def keeps_statistics(self) -> bool:
        """Whether layers keep statistics of what they saw."""
        return self.from_file or self.plan.model.name in _NORMALISING

    @property
    def catches(self) -> bool:
        """Whether a placed model is called in a scope that gives layers their random states, or keeps their statistics.

        No built-in model needs both of a whole batch: it would lose the statistics.
        """
        return self.draws or (self.micro_batches > 1 and self.keeps_statistics)

    @property
    def scales(self) -> bool:
        """Whether the loss may be scaled, against gradients too small for float16."""
        return self.plan.training.mixed_precision or "loss_scale_factor" in self.plan.training.options

    @property
    def clips(self) -> bool:
        """Whether the gradients of several replicas are clipped, which must wait until they have been added up."""
        return self.several and any(key in self.plan.training.options for key in CLIPPING)

    @property
    def sums_first(self) -> bool:
        """Whether gradients are summed before Keras gets them: to be clipped, or looked through for infinities."""
        return self.clips or (self.several and self.plan.training.mixed_precision)

    @property
    def outputs(self) -> str:
        """The number of outputs as an expression."""
        if self.source.task == "values":
            return "1"
        return "classes" if self.source.classes is None else str(self.source.classes)

    @property
    def logits(self) -> str:
        """Whether the model ends in scores that are no probabilities, as an expression."""
        return "logits" if self.from_file else "True"

    @property
    def found_later(self) -> str:
        """The parameters of functions that need what only the script finds out, in the order `classes, logits`."""
        return ", ".join(each for each in (self.outputs, self.logits) if each in ("classes", "logits"))
