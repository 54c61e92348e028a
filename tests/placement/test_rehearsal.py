"""Steps that are rehearsed.

What they hold on a card, and on a CPU in whatever order its threads happen to run.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.placement import rehearsal
from gpu_studio.placement.arena import Arena
from gpu_studio.placement.built_memory import LOOKED_AT
from gpu_studio.placement.liveness import Operation, Size, Variable
from gpu_studio.placement.rehearsal import (
    BATCHES,
    LEAST_STEPS,
    ON_CARD,
    PROCESSES,
    REPLACED,
    UNIT,
    UNREHEARSED,
    TensorKinds,
    on_card,
    on_cpu,
)
from gpu_studio.placement.step_orders import CHEAP, UNKNOWN

MIB = 2**20
WEIGHT = Variable(0, MIB)
READ, TO_BEHIND, GRADIENT, UPDATE = range(4)
BACKWARD = (
    Operation(makes=((10, Size()),), reads=WEIGHT),
    Operation(
        takes=(10,), makes=((11, Size(0, 8)),)
    ),  # the gradient of what came in, which takes the weight
    Operation(makes=((12, Size(MIB)),), after=(READ,)),  # the gradient of the weight
    Operation(takes=(12,), after=(READ,), writes=WEIGHT),
)
"""The end of a Dense layer's step: both gradients, and the update."""


def alike_all(_batch: int) -> list[float]:
    return [10 * CHEAP] * 2


def slowly(_batch: int) -> list[float]:
    return [1.0] * 5


def alike(_batch: int) -> list[float]:
    return [10 * CHEAP] * len(BACKWARD)


def test_that_on_a_cpu_an_update_may_meet_a_weight_that_is_still_in_use() -> None:
    memory = on_cpu(BACKWARD, alike, TensorKinds(results=[11]), threads=2)
    assert memory.asked(1) == 2 * MIB + 8


def test_that_a_batch_of_128_is_rehearsed_by_the_times_that_its_operations_take() -> None:
    def seconds(batch: int) -> list[float]:
        # As soon as the gradient of what came in takes long, the update meets its weight.
        times = alike(batch)
        times[TO_BEHIND] = 1.0 if 128 <= batch < 512 else 2 * UNKNOWN
        return times

    memory = on_cpu(BACKWARD, seconds, TensorKinds(results=[11]), threads=2)
    assert memory.peak(128) - memory.peak(112) > MIB // 2


def test_that_on_a_card_the_weight_is_used_first() -> None:
    memory = on_card(BACKWARD, TensorKinds(results=[11]))
    assert memory.asked(1) == MIB + 8
    assert memory.peak(8) == round((MIB + 64) * memory.padded(8))


def test_that_calling_the_model_for_a_look_shapes_the_memory_that_steps_find() -> None:
    layer = (
        Operation(makes=((1, Size(0, 700_000)),)),
        Operation(takes=(1,), makes=((2, Size(0, 300_000)),)),
    )
    looked, unseen = (
        on_cpu(layer, alike, TensorKinds([2], outputs=outputs), threads=1)
        for outputs in ([1, 2], [])
    )
    assert looked.asked(64) == unseen.asked(64)
    assert looked.padding != unseen.padding


def test_that_a_step_of_few_samples_finds_what_a_look_at_as_few_has_left(monkeypatch) -> None:
    looked_at: list[int] = []
    build = rehearsal.built

    def watched(operations, look, samples, *, loaded):
        looked_at.append(samples)
        return build(operations, look, samples, loaded=loaded)

    monkeypatch.setattr(rehearsal, "built", watched)
    on_cpu(BACKWARD, alike, TensorKinds(results=[11]), threads=1)
    assert set(looked_at) == set(range(1, LOOKED_AT + 1))


def test_that_the_same_steps_are_rehearsed_each_time() -> None:
    first, second = (
        on_cpu(BACKWARD, alike, TensorKinds(results=[11]), threads=2) for _ in range(2)
    )
    assert first == second


def test_that_an_allocator_never_gives_out_less_than_is_asked() -> None:
    memory = on_cpu(BACKWARD, alike, TensorKinds(results=[11]), threads=2)
    assert all(each.factor >= UNREHEARSED for each in memory.padding)


def test_that_a_kernel_that_needs_nothing_for_few_samples_counts_from_its_least_on() -> None:
    """Also for a large batch, which else is taken for two of half its size."""
    least, needed, of_each = 200, 8 * MIB, 64 * 1024
    kernel = (
        Operation(makes=((1, Size(0, of_each)),)),
        Operation(takes=(1,), makes=((2, Size(0, 4)),), scratch=Size(needed, least=least)),
    )
    card = on_card(kernel, TensorKinds(results=[2]))
    cpu = on_cpu(kernel, alike_all, TensorKinds(results=[2]), threads=1)
    for batch in (4, 16, 128, 199):
        asked = batch * of_each + UNIT * -(-4 * batch // UNIT)
        assert card.peak(batch) == pytest.approx(ON_CARD * asked, abs=2 * UNIT)
    for batch in (200, 250, 399, 600, 2000):
        assert card.peak(batch) >= ON_CARD * (batch * of_each + needed)
        assert cpu.peak(batch) >= UNREHEARSED * (batch * of_each + needed)
    assert cpu.peak(4) < UNREHEARSED * 2 * MIB
    assert cpu.peak(199) < cpu.peak(200) - needed // 2


def kept_waiting(length: int, seconds: float) -> tuple[list[Operation], list[float]]:
    """1 MiB that an operation takes, beside so long a chain of others, which ends in 8 MiB."""
    waited_for = [
        Operation(makes=((0, Size(MIB)),)),
        Operation(takes=(0,), makes=((1, Size(4)),)),
    ]
    chain = [
        Operation((place - 1,) if place > 2 else (), ((place, Size(4)),))
        for place in range(2, length + 1)
    ]
    last = Operation((length,), ((length + 1, Size(8 * MIB)),))
    return [*waited_for, *chain, last], [1e-6, 1e-3, *[seconds] * length]


def test_that_a_thread_that_stands_still_falls_no_further_behind_than_a_fair_scheduler_lets_it():
    for length, meet in ((3, True), (6, False)):  # 12 and 18 ms
        step, seconds = kept_waiting(length, 0.004 if meet else 0.003)
        results = TensorKinds([1, length + 1])
        memory = on_cpu(step, lambda _batch, each=seconds: each, results, threads=2)
        assert (memory.asked(1) > 9 * MIB) == meet


def test_that_an_activation_may_meet_the_gradient_of_the_layer_before_it() -> None:
    """A thread stands still in the gradient of weights that takes it, and the other goes on.

    Three steps of a thousand of two dense layers were seen to, by their trace.
    """
    activation, towards_the_loss, behind, before = range(4)
    step = (
        Operation(makes=((activation, Size(MIB)),)),
        Operation((activation,), ((towards_the_loss, Size(4)),)),
        Operation((activation, towards_the_loss)),  # the gradient of the weights behind it
        Operation((towards_the_loss,), ((behind, Size(MIB)),)),
        Operation((behind,), ((before, Size(8 * MIB)),)),  # that of the weights before it
    )
    seconds = [1e-6, 1e-4, 3e-4, 2e-3, 1e-3]
    memory = on_cpu(step, lambda _batch: seconds, TensorKinds([before]), threads=2)
    assert memory.asked(1) == 10 * MIB + 4


def test_that_the_fullest_step_that_is_rehearsed_counts_however_rare() -> None:
    step, seconds = kept_waiting(3, 0.004)
    memory = on_cpu(step, lambda _batch: seconds, TensorKinds([1, 4]), threads=2)
    assert max(memory.peak(batch) for batch in BATCHES) >= UNREHEARSED * memory.asked(8)


def test_that_a_cpu_s_margin_is_on_the_variables_too_and_larger_on_those_that_change() -> None:
    held = TensorKinds(results=[11])
    unchanged = [replace(each, writes=None, replaces=False) for each in BACKWARD]
    steps = [
        (UNREHEARSED, REPLACED, on_cpu(BACKWARD, alike, held, threads=1)),
        (UNREHEARSED, UNREHEARSED, on_cpu(unchanged, alike, held, threads=1)),
        (ON_CARD, 1.0, on_card(BACKWARD, held)),
    ]
    for margin, of_variables, memory in steps:
        lost = 0 if of_variables == 1.0 else memory.lost
        more = (margin - 1) * (lost + memory.asked(8)) + (of_variables - 1) * WEIGHT.bytes
        assert abs(memory.peak(8) - memory.asked(8) - more) < 2 * UNIT


def test_that_what_is_lost_between_the_variables_is_known_of_a_cpu_too() -> None:
    read = Operation(makes=((10, Size()),), reads=Variable(0, 3 * MIB // 2))
    memory = on_cpu([read], lambda _batch: [1.0], TensorKinds(results=[10]), threads=1)
    handle = UNIT
    # Of the first region, which is too small to be cut in two.
    assert memory.lost == MIB // 2 + handle


def test_that_constants_and_a_handle_of_each_variable_are_there_before_a_step_of_a_cpu() -> None:
    read = Operation(makes=((10, Size()),), reads=Variable(0, UNIT))
    bare, more = (
        on_cpu([read], lambda _batch: [1.0], TensorKinds(results=[10], constants=each), threads=1)
        for each in ((), (UNIT, UNIT, 5 * UNIT))
    )
    assert more.lost - bare.lost == 7 * UNIT
    assert bare.lost == UNIT


def test_that_what_the_allocator_gives_out_for_the_batch_beyond_its_size_counts_on_a_cpu() -> None:
    kinds = TensorKinds(results=[1], batch=frozenset({1}))
    memory = on_cpu(
        [Operation(makes=((1, Size(0, 3 * MIB // 2)),))], lambda _batch: [1.0], kinds, threads=1
    )
    assert memory.asked(1) == 3 * MIB // 2
    # Of the first region, which is too small to be cut in two.
    assert abs(memory.peak(1) - UNREHEARSED * 2 * MIB) < UNIT


def test_that_nothing_is_held_by_a_step_of_nothing() -> None:
    assert on_card([], TensorKinds()).peak(32) == 0
    assert on_cpu([], lambda _batch: [], TensorKinds(), threads=2).peak(32) == 0


def test_that_steps_that_meet_the_same_memory_again_are_not_run_again(monkeypatch) -> None:
    given = []
    peak = Arena.peak
    monkeypatch.setattr(
        Arena, "peak", lambda arena, step, units: given.append(step) or peak(arena, step, units)
    )
    monkeypatch.setattr(rehearsal, "MOST_STEPS", LEAST_STEPS)
    step = [Operation(makes=((1, Size(0, MIB)),)), Operation(takes=(1,))]
    memory = on_cpu(step, alike_all, TensorKinds(), threads=1)
    run = len([each for each in given if each.turns])
    # The first is run again, as at first there was no memory.
    assert run == PROCESSES * (LEAST_STEPS + 1) * len(memory.padding)


def test_that_a_card_gives_out_whole_units_and_for_its_variables_too() -> None:
    weight = Variable(0, MIB + 1, drawn=True)
    step = (
        Operation(makes=((1, Size(1000)),)),
        Operation(takes=(1,), makes=((2, Size()),), reads=weight),
    )
    memory = on_card(step, TensorKinds(results=[1, 2]))
    assert memory.asked(8) == 1000
    assert memory.peak(8) == round(ON_CARD * 4 * UNIT)
    assert memory.lost == UNIT - 1 + 2 * UNIT  # and the bounds between which it was drawn


def test_that_batches_are_looked_at_where_what_is_given_out_leaps() -> None:
    # Half of a region of 32 MiB is 16 MiB: a block of more cannot be beside another.
    memory = on_cpu(
        [Operation(makes=((1, Size(0, MIB // 6)),)), Operation(takes=(1,))],
        alike_all,
        TensorKinds(),
        threads=1,
    )
    looked_at = {each.batch for each in memory.padding}
    assert looked_at > set(BATCHES)


def test_that_a_leap_is_found_where_half_way_to_the_next_batch_lies_on_the_line(
    monkeypatch,
) -> None:
    def given_out(_requests, batch, *_about) -> int:
        return MIB * (1000 + 100 * sum(batch > each for each in (32, 36)))

    monkeypatch.setattr(rehearsal, "_most", given_out)
    step = [Operation(makes=((1, Size(0, 4)),)), Operation(takes=(1,))]
    memory = on_cpu(step, alike_all, TensorKinds(), threads=1)
    assert abs(memory.peak(33) - UNREHEARSED * 1100 * MIB) < MIB


@pytest.mark.parametrize("batch", [7, 13])
def test_that_small_batches_are_each_looked_at_for_a_sample_more_changes_much(
    batch: int, monkeypatch
) -> None:
    def given_out(_requests, samples, *_about) -> int:
        return MIB * (1000 + 40 * (samples == batch))

    monkeypatch.setattr(rehearsal, "_most", given_out)
    step = [Operation(makes=((1, Size(0, 4)),)), Operation(takes=(1,))]
    memory = on_cpu(step, alike_all, TensorKinds(), threads=1)
    assert abs(memory.peak(batch) - UNREHEARSED * 1040 * MIB) < MIB


def test_that_weights_that_are_drawn_leave_other_memory_than_filled_ones() -> None:
    steps = []
    for drawn in (False, True):
        weight = Variable(0, MIB, drawn=drawn)
        read = Operation(makes=((10, Size()),), reads=weight)
        step = (read, Operation(takes=(10,), makes=((11, Size(0, 100_000)),)))
        steps.append(
            on_cpu(
                step, lambda _batch: [1.0, 1.0], TensorKinds(results=[11], outputs=[11]), threads=1
            )
        )
    assert steps[0].asked(64) == steps[1].asked(64)
    assert steps[0].padding != steps[1].padding


def test_that_weights_from_a_file_are_elsewhere_than_where_they_were_drawn() -> None:
    read = Operation(makes=((10, Size()),), reads=Variable(0, MIB, drawn=True))
    step = (read, Operation(takes=(10,), makes=((11, Size(0, 100_000)),)))
    drawn, loaded = (
        on_cpu(
            step,
            lambda _batch: [1.0, 1.0],
            TensorKinds([11], outputs=[11], loaded=loaded),
            threads=1,
        )
        for loaded in (False, True)
    )
    assert drawn.padding != loaded.padding


def test_that_a_rewritten_graph_counts_where_it_holds_more_and_never_less() -> None:
    """A factor that is multiplied on the way there is held until the way back."""
    forward = Operation(makes=((1, Size(0, MIB)),))
    factor = Operation(takes=(1,), makes=((2, Size(0, MIB)),))
    middle = Operation(takes=(1,), makes=((3, Size(0, MIB)),))
    back = Operation(takes=(2, 3), makes=((4, Size()),))
    late = (forward, middle, replace(factor, after=(1,)), replace(back, takes=(1, 2, 3)))
    ahead = (forward, factor, replace(middle, after=(1,)), replace(back, takes=(1, 2, 3, 5)))
    ahead = (*ahead, Operation(makes=((5, Size(0, MIB)),)))

    def memory(operations, *rewritten, sure=False):
        return on_cpu(operations, slowly, TensorKinds([4]), 1, *rewritten, sure=sure)

    alone = memory(late)
    assert memory(late, (ahead, slowly)).asked(8) == alone.asked(8) + 8 * MIB
    assert memory(late, (ahead, slowly)).peak(8) > alone.peak(8)
    assert memory(ahead, (late, slowly)) == memory(ahead)
    # The margin is on it, too, where it is sure that real steps have its factors there.
    known, unknown = (memory(late, (ahead, slowly), sure=sure) for sure in (True, False))
    assert known.peak(8) == pytest.approx(UNREHEARSED * unknown.peak(8), rel=1e-4)


def test_that_a_rewritten_graph_counts_that_holds_more_only_where_threads_overlap() -> None:
    """As convolutions with gelu do, whose terms are made in whatever order threads have time."""
    one, other = (Operation(makes=((x, Size()),), scratch=Size(0, MIB)) for x in (1, 2))
    end = Operation(takes=(1, 2), makes=((3, Size()),))
    traced, apart = (one, replace(other, after=(0,)), end), (one, other, end)
    memory = on_cpu(traced, slowly, TensorKinds([3]), 2, (apart, slowly))
    assert memory.asked(8) == 2 * 8 * MIB


def test_that_threads_of_a_card_alone_get_on_alike_and_beside_others_one_may_wait() -> None:
    """What the batch makes is of use when another thread has made its part; that one needs little.

    Where cores are few it may have to wait until all of the others' is there.
    """
    many = range(1, 31)
    step = [Operation(makes=((0, Size(MIB)),)), Operation(makes=((1000, Size()),))]
    for turn in many:
        step.append(Operation((turn - 1,), ((turn, Size()), (100 + turn, Size(MIB)))))
        step.append(Operation((999 + turn,), ((1000 + turn, Size()),)))
        step.append(Operation((100 + turn, 1000 + turn)))
    marks = TensorKinds(batch=frozenset({0}))
    alone, beside = (on_card(step, marks, received) for received in (frozenset(), frozenset({-1})))
    assert beside.asked(1) == len(many) * MIB > alone.asked(1)


def test_that_steps_in_the_order_of_a_run_count_where_they_hold_more(monkeypatch) -> None:
    """The thread goes on with the gradient of an input, and leaves those of filters for later.

    In one of the processes they are simulated in any case: memory lies otherwise in them.
    """
    processes: list[dict[int, int]] = []
    most = rehearsal._most
    monkeypatch.setattr(
        rehearsal, "_most", lambda *about: processes.append(about[-1]) or most(*about)
    )
    layers = 4
    start = Operation(makes=((0, Size(MIB)),))
    step, chain = [start], 0
    for _ in range(layers):
        number = 2 * len(step)
        step += [
            Operation(takes=(chain,), makes=((number, Size(MIB)),)),
            Operation(takes=(chain,), makes=((number + 1, Size(4)),)),
        ]
        chain = number
    results = TensorKinds([chain, *(t for each in step[2::2] for t, _ in each.makes)])
    filters_last = [0, *(rank for n in range(layers) for rank in (2 * n + 1, 2 * n + 2))]
    inputs_last = [0, *(rank for n in range(layers) for rank in (2 * n + 2, 2 * n + 1))]

    def memory(ranks: list[int]):
        kinds = replace(results, ranks=ranks)
        return on_cpu(step, lambda _batch: [0.001] * len(step), kinds, threads=1)

    def processes_of(ranks: list[int]):
        processes.clear()
        memory(ranks)
        return processes[:2]

    as_made = memory([])
    assert as_made.asked(8) < 3 * MIB
    assert memory(filters_last) == as_made
    assert memory(inputs_last).asked(8) > layers * MIB
    assert memory(inputs_last).peak(8) >= UNREHEARSED * layers * MIB
    assert processes_of([]) == [{}, {}]
    assert processes_of(filters_last) == [{8: 1, 64: 1}, {8: 2, 64: 2}]
    assert processes_of(inputs_last) == [{8: 3, 64: 3}, {8: 2, 64: 2}]
