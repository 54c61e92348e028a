"""Machines that are not there: for demonstrations, for tests, and to look again at what was recorded.

They stand in for the driver's library, so that everything above it is the real thing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gpu_studio.hardware.simulated.profiles import Profile, profile
from gpu_studio.hardware.source import SIMULATE as VARIABLE
from gpu_studio.hardware.source import SIMULATED_SINCE, Source, is_recording

__all__ = ["VARIABLE", "Profile", "checked", "install", "profile"]


def checked(name: str) -> str:
    """What `$GPU_STUDIO_SIMULATE` has to be for a machine or recording. Raises SimulationError for what is neither."""
    if is_recording(name):
        from gpu_studio.hardware.simulated.recording import recorded

        next(recorded(Path(name)))
        return str(Path(name).absolute())
    profile(name)
    return name


def _began() -> float | None:
    """When the programs on the cards began, if several processes are to see one machine."""
    with suppress(KeyError, ValueError):
        return float(os.environ[SIMULATED_SINCE])
    return None


def install(name: str) -> Source:
    """Put the simulated machine `name` in the driver's place, in this process. Raises SimulationError."""
    from gpu_studio.hardware import nvml
    from gpu_studio.hardware.simulated.library import SimulatedLibrary
    from gpu_studio.hardware.simulated.programs import known

    machine = profile(name)
    library = SimulatedLibrary(machine, began=_began())
    nvml.use_library(library)
    return Source(library.pci_cards, known, simulated=name)
