"""The topology as the driver tells it, with every question that it may refuse."""

from __future__ import annotations

import pynvml
import pytest
from fake_links import SWITCH, Ways, with_ways
from fake_nvml import FakeCard, FakeNvml, installed
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.hardware.identity import Seen
from gpu_studio.hardware.nvml import query, running
from gpu_studio.hardware.topology import Topology, matrix
from gpu_studio.hardware.topology_reading import ranges, read

BUSES = ["00000000:01:00.0", "00000000:02:00.0", "00000001:01:00.0"]
PAIRS = {(0, 1): 10, (0, 2): 50, (1, 2): 50}
ALL_PEERS = dict.fromkeys(PAIRS, 0)


def told(ways: Ways, devices=None, errors=None) -> Topology:
    cards = [FakeCard(f"GPU-{place}", bus_id=bus.encode()) for place, bus in enumerate(BUSES)]
    with installed(with_ways(FakeNvml(cards, errors), ways)), running():
        seen = [Seen(place, f"GPU-{place}", bus) for place, bus in enumerate(BUSES)]
        return read(
            [(query("nvmlDeviceGetHandleByIndex", card.number), card) for card in seen], devices
        )


@pytest.mark.parametrize(
    ("level", "name"),
    [(0, "PIX"), (10, "PIX"), (20, "PXB"), (30, "PHB"), (40, "NODE"), (50, "SYS"), (99, "?")],
)
def test_that_every_level_has_its_name(level, name):
    assert told(Ways(dict.fromkeys(PAIRS, level))).between(0, 1).path == name


def test_that_links_between_two_cards_are_counted_with_their_version():
    links = {0: [BUSES[1], BUSES[1], None, BUSES[2]], 1: [BUSES[0], BUSES[0]], 2: [BUSES[0]]}
    topology = told(Ways(PAIRS, ALL_PEERS, links, version=3))

    assert matrix(topology) == [["X", "NV2", "NV1"], ["NV2", "X", "SYS"], ["NV1", "SYS", "X"]]
    assert [node.nvlinks for node in topology.nodes] == [3, 2, 1]
    assert topology.between(0, 1).nvlink_version == 3
    assert topology.between(1, 2).nvlink_version is None


def test_that_links_to_switches_join_every_two_cards_on_them():
    topology = told(Ways(PAIRS, ALL_PEERS, {0: [SWITCH] * 18, 1: [SWITCH] * 18, 2: [SWITCH] * 12}))

    assert matrix(topology)[0] == ["X", "NV18", "NV12"]


def test_that_a_card_is_not_asked_beyond_its_own_links():
    told(Ways(PAIRS, ALL_PEERS, {0: [], 1: [None], 2: [None] * 36}))


@pytest.mark.parametrize("status", range(1, 8))
def test_that_cards_that_cannot_read_each_other_have_a_reason(status):
    joint = told(Ways(PAIRS, ALL_PEERS | {(0, 1): status})).between(0, 1)

    assert joint.peer is False
    assert joint.why_no_peer


def test_that_peer_access_is_asked_of_the_index_for_reading():
    assert told(Ways(PAIRS, ALL_PEERS)).between(0, 1).peer is True


def test_that_what_the_driver_refuses_is_unknown_with_the_reason():
    joint = told(
        Ways(), errors={"nvmlDeviceGetP2PStatus": pynvml.NVML_ERROR_NO_PERMISSION}
    ).between(0, 1)

    assert (joint.path, joint.peer, joint.why_no_peer) == ("?", None, "no permission")


def test_that_processors_and_nodes_are_those_that_the_driver_names():
    topology = told(Ways(PAIRS, ALL_PEERS, cpus={0: [0, 1, 2, 3, 64, 65]}, nodes={0: 0, 1: 1}))

    assert (topology.nodes[0].cpus, topology.nodes[0].numa, topology.nodes[1].numa) == (
        "0-3,64-65",
        0,
        1,
    )
    assert (topology.nodes[2].cpus, topology.nodes[2].numa) == ("", None)


def test_that_the_kernel_is_asked_for_what_the_driver_does_not_say(tmp_path):
    for name, node in (("0000:01:00.0", "1"), ("0000:02:00.0", "-1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "numa_node").write_text(f"{node}\n")
        (tmp_path / name / "local_cpulist").write_text("0-7\n")
    nodes = told(Ways(PAIRS, ALL_PEERS), tmp_path).nodes

    assert [(node.cpus, node.numa) for node in nodes] == [("0-7", 1), ("0-7", None), ("", None)]


@given(st.sets(st.integers(0, 200)))
def test_that_ranges_hold_just_the_numbers_given(numbers):
    parts = [part.split("-") for part in ranges(numbers).split(",") if part]

    assert [n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)] == sorted(numbers)
