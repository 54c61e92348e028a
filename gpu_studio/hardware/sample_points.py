"""The figures of a sample as points of curves: device, metric and value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from gpu_studio.common.figures import MIB
from gpu_studio.contract.samples import AnySample, Fast, Host, Pcie, Slow

Figure = Literal["memory", "utilisation", "power"]
"""The figures kept for a run: memory in bytes, utilisation in percent, power in watts."""
Metric = Literal["memory", "utilisation", "power", "temperature", "pcie", "nvlink"]
"""More figures that are kept of devices: degrees Celsius, and bytes/s over the bus, summed."""
HOST: Final = "host"


def run_points(sample: AnySample) -> Iterator[tuple[str, Figure, float | None]]:
    """The card or host, the figure and its value at the sample's time.

    None if the sample lacks it.
    """
    match sample:
        case Fast():
            for card in sample.cards:
                yield card.card, "memory", _bytes(card.memory_used_mib)
                yield card.card, "utilisation", card.utilisation_percent
                yield card.card, "power", card.power_w
        case Host():
            yield HOST, "memory", _bytes(sample.memory_used_mib)
            yield HOST, "utilisation", sample.cpu_percent


def device_points(sample: AnySample) -> Iterator[tuple[str, Metric, float | None]]:
    """The same, with the further metrics that are kept for devices."""
    yield from run_points(sample)
    match sample:
        case Slow():
            yield from ((each.card, "temperature", each.temperature_c) for each in sample.cards)
        case Pcie():
            for bus in sample.cards:
                yield bus.card, "pcie", _both_directions(bus.sent_mib_s, bus.received_mib_s)
                yield (
                    bus.card,
                    "nvlink",
                    _both_directions(bus.nvlink_sent_mib_s, bus.nvlink_received_mib_s),
                )


def _both_directions(sent: float | None, received: float | None) -> float | None:
    return None if sent is None or received is None else _bytes(sent + received)


def _bytes(mib: float | None) -> float | None:
    return None if mib is None else mib * MIB
