"""What the loop reports: events for the window and the command line, scalars for other programs."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.contract.event_writer import EventWriter
from gpu_studio.contract.events import Epoch, Event, LearningRate, Memory, Steps, Warned
from gpu_studio.trainer.memory import MemoryMeter
from gpu_studio.trainer.scalars import Scalars

MEMORY_SECONDS = 0.5
SWITCH = "GPU_STUDIO_TELEMETRY"


def finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return the values for an event, with None for each that is not a number."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def is_full() -> bool:
    """Return whether optional reports and measurements are on."""
    return os.environ.get(SWITCH, "on") != "off"


class Telemetry:
    """Events of steps, epochs, learning rate and memory.

    With `GPU_STUDIO_TELEMETRY=off`, only epochs are reported.
    """

    def __init__(self, run: RunDirectory, writer: EventWriter, meter: MemoryMeter) -> None:
        self.full = is_full()
        self._writer = writer
        self._meter = meter
        self._scalars = Scalars(run) if self.full else None
        self._reported_lost = False
        self._rate: float | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch_memory, name="memory", daemon=True)
        if self._scalars is not None and not self._scalars.for_tensorboard:
            self.tell(
                Warned(
                    message="No scalars for TensorBoard.",
                    suggestion="Install it: pip install tensorboard.",
                )
            )

    def start(self) -> None:
        """Start watching memory."""
        if self.full:
            self._thread.start()

    def close(self) -> None:
        """Stop watching, with a last look at the peaks, and close the scalars."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
            self._tell_memory()
        if self._scalars is not None:
            self._scalars.close()
            self._tell_lost_scalars(self._scalars)

    def tell(self, event: Event) -> None:
        """Write an event."""
        self._writer.write(event)

    def steps(self, event: Steps, rate: float) -> None:
        """Report a call of training steps; its first step used the learning rate `rate`."""
        if not self.full:
            return
        self.tell(event)
        if rate != self._rate:
            self._rate = rate
            self.tell(LearningRate(step=event.first_step, value=rate))
        self._scalars_of(event, rate)

    def epoch(self, event: Epoch) -> None:
        """Report the end of an epoch."""
        self.tell(event)
        if self._scalars is not None:
            values = {name: value for name, value in event.metrics.items() if value is not None}
            self._scalars.epoch(event.epoch, event.step, values)
            self._tell_lost_scalars(self._scalars)

    def _scalars_of(self, event: Steps, rate: float) -> None:
        if self._scalars is None:
            return
        self._scalars.steps(event.first_step, {"learning_rate": rate})
        values = {"loss": event.losses[-1], "samples_per_second": event.samples / event.seconds}
        last = event.first_step + len(event.losses) - 1
        self._scalars.steps(
            last, {name: value for name, value in values.items() if value is not None}
        )

    def _tell_lost_scalars(self, scalars: Scalars) -> None:
        if scalars.lost and not self._reported_lost:
            self._reported_lost = True
            message = (
                "Some scalars for TensorBoard and scalars.csv could not "
                f"be written: {scalars.lost}."
            )
            self.tell(
                Warned(
                    message=message,
                    suggestion="The run's own record, which is shown here, is kept.",
                )
            )

    def _watch_memory(self) -> None:
        self._tell_memory()
        while not self._over.wait(MEMORY_SECONDS):
            self._tell_memory()

    def _tell_memory(self) -> None:
        self.tell(Memory(devices=self._meter.read()))
