"""Requested and actual placement of layers.

Every stray layer is found, and nothing else is blamed.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_placements import CROSSINGS, MLP, asked_of, mlp_placement, placement_of, rows_of
from msgspec.structs import replace

from gpu_studio.contract.events import AskedPlace, Crossing, PartRow, Placement, decode, encode
from gpu_studio.runs.reading.placements import (
    asked_in_words,
    choice,
    edge_in_words,
    headline,
    judged,
    misplaced_in_words,
    ran_in_words,
)

DEVICES = ("CPU:0", "CPU:1", "CPU:2", "CPU:3")
places = st.lists(st.sampled_from(DEVICES), min_size=1, max_size=4, unique=True)
models = st.dictionaries(st.text("abc", min_size=1), places, min_size=1, max_size=6)


@st.composite
def as_asked(draw: st.DrawFn) -> tuple[list[AskedPlace], list[PartRow]]:
    """Layers, some split, each of whose passes ran where it was put.

    Some have no operations in some passes.
    """
    asked = asked_of(draw(models))
    rows = [row for each in asked for row in rows_of(each, draw(st.integers(1, 50)))]
    idle = draw(st.sets(st.sampled_from([(row.layer, row.way) for row in rows])))
    return asked, [row for row in rows if (row.layer, row.way) not in idle]


@given(as_asked())
def test_that_what_ran_where_it_was_put_is_not_blamed_nor_is_a_pass_without_operations(
    made,
) -> None:
    asked, rows = made
    found = judged(placement_of(asked, rows))
    assert found.wrong == ()
    assert [layer.layer for layer in found.layers] == [each.layer for each in asked]
    assert found.operations == sum(row.operations for row in rows)
    verdicts = {row.verdict for layer in found.layers for row in layer.passes if not row.operations}
    assert verdicts <= {"no operations"}
    assert "another device" not in headline(found)


@given(as_asked(), st.data())
def test_that_operations_on_any_other_device_are_seen_whichever_part_they_are_of(
    made, data
) -> None:
    asked, rows = made
    if not rows:
        return
    number = data.draw(st.integers(0, len(rows) - 1))
    moved = rows[number]
    device = data.draw(
        st.sampled_from([*(each for each in DEVICES if each != moved.device), "GPU:0"])
    )
    rows[number] = replace(moved, device=device)
    found = judged(placement_of(asked, rows))
    (wrong,) = found.wrong
    assert (wrong.layer, wrong.way, wrong.device, wrong.operations) == (
        moved.layer, moved.way, device, moved.operations,
    )  # fmt: skip
    assert wrong.asked == (moved.device,)
    told = {(layer.layer, row.way): row.verdict for layer in found.layers for row in layer.passes}
    assert [key for key, verdict in told.items() if verdict == "elsewhere"] == [
        (moved.layer, moved.way)
    ]


@given(as_asked())
def test_that_parts_which_have_changed_places_are_seen_although_their_sums_are_as_asked(
    made,
) -> None:
    asked, rows = made
    split = {each.layer: each.devices for each in asked if len(each.devices) > 1}
    swapped = [_swapped(row, split) for row in rows]
    honest, crossed = placement_of(asked, rows), placement_of(asked, swapped)
    assert sorted(honest.rows) == sorted(crossed.rows)
    there = {row.layer for row in rows}
    assert {each.layer for each in judged(crossed).wrong} == set(split) & there


def _swapped(row: PartRow, split: dict[str, list[str]]) -> PartRow:
    """Part 1 in the place of part 0, and part 0 in that of part 1."""
    if row.layer in split and row.part in ("0", "1"):
        return replace(row, device=split[row.layer][1 - int(row.part)])
    return row


@given(as_asked())
def test_that_a_run_which_did_not_tell_parts_apart_is_held_against_all_devices_of_a_layer(
    made,
) -> None:
    asked, rows = made
    older = replace(placement_of(asked, rows), parts=[])
    found = judged(older)
    assert found.wrong == ()
    assert found.operations == sum(row.operations for row in rows)
    stray = replace(older, rows=[*older.rows, (asked[0].layer, "forward", "GPU:7", 3)])
    assert any((each.device, each.operations) == ("GPU:7", 3) for each in judged(stray).wrong)


def test_that_a_part_which_did_nothing_while_others_did_is_seen() -> None:
    asked = asked_of({"dense": ("CPU:0", "CPU:1")})
    rows = [row for row in rows_of(asked[0]) if (row.way, row.part) != ("update", "1")]
    (wrong,) = judged(placement_of(asked, rows)).wrong
    assert misplaced_in_words(wrong) == (
        "The update of dense did nothing on CPU:1, where a part of it was put."
    )  # fmt: skip
    older = replace(placement_of(asked, rows), parts=[])
    assert [(each.way, each.asked) for each in judged(older).wrong] == [("update", ("CPU:1",))]


def test_that_joining_is_told_from_a_layer_that_is_whole() -> None:
    found = judged(mlp_placement())
    dense, whole = found.layers[1], found.layers[2]
    assert [row.verdict for row in dense.passes] == ["joined", "joined", "as asked"]
    assert [row.verdict for row in whole.passes] == ["as asked"] * 3
    assert (asked_in_words(dense), asked_in_words(whole)) == (
        "CPU:0 + CPU:1, joined on CPU:0",
        "CPU:2",
    )
    assert ran_in_words(dense.passes[0]) == "CPU:0 12, CPU:1 6"


def test_that_the_headline_says_that_all_is_well_or_loudly_what_is_not() -> None:
    assert headline(judged(mlp_placement())) == (
        "All layers that compute, 4 of 5, ran where they were put: 102 operations."
    )  # fmt: skip
    loud = headline(judged(mlp_placement(strayed=True)))
    assert (
        loud == "18 of 102 operations ran on another device than asked: those of dense and dense_1."
    )
    asked = asked_of(MLP)
    busy = [row for each in asked for row in rows_of(each, 1000)]
    assert (
        headline(judged(placement_of(asked, busy)))
        == "All 5 layers ran where they were put: 20,000 operations."
    )
    one = asked_of({"a": ("CPU:1",)})
    assert headline(judged(placement_of(one, rows_of(one[0], 1)))).startswith(
        "The layer a ran where it was put: 3 op"
    )
    assert (
        headline(judged(placement_of(one, []))) == "TensorFlow executed no operation of any layer."
    )


def test_that_each_mismatch_is_said_with_layer_pass_part_and_both_devices() -> None:
    said = [misplaced_in_words(each) for each in judged(mlp_placement(strayed=True)).wrong]
    assert said == [
        "6 operations of the backward of dense, part 1, were executed on CPU:1, and not on CPU:0.",
        "6 operations of the backward of dense, part 2, were executed on CPU:0, and not on CPU:1.",
        "6 operations of the forward of dense_1 were executed on CPU:0, and not on CPU:2.",
    ]


def test_that_it_is_said_which_layers_the_plan_leaves_out() -> None:
    assert (
        choice(judged(mlp_placement()))
        == "The plan leaves out flatten: placed where the inputs are."
    )
    many = judged(
        placement_of(asked_of(dict.fromkeys("abcdefg", ("CPU:0",)), left_out="abcdef"), [])
    )
    assert choice(many) == "The plan leaves out a, b, c and 3 more: placed where the inputs are."
    assert choice(judged(placement_of(asked_of(MLP), []))) == ""


def test_that_a_layer_of_which_nothing_was_asked_is_not_blamed() -> None:
    found = judged(Placement(rows=[("dense", "forward", "CPU:1", 3)]))
    assert [row.verdict for row in found.layers[0].passes] == [
        "not asked",
        "no operations",
        "no operations",
    ]
    assert found.layers[0].by_plan is None
    assert headline(found) == "The run does not tell where its layers were put: 3 operations."


def test_that_what_crosses_is_summed_and_what_is_not_known_makes_it_a_least() -> None:
    found = judged(mlp_placement())
    assert [each.bytes for each in found.crossings] == [262_144, 262_144, 65_536, None]
    assert (found.crossing_bytes, found.crossing_is_least) == (589_824, True)
    known = judged(placement_of(asked_of(MLP), [], CROSSINGS[:3]))
    assert not known.crossing_is_least
    assert edge_in_words(found.crossings[2]) == "dense → dense_1"
    assert edge_in_words(found.crossings[3]) == "data, loss and counters"


@pytest.mark.parametrize("ends", [("", "outputs"), ("outputs", "")])
def test_that_an_edge_with_one_layer_names_it(ends: tuple[str, str]) -> None:
    source, target = ends
    edge = Crossing(
        source=source,
        target=target,
        way="other",
        from_device="a",
        to_device="b",
        tensors=1,
        bytes=4,
    )
    assert "outputs" in edge_in_words(edge)


parts = st.builds(
    PartRow,
    layer=st.sampled_from("ab"),
    way=st.sampled_from(["forward", "backward", "update", "sideways"]),
    part=st.sampled_from(["0", "1", "9", "join", "", "?"]),
    device=st.sampled_from(DEVICES),
    operations=st.integers(0, 5),
)


@given(
    st.lists(parts),
    st.lists(
        st.builds(AskedPlace, layer=st.sampled_from("ab"), devices=st.lists(st.just("CPU:0")))
    ),
)
def test_that_whatever_an_event_holds_can_be_judged_and_said(rows, asked) -> None:
    event = decode(encode(placement_of(asked, rows)))
    assert isinstance(event, Placement)
    found = judged(event)
    assert headline(found)
    assert all(misplaced_in_words(each) for each in found.wrong)
