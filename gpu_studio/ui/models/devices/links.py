"""What each all-reduce does over the links between this machine's cards, and which to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gpu_studio.hardware.topology import PATHS, Joint, Topology
from gpu_studio.plan import ALL_REDUCES, LogicalDevice, Machine, Plan
from gpu_studio.plan.gradients import holding, suited, why_not_nccl
from gpu_studio.plan.logical import CPU
from gpu_studio.plan.problems import listed

PLAIN = {
    "nccl": "NVIDIA's library sums in a ring or a tree that it lays over the links it finds.",
    "ring": "TensorFlow passes parts of the sum round the devices, each to the next.",
    "hierarchical_copy": "Sums within each half of the devices, then between them: for two groups with few links.",
    "reduction_to_one_device": "Copies all gradients to one device, sums them there, and copies the sum back.",
}
"""What each does, whatever the links are."""

RECOMMENDED, TAKEN = "recommended", "what auto takes here"


@dataclass(frozen=True, slots=True)
class Way:
    """One all-reduce: what it does here, a `tag` for those to take, `why_not` where the devices cannot do it."""

    name: str
    words: str
    tag: str = ""
    why_not: str = ""


def ways(plan: Plan, machine: Machine, topology: Topology | None) -> tuple[Way, ...]:
    """Every all-reduce for the devices that hold replicas; recommended is `auto`, which takes the one that suits."""
    devices = holding(plan, machine)
    return tuple(_way(name, devices, machine, topology) for name in ALL_REDUCES)


def joined(devices: Sequence[LogicalDevice], machine: Machine, topology: Topology | None) -> Topology:
    """The topology of the cards of these devices alone, each by the first logical device on it; empty if unknown."""
    nodes = {node.uuid: place for place, node in enumerate(topology.nodes) if node.uuid} if topology else {}
    cards = {device.physical: machine.card(device.physical) for device in reversed(devices)}
    names = {device.physical: device.name for device in reversed(devices)}
    places = {nodes[card.uuid]: names[name] for name, card in cards.items() if card and card.uuid in nodes}
    return _part(topology, dict(sorted(places.items()))) if topology and places else Topology()


def links_in_words(devices: Sequence[LogicalDevice], machine: Machine, topology: Topology | None) -> str:
    """What lies between the cards of these devices, in a clause; empty if there is nothing to say."""
    joints = joined(devices, machine, topology).pairs()
    return listed(dict.fromkeys(_joint(joint) for joint in joints))


def _way(name: str, devices: Sequence[LogicalDevice], machine: Machine, topology: Topology | None) -> Way:
    best = suited(devices)
    if name == "auto":
        return Way(name, f"Takes what suits the devices: here {best}.", RECOMMENDED)
    refused = _why_not(name, devices)
    here = _here(name, devices, links_in_words(devices, machine, topology))
    return Way(name, " ".join(each for each in (PLAIN[name], here) if each), TAKEN if name == best else "", refused)


def _why_not(name: str, devices: Sequence[LogicalDevice]) -> str:
    if name == "nccl" and why_not_nccl(devices):
        return f"{why_not_nccl(devices)}."
    if name == "hierarchical_copy" and len(devices) > 1 and len(devices) % 2:
        return f"It sums two equal halves: of {len(devices)} replicas it would leave out the last."
    return ""


def _here(name: str, devices: Sequence[LogicalDevice], links: str) -> str:
    """What it comes to on these devices."""
    if len(devices) < 2:
        return "With one replica there is nothing to sum."
    if all(device.physical == CPU for device in devices):
        saved = "no copy leaves the host's memory" if name == "reduction_to_one_device" else "it only adds copies"
        return f"Here, on logical CPUs, {saved}."
    if len({device.physical for device in devices}) == 1:
        saved = "the copies stay in the card" if name == "reduction_to_one_device" else "it only adds copies"
        return f"Here, on slices of one card, {saved}."
    return f"Here over {links}." if links else ""


def _joint(joint: Joint) -> str:
    if joint.nvlinks:
        return "NVLink"
    way = "PCIe" if joint.path == "?" else PATHS[joint.path]
    return f"{way}, through the host's memory" if joint.peer is False else way


def _part(topology: Topology, names: Mapping[int, str]) -> Topology:
    """The topology of the nodes at these places, under these names."""
    old = list(names)
    nodes = tuple(replace(topology.nodes[place], name=name) for place, name in names.items())
    pairs = combinations(range(len(old)), 2)
    joints = (replace(topology.between(old[a], old[b]), first=a, second=b) for a, b in pairs)
    return Topology(nodes, tuple(joints))
