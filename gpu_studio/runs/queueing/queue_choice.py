"""Whether a queued plan may start now, and if not, what it waits for. Values in, words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_studio.plan import MIB, Machine
from gpu_studio.plan.logical import CPU
from gpu_studio.runs.queueing.queue_needs import Need

GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Occupant:
    """A live run, the physical `devices` it works on, and whether it `holds` each of them for itself.

    It does if the queue started it (one at a time on a device), and as long as it is starting: what memory it will
    take cannot be seen yet.
    """

    run: str
    devices: frozenset[str]
    holds: bool


def waits_for(needs: Sequence[Need], machine: Machine, occupants: Sequence[Occupant]) -> str:
    """What a plan with these needs waits for; empty if it may start."""
    if any(need.device == CPU for need in needs):
        return _for_the_machine(occupants)
    return next((text for need in needs if (text := _for_card(need, machine, occupants))), "")


def _for_the_machine(occupants: Sequence[Occupant]) -> str:
    if not occupants:
        return ""
    return f"waits for {occupants[0].run} to end" if len(occupants) == 1 else f"waits for {len(occupants)} runs to end"


def _for_card(need: Need, machine: Machine, occupants: Sequence[Occupant]) -> str:
    there = [each for each in occupants if need.device in each.devices]
    holder = next((each for each in there if each.holds), None)
    if holder is not None:
        return f"waits for {holder.run} on {need.device}"
    card = machine.card(need.device)
    if card is None:
        return ""
    if need.bytes is None or card.free_mib is None:
        # Asleep, or of a size that nobody tells: then only the runs that are known of are in the way.
        return f"waits for {there[0].run} on {need.device}" if there else ""
    free = card.free_mib * MIB
    return "" if free >= need.bytes else f"waits for {gib(need.bytes)} on {need.device}: {gib(free)} free"


def gib(value: int) -> str:
    """Bytes as GiB with one decimal, which does not change with every look."""
    return f"{value / GIB:.1f} GiB"


def in_words(needs: Sequence[Need]) -> str:
    """What is needed, in a line: `3.1 GiB on GPU:1`; `the CPU, with no other run`."""
    if any(need.device == CPU for need in needs):
        return "the CPU, with no other run"
    each = (f"{gib(need.bytes)} on {need.device}" if need.bytes is not None else need.device for need in needs)
    return ", ".join(each)
