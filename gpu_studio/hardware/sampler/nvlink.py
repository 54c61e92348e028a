"""How much goes over a card's NVLinks: the driver counts kibibytes, and two counts make a rate."""

from __future__ import annotations

from typing import Any, Final

from gpu_studio.hardware import nvml
from gpu_studio.hardware.nvml import Unknown
from gpu_studio.hardware.sampler.card import Answerer

NAMES: Final = ("nvlink_sent_mib_s", "nvlink_received_mib_s")
EVERY_LINK: Final = 2**32 - 1
FIELDS: Final = [(138, EVERY_LINK), (139, EVERY_LINK)]
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX of all links together: the payload, in KiB since the driver's start."""
MEASURED_NEXT: Final = "measured from the next time on"
RESTARTED: Final = "the card's counters began anew"
KIB_PER_MIB: Final = 1024


class NvlinkRates:
    """Remembers each card's counts until the next time."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, tuple[int, ...]]] = {}
        self._settled: dict[str, Unknown] = {}

    def forget(self) -> None:
        """Begin anew: the cards may be others."""
        self._before, self._settled = {}, {}

    def read(self, card: Answerer, now: float) -> dict[str, Any]:
        """The rates in MiB a second by name, and under "why" the reason of those that are not known.

        `now` is of a monotonic clock, in seconds. A card without NVLink is asked once.
        """
        counts = self._settled.get(card.key) or _counts(card)
        if isinstance(counts, Unknown):
            if counts.is_lasting:
                self._settled[card.key] = counts
            self._before.pop(card.key, None)
            return {"why": dict.fromkeys(NAMES, counts.why)}
        before, self._before[card.key] = self._before.get(card.key), (now, counts)
        return _rates(before, now, counts)


def _rates(before: tuple[float, tuple[int, ...]] | None, now: float, counts: tuple[int, ...]) -> dict[str, Any]:
    if before is None or now <= before[0]:
        return {"why": dict.fromkeys(NAMES, MEASURED_NEXT)}
    more = [new - old for new, old in zip(counts, before[1], strict=True)]
    if min(more) < 0:
        return {"why": dict.fromkeys(NAMES, RESTARTED)}
    seconds = now - before[0]
    return {name: kib / KIB_PER_MIB / seconds for name, kib in zip(NAMES, more, strict=True)} | {"why": {}}


def _counts(card: Answerer) -> tuple[int, ...] | Unknown:
    fields = card.answer_once("nvlink", ("nvmlDeviceGetFieldValues", FIELDS))
    if isinstance(fields, Unknown):
        return fields
    failed = next((field.nvmlReturn for field in fields if field.nvmlReturn), 0)
    if failed:
        return Unknown(nvml.WHY.get(failed, f"the driver answered with error {failed}"), failed)
    return tuple(int(field.value.ullVal) for field in fields)
