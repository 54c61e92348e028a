"""The quick sampler on simulated cards with a fault: `python faulty_sampler.py MACHINE FAULT FILE`.

The fault is injected at the boundary of the driver's library. Those of `IN_MID_RUN` hold for as
long as FILE exists; further options are those of the sampler.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Never

from quick_sampler import hurry

from gpu_studio.hardware import nvml
from gpu_studio.hardware.sampler.__main__ import arguments, watch_chosen
from gpu_studio.hardware.simulated.cards import CARD_FUNCTIONS, handle_of
from gpu_studio.hardware.simulated.library import SimulatedLibrary
from gpu_studio.hardware.simulated.profiles import known, machine, profile
from gpu_studio.hardware.source import MachineSource

CARD: Final = 1
"""The place of the card that has the fault, where it is one card's."""
LIBRARY_NOT_FOUND, REFUSED, NOT_SUPPORTED, NO_PERMISSION, LOST, MISMATCH = 12, 999, 3, 4, 15, 18
IDENTITY: Final = {"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"}
FIGURES: Final = tuple(sorted(set(CARD_FUNCTIONS) - IDENTITY))
EVERYTHING: Final = (*CARD_FUNCTIONS, "nvmlDeviceGetHandleByIndex_v2")
FOR_ALL: Final = {"missing": LIBRARY_NOT_FOUND, "refused": REFUSED, "mismatch": MISMATCH}
FOR_ONE: Final = {"unsupported": NOT_SUPPORTED, "forbidden": NO_PERMISSION}
IN_MID_RUN: Final = ("lost", "hung", "stuck", "crash", "renewed")
"""`hung` is the whole driver, `stuck` the driver when it is asked for one card."""


class FaultyLibrary(SimulatedLibrary):
    """The library, which looks at each call whether the fault is to hold."""

    def __init__(self, name: str, fault: str, file: Path) -> None:
        super().__init__(machine([]) if name == "none" else profile(name))
        self._fault, self._file = fault, file
        if fault in FOR_ALL:
            self.errors["nvmlInitWithFlags"] = FOR_ALL[fault]
        if fault in FOR_ONE:
            self.errors |= {(function, CARD): FOR_ONE[fault] for function in FIGURES}

    def __getattr__(self, name: str) -> Callable[..., int]:
        function = super().__getattr__(name)
        if self.__dict__.get("_fault") not in IN_MID_RUN:
            return function

        def call(*arguments: Any) -> int:
            if self._fault != "stuck" or (
                name in CARD_FUNCTIONS and handle_of(arguments[0]) == CARD
            ):
                self._hold(self._file.exists())
            return function(*arguments)

        return call

    def _hold(self, holds: bool) -> None:
        if self._fault == "lost":
            self.errors = {(function, CARD): LOST for function in EVERYTHING} if holds else {}
        elif self._fault == "renewed":
            self.errors = dict.fromkeys(CARD_FUNCTIONS, MISMATCH) if holds else {}
        elif holds and self._fault in ("hung", "stuck"):
            _hang()
        elif holds:
            os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> Never:
    """Do nothing until this process is killed, as in a call to a driver that does not come back."""
    while True:
        signal.pause()


def main() -> int:
    """Watch the faulty machine until stdin is closed."""
    name, fault, file, *options = sys.argv[1:]
    hurry()
    library = FaultyLibrary(name, fault, Path(file))
    nvml.use_library(library)
    return watch_chosen(MachineSource(library.pci_cards, known, name), arguments(options))


if __name__ == "__main__":
    sys.exit(main())
