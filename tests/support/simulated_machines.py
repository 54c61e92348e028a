"""The inventories of the machines that can be simulated, obtained in this process."""

from __future__ import annotations

import json

from fake_nvml import installed

from gpu_studio.hardware import parse_inventory
from gpu_studio.hardware.probe import probe
from gpu_studio.hardware.simulated.library import SimulatedLibrary
from gpu_studio.hardware.simulated.profiles import known, profile
from gpu_studio.hardware.source import MachineSource
from gpu_studio.plan import Machine


def simulated_machine(name: str, seconds: float = 60.0) -> Machine:
    """The machine `name` and who uses its cards, so many seconds after its programs began."""
    begun = iter([0.0])
    library = SimulatedLibrary(profile(name), lambda: next(begun, seconds))
    with installed(library):  # type: ignore[arg-type]
        source = MachineSource(library.pci_cards, known, name)
        return parse_inventory(json.dumps(probe(users=True, source=source)))
