"""Known machines by the links between their cards, and arbitrary ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from hypothesis import strategies as st

from gpu_studio.hardware.topology import Joint, Topology, TopologyNode
from gpu_studio.hardware.topology import Path as Way

NO_PEER = "the mainboard's chipset does not allow it"


def joined(
    count: int, joint: Callable[[int, int], Joint], numa: Callable[[int], int | None] = lambda _: 0
) -> Topology:
    """A machine of so many cards, with what lies between each two."""
    nodes = tuple(TopologyNode(f"GPU{place}", numa=numa(place)) for place in range(count))
    return Topology(nodes, tuple(joint(one, other) for one, other in combinations(range(count), 2)))


def switched() -> Topology:
    """Eight cards on NVSwitches, as in a DGX H100."""
    return joined(
        8,
        lambda a, b: Joint(a, b, "NODE" if a // 4 == b // 4 else "SYS", 18, 4, peer=True),
        lambda a: a // 4,
    )


def cube_mesh() -> Topology:
    """Eight cards as in a DGX-1.

    Two fully joined quads, each card joined with one of the other quad.
    """

    def joint(one: int, other: int) -> Joint:
        linked = one // 4 == other // 4 or other - one == 4
        path: Way = "PIX" if one // 2 == other // 2 else "PHB" if one // 4 == other // 4 else "SYS"
        return Joint(
            one, other, path, int(linked), 2 if linked else None, linked, "" if linked else NO_PEER
        )

    return joined(8, joint, lambda place: place // 4)


def bridged_pairs() -> Topology:
    """Four cards in two pairs, each under an NVLink bridge.

    All can read each other over PCIe too.
    """
    return joined(4, lambda a, b: Joint(a, b, "PHB", 4 if a // 2 == b // 2 else 0, 3, peer=True))


def without_peers(count: int = 2) -> Topology:
    """Cards made for games: none can read another's memory."""
    return joined(count, lambda a, b: Joint(a, b, "PHB", peer=False, why_no_peer=NO_PEER))


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Any machine of up to eight cards."""
    count = draw(st.integers(0, 8))
    nodes = tuple(
        TopologyNode(f"GPU{place}", numa=draw(st.none() | st.integers(0, 1)))
        for place in range(count)
    )
    joints = [
        Joint(
            *pair,
            draw(st.sampled_from(["PIX", "PXB", "PHB", "NODE", "SYS", "?"])),
            draw(st.integers(0, 2)),
            peer=peer,
        )
        for pair in combinations(range(count), 2)
        for peer in [draw(st.sampled_from([True, False, None]))]
    ]
    return Topology(nodes, tuple(joints))
