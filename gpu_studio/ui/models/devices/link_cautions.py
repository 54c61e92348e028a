"""Warnings about mirroring over cards that are not well joined."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_studio.hardware.topology import Topology
from gpu_studio.hardware.topology_advice import islands
from gpu_studio.plan import Machine, Plan
from gpu_studio.plan.cautions import checked
from gpu_studio.plan.gradients import effective, holding, why_not_nccl
from gpu_studio.plan.mending import Caution, Mend, changing
from gpu_studio.plan.problems import listed
from gpu_studio.ui.models.devices.links import joined
from gpu_studio.ui.models.plan.edits.distribution import set_strategy


def link_cautions(plan: Plan, machine: Machine, topology: Topology | None) -> tuple[Caution, ...]:
    """Every warning that the links between the plan's cards give cause for; none while the links are not known."""
    return checked(plan, machine, lambda changed: _all(changed, machine, topology))


def _all(plan: Plan, machine: Machine, topology: Topology | None) -> Iterator[Caution]:
    devices = holding(plan, machine)
    part = joined(devices, machine, topology)
    # Slices of one card are the business of another warning.
    if plan.distribution.strategy != "mirrored" or len(part.nodes) < 2 or why_not_nccl(devices):
        return
    if all(joint.peer is False for joint in part.pairs()):
        yield from _apart(plan, machine)
    else:
        yield from _in_groups(part)


def _apart(plan: Plan, machine: Machine) -> Iterator[Caution]:
    way = effective(plan, machine)
    text = "These cards cannot read each other's memory."
    if way != "nccl":
        why = f"{way} copies between them through the host, one after the other; NCCL shares that way better."
        yield Caution("cards apart", text, why, changing("Use auto", "distribution", all_reduce="auto"))
        return
    why = (
        "Every sum of gradients passes through the host's memory. With few weights for the work (convolutions) they "
        "are best kept there, by central storage; with many, make the batch large."
    )
    mend = Mend("Use central storage", lambda changed: set_strategy(changed, "central_storage"))
    yield Caution("cards apart by NCCL", text, why, mend)


def _in_groups(part: Topology) -> Iterator[Caution]:
    groups = islands(part)
    if len(groups) < 2 or len(groups[0]) < 2:
        return
    names = [tuple(part.nodes[place].name for place in group) for group in groups]
    text = f"{listed(_span(group) for group in names)} reach each other by a slower way than within each group."
    why = "Every step waits for the slowest way: the one without NVLink, or without peer access."
    mend = changing(f"Use {_span(names[0])}", "distribution", devices=names[0])
    yield Caution("groups of cards", text, why, mend)


def _span(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
