"""What joins the cards of a result."""

from __future__ import annotations

import msgspec
from made_benchmarks import CARDS, made

from gpu_studio.hardware.topology import Joint, Topology, TopologyNode
from gpu_studio.lab.benchmarks import BenchmarkResult
from gpu_studio.runs.benchmark_links import links_between

NODES = tuple(TopologyNode(f"GPU {n}", f"GPU-{n}") for n in range(4))
TOPOLOGY = Topology(NODES, (Joint(0, 1, "SYS", nvlinks=18), Joint(2, 3, "PIX")))


def measured(devices: dict[str, str], names=CARDS) -> BenchmarkResult:
    return msgspec.structs.replace(made("copies", names), devices=devices)


def test_that_links_are_those_of_the_cards_that_were_measured_whatever_their_order():
    swapped = {"GPU:0": "GPU-3", "GPU:1": "GPU-2", "GPU:2": "GPU-0", "CPU:0": "CPU"}
    links = links_between(measured(swapped, CARDS[:3]), TOPOLOGY)
    assert links == {("GPU:0", "GPU:1"): "PIX", ("GPU:1", "GPU:0"): "PIX"}
    whole = {f"GPU:{n}": f"GPU-{n}" for n in range(4)}
    links = links_between(measured(whole), TOPOLOGY)
    assert {way: link for way, link in links.items() if way < way[::-1]} == {
        ("GPU:0", "GPU:1"): "NV18",
        ("GPU:2", "GPU:3"): "PIX",
    }


def test_that_slices_of_one_card_and_other_cards_have_no_link():
    slices = {"GPU:0": "GPU-0", "GPU:1": "GPU-0"}
    assert links_between(measured(slices, CARDS[:2]), TOPOLOGY) == {}
    others = {"GPU:0": "GPU-7", "GPU:1": "GPU-8"}
    assert links_between(measured(others, CARDS[:2]), TOPOLOGY) == {}
    assert links_between(made("copies"), TOPOLOGY) == {}
