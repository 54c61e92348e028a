"""Where the figures come from: this machine, or what stands in for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.hardware.pci import DEVICES, PciCard, PciWatch

SIMULATE = "GPU_STUDIO_SIMULATE"
"""The variable that names a simulated machine, or a recording (its whole path), shown in place of this one's cards."""


SIMULATED_SINCE = "GPU_STUDIO_SIMULATED_SINCE"
"""The variable with the moment (of the monotonic clock, in seconds) at which a simulated machine's programs began.

Processes that have it in common see one machine; without it each begins its own.
"""


@dataclass(frozen=True, slots=True)
class Known:
    """What the host knows of a process on a card."""

    user: str
    command: str
    cpu_percent: float | None
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Source:
    """How the kernel lists the cards, and who knows processes that are none of this host's.

    `simulated` names what is simulated; empty for the real thing.
    """

    pci_cards: Callable[[], list[PciCard]]
    known: Callable[[int], Known | None] | None = None
    simulated: str = ""


def simulated() -> str:
    """What `$GPU_STUDIO_SIMULATE` asks for; empty for this machine itself."""
    return os.environ.get(SIMULATE, "")


def is_recording(name: str) -> bool:
    """Whether what is to be simulated is a file, and not the name of a machine."""
    return bool(name) and Path(name).is_file()


def open_source(wanted: str | None = None, devices: Path = DEVICES) -> Source:
    """This machine, or the simulated one that is `wanted`, by default by the variable.

    A simulated one takes the place of the driver's library in this process. Raises SimulationError if there is none
    of that name.
    """
    name = simulated() if wanted is None else wanted
    if not name:
        return Source(PciWatch(devices).cards)
    from gpu_studio.hardware.simulated import install

    return install(name)
