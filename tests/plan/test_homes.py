from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan.homes import Feeds, devices_of_layers, home_of, homes_of_layers, takers_of

DEVICES = ("GPU:0", "GPU:1", "GPU:2")
A, B, C = (("GPU:0",), ("GPU:1",), ("GPU:2",))
CHAIN = {"one": (), "two": ("one",), "three": ("two",)}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, [A, A, A]),
        ({"one": B}, [B, B, B]),
        ({"three": B}, [B, B, B]),
        ({"two": B, "three": C}, [B, B, C]),
        ({"two": (*B, *C)}, [B, (*B, *C), B]),
    ],
)
def test_that_a_layer_that_is_left_out_goes_where_its_neighbours_are(chosen, expected) -> None:
    assert list(devices_of_layers(CHAIN, chosen, A).values()) == expected


def test_that_a_branch_of_its_own_goes_where_it_joins_the_others() -> None:
    feeds = {"left": (), "right": (), "more": ("right",), "sum": ("left", "more")}
    assert devices_of_layers(feeds, {"left": B}, A) == dict.fromkeys(feeds, B)


def test_that_layers_that_the_model_does_not_have_decide_nothing() -> None:
    assert devices_of_layers(CHAIN, {"gone": B}, A) == dict.fromkeys(CHAIN, A)
    assert takers_of({"one": ("gone",)}) == {"one": []}


def test_that_a_layer_used_again_further_on_is_taken_by_earlier_ones_too() -> None:
    assert takers_of({"one": ("two",), "two": ("one",)}) == {"one": ["two"], "two": ["one"]}


def test_that_a_split_layer_is_joined_with_its_takers_only_if_they_are_in_one_place() -> None:
    assert home_of((*A, *B), [B, B]) == "GPU:1"
    assert home_of((*A, *B), [B, C]) == "GPU:0"
    assert home_of((*A, *B), [(*B, *C)]) == "GPU:0"
    assert home_of((*A, *B), []) == "GPU:0"
    assert home_of(C, [A]) == "GPU:2"


def test_that_a_split_layer_is_also_joined_where_a_layer_takes_it_that_the_plan_leaves_out() -> (
    None
):
    feeds: Feeds = {"other": (), "split": (), "sum": ("other", "split")}
    devices = devices_of_layers(feeds, {"other": C, "split": (*A, *B)}, A)
    assert homes_of_layers(feeds, devices) == {"other": "GPU:2", "split": "GPU:2", "sum": "GPU:2"}


@st.composite
def placements(draw: st.DrawFn) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    names = [f"layer{number}" for number in range(draw(st.integers(1, 8)))]
    inputs = st.lists(st.sampled_from(names), unique=True, max_size=3).map(tuple)
    places = st.lists(st.sampled_from(DEVICES), min_size=1, max_size=3, unique=True).map(tuple)
    return (
        {name: draw(inputs) for name in names},
        draw(st.dictionaries(st.sampled_from(names), places, max_size=len(names))),
    )


@given(placements())
def test_that_every_layer_is_where_it_is_asked_to_be_and_the_rest_whole_where_some_layer_is(
    case,
) -> None:
    feeds, chosen = case
    devices = devices_of_layers(feeds, chosen, A)
    used = {each[0] for each in chosen.values()} or {"GPU:0"}
    assert list(devices) == list(feeds)
    for name, found in devices.items():
        assert found == chosen.get(name, found[:1])
        assert name in chosen or {*found} <= used | {"GPU:0"}


@given(placements())
def test_that_a_whole_output_is_with_the_layer_or_with_all_that_take_it(case) -> None:
    feeds, chosen = case
    devices = devices_of_layers(feeds, chosen, A)
    for name, home in homes_of_layers(feeds, devices).items():
        taken_on = {devices[taker] for taker in takers_of(feeds)[name]}
        assert home == devices[name][0] or taken_on == {(home,)}
