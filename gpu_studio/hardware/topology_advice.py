"""Advice from the topology: which cards to mirror over, which all-reduce, and where variables go.

The reasoning is that of TensorFlow's performance guide (github.com/tensorflow/docs, r1.x
guide/performance/benchmarks and models, "Variable distribution and gradient aggregation"): where
cards can read each other's memory, variables belong on the cards and gradients are summed by NCCL;
where they cannot, every copy passes through the host's memory, and for models with few weights for
their work the variables are best kept on the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_studio.hardware.topology import PATHS, Joint, Topology
from gpu_studio.plan.strategies import CENTRAL_STORAGE, MIRRORED, NONE

NEARNESS = tuple(PATHS)
TWO_ISLANDS = PAIR = 2


@dataclass(frozen=True, slots=True)
class Advice:
    """What to choose on this machine.

    `mirror` are groups of indices in `Topology.nodes`, the best first. `strategy` and `all_reduce`
    are values of a plan; `variables` is where the strategy would keep the weights.
    """

    strategy: str
    all_reduce: Literal["auto", "nccl", "hierarchical_copy"]
    variables: Literal["cards", "cpu"]
    mirror: tuple[tuple[int, ...], ...]
    words: tuple[str, ...]


def advise(topology: Topology) -> Advice | None:
    """What to choose; None without a card."""
    if not topology.nodes:
        return None
    if len(topology.nodes) == 1:
        return Advice(
            NONE.name, "auto", "cards", ((0,),), ("One card: train on it without a strategy.",)
        )
    groups = islands(topology)
    if len(groups) == len(topology.nodes):
        return _without_peers(topology)
    return _one_island(topology) if len(groups) == 1 else _several(topology, groups)


def islands(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Groups of cards that can read each other's memory, the largest and best linked first.

    Each group grows from the best linked pair: a card joins if it can reach every member.
    """
    left = set(range(len(topology.nodes)))
    found: list[tuple[int, ...]] = []
    for joint in best_pairs(topology):
        if joint.peer and {joint.first, joint.second} <= left:
            group = _grown(topology, joint, left)
            left -= set(group)
            found.append(group)
    found.extend((place,) for place in sorted(left))
    return tuple(sorted(found, key=lambda group: -len(group)))


def best_pairs(topology: Topology) -> list[Joint]:
    """All pairs of cards, those with the fastest copies between them first."""
    return sorted(topology.pairs(), key=_slowness)


def _slowness(joint: Joint) -> tuple[object, ...]:
    version = joint.nvlink_version or 0
    return (
        not joint.peer,
        -joint.nvlinks,
        -version,
        NEARNESS.index(joint.path),
        joint.first,
        joint.second,
    )


def _grown(topology: Topology, joint: Joint, left: set[int]) -> tuple[int, ...]:
    group = [joint.first, joint.second]
    while candidates := [c for c in sorted(left - set(group)) if _reaches_all(topology, c, group)]:
        # A card over NVLink comes before one over PCIe, so that the islands of a DGX-1 are found.
        nearest = min(
            candidates,
            key=lambda c: max(_slowness(topology.between(c, member))[:4] for member in group),
        )
        if not _as_fast(topology, nearest, group):
            break
        group.append(nearest)
    return tuple(sorted(group))


def _reaches_all(topology: Topology, card: int, group: list[int]) -> bool:
    return all(topology.between(card, member).peer for member in group)


def _as_fast(topology: Topology, card: int, group: list[int]) -> bool:
    """Whether a group linked by NVLink stays so with this card."""
    joined = topology.between(group[0], group[1]).nvlinks > 0
    return not joined or all(topology.between(card, member).nvlinks for member in group)


def _one_island(topology: Topology) -> Advice:
    everyone = tuple(range(len(topology.nodes)))
    links = [joint.nvlinks for joint in topology.pairs()]
    way = "over NVLink" if all(links) else "over PCIe"
    who = "Both cards" if len(everyone) == PAIR else f"All {len(everyone)} cards"
    words = [
        f"{who} can read each other's memory {way}: mirror over them, with NCCL.",
        "Variables belong on the cards.",
        *_across_nodes(topology, everyone),
    ]
    return Advice(MIRRORED.name, "nccl", "cards", (everyone,), tuple(words))


def _several(topology: Topology, groups: tuple[tuple[int, ...], ...]) -> Advice:
    reported = " and ".join(_names(topology, group) for group in groups if len(group) > 1)
    words = [
        f"Mirror over {reported}: within each group the cards reach each other fastest. Take NCCL.",
        _between(groups),
    ]
    # Two equal halves are the machine that hierarchical copy was written for (DGX-1).
    halves = len(groups) == TWO_ISLANDS and len(groups[0]) == len(groups[1])
    if halves:
        words.append(
            "Over both groups at once, measure hierarchical_copy against NCCL: "
            "it sums within each group first."
        )
    words.append("Variables belong on the cards.")
    return Advice(MIRRORED.name, "nccl", "cards", groups, tuple(words))


def _between(groups: tuple[tuple[int, ...], ...]) -> str:
    alone = [group for group in groups if len(group) == 1]
    if alone and len(groups) - len(alone) == 1:
        return (
            "A card outside the group makes every step wait for the slowest "
            "way: leave it for another run."
        )
    return "A run over more than one group waits at every step for the slower way between them."


def _without_peers(topology: Topology) -> Advice:
    everyone = tuple(range(len(topology.nodes)))
    words = [
        _why_without(topology),
        (
            "For models with few weights for their work (convolutions), keep the "
            "variables on the CPU: central_storage."
        ),
        (
            "For models with many weights (large dense or embedding layers), mirror with NCCL, and "
            "make the batch large."
        ),
    ]
    return Advice(
        CENTRAL_STORAGE.name,
        "nccl",
        "cpu",
        (everyone,),
        (*words, *_across_nodes(topology, everyone)),
    )


def _why_without(topology: Topology) -> str:
    reasons = sorted({joint.why_no_peer for joint in topology.pairs() if joint.why_no_peer})
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if any(joint.peer is None for joint in topology.pairs()):
        return (
            f"Whether the cards can read each other's memory is unknown{why}: "
            "reckon with copies through the host."
        )
    return (
        f"The cards cannot read each other's memory{why}: what they exchange "
        "passes through the host's memory."
    )


def _across_nodes(topology: Topology, group: tuple[int, ...]) -> list[str]:
    nodes = {topology.nodes[place].numa for place in group} - {None}
    if len(nodes) < TWO_ISLANDS or all(joint.nvlinks for joint in topology.pairs()):
        return []
    return [
        f"They hang on {len(nodes)} NUMA nodes: for a run on fewer cards, take those of one node."
    ]


def _names(topology: Topology, group: tuple[int, ...]) -> str:
    return ", ".join(topology.nodes[place].name for place in group)
