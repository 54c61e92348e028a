"""The source of hardware figures: this machine, or a simulated one in its place.

These values stand below the probe, the sampler and the simulation, which all need them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_studio.hardware.host import PciCard

SIMULATE = "GPU_STUDIO_SIMULATE"
"""The variable that names what is shown in place of this machine's cards.

It names a simulated machine, or a recording by its whole path.
"""


SIMULATED_SINCE = "GPU_STUDIO_SIMULATED_SINCE"
"""The variable with the time at which a simulated machine's programs began.

It is in seconds of the monotonic clock. Processes that share it see one machine; without it each
begins its own.
"""


@dataclass(frozen=True, slots=True)
class KnownProcess:
    """What the host knows of a process on a card."""

    user: str
    command: str
    cpu_percent: float | None
    memory_mib: int


@dataclass(frozen=True, slots=True)
class MachineSource:
    """How the kernel lists the cards, and who knows processes that are not this host's.

    `simulated` names the simulated machine, `practice` the practice cards, `4 × 2 GiB`; both are
    empty for real cards.
    """

    pci_cards: Callable[[], list[PciCard]]
    known: Callable[[int], KnownProcess | None] | None = None
    simulated: str = ""
    practice: str = ""


def simulated() -> str:
    """The value of `$GPU_STUDIO_SIMULATE`; empty for this machine itself."""
    return os.environ.get(SIMULATE, "")


def is_recording(name: str) -> bool:
    """Whether the value is a recording file, not the name of a machine."""
    return bool(name) and Path(name).is_file()


RENEW = 75
"""Exit code of a sampler whose driver was replaced under it (EX_TEMPFAIL: try again)."""


class SimulationError(ValueError):
    """The requested simulation is impossible: why, and what is available."""
