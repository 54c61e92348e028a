"""What is known of a run when it fails, and which layer an error is about.

The layer is found by the names of operations, by whose code was running, or by a tensor's
shape. For a loss that is not finite, the findings name the layer that failed first, and say how
large its gradient was one step before.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.events import DeviceMemory, Event, LogicalDevice
from gpu_studio.contract.failure_texts import layer_of, operations_in
from gpu_studio.plan import Plan

if TYPE_CHECKING:
    from gpu_studio.trainer.devices import MemoryMeter
    from gpu_studio.trainer.session import Session


@dataclass
class FailureContext:
    """Facts about the run for its failure, filled in as the run starts, however early it fails.

    `tell` writes an event; `hurried` says whether somebody waits for the end, so that nothing long
    may be begun.
    """

    run: RunDirectory | None = None
    plan: Plan | None = None
    session: Session | None = None
    meter: MemoryMeter | None = None
    base: Path = field(default_factory=Path.cwd)
    tell: Callable[[Event], object] = lambda _event: None
    hurried: Callable[[], bool] = lambda: False

    @property
    def layers(self) -> Sequence[Any]:
        """The layers of the Keras model; empty before it is built."""
        return list(self.session.model.layers) if self.session is not None else []

    @property
    def logical(self) -> Sequence[LogicalDevice]:
        """TensorFlow's logical devices; empty before they are set up."""
        return self.session.logical if self.session is not None else []

    @property
    def replicas(self) -> Sequence[str]:
        """The logical devices that hold replicas; empty before they are set up."""
        return self.session.spread.replicas if self.session is not None else []

    def memory(self) -> Sequence[DeviceMemory]:
        """What each device holds now and held at its peak; empty before it holds anything."""
        return self.meter.read() if self.meter is not None else []


def failing_layer(
    error: BaseException, layers: Sequence[Any], shape: tuple[int, ...] | None = None
) -> str | None:
    """Return the layer at fault, or None if unknown. `shape` is that of the tensor concerned."""
    names = {layer.name for layer in layers}
    by_name = (layer_of(operation, names) for operation in operations_in(str(error)))
    return next(filter(None, by_name), None) or _in_frames(error) or _of_shape(layers, shape)


def _in_frames(error: BaseException) -> str | None:
    """The innermost layer whose code was running, as when its weights were made."""
    keras = sys.modules.get("keras")
    if keras is None:
        return None
    layers = [
        layer
        for frame in _frames(error)
        for layer in _objects(frame)
        if isinstance(layer, keras.layers.Layer)
    ]
    inner = [layer for layer in layers if not isinstance(layer, keras.Model)]
    return str(inner[-1].name) if inner else None


def _frames(error: BaseException) -> Iterator[FrameType]:
    yield from (frame for frame, _line in traceback.walk_tb(error.__traceback__))


def _objects(frame: FrameType) -> Iterator[Any]:
    """The object a method is called on.

    `self`, or the first argument in Keras' wrapper around it.
    """
    yield frame.f_locals.get("self")
    arguments = frame.f_locals.get("args")
    if isinstance(arguments, tuple) and arguments:
        yield arguments[0]


def _of_shape(layers: Sequence[Any], shape: tuple[int, ...] | None) -> str | None:
    """The one layer that has a weight of this shape.

    Gradients and the optimizer's variables have it too.
    """
    owners = [
        layer.name
        for layer in layers
        if any(tuple(weight.shape) == shape for weight in layer.weights)
    ]
    return str(owners[0]) if shape and len(owners) == 1 else None


Cause = Literal["data", "weights", "output", "loss", "none"]


@dataclass(frozen=True, slots=True)
class StepExamination:
    """What was first not finite in a step, and in which layer."""

    cause: Cause
    layer: str | None = None


@dataclass(frozen=True, slots=True)
class NotFiniteFinding:
    """The findings about the step, which was reached by training again from step `since` on.

    `norms` are those of each layer's gradient one step before, as far as they are finite; empty
    where there was no such step.
    """

    since: int
    look: StepExamination
    norms: Mapping[str, float] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The findings in one or two sentences."""
        if self.look.cause == "none":
            return (
                f"Repeated from step {self.since} on, it was finite: the "
                "cause is not in the plan alone."
            )
        return " ".join(filter(None, (self._where(), self._gradient())))

    def _where(self) -> str:
        return {
            "data": "The samples of that step hold values that are not finite.",
            "weights": f"The first layer whose weights were no longer finite is {self.look.layer}.",
            "output": f"The first layer whose output is not finite is {self.look.layer}.",
            "loss": "Every layer's output is finite, but so large that the loss of it is not.",
            "none": "",
        }[self.look.cause]

    def _gradient(self) -> str:
        if not self.norms:
            return ""
        layer, norm = max(self.norms.items(), key=lambda item: item[1])
        mine = self.look.layer or ""
        own = (
            f"; that of {mine} had {self.norms[mine]:.3g}"
            if mine in self.norms and mine != layer
            else ""
        )
        return (
            f"One step before, the largest gradient was that of {layer}, "
            f"with a norm of {norm:.3g}{own}."
        )
