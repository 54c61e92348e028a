"""What a card holds while a layer is computed."""

from __future__ import annotations

from dataclasses import replace

from gpu_studio.placement.layer_holds import (
    Kernel,
    LayerHolds,
    becoming,
    before_others,
    held_around,
    let_go,
    one_after_the_other,
    spared_by_copies,
    with_copies,
)
from gpu_studio.placement.liveness import Operation, Size, StepGraph

FAN = (
    Operation(makes=((0, Size(0, 4)), (1, Size(0, 4)))),
    Operation(takes=(0,), makes=((2, Size(0, 1)),)),
    Operation(takes=(1,), makes=((3, Size(0, 4)),), scratch=Size(7)),
)
"""Two tensors; what is made of the first is small, and of the second as large as it."""


def test_that_the_fullest_of_several_orders_counts_for_what_is_held_around_a_layer() -> None:
    """What becomes ready together comes in an order that nobody knows before."""
    found = held_around(StepGraph(FAN, results=(2, 3)), FAN, ["layer"] * 3, {})["layer"]
    # In their own order the first of the pair is gone when the largest is made.
    assert (found.passing, found.around) == (4 + 4 + 4, 4 + 4 + 4)
    assert found.kernels(found) == (Kernel(4 + 4 + 4, 7),)


def test_that_the_batch_and_what_layers_before_keep_count_elsewhere() -> None:
    step = StepGraph(FAN, results=(2, 3), given=frozenset({0}), kept=frozenset({1}))
    layers, keeping = ["first", "", "second"], {"first": 4, "second": 0}
    found = held_around(step, FAN, layers, keeping)
    assert found["first"].around == 4 + 1 - 0
    assert found["second"].around == 4 + 4 + 1 - 4
    assert found["second"].passing == 4 + 1


def test_that_kernels_beside_which_another_needs_more_are_left_out() -> None:
    found = LayerHolds()
    for around, scratch in ((100, 90), (50, 80), (300, 20), (200, 20), (400, 0)):
        found.note(0, around, Size(scratch))
    assert found.kernels(found) == (Kernel(100, 90), Kernel(300, 20))
    assert found.around == 400


def test_that_a_kernel_counts_for_the_few_samples_for_which_one_that_needs_more_needs_nothing():
    found = LayerHolds()
    for around, scratch, least in ((100, 90, 64), (50, 80, 16), (40, 70, 32), (30, 60, 0)):
        found.note(0, around, Size(scratch, least=least))
    expected = (Kernel(100, 90, 64), Kernel(50, 80, 16), Kernel(30, 60))
    assert found.kernels(found) == expected


def test_that_what_outlives_its_use_counts_beside_the_kernel_by_which_it_is_there() -> None:
    """What is there yet at another moment does not meet the scratch memory of this one."""
    alone, late = LayerHolds(), LayerHolds()
    for found, moments in (
        (alone, ((100, 90), (400, 0), (60, 80))),
        (late, ((100, 90), (700, 0), (150, 80))),
    ):
        for around, scratch in moments:
            found.note(0, around, Size(scratch))
    assert alone.grown(late) == 300
    # The second needs less, but beside more: either may be the fullest.
    assert alone.kernels(late) == (Kernel(100, 90), Kernel(60, 80, outlived=90))


POOLED = (
    Operation(makes=((0, Size(0, 4)),)),
    Operation(takes=(0,), makes=((1, Size(0, 1)),)),
    Operation(takes=(1,), makes=((2, Size(0, 1)),)),
    Operation(takes=(0, 2), makes=((3, Size(0, 4)),), overwrites=True),
    Operation(takes=(0, 3), makes=((4, Size(0, 2)),)),
)
"""An activation that is pooled, the gradient of pooling, and that of the activation."""
LAYERS, BACK = ["relu", "pool", "pool", "pool", "relu"], [False, False, True, True, True]


def held(operations):
    """What is held around the layers, of which the first keeps what it makes."""
    step = StepGraph(operations, results=(len(operations) - 1,), kept=frozenset({0}))
    return held_around(step, operations, LAYERS, {"relu": 4, "pool": 0})


def test_that_a_gradient_is_written_over_what_a_layer_takes_where_that_is_a_copy() -> None:
    """Where the layer before is, too, its own gradient needs that still."""
    copied = with_copies(POOLED, LAYERS, BACK, [("relu", "pool")])
    assert held(POOLED)["pool"].around == 1 + 4
    assert held(copied)["pool"].around == 1 + 1
    assert spared_by_copies(held(POOLED), held, POOLED, LAYERS, BACK, ("relu", "pool")) == {
        "pool": 3
    }
    # Not known of layers that do not follow one another.
    assert (
        spared_by_copies(held(POOLED), held, POOLED, LAYERS, BACK, ("relu", "other", "pool")) == {}
    )
    no_room = [replace(each, overwrites=False) for each in POOLED]
    assert spared_by_copies(held(no_room), held, no_room, LAYERS, BACK, ("relu", "pool")) == {}


CHAIN = (
    Operation(makes=((0, Size(0, 4)),)),
    Operation(takes=(0,), makes=((1, Size(0, 4)),)),
    Operation(takes=(1,), makes=((2, Size(0, 1)),)),
    Operation(takes=(1, 2), makes=((3, Size(0, 4)),), overwrites=True),
    Operation(takes=(1, 3), makes=((4, Size(0, 4)),)),
    Operation(takes=(0, 4), makes=((5, Size(0, 4)),)),
)
"""Three layers in a row, of which the gradient of the last is written over what it takes."""


HEAD = (
    Operation(makes=((0, Size(0, 900)),)),
    Operation(takes=(0,), makes=((1, Size(0, 10)),)),
    Operation(takes=(1,), makes=((2, Size(0, 10)),)),
    Operation(takes=(2,), makes=((3, Size(0, 10)),)),
    Operation(takes=(2,), makes=((4, Size(0, 20)),)),
    Operation(takes=(1, 4), makes=((5, Size(40)),)),
    Operation(takes=(3,), makes=((6, Size(0, 900)),)),
    Operation(takes=(0, 6), makes=((7, Size(40)),)),
)
"""A dense layer: the gradients of what it takes and of its weights, and then that of the first."""
AROUND_HEAD = ["pool", "pool", "head", "head", "head", "head", "pool", "pool"]
BACK_THROUGH = [False] * 3 + [True] * 5


def test_that_what_goes_back_through_the_layer_before_is_not_on_the_card_of_a_head() -> None:
    """It was, and many times what the head of a model with global pooling holds there."""

    def held(run):
        step = StepGraph(run, results=[5, 7], kept=frozenset({0, 1}))
        return held_around(step, run, AROUND_HEAD, {"pool": 910, "head": 0})

    alone = held(HEAD)
    assert alone["head"].around > 900
    spared = spared_by_copies(alone, held, HEAD, AROUND_HEAD, BACK_THROUGH, ("pool", "head"))
    assert alone["head"].around - spared["head"] == 10 + 10 + 20
    order = [("pool", "other"), ("other", "head")]
    assert one_after_the_other(HEAD, AROUND_HEAD, BACK_THROUGH, order) == [*HEAD]


def test_that_a_layer_that_is_called_again_behind_another_does_not_wait_for_it() -> None:
    """What goes back through the second call is needed there."""
    again = ["pool", "pool", "head", "pool", "head", "head", "pool", "pool"]
    through = replace(HEAD[4], takes=(3,))
    run = [*HEAD[:4], through, *HEAD[5:]]
    assert one_after_the_other(run, again, BACK_THROUGH, [("pool", "head")]) == run


def test_that_what_a_layer_makes_is_its_own_and_no_copy() -> None:
    """Also where that layer takes a copy, and the one behind it."""

    def held_in_chain(run):
        step = StepGraph(run, results=(5,), kept=frozenset({0, 1}))
        return held_around(step, run, layers, {"first": 4, "second": 4, "third": 0})

    layers, back = (
        ["first", "second", "third", "third", "second", "first"],
        [False] * 2 + [True] * 4,
    )
    found = spared_by_copies(
        held_in_chain(CHAIN), held_in_chain, CHAIN, layers, back, ("first", "second", "third")
    )
    assert found == {"third": 4}


def test_that_nothing_is_written_over_a_copy_that_another_layer_may_take() -> None:
    taken, taking = (*POOLED, Operation(takes=(0,))), [("relu", "pool")]
    assert with_copies(taken, [*LAYERS, "other"], [*BACK, True], taking) == [*taken]
    # Nor over what the loss takes.
    assert with_copies(taken, [*LAYERS, ""], [*BACK, True], taking) == [*taken]
    assert with_copies(POOLED, LAYERS, BACK, taking) != [*POOLED]


def test_that_what_takes_the_place_of_an_input_early_is_not_there_twice() -> None:
    """As where a maximum is: it is kept, and what it is made from is free by then."""
    operations = [
        Operation(makes=((0, Size(0, 100)),)),
        Operation((0,), ((1, Size(0, 1)),)),
        Operation((1,), ((2, Size(0, 1)),)),
        Operation((0, 1), ((3, Size(0, 100)),)),
        Operation((2, 3), ((4, Size(0, 100)),), overwrites=True),
    ]
    layers = ["before", "max", "head", "max", "max"]

    def around(run: list[Operation]) -> int:
        step = StepGraph(run, results=[4], kept=frozenset({3}))
        return held_around(step, run, layers, {"max": 100, "head": 0})["head"].around

    # Counted with what layers before keep, the input would lie there beside what takes its place.
    assert around(operations) == 100 + 1 + 1
    assert around(before_others(operations, layers, [3])) == 1 + 1
    # What comes early needs a layer behind: that one waits for nothing.
    again = [*operations[:3], Operation((0, 2), ((3, Size(0, 100)),)), operations[4]]
    assert before_others(again, layers, [3]) == again


def test_that_what_becomes_kept_beside_a_layer_counts_with_the_layers_that_keep_it() -> None:
    """As where several maxima are: each is written over numbers that another sum has read."""
    operations = [Operation(makes=((0, Size(0, 1)), (10, Size(0, 1))))]
    layers = ["before"]
    for layer, first in (("one", 0), ("two", 10)):
        operations += [
            Operation((first,), ((first + 1, Size(0, 100)),)),
            Operation((first + 1,), ((first + 2, Size(0, 4)),)),
            Operation((first + 1, first + 2), ((first + 3, Size(0, 100)),), overwrites=True),
        ]
        layers += [layer] * 3
    kept = frozenset({3, 13})
    assert becoming(operations, kept) == {1, 11}
    step = StepGraph(operations, results=[3, 13], kept=kept | becoming(operations, kept))
    found = held_around(step, operations, layers, {"before": 0, "one": 100, "two": 100})
    # The second has what it makes itself: that of the first is counted there.
    assert found["two"].around < 100 + 2 * 4 + 2 * 1 + 1

    def among(place: int, changed: Operation) -> frozenset[int]:
        return becoming([*operations[:place], changed, *operations[place + 1 :]], kept)

    # Nothing is written over what is of another size, or may be read later, or is no such input.
    assert among(1, replace(operations[1], makes=((1, Size(0, 90)),))) == {11}
    assert among(3, replace(operations[3], takes=(1, 10))) == {11}
    assert among(3, replace(operations[3], overwrites=False)) == {11}


def test_that_only_what_is_spared_beside_every_kernel_is_spared() -> None:
    alone, copied = LayerHolds(), LayerHolds()
    for found, moments in ((alone, ((100, 0), (90, 8))), (copied, ((40, 0), (70, 8)))):
        for around, scratch in moments:
            found.note(0, around, Size(scratch))
    assert (alone.around, copied.around) == (100, 70)
    assert alone.spared(copied) == 20
    assert copied.spared(alone) == 0


def test_that_an_input_is_free_when_the_last_gradient_that_needs_it_is_there() -> None:
    """As a convolution: first the filter's gradient, of its input, and then that of the input."""
    operations = [
        Operation(makes=((0, Size(0, 900)),)),
        Operation((0,), ((1, Size(0, 50)),)),
        Operation((1,), ((2, Size(0, 50)),)),
        Operation((0, 2), ((3, Size(10)),)),
        Operation((2,), ((4, Size(0, 900)),), after=(3,)),
        Operation((4,), ((5, Size(10)),)),
    ]
    layers = ["before", "layer", "", "layer", "layer", "before"]
    backward = [False, False, False, True, True, True]

    def around(run: list[Operation]) -> int:
        step = StepGraph(run, results=[3, 5], kept=frozenset({0}))
        gone = let_go(run, layers, backward, {0})
        return held_around(step, run, layers, {"before": 900, "layer": 0}, gone=gone)[
            "layer"
        ].around

    assert let_go(operations, layers, backward, {0}) == {"layer": [(900, frozenset({1, 3}))]}
    # Beside what the layer before keeps: the output and its gradient, or that and the input's.
    assert around(operations) == 100
    # Where the layer before needs it too it stays, and so it does until all have read it.
    needed = [*operations[:5], Operation((4, 0), ((5, Size(10)),))]
    assert let_go(needed, layers, backward, {0}) == {}
    assert around(needed) == 950
    at_once = [
        *operations[:4],
        Operation((2, 0), ((4, Size(0, 900)),), after=(3,)),
        *operations[5:],
    ]
    assert around(at_once) == 950
    # A gradient that is written over it has its memory.
    over = [*at_once[:4], replace(at_once[4], overwrites=True), *operations[5:]]
    assert let_go(over, layers, backward, {0}) == {}
    assert around(over) == 50 + 50
