"""Simulated machines: for demonstrations, for tests, and for replaying recordings.

They replace the driver's library, so that everything above it is the real code.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gpu_studio.hardware.simulated.profiles import Profile, profile
from gpu_studio.hardware.source import SIMULATE as VARIABLE
from gpu_studio.hardware.source import SIMULATED_SINCE, MachineSource, is_recording

__all__ = ["VARIABLE", "Profile", "checked", "install", "profile"]


def checked(name: str) -> str:
    """The machine or recording that `$GPU_STUDIO_SIMULATE` names.

    Raises SimulationError if it is neither.
    """
    if is_recording(name):
        from gpu_studio.hardware.simulated.recording import recorded

        next(recorded(Path(name)))
        return str(Path(name).absolute())
    profile(name)
    return name


def _began() -> float | None:
    """When the programs on the cards began, if several processes are to see the same machine."""
    with suppress(KeyError, ValueError):
        return float(os.environ[SIMULATED_SINCE])
    return None


def install(name: str) -> MachineSource:
    """Replace the driver in this process by the simulated machine `name`.

    Raises SimulationError.
    """
    from gpu_studio.hardware import nvml
    from gpu_studio.hardware.simulated.library import SimulatedLibrary
    from gpu_studio.hardware.simulated.profiles import known

    machine = profile(name)
    library = SimulatedLibrary(machine, began=_began())
    nvml.use_library(library)
    return MachineSource(library.pci_cards, known, simulated=name)
