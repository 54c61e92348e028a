"""The processes on the cards and on the CPU, and the events of the devices, as tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpu_studio.common.figures import percent, size_from_mib
from gpu_studio.contract.samples import HostProcess, Process
from gpu_studio.hardware.device_rows import AnyProcess, me, run_of, what
from gpu_studio.hardware.picture import MachinePicture
from gpu_studio.ui.devices.alerts import MachineEvent
from gpu_studio.ui.kit import PlainTable

PID, USER, COMMAND, DEVICE, MEMORY = range(5)


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A process on a card or on the CPU, and the name of that device."""

    process: AnyProcess
    device: str

    @property
    def mine(self) -> bool:
        """Whether it belongs to the user of this window."""
        return bool(self.process.user) and self.process.user == me()

    @property
    def device_and_share(self) -> str:
        """The device's name; on the CPU with the share of a core that the process takes."""
        share = self.process.cpu_percent if self.on_host else None
        return self.device if share is None else f"{self.device} {percent(share)}"

    @property
    def on_host(self) -> bool:
        """Whether it counts as a user of this computer's own cores and memory."""
        return isinstance(self.process, HostProcess)


def on_devices(picture: MachinePicture) -> list[OnDevice]:
    """Every process on every card, and the host's heavy users; most memory first."""
    return sorted((*_on_cards(picture), *_on_host(picture)), key=lambda row: -_memory(row))


def _on_cards(picture: MachinePicture) -> Iterator[OnDevice]:
    names = {key: f"GPU {place}" for place, key in enumerate(picture.cards)}
    names |= {
        part.card: names[key]
        for key, card in picture.cards.items()
        for part in card.facts.instances
        if key in names
    }
    for each in picture.processes.processes if picture.processes else ():
        yield OnDevice(each, names.get(each.card, "a card"))


def _on_host(picture: MachinePicture) -> Iterator[OnDevice]:
    for each in picture.host_processes.processes if picture.host_processes else ():
        yield OnDevice(each, "CPU")


class ProcessesModel(PlainTable[OnDevice]):
    """Process number, user, run or command, device, memory: of the card, or of the host."""

    headers = ("PID", "User", "Command", "On", "Memory")
    right = frozenset({MEMORY})
    brief = False
    """Whether there is little space.

    A user who is somebody else stands before the command, and no share of the CPU.
    """

    def set_brief(self, brief: bool) -> None:
        """Show the short form, or everything."""
        if brief != self.brief:
            self.brief = brief
            if self.rows:
                self.dataChanged.emit(
                    self.index(0, COMMAND), self.index(len(self.rows) - 1, DEVICE)
                )

    def key(self, row: OnDevice) -> Any:
        """A process has a row for each card it is on, and one for the CPU."""
        return row.process.pid, row.process.card if isinstance(row.process, Process) else ""

    def text(self, row: OnDevice, column: int) -> str:
        """The words of a cell; where a figure is missing, why."""
        process = row.process
        if column == PID:
            return str(process.pid)
        if column == USER:
            return "you" if row.mine else process.user or process.why.get("user", "not known")
        if column == COMMAND:
            does = f"run · {run_of(process)}" if run_of(process) else what(process)
            return (
                f"{process.user} · {does}" if self.brief and process.user and not row.mine else does
            )
        if column == DEVICE:
            return row.device if self.brief else row.device_and_share
        if process.memory_mib is None:
            return process.why.get("memory_mib", "not known")
        return size_from_mib(process.memory_mib)

    def order(self, row: OnDevice, column: int) -> Any:
        """Numbers as numbers."""
        if column == MEMORY:
            return _memory(row)
        return row.process.pid if column == PID else self.text(row, column)


class EventsModel(PlainTable[MachineEvent]):
    """Time, device, what happened; the newest first."""

    headers = ("Time", "Device", "What happened")

    def key(self, row: MachineEvent) -> Any:
        """An event never changes."""
        return row

    def text(self, row: MachineEvent, column: int) -> str:
        """The words of a cell."""
        clock = time.strftime("%H:%M:%S", time.localtime(row.time))
        return (clock, row.device or "sampler", row.words)[column]


def _memory(row: OnDevice) -> int:
    return row.process.memory_mib or 0
