"""TensorFlow's facts about a plan: its data, its model's layers, and a training step's memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.placement.model_graph import ModelGraph
from gpu_studio.placement.step_memory import StepMemory

SCALED_AGAIN = "scaled again"
"""The name of the note on a model that scales samples that are small already."""


@dataclass(frozen=True, slots=True)
class ModelNote:
    """A way in which a user's own model is trained differently than its author may expect.

    `name` identifies the note, `text` is a sentence, and `why` says what it means and what to do.
    """

    name: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model of a plan for its data, with its optimizer.

    `slots` are the bytes of the optimizer's variables that belong to each layer, by its name;
    `shared_slots` those of the rest (step counter, learning rate, loss scale). `state_bytes` are
    the model's variables that are no weights, such as dropout's random state. `steps` is what a
    training step holds on a "GPU" and on a "CPU", whose operations need other scratch memory;
    `corrections` are the factors by which a measured step corrected it, by the same kinds. `notes`
    are worth a warning. An error is a sentence, empty if there is none, followed by what to try in
    `advice`; `details` is the traceback of the user's own code where that failed. `graph` stands
    where only the optimizer or the loss was refused, which `training_error` says. An error is
    `of_the_moment` where there was no memory for a look at the model: the plan itself may be in
    order.
    """

    graph: ModelGraph | None = None
    policy: str = "float32"
    slots: Mapping[str, int] = field(default_factory=dict)
    shared_slots: int = 0
    state_bytes: int = 0
    steps: Mapping[str, StepMemory] = field(default_factory=dict)
    corrections: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[ModelNote, ...] = ()
    model_error: str = ""
    training_error: str = ""
    advice: tuple[str, ...] = ()
    details: str = ""
    of_the_moment: bool = False

    @property
    def slot_bytes(self) -> int:
        """All variables of the optimizer, in bytes."""
        return sum(self.slots.values()) + self.shared_slots


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The data and the model of a plan; each is None if it could not be had.

    The reason is then in `data_error` or `model.model_error`. `details` and `of_the_moment` are for
    the data what the fields of the same names are for `model`.
    """

    data: DataFacts | None = None
    model: ModelFacts | None = None
    data_error: str = ""
    advice: tuple[str, ...] = ()
    details: str = ""
    of_the_moment: bool = False

    @property
    def graph(self) -> ModelGraph | None:
        """The model's layers; None if they are not known yet, or there is no model."""
        return self.model.graph if self.model else None

    @property
    def model_error(self) -> str:
        """Why there is no model for these data, in a sentence.

        Empty if there is one, or it is unknown yet.
        """
        return self.model.model_error if self.model else ""

    @property
    def training_error(self) -> str:
        """Why optimizer, loss or metrics cannot be created; empty if they can."""
        return self.model.training_error if self.model else ""

    @property
    def not_looked_at(self) -> tuple[str, tuple[str, ...]]:
        """Why the data or the model could not be examined just now, and what to try; else empty."""
        if self.data_error and self.of_the_moment:
            return self.data_error, self.advice
        if self.model is not None and self.model_error and self.model.of_the_moment:
            return self.model_error, self.model.advice
        return "", ()

    @property
    def refused(self) -> bool:
        """Whether anything was refused, or could not be examined."""
        return bool(self.data_error or self.model_error or self.training_error)


def encoded(facts: PlanFacts | ModelFacts | DataFacts) -> Any:
    """The facts as JSON; bytes are in base64."""
    return msgspec.to_builtins(facts)


def decoded(document: Any) -> PlanFacts:
    """Read the facts from JSON. Raises ValueError if it does not hold them."""
    return msgspec.convert(document, PlanFacts, strict=False)
