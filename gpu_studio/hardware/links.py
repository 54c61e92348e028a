"""What each all-reduce does over the links between this machine's cards, and which to choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gpu_studio.hardware.topology import PATHS, Joint, Topology, islands
from gpu_studio.plan import (
    ALL_REDUCES,
    CENTRAL_STORAGE,
    CPU,
    Caution,
    Machine,
    Plan,
    PlannedDevice,
    Remedy,
    changing,
    effective,
    halves_leave_one_out,
    listed,
    replica_devices,
    strategy_of,
    suited_to,
    why_not_nccl,
)
from gpu_studio.plan.cautions import checked
from gpu_studio.plan.edits.distribution import set_strategy

PLAIN = {
    "nccl": "NVIDIA's library sums in a ring or a tree that it lays over the links it finds.",
    "ring": "TensorFlow passes parts of the sum round the devices, each to the next.",
    "hierarchical_copy": (
        "Sums within each half of the devices, then between them: for two groups with few links."
    ),
    "reduction_to_one_device": (
        "Copies all gradients to one device, sums them there, and copies the sum back."
    ),
}
"""What each does, regardless of the links."""

RECOMMENDED, TAKEN = "recommended", "what auto takes here"


@dataclass(frozen=True, slots=True)
class ReduceChoice:
    """One all-reduce: its effect here, a `tag` if it is recommended, `why_not` if impossible."""

    name: str
    words: str
    tag: str = ""
    why_not: str = ""


def reduce_choices(
    plan: Plan, machine: Machine, topology: Topology | None
) -> tuple[ReduceChoice, ...]:
    """Every all-reduce for the devices with replicas.

    `auto` is recommended, which chooses by itself.
    """
    devices = replica_devices(plan, machine)
    best, able = suited_to(plan, devices), strategy_of(plan).all_reduces
    return tuple(
        _choice(name, devices, machine, topology, best)
        if name in able
        else ReduceChoice(name, PLAIN[name], why_not="It does not work between processes.")
        for name in ALL_REDUCES
    )


def joined(
    devices: Sequence[PlannedDevice], machine: Machine, topology: Topology | None
) -> Topology:
    """The topology of these devices' cards, each named by its first logical device.

    Empty if unknown.
    """
    nodes = (
        {node.uuid: place for place, node in enumerate(topology.nodes) if node.uuid}
        if topology
        else {}
    )
    cards = {device.physical: machine.card(device.physical) for device in reversed(devices)}
    names = {device.physical: device.name for device in reversed(devices)}
    places = {
        nodes[card.uuid]: names[name] for name, card in cards.items() if card and card.uuid in nodes
    }
    return _part(topology, dict(sorted(places.items()))) if topology and places else Topology()


def links_in_words(
    devices: Sequence[PlannedDevice], machine: Machine, topology: Topology | None
) -> str:
    """The links between the cards of these devices, in a clause.

    Empty if there is nothing to say.
    """
    joints = joined(devices, machine, topology).pairs()
    return listed(dict.fromkeys(_joint(joint) for joint in joints))


def _choice(
    name: str,
    devices: Sequence[PlannedDevice],
    machine: Machine,
    topology: Topology | None,
    best: str,
) -> ReduceChoice:
    if name == "auto":
        return ReduceChoice(name, f"Takes what suits the devices: here {best}.", RECOMMENDED)
    refused = _why_not(name, devices)
    here = _here(name, devices, links_in_words(devices, machine, topology))
    return ReduceChoice(
        name,
        " ".join(each for each in (PLAIN[name], here) if each),
        TAKEN if name == best else "",
        refused,
    )


def _why_not(name: str, devices: Sequence[PlannedDevice]) -> str:
    if name == "nccl" and why_not_nccl(devices):
        return f"{why_not_nccl(devices)}."
    if name == "hierarchical_copy" and halves_leave_one_out(len(devices)):
        return f"It sums two equal halves: of {len(devices)} replicas it would leave out the last."
    return ""


def _here(name: str, devices: Sequence[PlannedDevice], links: str) -> str:
    """Its effect on these devices."""
    if len(devices) < 2:
        return "With one replica there is nothing to sum."
    if all(device.physical == CPU for device in devices):
        saved = (
            "no copy leaves the host's memory"
            if name == "reduction_to_one_device"
            else "it only adds copies"
        )
        return f"Here, on logical CPUs, {saved}."
    if len({device.physical for device in devices}) == 1:
        saved = (
            "the copies stay in the card"
            if name == "reduction_to_one_device"
            else "it only adds copies"
        )
        return f"Here, on slices of one card, {saved}."
    return f"Here over {links}." if links else ""


def _joint(joint: Joint) -> str:
    if joint.nvlinks:
        return "NVLink"
    way = "PCIe" if joint.path == "?" else PATHS[joint.path]
    return f"{way}, through the host's memory" if joint.peer is False else way


def _part(topology: Topology, names: Mapping[int, str]) -> Topology:
    """The topology of the nodes at these indices, under these names."""
    old = list(names)
    nodes = tuple(replace(topology.nodes[place], name=name) for place, name in names.items())
    pairs = combinations(range(len(old)), 2)
    joints = (replace(topology.between(old[a], old[b]), first=a, second=b) for a, b in pairs)
    return Topology(nodes, tuple(joints))


def link_cautions(plan: Plan, machine: Machine, topology: Topology | None) -> tuple[Caution, ...]:
    """Warnings caused by the links between the plan's cards; none while the links are unknown."""
    return checked(plan, machine, lambda changed: _all(changed, machine, topology))


def _all(plan: Plan, machine: Machine, topology: Topology | None) -> Iterator[Caution]:
    devices = replica_devices(plan, machine)
    part = joined(devices, machine, topology)
    # Slices of one card are covered by another warning.
    if not strategy_of(plan).sums_gradients or len(part.nodes) < 2 or why_not_nccl(devices):
        return
    if all(joint.peer is False for joint in part.pairs()):
        yield from _apart(plan, machine)
    else:
        yield from _in_groups(part)


def _apart(plan: Plan, machine: Machine) -> Iterator[Caution]:
    way = effective(plan, machine)
    text = "These cards cannot read each other's memory."
    if way != "nccl":
        why = (
            f"{way} copies between them through the host, one after the "
            "other; NCCL shares that way better."
        )
        yield Caution(
            "cards apart", text, why, changing("Use auto", "distribution", all_reduce="auto")
        )
        return
    why = (
        "Every sum of gradients passes through the host's memory. With few weights for the work "
        "(convolutions) they are best kept there, by central storage; with many, make the batch "
        "large."
    )
    mend = Remedy(
        "Use central storage", lambda changed: set_strategy(changed, CENTRAL_STORAGE.name)
    )
    yield Caution("cards apart by NCCL", text, why, mend)


def _in_groups(part: Topology) -> Iterator[Caution]:
    groups = islands(part)
    if len(groups) < 2 or len(groups[0]) < 2:
        return
    names = [tuple(part.nodes[place].name for place in group) for group in groups]
    text = (
        f"{listed(_span(group) for group in names)} reach each other by a "
        "slower way than within each group."
    )
    why = "Every step waits for the slowest way: the one without NVLink, or without peer access."
    mend = changing(f"Use {_span(names[0])}", "distribution", devices=names[0])
    yield Caution("groups of cards", text, why, mend)


def _span(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
