"""Driver events of cards: XIDs, the driver's own errors, and memory errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_studio.contract.samples import Happened
from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import Unknown
from gpu_studio.hardware.sampler.card import DriverCalls, SampledCard

CORRECTED, UNCORRECTED, XID = 0x1, 0x2, 0x8
WANTED = CORRECTED | UNCORRECTED | XID
MOST_AT_ONCE = 64
KINDS = {CORRECTED: "ecc_corrected", UNCORRECTED: "ecc_uncorrected", XID: "xid"}
ECC_WORDS = {
    "ecc_corrected": "an error in the card's memory was corrected",
    "ecc_uncorrected": "an error in the card's memory could not be corrected",
}
# From NVIDIA's catalogue of XID errors.
XIDS = {
    13: "a program used the card wrongly (graphics engine exception)",
    31: "a program used memory of the card that it does not have (page fault)",
    32: "the card was handed corrupted commands",
    38: "the driver's firmware failed",
    43: "the card stopped working on a program",
    45: "a program's work on the card was broken off",
    48: "an error in the card's memory could not be corrected",
    61: "the card's own controller stopped at a breakpoint",
    62: "the card's own controller halted",
    63: "a bad part of the card's memory was taken out of use",
    64: "a bad part of the card's memory could not be taken out of use",
    74: "a link between cards (NVLink) failed",
    79: "the card has fallen off the bus",
    92: "many errors in the card's memory were corrected",
    94: "an error in the card's memory was contained; restart the program that met it",
    95: "an error in the card's memory was not contained; the card needs a reset",
    119: "the card's system processor did not answer",
    120: "the card's system processor failed",
}


class Events:
    """The driver's event set for some cards.

    A driver without events reports none, and nothing fails.
    """

    def __init__(self, calls: DriverCalls) -> None:
        self._calls = calls
        self._set: Any = None
        self._keys: dict[int, str] = {}

    def watch(self, cards: Sequence[SampledCard]) -> None:
        """Watch these cards from now on, instead of the previous ones."""
        self.forget()
        if not cards:
            return
        made = self._calls.ask("nvmlEventSetCreate")
        if isinstance(made, Unknown):
            return
        self._set = made
        for card in cards:
            if self._register(card):
                self._keys[card.address] = card.key
        if not self._keys:
            self.forget()

    def forget(self) -> None:
        """Stop watching."""
        if self._set is not None:
            self._calls.ask("nvmlEventSetFree", self._set)
        self._set = None
        self._keys = {}

    def happened(self, time: float) -> Iterator[Happened]:
        """The events since the last call; never waits."""
        for _ in range(MOST_AT_ONCE if self._set is not None else 0):
            event = self._calls.ask("nvmlEventSetWait", self._set, 0)
            if isinstance(event, Unknown):
                return
            yield self._reported(event, time)

    def _register(self, card: SampledCard) -> bool:
        supported = self._calls.ask("nvmlDeviceGetSupportedEventTypes", card.handle)
        if isinstance(supported, Unknown) or not supported & WANTED:
            return False
        answer = self._calls.ask(
            "nvmlDeviceRegisterEvents", card.handle, supported & WANTED, self._set
        )
        return not isinstance(answer, Unknown)

    def _reported(self, event: Any, time: float) -> Happened:
        kind = KINDS.get(event.eventType, "xid")
        code = int(event.eventData) if kind == "xid" else 0
        words = (
            ECC_WORDS.get(kind)
            or f"XID {code}: {XIDS.get(code, 'see the NVIDIA catalogue of XID errors')}"
        )
        return Happened(
            time=time,
            card=self._keys.get(nvml.address(event.device), ""),
            kind=kind,
            code=code,
            words=words,
        )
