"""Open the source of hardware figures: this machine, or a simulated one in its place."""

from __future__ import annotations

from pathlib import Path

from gpu_studio.hardware.pci import DEVICES, PciWatch
from gpu_studio.hardware.source import MachineSource, simulated


def open_source(wanted: str | None = None, devices: Path = DEVICES) -> MachineSource:
    """This machine, or the simulated one that is `wanted`, by default from the variable.

    A simulated one replaces the driver's library in this process. Raises SimulationError if there
    is none of that name.
    """
    name = simulated() if wanted is None else wanted
    if not name:
        return MachineSource(PciWatch(devices).cards)
    # Only a process that simulates waits for the import.
    from gpu_studio.hardware.simulated import install

    return install(name)
