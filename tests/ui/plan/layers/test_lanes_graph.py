"""The picture of a model's graph: rows, folding, colours."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lane_plans import CPUS, LAYERS, MACHINE, MLP, deep, dense, placed_plan

from gpu_studio.placement.plan_facts import ModelGraph
from gpu_studio.ui.plan.layers.board import Board, board_of
from gpu_studio.ui.plan.layers.graph_picture import groups_of, picture_of

NONE: frozenset[str] = frozenset()


def board(graph: ModelGraph, places: dict[str, tuple[str, ...]]) -> Board:
    return board_of(placed_plan(places), MACHINE, graph, {}, {})


def halves(graph: ModelGraph) -> dict[str, tuple[str, ...]]:
    count = len(graph.layers)
    return {layer.name: (CPUS[2 * at // count],) for at, layer in enumerate(graph.layers)}


def test_that_a_small_model_is_drawn_layer_by_layer() -> None:
    picture = picture_of(
        MLP, board(MLP, {name: (CPUS[min(at, 3)],) for at, name in enumerate(LAYERS)}), NONE
    )
    assert [node.title for node in picture.nodes] == list(LAYERS)
    assert [node.row for node in picture.nodes] == [0, 1, 2, 3, 4]
    assert [edge.crossing for edge in picture.edges] == [True, True, True, False]


def test_that_a_long_chain_folds_where_it_stays_on_a_device() -> None:
    graph = deep(300)
    picture = picture_of(graph, board(graph, halves(graph)), NONE)
    assert [(node.title, len(node.layers), node.seat.devices) for node in picture.nodes] == [
        ("dense_0 … dense_149", 150, ("CPU:0",)),
        ("dense_150 … dense_299", 150, ("CPU:1",)),
    ]
    assert picture.nodes[0].detail == "150 layers: Dense"
    apart = picture_of(graph, board(graph, halves(graph)), frozenset({"dense_150"}))
    assert len(apart.nodes) == 151


def test_that_a_nested_model_folds_whatever_its_size_and_shows_all_its_devices() -> None:
    layers = (
        dense("in"),
        dense("inner/a", "in"),
        dense("inner/b", "inner/a"),
        dense("out", "inner/b"),
    )
    graph = ModelGraph("nested", layers)
    picture = picture_of(graph, board(graph, {"inner/a": ("CPU:0",), "inner/b": ("CPU:2",)}), NONE)
    assert [node.title for node in picture.nodes] == ["in", "inner", "out"]
    assert picture.nodes[1].seat.devices == ("CPU:0", "CPU:2")
    assert picture.nodes[1].text == "inner, 2 layers: Dense, on CPU:0 and CPU:2"


def test_that_branches_stand_side_by_side_and_a_skip_is_an_edge() -> None:
    layers = (
        dense("one"),
        dense("left", "one"),
        dense("right", "one"),
        dense("sum", "left", "right", "one"),
    )
    graph = ModelGraph("fork", layers)
    picture = picture_of(graph, board(graph, {}), NONE)
    assert [(node.row, node.column, node.columns) for node in picture.nodes] == [
        (0, 0, 1), (1, 0, 2), (1, 1, 2), (2, 0, 1),
    ]  # fmt: skip
    assert (0, 3) in [(edge.source, edge.target) for edge in picture.edges]


@st.composite
def graphs(draw: st.DrawFn) -> ModelGraph:
    """Any graph in order.

    Each layer takes from some of those before it, some of them in nested models.
    """
    count = draw(st.integers(1, 20))
    names = [f"{draw(st.sampled_from(('', '', 'a/', 'b/c/')))}layer_{at}" for at in range(count)]
    layers = []
    for at, name in enumerate(names):
        inputs = draw(st.lists(st.integers(0, at - 1), max_size=3, unique=True)) if at else []
        layers.append(dense(name, *(names[each] for each in inputs)))
    return ModelGraph("any", tuple(layers))


@settings(max_examples=50)
@given(graphs(), st.data())
def test_that_every_layer_is_in_one_node_and_edges_go_down(
    graph: ModelGraph, data: st.DataObject
) -> None:
    names = [layer.name for layer in graph.layers]
    places = {name: (data.draw(st.sampled_from(CPUS)),) for name in names}
    unfolded = frozenset(data.draw(st.lists(st.sampled_from(names))))
    picture = picture_of(graph, board(graph, places), unfolded)
    assert [layer for node in picture.nodes for layer in node.layers] == names
    nodes = picture.nodes
    assert all(nodes[edge.source].row < nodes[edge.target].row for edge in picture.edges)
    assert len({(node.row, node.column) for node in nodes}) == len(nodes)
    assert picture.rows == max(node.row for node in nodes) + 1
    whole = groups_of(graph, places, frozenset(names))
    assert [group for group in whole if len(group) > 1] == []
