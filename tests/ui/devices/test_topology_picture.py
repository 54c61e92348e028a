"""What is drawn of a topology, without a window."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from made_topologies import bridged_pairs, cube_mesh, joined, switched, topologies, without_peers

from gpu_studio.hardware.topology import PATHS, Joint, Topology
from gpu_studio.ui.devices.topology_picture import TopologyPicture, links_of, picture_of, sentences


def drawn_links(picture: TopologyPicture) -> list[tuple[int, int, int]]:
    """Each two cards that some rail joins, and by how many links."""
    order = picture.order
    return sorted(
        (*sorted((order[one], order[other])), rail.nvlinks)
        for rail in picture.rails
        for one, other in combinations(rail.columns, 2)
    )


@given(topologies())
def test_that_every_nvlink_is_drawn_once(topology: Topology) -> None:
    linked = sorted(
        (joint.first, joint.second, joint.nvlinks) for joint in topology.pairs() if joint.nvlinks
    )
    assert drawn_links(picture_of(topology)) == linked


@given(topologies())
def test_that_every_card_has_a_column_and_all_are_joined_over_pcie(topology: Topology) -> None:
    picture = picture_of(topology)
    cards = len(topology.nodes)
    assert sorted(picture.order) == list(range(cards))
    if cards > 1:
        assert picture.brackets[-1].members == tuple(range(cards))
        assert sum(len(bracket.parts) - 1 for bracket in picture.brackets) == cards - 1


@given(topologies())
def test_that_no_rail_lies_upon_another(topology: Topology) -> None:
    rails = picture_of(topology).rails
    for one, other in combinations(rails, 2):
        apart = one.columns[-1] < other.columns[0] or other.columns[-1] < one.columns[0]
        assert apart or one.lane != other.lane


@given(topologies())
def test_that_bands_hold_the_cards_of_one_numa_node_each(topology: Topology) -> None:
    picture = picture_of(topology)
    told = [topology.nodes[place].numa for place in picture.order]
    shown = [band.numa for band in picture.bands for _ in range(band.first, band.last + 1)]
    assert shown == told


@given(topologies())
def test_that_every_link_is_told_in_words(topology: Topology) -> None:
    told = sentences(topology)
    assert len(told) == len(list(topology.pairs()))
    for joint, sentence in zip(topology.pairs(), told, strict=True):
        assert topology.nodes[joint.first].name in sentence
        assert joint.path == "?" or PATHS[joint.path] in sentence
        assert ("NVLink" in sentence) == (joint.nvlinks > 0)
        assert ("no peer access" in sentence) == (joint.peer is False)


def test_that_eight_cards_on_switches_are_one_rail_and_two_nodes() -> None:
    picture = picture_of(switched())
    [rail] = picture.rails
    assert (rail.columns, rail.nvlinks, rail.version) == (tuple(range(8)), 18, 4)
    assert [(band.first, band.last, band.numa) for band in picture.bands] == [(0, 3, 0), (4, 7, 1)]
    assert picture.levels == ("NODE", "SYS")


def test_that_a_cube_mesh_is_two_rails_of_four_and_four_between_them() -> None:
    rails = picture_of(cube_mesh()).rails
    assert sorted(len(rail.columns) for rail in rails) == [2, 2, 2, 2, 4, 4]
    assert {rail.columns for rail in rails if len(rail.columns) == 2} == {
        (0, 4),
        (1, 5),
        (2, 6),
        (3, 7),
    }


def test_that_nearer_ways_are_brackets_below_farther_ones() -> None:
    picture = picture_of(cube_mesh())
    assert picture.levels == ("PIX", "PHB", "SYS")
    assert [bracket.path for bracket in picture.brackets][-1] == "SYS"
    assert [bracket.below for bracket in picture.brackets if bracket.path == "PHB"] == [
        ("PIX", "PIX")
    ] * 2


def test_that_pairs_under_a_bridge_are_rails_side_by_side() -> None:
    rails = picture_of(bridged_pairs()).rails
    assert [(rail.columns, rail.lane) for rail in rails] == [((0, 1), 0), ((2, 3), 0)]


def test_that_it_is_told_where_cards_cannot_read_each_other() -> None:
    assert [bracket.peer for bracket in picture_of(without_peers(4)).brackets] == [False]
    mixed = joined(3, lambda a, b: Joint(a, b, "PHB", peer=b == 1))
    assert [bracket.peer for bracket in picture_of(mixed).brackets] == [None]


def test_that_no_card_is_an_empty_drawing_and_one_card_has_no_lines() -> None:
    assert picture_of(Topology()) == TopologyPicture()
    one = picture_of(joined(1, Joint))
    assert (one.order, one.brackets, one.rails, len(one.bands)) == ((0,), (), (), 1)


def test_that_a_card_tells_of_its_own_links() -> None:
    told = links_of(bridged_pairs(), 2)
    assert len(told) == 3
    assert all("GPU2" in sentence for sentence in told)
    assert "4 NVLinks of version 3" in told[2]
