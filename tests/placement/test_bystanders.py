"""What lies beside a layer and is not on its card, where other layers are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_studio.placement.apart import Apart, less_apart
from gpu_studio.placement.bystanders import Bystanders
from gpu_studio.placement.layer_holds import LayerHolds, held_around
from gpu_studio.placement.liveness import Operation, Size, StepGraph

SIDE_BY_SIDE = [
    Operation(makes=((0, Size(0, 1)),)),
    Operation((0,), ((1, Size(0, 900)),)),
    Operation((1,), ((2, Size(0, 60)),)),
    Operation((1,), ((3, Size(0, 40)),)),
    Operation((2, 3), ((4, Size(0, 100)),)),
    Operation((4,), ((5, Size(0, 60)), (6, Size(0, 40)))),
    Operation((5, 2, 1), ((7, Size(3)),)),  # of weights first
    Operation((5, 2), ((8, Size(0, 900)),), after=(6,)),
    Operation((6, 3, 1), ((9, Size(3)),)),
    Operation((6, 3), ((10, Size(0, 900)),), after=(8,)),
    Operation((8, 10), ((11, Size(0, 900)),), overwrites=True),
    Operation((11,), ((12, Size(3)),)),
]
"""Two layers that take one output, and keep what they make; the batch comes first."""
LAYERS = [
    "", "trunk", "one", "two", "join", "join", "one", "one", "two", "two", "", "trunk",
]  # fmt: skip
BACK = [False] * 5 + [True] * 5 + [False, True]
ORDER = ["trunk", "one", "two", "join"]
KEPT = frozenset({1, 2, 3})


def bystanders(operations: Sequence[Operation] = SIDE_BY_SIDE) -> Bystanders:
    return Bystanders(operations, LAYERS, BACK, ORDER, KEPT, {0})


def held(operations: Sequence[Operation] = SIDE_BY_SIDE) -> dict[str, LayerHolds]:
    keeping = {"trunk": 900, "one": 60, "two": 40, "join": 0}
    step = StepGraph(operations, results=[0, 7, 9, 12], kept=KEPT, given=frozenset({0}))
    return held_around(step, operations, LAYERS, keeping, bystanders=bystanders(operations))


def test_that_nothing_lies_beside_layers_in_a_row() -> None:
    row = [
        replace(each, takes=(2,)) if place == 4 else each for place, each in enumerate(SIDE_BY_SIDE)
    ]
    there = bystanders(row).at_first()
    for place in (0, 1, 2):
        assert there.beside(LAYERS[place]).sizes == {}
        there.end(place)


def test_that_what_layers_side_by_side_keep_and_give_back_is_not_on_each_others_cards() -> None:
    one = held()["one"]
    # What comes, and in an order what both give back; the trunk keeps nothing more by then.
    assert one.around == 60 + 900 + 900
    alone = 60 + 60 + 900 - 900  # its copy of what it took is free then
    assert less_apart(one.apart(), {"one"}) == one.around - alone
    # What waits is where it was made, and where it is added up; what was taken is there as well.
    assert less_apart(one.apart(), {"one", "two"}) == 0
    assert less_apart(one.apart(), {"one", "trunk"}) == 0
    assert less_apart(one.apart(), {"one", "join"}) > 0


def test_that_what_waits_lies_with_all_that_take_it_and_what_is_kept_with_those_before() -> None:
    there = bystanders().at_first()
    for place in range(6):
        there.end(place)
    beside = there.beside("one")
    assert beside.sizes == {("join", "two"): 40, ("two",): 40}
    # What the trunk keeps is kept before it; layers behind receive a copy of what others keep.
    assert (beside.less, beside.kept) == (80, 900)
    assert there.beside("two").sizes == {("join", "one"): 60}


def test_that_what_is_written_over_something_kept_is_kept_memory() -> None:
    layers = ["first", "second", "second", "second", "second", "first"]
    run = [
        Operation(makes=((1, Size(0, 100)),)),
        Operation((1,), ((2, Size(0, 10)),)),
        Operation((2,), ((3, Size(0, 50)),)),
        Operation((1, 3), ((4, Size(0, 100)),), overwrites=True),
        Operation((4,), ((5, Size(0, 100)),)),
        Operation((5,), ((6, Size(3)),)),
    ]

    def kept(run: Sequence[Operation]) -> int:
        back = [False, False, *[True] * 4]
        there = Bystanders(run, layers, back, ["first", "second"], {1}, ()).at_first()
        for place in range(4):
            there.end(place)
        return there.beside("second").kept

    assert kept(run) == 100
    assert kept([replace(each, overwrites=False) for each in run]) == 0
    # Not while another has yet to take it.
    assert kept([*run[:4], replace(run[4], takes=(4, 1)), run[5]]) == 100
    assert kept([*run[:3], replace(run[3], takes=(1, 3, 1)), *run[4:]]) == 0


def test_that_what_is_made_on_the_way_forward_is_also_where_it_is_taken() -> None:
    unkept = Bystanders(SIDE_BY_SIDE, LAYERS, BACK, ORDER, KEPT - {2}, {0})
    there = unkept.at_first()
    for place in range(3):
        there.end(place)
    assert there.beside("two").sizes == {("join", "one"): 60}


def test_that_what_is_kept_between_two_layers_is_kept_by_the_first_of_them() -> None:
    between = ["", "trunk", "one", "", "join", "join", "one", "one", "two", "two", "", "trunk"]
    found = Bystanders(SIDE_BY_SIDE, between, BACK, ORDER, KEPT | {11}, {0})
    assert [each.keeper for each in found.makes[3]] == [ORDER.index("one")]
    # The sum of gradients is kept by none, although it is in no layer, too.
    known = Bystanders(SIDE_BY_SIDE, LAYERS, BACK, ORDER, KEPT | {11}, {0})
    assert [each.keeper for each in known.makes[10]] == [None]


def test_that_what_was_taken_is_free_on_another_card_if_nothing_is_made_in_its_memory() -> None:
    (taken,) = bystanders().taken["one"]
    assert (taken.size, taken.ends) == (900, {2, 6})
    assert taken.lying == ("trunk", "two")
    written = list(SIDE_BY_SIDE)
    written[6] = replace(written[6], overwrites=True)
    assert "one" not in bystanders(written).taken
    alone = list(SIDE_BY_SIDE)
    alone[8] = replace(alone[8], takes=(6, 3))  # no other needs it on its way back
    assert not bystanders(alone).taken


def test_that_small_tensors_and_what_is_given_are_nobody() -> None:
    large = [*SIDE_BY_SIDE, Operation(makes=((20, Size(0, 100_000)),))]
    layers = [*LAYERS, "trunk"]
    found = Bystanders(large, layers, [*BACK, False], ORDER, KEPT, {0})
    assert [each.number for some in found.makes for each in some] == [1, 2, 3]  # what is kept
    assert not any(each.number == 0 for some in bystanders().makes for each in some)


def test_that_without_bystanders_nothing_is_known_to_be_less() -> None:
    step = StepGraph(SIDE_BY_SIDE, results=[0, 7, 9, 12], kept=KEPT, given=frozenset({0}))
    found = held_around(step, SIDE_BY_SIDE, LAYERS, dict.fromkeys(ORDER, 0))
    assert found["one"].apart() == ()
    assert isinstance(held()["one"].apart()[0], Apart)
