"""The driver asked for all that the doctor needs, in the process that may be lost to a driver's crash.

`python -m gpu_studio.hardware.doctor.survey` prints a `Survey` as one line of JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from gpu_studio.hardware import topology_reading
from gpu_studio.hardware.card_users import users_of
from gpu_studio.hardware.doctor.facts import DriverCard, Survey
from gpu_studio.hardware.nvml import MEMORY_2, MIB, Unknown, query, running
from gpu_studio.hardware.pci import DEVICES, PciCard, plain_bus_id
from gpu_studio.hardware.source import Known, is_recording, open_source, simulated
from gpu_studio.plan import CardUser

NO_LIBRARY = 12
"""NVML_ERROR_LIBRARY_NOT_FOUND."""


KnownBy = Callable[[int], Known | None]
"""Who a process is, by its number; None if nobody knows."""


def survey(listed: Sequence[PciCard], devices: Path | None = DEVICES, known: KnownBy | None = None) -> Survey:
    """Ask the driver. Cards that are `listed` as asleep are left asleep; `devices` is where the kernel lists them.

    `known` knows processes that are none of this host's.
    """
    asleep = tuple(card.bus_id for card in listed if card.asleep)
    if asleep and len(asleep) == len(listed):
        return Survey(asleep=asleep)
    with running() as failure:
        if failure is not None:
            return Survey(asleep=asleep, why_no_answer=failure.why, installed=failure.code != NO_LIBRARY)
        handles = _handles([card.bus_id for card in listed if not card.asleep] if asleep else None)
        if isinstance(handles, Unknown):
            return Survey(_driver(), _cuda(), asleep=asleep, why_no_answer=handles.why)
        return _all(handles, asleep, devices, known)


def main() -> int:
    """Print the survey; the exit code 0."""
    sys.stdout.write(msgspec.json.encode(_of_this_machine()).decode() + "\n")
    return 0


def _of_this_machine() -> Survey:
    """The survey of this machine, or of the simulated one that stands in for it."""
    try:
        if is_recording(simulated()):
            return _recorded(Path(simulated()))
        source = open_source()
    except ValueError as error:
        return Survey(why_no_answer=str(error).rstrip("."), simulated=simulated())
    if not source.simulated:
        return survey(source.pci_cards())
    # What the kernel lists, and who runs here, is not the simulated machine's.
    told = survey(source.pci_cards(), None, source.known)
    return replace(told, simulated=source.simulated)


def _recorded(path: Path) -> Survey:
    """What a recording tells of its cards. Raises SimulationError, a ValueError, if it is none."""
    from gpu_studio.hardware.simulated.recording import recorded_cards

    told = ("uuid", "name", "bus_id", "total_mib", "used_mib", "why_unknown")
    awake = [card for card in recorded_cards(path) if not card["asleep"]]
    cards = [DriverCard(index, **{word: card[word] for word in told}) for index, card in enumerate(awake)]
    return Survey(cards=tuple(cards), simulated=str(path))


def _all(handles: dict[str, Any], asleep: tuple[str, ...], devices: Path | None, known: KnownBy | None) -> Survey:
    found = [(handle, _card(number, name, handle, known)) for number, (name, handle) in enumerate(handles.items())]
    told = [(handle, card.seen) for handle, card in found if not isinstance(handle, Unknown)]
    topology = topology_reading.read(told, devices)
    return Survey(_driver(), _cuda(), tuple(card for _, card in found), asleep, topology)


def _handles(bus_ids: list[str] | None) -> dict[str, Any] | Unknown:
    """Each card's handle, or why it has none, by what it was asked for by: NVML's index or its PCI address."""
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
    index = _or("nvmlDeviceGetIndex", handle, otherwise=number)
    total, used = _memory(handle)
    return DriverCard(
        index=index,
        uuid=_or("nvmlDeviceGetUUID", handle, otherwise=""),
        bus_id=name if ":" in name else _bus_id(handle),
        name=_or("nvmlDeviceGetName", handle, otherwise="NVIDIA card"),
        total_mib=total,
        used_mib=used,
        capability=_or("nvmlDeviceGetCudaComputeCapability", handle, otherwise=None),
        persistent=_flag(query("nvmlDeviceGetPersistenceMode", handle)),
        compute_mode=_or("nvmlDeviceGetComputeMode", handle, otherwise=None),
        users=tuple(CardUser(**user) for user in users_of(handle, known)),
        **_mig(handle),
    )


def _memory(handle: Any) -> tuple[int | None, int | None]:
    memory = query("nvmlDeviceGetMemoryInfo", handle, MEMORY_2)
    if isinstance(memory, Unknown):
        memory = query("nvmlDeviceGetMemoryInfo", handle)
    return (None, None) if isinstance(memory, Unknown) else (memory.total // MIB, memory.used // MIB)


def _bus_id(handle: Any) -> str:
    info = query("nvmlDeviceGetPciInfo", handle)
    if isinstance(info, Unknown):
        return ""
    return plain_bus_id(info.busId.decode("ascii", "replace") if isinstance(info.busId, bytes) else info.busId)


def _mig(handle: Any) -> dict[str, Any]:
    mode = query("nvmlDeviceGetMigMode", handle)
    if isinstance(mode, Unknown) or mode[0] != 1:
        return {}
    most = _or("nvmlDeviceGetMaxMigDeviceCount", handle, otherwise=0)
    instances = [query("nvmlDeviceGetMigDeviceHandleByIndex", handle, index) for index in range(most)]
    return {"mig": True, "instances": sum(not isinstance(one, Unknown) for one in instances)}


def _or(function: str, handle: Any, *, otherwise: Any) -> Any:
    answer = query(function, handle)
    return otherwise if isinstance(answer, Unknown) else answer


def _flag(answer: Any) -> bool | None:
    return None if isinstance(answer, Unknown) else bool(answer)


if __name__ == "__main__":
    sys.exit(main())
