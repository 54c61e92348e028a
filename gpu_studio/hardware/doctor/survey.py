"""Query the driver for the doctor, in a process that a driver crash may take down.

`python -m gpu_studio.hardware.doctor.survey` prints a `Survey` as one line of JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.contract import lossy_line
from gpu_studio.hardware import topology_reading
from gpu_studio.hardware.doctor.facts import DriverCard, Survey
from gpu_studio.hardware.host import DEVICES, PciCard
from gpu_studio.hardware.nvml import (
    BUS_ID,
    MIG,
    NAME,
    TOTAL_AND_USED,
    UUID,
    Ask,
    Unknown,
    answers,
    asking,
    instances_of,
    one,
    query,
    running,
)
from gpu_studio.hardware.probe import open_source, users_of
from gpu_studio.hardware.source import KnownProcess, is_recording, simulated
from gpu_studio.hardware.topology import Topology
from gpu_studio.plan import CardUser

NO_LIBRARY = 12
"""NVML_ERROR_LIBRARY_NOT_FOUND."""
FACTS = (
    one("index", "nvmlDeviceGetIndex"),
    UUID,
    BUS_ID,
    NAME,
    TOTAL_AND_USED,
    one("capability", "nvmlDeviceGetCudaComputeCapability"),
    one("persistent", "nvmlDeviceGetPersistenceMode", convert=lambda mode: (bool(mode),)),
    one("compute_mode", "nvmlDeviceGetComputeMode"),
)
"""The queries for each card, by the field names of `DriverCard`."""

KnownBy = Callable[[int], KnownProcess | None]
"""Who a process is, by its number; None if nobody knows."""


def survey(
    listed: Sequence[PciCard], devices: Path | None = DEVICES, known: KnownBy | None = None
) -> Survey:
    """Query the driver. Cards that are `listed` as asleep are not woken.

    `devices` is where the kernel lists them. `known` identifies processes that are not this host's.
    """
    asleep = tuple(card.bus_id for card in listed if card.asleep)
    if asleep and len(asleep) == len(listed):
        return Survey(asleep=asleep)
    with running() as failure:
        if failure is not None:
            return Survey(
                asleep=asleep, why_no_answer=failure.why, installed=failure.code != NO_LIBRARY
            )
        handles = _handles([card.bus_id for card in listed if not card.asleep] if asleep else None)
        if isinstance(handles, Unknown):
            return Survey(_driver(), _cuda(), asleep=asleep, why_no_answer=handles.why)
        return _all(handles, asleep, devices, known)


def main() -> int:
    """Print the survey; return exit code 0."""
    sys.stdout.write(lossy_line(msgspec.json.Encoder(), _of_this_machine()).decode())
    return 0


def _of_this_machine() -> Survey:
    """The survey of this machine, or of the simulated one that replaces it."""
    try:
        if is_recording(simulated()):
            return _recorded(Path(simulated()))
        source = open_source()
    except ValueError as error:
        return Survey(why_no_answer=str(error).rstrip("."), simulated=simulated())
    if source.practice:
        # Nothing joins them but this machine's memory.
        reported = survey(source.pci_cards(), None)
        return replace(reported, practice=source.practice, topology=Topology())
    if not source.simulated:
        return survey(source.pci_cards())
    # The kernel's list and the host's processes do not belong to the simulated machine.
    reported = survey(source.pci_cards(), None, source.known)
    return replace(reported, simulated=source.simulated)


def _recorded(path: Path) -> Survey:
    """The cards of a recording. Raises SimulationError, a ValueError, if it is none."""
    from gpu_studio.hardware.simulated.recording import recorded_cards

    reported = ("uuid", "name", "bus_id", "total_mib", "used_mib", "why_unknown")
    awake = [card for card in recorded_cards(path) if not card["asleep"]]
    cards = [
        DriverCard(index, **{word: card[word] for word in reported})
        for index, card in enumerate(awake)
    ]
    return Survey(cards=tuple(cards), simulated=str(path))


def _all(
    handles: dict[str, Any], asleep: tuple[str, ...], devices: Path | None, known: KnownBy | None
) -> Survey:
    found = [
        (handle, _card(number, name, handle, known))
        for number, (name, handle) in enumerate(handles.items())
    ]
    reported = [(handle, card.seen) for handle, card in found if not isinstance(handle, Unknown)]
    topology = topology_reading.read(reported, devices)
    return Survey(_driver(), _cuda(), tuple(card for _, card in found), asleep, topology)


def _handles(bus_ids: list[str] | None) -> dict[str, Any] | Unknown:
    """Each card's handle, or why it has none, by NVML index or PCI address."""
    if bus_ids is not None:
        return {bus_id: query("nvmlDeviceGetHandleByPciBusId", bus_id) for bus_id in bus_ids}
    count = query("nvmlDeviceGetCount")
    if isinstance(count, Unknown):
        return count
    return {str(index): query("nvmlDeviceGetHandleByIndex", index) for index in range(count)}


def _driver() -> str:
    version = query("nvmlSystemGetDriverVersion")
    return "" if isinstance(version, Unknown) else str(version)


def _cuda() -> str:
    version = query("nvmlSystemGetCudaDriverVersion_v2")
    return "" if isinstance(version, Unknown) else f"{version // 1000}.{version % 1000 // 10}"


def _card(number: int, name: str, handle: Any, known: KnownBy | None) -> DriverCard:
    if isinstance(handle, Unknown):
        return DriverCard(number, bus_id=name if ":" in name else "", why_unknown=handle.why)
    ask = asking(handle)
    reported = {"index": number, "bus_id": name if ":" in name else "", **answers(ask, *FACTS)}
    return DriverCard(
        **reported, **_mig(ask), users=tuple(CardUser(**user) for user in users_of(handle, known))
    )


def _mig(ask: Ask) -> dict[str, Any]:
    if not answers(ask, MIG).get("mig"):
        return {}
    return {"mig": True, "instances": len(instances_of(ask))}


if __name__ == "__main__":
    sys.exit(main())
