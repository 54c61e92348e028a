"""What a graph of operations holds while it runs."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.liveness import (
    Operation,
    Size,
    Turn,
    Variable,
    Wiring,
    block_of,
    history,
    in_one_queue,
)
from gpu_studio.placement.step_orders import CHEAP, UNKNOWN, in_threads, launched

BATCH = 10
KB = Size(1000)


def moments(operations, **options):
    return history(operations, in_one_queue(operations), **options).moments


def peaks(operations, **options) -> list[int]:
    return [moment.bytes(BATCH) for moment in moments(operations, **options)]


def executed(operations) -> list[int]:
    return [turn.place for turn in in_one_queue(operations) if turn.begins]


def op(makes: int, *takes: int, size: Size = KB, **options) -> Operation:
    return Operation(takes=takes, makes=((makes, size),), **options)


def test_that_a_tensor_is_freed_after_its_last_use() -> None:
    chain = [op(0), op(1, 0), op(2, 1), op(3, 2)]
    assert peaks(chain, results=[3]) == [1000, 2000, 2000, 2000]


def test_that_a_tensor_used_later_is_held_until_then() -> None:
    skip = [op(0), op(1, 0), op(2, 1), op(3, 2, 0)]
    assert peaks(skip, results=[3]) == [1000, 2000, 3000, 3000]


def test_that_sizes_grow_with_the_batch() -> None:
    (moment,) = moments([op(0, size=Size(8, 100))], results=[0])
    assert (moment.fixed, moment.per_sample) == (8, 100)


def test_that_a_reshape_makes_no_memory_and_keeps_what_it_shares() -> None:
    shaped = [op(0), op(1, 0, shares=True), op(2, 1), op(3, 2, 1)]
    assert peaks(shaped, results=[3]) == [1000, 1000, 2000, 3000]


def test_that_an_elementwise_operation_writes_over_what_nobody_else_takes() -> None:
    assert peaks([op(0), op(1, 0, overwrites=True)], results=[1]) == [1000, 1000]


def test_that_an_input_with_another_taker_is_not_written_over() -> None:
    twice = [op(0), op(1, 0, overwrites=True), op(2, 0, 1)]
    assert peaks(twice, results=[2]) == [1000, 2000, 3000]


def test_that_an_input_of_another_size_is_not_written_over() -> None:
    assert peaks([op(0, size=Size(7)), op(1, 0, overwrites=True)], results=[1]) == [7, 1007]


def test_that_one_input_is_written_over_once() -> None:
    two = [op(0), Operation(takes=(0,), makes=((1, KB), (2, KB)), overwrites=True)]
    assert peaks(two, results=[1, 2]) == [1000, 2000]


def test_that_what_nobody_takes_is_gone_at_once() -> None:
    assert peaks([op(0), op(1, after=(0,))]) == [1000, 1000]


def test_that_scratch_is_held_while_its_operation_runs_and_not_longer() -> None:
    assert peaks([op(0), op(1, 0, scratch=Size(500)), op(2, 1)], results=[2]) == [1000, 2500, 2000]


def test_that_an_update_copies_a_variable_that_is_still_to_be_taken_as_it_was() -> None:
    weight = Variable(9, 1000)
    read = Operation(makes=((0, KB),), reads=weight)
    update = Operation(takes=(1,), after=(0,), writes=weight)
    assert peaks([read, op(1), update, op(2, 0, after=(2,))]) == [0, 1000, 2000, 2000]
    taken_before = [read, op(1, 0), update]
    assert peaks(taken_before) == [0, 1000, 1000]


def test_that_a_copied_variable_is_where_its_copy_was_made() -> None:
    weight = Variable(9, 1000)
    read = Operation(makes=((0, KB),), reads=weight)
    copies = [read, op(1), Operation(takes=(1,), after=(0,), writes=weight), op(2, 0, after=(2,))]
    run = history(copies, in_one_queue(copies))
    given_back = [change.block for change in run.changes if not change.taken]
    assert block_of(9) in given_back
    assert list(run.moved) == [9]
    assert run.moved[9] not in given_back
    in_place = [read, op(1, 0), Operation(takes=(1,), writes=weight)]
    assert history(in_place, in_one_queue(in_place)).moved == {}


def test_that_what_an_update_copies_from_is_there_until_it_ends() -> None:
    weight = Variable(9, 1000)
    reader, update, other = op(1, 0), Operation(takes=(2,), after=(0,), writes=weight), op(3, 1)
    steps = [Operation(makes=((0, KB),), reads=weight), op(2), reader, update, other]
    turns = [
        Turn(0, True),
        Turn(0, False),
        Turn(1, True),
        Turn(1, False),
        Turn(2, True),
        Turn(3, True),
    ]
    turns += [Turn(2, False), Turn(4, True), Turn(3, False), Turn(4, False)]
    held = [moment.bytes(BATCH) for moment in history(steps, turns).moments]
    # What it was given, what it copies into, what the reader made and, though that has ended, what
    # it copies from.
    assert held == [0, 1000, 2000, 3000, 4000]


def test_that_a_value_that_is_assigned_becomes_the_variables_memory() -> None:
    weight = Variable(9, 1000)
    assign = [op(0), Operation(takes=(0,), writes=weight, replaces=True), op(1, after=(1,))]
    assert peaks(assign) == [1000, 0, 1000]
    run = history(assign, in_one_queue(assign))
    assert run.moved == {9: run.changes[0].block}
    elsewhere = [op(0, size=Size(7)), Operation(takes=(0,), writes=weight, replaces=True)]
    assert history(elsewhere, in_one_queue(elsewhere)).moved == {}


def test_that_what_is_there_before_the_step_is_held_and_is_no_change() -> None:
    chain = [op(0, size=Size(0, 100)), op(1, 0)]
    run = history(chain, in_one_queue(chain), results=[0, 1], given=frozenset([0]))
    assert [moment.bytes(BATCH) for moment in run.moments] == [1000, 2000]
    assert [change.size for change in run.changes] == [KB]


def test_that_gradients_and_kept_activations_are_counted_apart() -> None:
    forward, backward = op(0, size=Size(0, 100)), op(1, 0)
    first, second = moments(
        [forward, backward], results=[1], gradients=frozenset([1]), kept=frozenset([0])
    )
    assert (first.kept, first.gradients) == (100, 0)
    assert (second.kept, second.gradients) == (100, 1000)


def test_that_operations_run_when_all_that_they_need_is_there() -> None:
    late, early = op(0, 1), op(1)
    assert list(executed([late, early])) == [1, 0]
    assert list(executed([op(0, after=(1,)), op(1)])) == [1, 0]


@st.composite
def graphs(draw) -> list[Operation]:
    """Operations that each make one tensor from any made before."""
    operations: list[Operation] = []
    for number in range(draw(st.integers(1, 12))):
        takes = draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        size = Size(draw(st.integers(0, 50)), draw(st.integers(0, 5)))
        kind = draw(st.sampled_from(["plain", "shares", "overwrites"])) if takes else "plain"
        operations.append(
            op(number, *takes, size=size, shares=kind == "shares", overwrites=kind == "overwrites")
        )
    return operations


@given(graphs())
def test_that_plain_operations_hold_what_is_made_and_still_to_be_taken(operations) -> None:
    plain = [Operation(each.takes, each.makes) for each in operations]
    order = list(executed(plain))
    last = {tensor: when for when, place in enumerate(order) for tensor in plain[place].takes}
    made = {place: when for when, place in enumerate(order)}
    sizes = [each.makes[0][1] for each in plain]

    def held(when: int) -> int:
        alive = (n for n in range(len(plain)) if made[n] <= when <= last.get(n, made[n]))
        return sum(sizes[n].fixed + sizes[n].per_sample * BATCH for n in alive)

    assert peaks(plain) == [held(when) for when in range(len(order))]


@given(graphs())
def test_that_sharing_memory_never_takes_more_and_nothing_is_counted_twice(operations) -> None:
    plain = [Operation(each.takes, each.makes) for each in operations]
    # A reshape has the size of what it shares; only then is there anything to compare.
    same = [
        each
        for each in operations
        if not each.shares or each.makes[0][1] == operations[each.takes[0]].makes[0][1]
    ]
    if len(same) == len(operations):
        assert all(a <= b for a, b in zip(peaks(operations), peaks(plain), strict=True))
    assert all(moment.fixed >= 0 <= moment.per_sample for moment in moments(operations))


@given(graphs())
def test_that_whatever_was_taken_and_is_no_result_is_given_back(operations) -> None:
    run = history(operations, in_one_queue(operations))
    taken = [change.block for change in run.changes if change.taken]
    assert sorted(taken) == sorted(change.block for change in run.changes if not change.taken)


@given(graphs(), st.integers(1, 4), st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_that_threads_run_each_operation_once_and_after_all_that_it_needs(
    operations, threads, seconds
) -> None:
    turns = list(in_threads(Wiring(operations), seconds[: len(operations)], threads))
    ended, running = set(), set()
    for turn in turns:
        if turn.begins:
            assert (
                set(operations[turn.place].takes) <= ended
            )  # each operation makes the tensor of its own number
            running.add(turn.place)
            assert len(running) <= threads
        else:
            running.remove(turn.place)
            ended.add(turn.place)
    assert len(ended) == len(operations) == len(turns) / 2


def test_that_two_threads_hold_what_both_take() -> None:
    two = [op(0), op(1), op(2, 0), op(3, 1)]
    run = history(two, in_threads(Wiring(two), [1.0, 1.0, 1.0, 1.0], 2), results=[2, 3])
    assert max(moment.bytes(BATCH) for moment in run.moments) == 4000
    assert max(peaks(two, results=[2, 3])) == 3000


def test_that_as_long_as_no_cost_is_known_cheap_operations_are_handed_to_other_threads() -> None:
    three = [op(0), op(1, 0), op(2, 0)]
    times = [CHEAP / 2] * 3
    assert [turn.begins for turn in in_threads(Wiring(three), times, 2, CHEAP)] == [True, False] * 3
    assert [turn.begins for turn in in_threads(Wiring(three), times, 2, UNKNOWN)] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


def test_that_what_is_cheap_and_waits_for_nothing_runs_in_one_thread() -> None:
    """A step is a turn of a loop: an operation's end makes them ready, in its thread."""
    five = [op(0), op(1), op(2), op(3, 0), op(4, 1)]
    turns = in_threads(Wiring(five), [CHEAP / 2] * 5, 2)
    assert [turn.place for turn in turns if turn.begins] == [0, 1, 2, 3, 4]


def test_that_a_thread_goes_on_with_the_last_by_rank_of_those_that_become_ready_together() -> None:
    three = [op(0), op(1, 0), op(2, 0)]

    def order(*ranks: int) -> list[int]:
        turns = in_threads(Wiring(three, ranks), [1.0] * 3, 1)
        return [turn.place for turn in turns if turn.begins]

    assert (order(), order(0, 1, 2), order(0, 2, 1)) == ([0, 2, 1], [0, 2, 1], [0, 1, 2])


def test_that_a_size_that_shrinks_with_the_batch_ends_at_nothing() -> None:
    assert [Size(100, -10).bytes(batch) for batch in (1, 10, 11)] == [90, 0, 0]


TWO_ARRIVE = [op(0), op(1), op(2), op(3, 0), op(4, 1), op(5, 3, 4), op(6, 2)]
"""Tensors 0 and 1 arrive; 2 is there; 5 needs both."""


def test_that_a_card_runs_one_operation_after_the_other_each_after_its_inputs() -> None:
    for seed in range(20):
        turns = list(launched(Wiring(TWO_ARRIVE), [0, 1], Random(seed)))
        assert [turn.begins for turn in turns] == [True, False] * len(TWO_ARRIVE)
        order = [turn.place for turn in turns if turn.begins]
        assert sorted(order) == list(range(len(TWO_ARRIVE)))
        assert all(order.index(a) < order.index(b) for a, b in ((0, 3), (1, 4), (3, 5), (4, 5)))


def test_that_what_arrives_is_gone_on_with_in_no_certain_order() -> None:
    orders = {
        tuple(turn.place for turn in launched(Wiring(TWO_ARRIVE), [0, 1], Random(seed)))
        for seed in range(20)
    }
    assert len(orders) > 5


def test_that_without_anything_that_arrives_a_card_has_one_queue() -> None:
    assert [
        turn.place for turn in launched(Wiring(TWO_ARRIVE), [], Random(0)) if turn.begins
    ] == executed(TWO_ARRIVE)


def test_that_what_becomes_ready_together_comes_in_any_order_if_that_is_drawn() -> None:
    fan = [op(0), *(op(place, 0) for place in range(1, 5)), op(5, 1, 2, 3, 4)]
    drawn = [
        [turn.place for turn in in_one_queue(fan, Random(seed)) if turn.begins] for seed in range(9)
    ]
    assert all(sorted(each) == list(range(6)) and each[0] == 0 and each[-1] == 5 for each in drawn)
    assert len({tuple(each) for each in drawn}) > 5
    assert [turn.place for turn in in_one_queue(fan) if turn.begins] == list(range(6))
    assert len({tuple(launched(Wiring(fan), [], Random(seed))) for seed in range(9)}) > 5
