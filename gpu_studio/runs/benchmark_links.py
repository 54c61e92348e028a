"""What joins the cards that a benchmark has measured, as the machine's topology has it."""

from __future__ import annotations

from itertools import permutations

from gpu_studio.hardware.topology import Topology
from gpu_studio.lab.benchmark_results import BenchmarkResult

_UNKNOWN = "?"


def links_between(result: BenchmarkResult, topology: Topology) -> dict[tuple[str, str], str]:
    """The link between each two logical devices of a result: `NV18`, `PIX`; by both names.

    Nothing is known between slices of one card, nor of cards that the topology does not have, such
    as those of another machine.
    """
    places = {node.uuid: place for place, node in enumerate(topology.nodes) if node.uuid}
    cards = {name: places[uuid] for name, uuid in result.devices.items() if uuid in places}
    links = {
        (one, other): topology.between(cards[one], cards[other]).cell
        for one, other in permutations(cards, 2)
        if cards[one] != cards[other]
    }
    return {way: link for way, link in links.items() if link != _UNKNOWN}
