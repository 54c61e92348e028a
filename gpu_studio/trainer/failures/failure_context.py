"""What is known of a run when it fails, and which layer an error is about.

The layer is found by the names of operations, by whose code was running, or by a tensor's
shape. For a loss that is not finite, the findings name the layer that failed first, and say how
large its gradient was one step before.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from gpu_studio.contract import DeviceMemory, Devices, LogicalDevice, RunDirectory
from gpu_studio.contract.events import Event
from gpu_studio.contract.failure_texts import layer_of, operations_in
from gpu_studio.plan import Plan

if TYPE_CHECKING:
    from gpu_studio.trainer.devices import MemoryMeter
    from gpu_studio.trainer.session import Session


@dataclass
class FailureContext:
    """Facts about the run for its failure, filled in as the run starts, however early it fails.

    `tell` writes an event; `hurried` says whether somebody waits for the end, so that nothing long
    may be begun. The run's log was `log_began` bytes long when this process took it up.
    """

    run: RunDirectory | None = None
    plan: Plan | None = None
    session: Session | None = None
    meter: MemoryMeter | None = None
    base: Path = field(default_factory=Path.cwd)
    tell: Callable[[Event], object] = lambda _event: None
    hurried: Callable[[], bool] = lambda: False
    log_began: int = 0

    reported: Devices | None = None

    @classmethod
    def of(
        cls, run: RunDirectory, tell: Callable[[Event], object], hurried: Callable[[], bool]
    ) -> FailureContext:
        """The facts about a run that this process has just begun to train, or to go on with."""
        with suppress(OSError):
            return cls(run, tell=tell, hurried=hurried, log_began=run.log_file.stat().st_size)
        return cls(run, tell=tell, hurried=hurried)

    def hearing(self, tell: Callable[[Event], object]) -> Callable[[Event], object]:
        """`tell`, with an ear for what the run has come to: its devices are known before its model.

        They are what a failure is explained by that comes in between.
        """

        def heard(event: Event) -> object:
            if isinstance(event, Devices):
                self.reported = event
            return tell(event)

        return heard

    @property
    def logical(self) -> Sequence[LogicalDevice]:
        """TensorFlow's logical devices; empty before they are set up."""
        if self.session is not None:
            return self.session.logical
        return self.reported.logical if self.reported is not None else []

    @property
    def replicas(self) -> Sequence[str]:
        """The logical devices that hold replicas; empty before they are set up."""
        if self.session is not None:
            return self.session.spread.replicas
        return self.reported.replicas if self.reported is not None else []

    @property
    def cuts_batches(self) -> bool:
        """Whether the plan says how large batches are: data may come in batches of their own."""
        stream = self.session.dataset.train.stream if self.session is not None else None
        return stream is None or not stream.batched

    def memory(self) -> Sequence[DeviceMemory]:
        """What each device holds now and held at its peak; empty before it holds anything."""
        if self.meter is not None:
            return self.meter.read()
        if not self.logical:
            return []
        from gpu_studio.trainer.devices import MemoryMeter

        return MemoryMeter(self.logical, {}).read()

    def layers(self, error: BaseException) -> Sequence[Any]:
        """The layers of the Keras model; of one that was still being built if `error` came then."""
        if self.session is not None:
            return list(self.session.model.layers)
        return [
            layer
            for found in found_in_frames(error, "keras", "Model")
            for layer in getattr(found, "layers", ())
        ]


def failing_layer(
    error: BaseException, layers: Sequence[Any], shape: tuple[int, ...] | None = None
) -> str | None:
    """Return the layer at fault, or None if unknown. `shape` is that of the tensor concerned."""
    names = {layer.name for layer in layers}
    by_name = (layer_of(operation, names) for operation in operations_in(str(error)))
    found = next(filter(None, by_name), None)
    return found or _in_frames(error, names) or _of_shape(layers, shape)


def _in_frames(error: BaseException, names: Collection[str]) -> str | None:
    """The innermost layer whose code was running, or of `names`, one of whose weights is concerned.

    As when weights, or the optimizer's variables for them, were made or copied.
    """
    keras = sys.modules.get("keras")
    if keras is None:
        return None
    found = [
        name
        for frame in _frames(error)
        for each in _objects(frame)
        if (name := _layer_name(each, keras, names))
    ]
    return found[-1] if found else None


def _layer_name(found: Any, keras: Any, names: Collection[str]) -> str | None:
    if isinstance(found, keras.layers.Layer) and not isinstance(found, keras.Model):
        return str(found.name)
    return layer_of(str(found.path), names) if isinstance(found, keras.Variable) else None


def found_in_frames(error: BaseException, module: str, kind: str) -> list[Any]:
    """The objects of a class of a loaded module that the failed functions held, outermost first."""
    wanted = getattr(sys.modules.get(module), kind, None)
    if wanted is None:
        return []
    return [
        each
        for frame in _frames(error)
        for each in frame.f_locals.values()
        if isinstance(each, wanted)
    ]


def _frames(error: BaseException) -> Iterator[FrameType]:
    yield from (frame for frame, _line in traceback.walk_tb(error.__traceback__))


def _objects(frame: FrameType) -> Iterator[Any]:
    """The object a method is called on, and the weight that a function is at work on.

    `self`, or the first argument in Keras' wrapper around it; the weight that an optimizer makes
    variables for, or that is copied.
    """
    yield frame.f_locals.get("self")
    arguments = frame.f_locals.get("args")
    if isinstance(arguments, tuple) and arguments:
        yield arguments[0]
    yield from (frame.f_locals.get(name) for name in ("reference_variable", "variable"))


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
