"""From the layers that a plan names to a seat for every layer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import Placed

pytestmark = pytest.mark.slow

KNOWN = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
CHAIN = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}


def seated(
    graph: dict[str, tuple[str, ...]], chosen: dict[str, tuple[str, ...]], default: str = "CPU:0"
):
    from gpu_studio.trainer.model_layers import PlaceableLayer
    from gpu_studio.trainer.placed.placing import seats

    layers = [PlaceableLayer(path, object(), inputs) for path, inputs in graph.items()]
    return {seat.path: seat for seat in seats(layers, Placed(1, chosen), KNOWN, default)}


def homes(
    graph: dict[str, tuple[str, ...]], chosen: dict[str, tuple[str, ...]], default: str = "CPU:0"
):
    return {path: seat.home for path, seat in seated(graph, chosen, default).items()}


def test_that_what_is_left_out_goes_where_its_inputs_are():
    assert homes(CHAIN, {"a": ("CPU:1",), "c": ("CPU:3",)}) == {
        "a": "CPU:1",
        "b": "CPU:1",
        "c": "CPU:3",
        "d": "CPU:3",
    }


def test_that_what_takes_the_models_input_goes_where_it_is_taken():
    assert homes(CHAIN, {"c": ("CPU:2",)}) == {
        "a": "CPU:2",
        "b": "CPU:2",
        "c": "CPU:2",
        "d": "CPU:2",
    }


def test_that_a_branch_of_its_own_goes_where_it_joins_the_others():
    graph = {"left": (), "right": (), "more": ("right",), "sum": ("left", "more")}

    assert homes(graph, {"left": ("CPU:1",)}) == {
        "left": "CPU:1",
        "sum": "CPU:1",
        "right": "CPU:1",
        "more": "CPU:1",
    }


def test_that_a_model_of_which_nothing_is_placed_is_on_the_default_device():
    assert set(homes(CHAIN, {}, "CPU:2").values()) == {"CPU:2"}


def test_that_a_split_layer_is_joined_where_it_is_taken_and_fed_where_it_starts():
    split = {"b": ("CPU:1", "CPU:2"), "c": ("CPU:3",)}

    assert homes(CHAIN, split) == {"a": "CPU:1", "b": "CPU:3", "c": "CPU:3", "d": "CPU:3"}
    assert seated(CHAIN, split)["b"].devices == ("CPU:1", "CPU:2")


@pytest.mark.parametrize("taker", [{}, {"c": ("CPU:0", "CPU:3")}])
def test_that_a_split_layer_that_is_taken_nowhere_in_particular_is_joined_on_its_first_device(
    taker,
):
    assert seated(CHAIN, {"b": ("CPU:1", "CPU:2"), **taker})["b"].home == "CPU:1"


def test_that_a_split_layer_taken_in_several_places_is_joined_on_its_first_device():
    graph = {"b": (), "c": ("b",), "d": ("b",)}

    assert (
        seated(graph, {"b": ("CPU:1", "CPU:2"), "c": ("CPU:0",), "d": ("CPU:3",)})["b"].home
        == "CPU:1"
    )


def test_that_unknown_layers_and_devices_are_refused_with_what_there_is():
    from gpu_studio.trainer.errors import PlanRefused

    with pytest.raises(PlanRefused, match="the layer e, which the model does not have") as refused:
        homes(CHAIN, {"e": ("CPU:0",)})
    assert "a, b, c" in refused.value.suggestions[0]
    with pytest.raises(
        PlanRefused, match="layer a on GPU:0, which TensorFlow does not see"
    ) as refused:
        homes(CHAIN, {"a": ("GPU:0",)})
    assert refused.value.suggestions == ("Choose among CPU:0, CPU:1, CPU:2, CPU:3.",)


@st.composite
def graphs(draw) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    names = [f"layer{number}" for number in range(draw(st.integers(1, 8)))]
    feeds = {
        name: tuple(draw(st.sets(st.sampled_from(names[:n]), max_size=2)) if n else ())
        for n, name in enumerate(names)
    }
    places = st.lists(st.sampled_from(KNOWN), min_size=1, max_size=3, unique=True).map(tuple)
    return feeds, draw(st.dictionaries(st.sampled_from(names), places, max_size=len(names)))


@given(graphs())
def test_that_every_layer_is_where_it_is_asked_to_be_and_the_rest_where_some_layer_is(case):
    graph, chosen = case
    found = seated(graph, chosen)

    assert list(found) == list(graph)
    assert [seat.number for seat in found.values()] == list(range(len(graph)))
    used = {device for devices in chosen.values() for device in devices}
    for path, seat in found.items():
        assert seat.devices == chosen.get(path, (seat.home,))
        assert seat.home in (used or {"CPU:0"}) | ({"CPU:0"} if path not in chosen else set())
