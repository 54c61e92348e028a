"""What is known of a run when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_studio.plan import Plan
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.events import DeviceMemory, Event, LogicalDevice

if TYPE_CHECKING:
    from gpu_studio.trainer.memory import MemoryMeter
    from gpu_studio.trainer.session import Session


@dataclass
class Scene:
    """Filled as the run comes to life, so that a failure can be told in its terms however early it comes.

    `tell` writes an event; `hurried` says whether somebody waits for the end, so that nothing long may be begun.
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
        """The layers of the Keras model; none before it is built."""
        return list(self.session.model.layers) if self.session is not None else []

    @property
    def logical(self) -> Sequence[LogicalDevice]:
        """TensorFlow's logical devices; none before they are set up."""
        return self.session.logical if self.session is not None else []

    @property
    def replicas(self) -> Sequence[str]:
        """The logical devices that hold replicas; none before they are set up."""
        return self.session.spread.replicas if self.session is not None else []

    def memory(self) -> Sequence[DeviceMemory]:
        """What each device holds now and held at most; nothing before there is something to hold."""
        return self.meter.read() if self.meter is not None else []
