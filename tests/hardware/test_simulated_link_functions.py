"""How the cards of simulated machines are joined, asked as real ones are."""

from __future__ import annotations

import pytest

from gpu_studio.hardware.doctor.survey import survey
from gpu_studio.hardware.nvml import use_library
from gpu_studio.hardware.simulated import install
from gpu_studio.hardware.topology import Topology, matrix


@pytest.fixture
def topology_of():
    """The topology of a simulated machine."""

    def ask(name: str) -> Topology:
        source = install(name)
        return survey(source.pci_cards(), None).topology

    yield ask
    use_library(None)


def test_that_cards_of_a_data_centre_hang_on_switches(topology_of):
    topology = topology_of("8xH100")

    assert {joint.cell for joint in topology.pairs()} == {"NV18"}
    assert {joint.nvlink_version for joint in topology.pairs()} == {4}
    assert [node.numa for node in topology.nodes] == [0] * 4 + [1] * 4
    assert topology.nodes[7].cpus == "32-63"


def test_that_cards_for_games_have_no_links_and_cannot_read_each_other(topology_of):
    topology = topology_of("6xRTX4090")

    assert matrix(topology)[0] == ["X", "PIX", "NODE", "NODE", "SYS", "SYS"]
    assert {joint.peer for joint in topology.pairs()} == {False}
    assert {node.nvlinks for node in topology.nodes} == {0}


def test_that_cards_without_links_can_still_read_each_other_over_pcie(topology_of):
    assert {joint.peer for joint in topology_of("2xL4").pairs()} == {True}


def test_that_what_does_not_answer_is_left_out(topology_of):
    assert [node.name for node in topology_of("broken").nodes] == ["GPU0", "GPU2", "GPU4"]


def test_that_cards_of_two_kinds_cannot_read_each_other_and_it_is_told_why(topology_of):
    topology = topology_of("broken")
    assert {(joint.peer, joint.why_no_peer) for joint in topology.pairs()} == {
        (False, "the mainboard's chipset does not allow it"),
        (False, "these cards do not support it"),
    }
