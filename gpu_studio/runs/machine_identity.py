"""This machine's names and versions: what has to be the same for figures to hold."""

from __future__ import annotations

import platform
from typing import Final

from gpu_studio import __version__
from gpu_studio.hardware.doctor.facts import module_version
from gpu_studio.plan import CPU, Machine

CARD: Final = "GPU "
"""How the name of each card begins."""


def identity(machine: Machine) -> dict[str, str]:
    """The machine's names and versions, by what they are of."""
    known = {"host": platform.node(), "CPU": machine.cpu_name or platform.machine()}
    known["CPU cores"] = str(machine.cpu_cores)
    for card in machine.cards:
        known[f"{CARD}{card.index} {card.instance}".rstrip()] = f"{card.name} ({card.uuid})"
    if machine.cards:
        known["driver"] = module_version() or "unknown"
    return known | {"kernel": platform.release(), "GPU Studio": __version__}


def physical_names(machine: Machine) -> dict[str, str]:
    """The name in a plan of each physical device, by its UUID; the CPU's by its own."""
    return {CPU: CPU, **{card.uuid: card.device for card in machine.cards}}
