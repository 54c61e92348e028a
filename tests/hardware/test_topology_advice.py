"""Which cards to mirror over, with which all-reduce, and where the variables belong."""

from __future__ import annotations

from hypothesis import given
from made_topologies import bridged_pairs, cube_mesh, joined, switched, topologies, without_peers

from gpu_studio.hardware.topology import Joint, Topology, TopologyNode, advise, best_pairs, islands


def told(topology: Topology) -> str:
    advice = advise(topology)
    assert advice is not None
    return " ".join(advice.words)


def test_that_no_card_has_no_advice_and_one_card_no_strategy():
    assert advise(Topology()) is None
    assert advise(Topology((TopologyNode("GPU0"),))).strategy == "none"


def test_that_cards_on_switches_mirror_all_together_with_nccl():
    advice = advise(switched())

    assert (advice.strategy, advice.all_reduce, advice.variables) == ("mirrored", "nccl", "cards")
    assert advice.mirror == (tuple(range(8)),)
    assert "over NVLink" in advice.words[0]
    assert "NUMA" not in told(switched())


def test_that_a_cube_mesh_falls_into_its_two_quads_and_hierarchical_copy_is_named():
    advice = advise(cube_mesh())

    assert advice.mirror == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert "hierarchical_copy" in told(cube_mesh())
    assert "GPU0, GPU1, GPU2, GPU3 and GPU4" in advice.words[0]


def test_that_pairs_under_a_bridge_are_mirrored_pair_by_pair():
    assert advise(bridged_pairs()).mirror == ((0, 1), (2, 3))


def test_that_cards_without_peer_access_keep_their_variables_on_the_cpu():
    advice = advise(without_peers())

    assert (advice.strategy, advice.variables) == ("central_storage", "cpu")
    assert "chipset does not allow it" in advice.words[0]
    assert "central_storage" in told(without_peers())


def test_that_unknown_peer_access_is_said_to_be_unknown():
    topology = joined(2, lambda a, b: Joint(a, b, "PHB", peer=None, why_no_peer="no permission"))

    assert "unknown (no permission)" in told(topology)


def test_that_cards_over_pcie_on_two_nodes_are_told_to_stay_on_one():
    topology = joined(4, lambda a, b: Joint(a, b, "SYS", peer=True), lambda place: place // 2)

    assert advise(topology).all_reduce == "nccl"
    assert "2 NUMA nodes" in told(topology)


def test_that_a_card_on_its_own_is_left_for_another_run():
    topology = joined(3, lambda a, b: Joint(a, b, "PIX", peer=b < 2))

    assert advise(topology).mirror == ((0, 1), (2,))
    assert "leave it for another run" in told(topology)


def test_that_the_best_pair_is_the_one_with_most_links_and_then_the_nearest():
    topology = joined(
        3,
        lambda a, b: Joint(
            a, b, "PIX" if b == 1 else "SYS", 2 if (a, b) == (1, 2) else 0, peer=True
        ),
    )

    assert [(joint.first, joint.second) for joint in best_pairs(topology)] == [
        (1, 2),
        (0, 1),
        (0, 2),
    ]


@given(topologies())
def test_that_every_card_is_on_one_island_and_all_on_it_reach_each_other(topology):
    groups = islands(topology)

    assert sorted(place for group in groups for place in group) == list(range(len(topology.nodes)))
    assert all(
        topology.between(a, b).peer for group in groups for a in group for b in group if a != b
    )


@given(topologies())
def test_that_there_is_advice_for_every_machine_with_a_card(topology):
    advice = advise(topology)

    assert (advice is None) == (not topology.nodes)
    if advice is not None:
        assert all(word.endswith(".") for word in advice.words)
        assert (advice.variables == "cpu") == (advice.strategy == "central_storage")
