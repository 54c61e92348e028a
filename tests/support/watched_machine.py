"""A sampler in this process, on simulated cards, with a manually advanced clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil
import pytest
from fake_nvml import installed

from gpu_studio.contract.samples import AnySample, Sample, decode, encode
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.hardware.sampler.watching import Sampler
from gpu_studio.hardware.simulated.library import SimulatedLibrary
from gpu_studio.hardware.simulated.profiles import Profile, known
from gpu_studio.hardware.source import MachineSource


@dataclass
class Clock:
    """Seconds, which pass only by `run`."""

    now: float = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@dataclass
class Watched:
    """The machine as an owner of its sampler sees it. `samples` are all that were told."""

    library: SimulatedLibrary
    clock: Clock
    sampler: Sampler = field(init=False)
    picture: MachinePicture = field(default_factory=MachinePicture)
    samples: list[AnySample] = field(default_factory=list)

    def __post_init__(self) -> None:
        source = MachineSource(self.library.pci_cards, known, "a test")
        self.sampler = Sampler(source, self._take, clock=self.clock, now=self.clock)

    def begin(self) -> None:
        """Start the sampler and let it do what is due at once."""
        self.sampler.begin()
        self.sampler.step()

    def run(self, seconds: float) -> None:
        """Let so much time pass, with all that is due in it."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            wait = self.sampler.step()
            self.clock.now = min(end, self.clock.now + max(wait, 0.001))
        self.sampler.step()

    def of(self, kind: type[Sample]) -> list[AnySample]:
        """The samples of a kind."""
        return [sample for sample in self.samples if isinstance(sample, kind)]

    def _take(self, sample: Sample) -> None:
        # As the line that another process reads, so that nothing is told that cannot be written.
        told = decode(encode(sample))
        assert told is not None
        self.samples.append(told)
        self.picture.apply(told)


@contextmanager
def watched(profile: Profile) -> Iterator[Watched]:
    """A machine that is ready to be watched; the driver's library is put back afterwards.

    Its own process is all that runs on it. Those of the machine that the tests run on say nothing
    of it, and to look at them in every second of its time took most of all that the tests took.
    """
    clock = Clock()
    library = SimulatedLibrary(profile, clock)
    with pytest.MonkeyPatch.context() as patch, installed(library):  # type: ignore[arg-type]
        patch.setattr(psutil, "pids", lambda: [os.getpid()])
        yield Watched(library, clock)
