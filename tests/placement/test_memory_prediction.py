"""The memory of each logical device, for every strategy, with where each figure comes from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS, MODEL, STEP, THREE_LAYERS

from gpu_studio.placement.exchange import GATHERING, READING, SENDING
from gpu_studio.placement.layer_holds import Kernel, MetOutputs
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import (
    GraphLayer,
    ModelFacts,
    ModelGraph,
    PlanFacts,
    decoded,
    encoded,
)
from gpu_studio.placement.stage_memory import Step, at_once, samples_at_once, turns_at_once
from gpu_studio.placement.step_memory import ON_CARD, MemoryMoment, StepMemory
from gpu_studio.plan import MIB, Carve, DeviceSettings, Distribution, Placed, Plan, Training
from gpu_studio.plan.card_memory import most_mib

WEIGHTS, SLOTS, GRADIENTS = 4 * 1600 + 16, 12_812, 4 * 1600
FOUR_CPUS = DeviceSettings(carve=(Carve("CPU:0", (0, 0, 0, 0)),))


NOTHING_FORGOTTEN = replace(
    FACTS, model=replace(MODEL, steps={"CPU": StepMemory((MemoryMoment(1),))})
)
"""A model of which a rehearsed step holds no more than the formula for placed layers says."""


def plan(strategy: str = "none", batch: int = 32, **options) -> Plan:
    return Plan(
        devices=FOUR_CPUS,
        training=Training(batch_size=batch),
        distribution=Distribution(strategy=strategy, **options),
    )


def predicted(asked: Plan, facts: PlanFacts = FACTS, machine=WITHOUT_CARDS):
    return {memory.device: memory for memory in predict(asked, machine, facts)}


def test_that_nothing_is_predicted_of_a_model_that_is_not_known() -> None:
    assert predict(plan(), WITHOUT_CARDS, PlanFacts()) == ()
    assert predict(plan(), WITHOUT_CARDS, PlanFacts(model=replace(MODEL, steps={}))) == ()


def test_that_one_device_holds_the_variables_and_the_traced_step() -> None:
    memory = predicted(plan(batch=64))["CPU:0"]
    assert memory.weights.bytes == WEIGHTS
    assert memory.slots.bytes == SLOTS
    assert memory.gradients.bytes == GRADIENTS
    assert memory.activations.bytes == 600 * 64
    assert memory.total == WEIGHTS + SLOTS + STEP.peak(64)


def test_that_devices_without_a_part_hold_nothing() -> None:
    assert [memory.total for memory in predict(plan(), WITHOUT_CARDS, FACTS)][1:] == [0, 0, 0]


def test_that_formulas_are_plain_words_and_numbers() -> None:
    memory = predicted(plan())["CPU:0"]
    assert memory.weights.formula == "1,600 parameters × 4 B + 16 B of random state"
    assert memory.gradients.formula == "1,600 trainable parameters × 4 B"
    assert (
        memory.slots.formula
        == "2 × 6,400 B of trainable parameters + 12 B of counters and learning rate"
    )
    assert memory.activations.formula.startswith("600 B a sample × 32 samples")


@given(
    st.integers(1, 5000),
    st.sampled_from(["none", "one_device", "mirrored", "central_storage", "placed"]),
)
def test_that_the_parts_make_up_the_total_or_more(batch, strategy) -> None:
    for memory in predict(plan(strategy, batch), WITHOUT_CARDS, FACTS):
        parts = sum(part.bytes for _, part in memory.parts)
        assert all(part.bytes >= 0 for _, part in memory.parts)
        assert parts >= memory.total
        assert parts == memory.total or "less than the sum" in memory.total_formula


def test_that_each_mirror_has_the_whole_model_and_its_share_of_the_batch() -> None:
    found = predicted(plan("mirrored", batch=64))
    assert [memory.weights.bytes for memory in found.values()] == [WEIGHTS] * 4
    assert [memory.activations.bytes for memory in found.values()] == [600 * 16] * 4


def test_that_the_first_slice_of_a_card_holds_the_gradients_of_all_and_the_others_only_theirs() -> (
    None
):
    sliced = DeviceSettings(carve=(Carve("GPU:0", (300,) * 4),))
    devices = tuple(f"GPU:{number}" for number in range(4))
    mirrored = replace(plan("mirrored", batch=64, devices=devices), devices=sliced)
    first, *others = list(predicted(mirrored, machine=TWO_CARDS).values())[:4]
    assert len({memory.total for memory in others}) == 1
    alone = replace(mirrored, distribution=Distribution("one_device", devices=("GPU:0",)))
    alone = replace(alone, training=Training(batch_size=16))
    single = predicted(alone, machine=TWO_CARDS)["GPU:0"].total
    assert first.total == single + round(ON_CARD * 3 * GRADIENTS)
    assert others[0].total <= single
    assert "the gradients of the other 3 replicas, 19,200 B" in first.other.formula
    ring = replace(mirrored, distribution=replace(mirrored.distribution, all_reduce="ring"))
    assert len({each.total for each in predicted(ring, machine=TWO_CARDS).values()} - {0}) == 1


@pytest.mark.parametrize("replicas", [2, 3, 4, 6])
def test_that_slices_that_gather_and_send_gradients_hold_what_was_rehearsed_of_such_steps(
    replicas: int,
) -> None:
    full, light = (StepMemory((MemoryMoment(size),)) for size in (900_000, 500_000))
    steps = {"GPU": STEP, GATHERING: full, SENDING: light}
    facts = replace(FACTS, model=replace(MODEL, steps=steps))
    sliced = DeviceSettings(carve=(Carve("GPU:0", (300,) * replicas),))
    devices = tuple(f"GPU:{number}" for number in range(replicas))
    mirrored = replace(plan("mirrored", batch=60, devices=devices), devices=sliced)
    found = predicted(mirrored, facts, TWO_CARDS)
    assert MODEL.graph is not None
    beside = WEIGHTS + SLOTS + 2 * (60 // replicas) * MODEL.graph.input_bytes
    assert found["GPU:1"].total == beside + 500_000
    # The gradients of each replica more or less than the four that are rehearsed count alike.
    more = (replicas - 4) * GRADIENTS
    margin = ON_CARD if more > 0 else 1.0
    assert found["GPU:0"].total == beside + 900_000 + round(more * margin)


def test_that_a_card_also_has_the_next_two_batches_and_what_is_lost_between_its_variables() -> None:
    one = replace(plan("one_device", devices=("GPU:0",)), devices=DeviceSettings())
    lossy = replace(MODEL, steps={"GPU": replace(STEP, lost=700)})
    total = predicted(one, replace(FACTS, model=lossy), TWO_CARDS)["GPU:0"].total
    assert MODEL.graph is not None
    ahead = 2 * 32 * MODEL.graph.input_bytes
    assert ahead > 0
    assert total == WEIGHTS + SLOTS + STEP.peak(32) + 700 + ahead


def test_that_what_a_kernel_needs_is_there_on_the_card_that_has_its_layer() -> None:
    layers = {"one": ("GPU:0",), "two": ("GPU:1",), "three": ("GPU:1",)}
    placed = replace(plan("placed", placed=Placed(2, layers)), devices=DeviceSettings())
    assert MODEL.graph is not None
    one, *others = MODEL.graph.layers

    def totals(scratch: int) -> list[int]:
        around = one.kept_bytes + one.passing_bytes
        needy = replace(one, kernels=(Kernel(around, scratch),))
        graph = ModelGraph("one", (needy, *others))
        step = StepMemory((MemoryMoment(1),))
        facts = PlanFacts(model=replace(MODEL, graph=graph, steps={"GPU": step}))
        return [each.total for each in predict(placed, TWO_CARDS, facts)]

    more = [much - none for much, none in zip(totals(5000), totals(0), strict=True)]
    assert more == [round(ON_CARD * 5000), 0, 0]


THREE_SLICES, FOUR_SLICES = (
    DeviceSettings(carve=(Carve("GPU:0", (300,) * count),)) for count in (3, 4)
)


def _placed_on_a_card(
    layers,
    held: dict[str, tuple[str, ...]],
    micro_batches: int = 1,
    devices: DeviceSettings | None = None,
) -> int:
    """The bytes that a card's second slice needs for these layers, of samples of 100 bytes."""
    graph = ModelGraph("made", tuple(layers), input_bytes=100)
    facts = PlanFacts(model=ModelFacts(graph, steps={"GPU": StepMemory()}))
    placed = replace(
        plan("placed", 32, placed=Placed(micro_batches, held)),
        devices=devices or DeviceSettings(),
    )
    return predicted(placed, facts, TWO_CARDS)["GPU:1"].total


def test_that_a_kernel_of_an_early_layer_runs_on_a_card_when_late_activations_are_gone() -> None:
    head = GraphLayer("head", "Dense", output_bytes=8)
    early = GraphLayer("early", "Conv2D", ("head",), kept_bytes=1000, around_bytes=1500)
    late = GraphLayer("late", "Conv2D", ("early",), kept_bytes=2000, around_bytes=2500)
    on = {"head": ("GPU:0",), "early": ("GPU:1",), "late": ("GPU:1",)}

    def total(scratch: int) -> int:
        needy = replace(early, kernels=(Kernel(500, scratch),))
        return _placed_on_a_card((head, needy, late), on)

    # What comes in, what the early layer keeps, and what is there around the late one.
    assert total(0) == total(90_000) == round(ON_CARD * 32 * (8 + 1000 + 2500))
    assert total(200_000) == round(ON_CARD * (32 * (8 + 500) + 200_000))


def test_that_gradients_of_late_weights_are_there_when_an_early_layer_is_computed() -> None:
    head = GraphLayer("head", "Dense", output_bytes=8)
    early = GraphLayer("early", "Dense", ("head",), kept_bytes=10, around_bytes=500)
    late = GraphLayer(
        "late", "Dense", ("early",), kept_bytes=10, around_bytes=20, trainable_bytes=9000
    )
    on = {"head": ("GPU:0",), "early": ("GPU:1",), "late": ("GPU:1",)}
    assert _placed_on_a_card((head, early, late), on) == round(ON_CARD * (9000 + 32 * (8 + 500)))


def test_that_what_no_gradient_needs_is_gone_on_a_card_when_its_gradient_comes() -> None:
    """A stage that only flattens holds a micro-batch that is sent ahead and one gradient.

    Of a batch in one piece the thread that received it may have it yet (seen in traces).
    """
    head = GraphLayer("head", "Dense", output_bytes=800)
    flat = GraphLayer("flat", "Flatten", ("head",), around_bytes=800, keeps_inputs=False)
    on = {"head": ("GPU:0",), "flat": ("GPU:1",)}

    def total(stage: GraphLayer, parts: int) -> int:
        return _placed_on_a_card((head, stage), on, parts)

    needed = replace(flat, keeps_inputs=True)
    assert total(flat, 1) == total(needed, 1) == round(ON_CARD * 32 * (800 + 800))
    assert total(flat, 4) == round(ON_CARD * 8 * (800 + 800))
    assert total(needed, 4) == round(ON_CARD * 8 * (2 * 800 + 800))


def test_that_the_thread_that_received_a_whole_batch_may_have_it_yet_when_weights_change() -> None:
    """Beside the gradient of what came, which is sent back."""
    head = GraphLayer("head", "Dense", output_bytes=500)
    relu = GraphLayer("relu", "ReLU", ("head",), kept_bytes=500, keeps_inputs=False)
    dense = GraphLayer("dense", "Dense", ("relu",), trainable_bytes=90_000)
    on = {"head": ("GPU:0",), "relu": ("GPU:1",), "dense": ("GPU:1",)}
    assert _placed_on_a_card((head, relu, dense), on) == round(
        ON_CARD * (2 * 90_000 + 32 * (500 + 500))
    )


def test_that_of_several_tensors_of_a_whole_batch_one_thread_may_have_the_largest_yet() -> None:
    """As of two branches that a card joins: each came by a thread of its own."""
    branches = [GraphLayer(name, "Dense", output_bytes=size) for name, size in (("a", 8), ("b", 5))]
    joined = GraphLayer(
        "joined", "Concatenate", ("a", "b"), around_bytes=26, keeps_inputs=False, output_bytes=13
    )
    on = {"a": ("GPU:0",), "b": ("GPU:0",), "joined": ("GPU:1",)}
    assert _placed_on_a_card((*branches, joined), on) == round(ON_CARD * 32 * (8 + 26))
    # Of the micro-batch that is sent ahead both come.
    assert _placed_on_a_card((*branches, joined), on, 4) == round(ON_CARD * 8 * (8 + 5 + 26))


def test_that_what_is_passed_on_as_it_came_stays_on_a_card_if_a_layer_behind_needs_it() -> None:
    """A flattened tensor is the memory of what came in: the weights behind it have gradients."""
    head = GraphLayer("head", "Dense", output_bytes=800)
    flat = GraphLayer("flat", "Flatten", ("head",), output_bytes=800, keeps_inputs=False)
    dense = GraphLayer("dense", "Dense", ("flat",), around_bytes=800)
    on = {"head": ("GPU:0",), "flat": ("GPU:1",), "dense": ("GPU:1",)}
    assert _placed_on_a_card((head, flat, dense), on) == round(ON_CARD * 32 * (800 + 800))
    assert _placed_on_a_card((head, flat, dense), on, 4) == round(ON_CARD * 8 * (2 * 800 + 800))
    needless = replace(dense, keeps_inputs=False)
    assert _placed_on_a_card((head, flat, needless), on, 4) == round(ON_CARD * 8 * (800 + 800))
    apart = {**on, "dense": ("GPU:2",)}
    # Where it is on another card it waits to be sent there, beside a gradient.
    assert _placed_on_a_card((head, flat, dense), apart, 4, THREE_SLICES) == round(
        ON_CARD * 8 * (800 + 800)
    )


def test_that_outputs_that_meet_on_another_card_come_from_it_as_one() -> None:
    """An operation between layers, such as a sum, runs where its first input is."""
    head = GraphLayer("head", "Dense", output_bytes=800)
    more = GraphLayer("more", "Dense", ("head",), output_bytes=800, kept_bytes=800)
    apart = GraphLayer("both", "Normalization", ("head", "more"), around_bytes=2000)
    both = replace(apart, meets=(("head", "more"),))
    before = {"head": ("GPU:0",), "more": ("GPU:0",), "both": ("GPU:1",)}
    assert _placed_on_a_card((head, more, apart), before) == round(ON_CARD * 32 * 3600)
    assert _placed_on_a_card((head, more, both), before) == round(ON_CARD * 32 * 2800)
    # What the other one is added to comes by itself.
    beside = {**before, "more": ("GPU:1",)}
    assert _placed_on_a_card((head, more, both), beside) == _placed_on_a_card(
        (head, more, apart), beside
    )


def test_that_what_meets_is_held_where_its_first_output_is_and_waits_there_to_be_taken() -> None:
    """The sum of an output here and one from elsewhere is made here, for a third card."""
    head = GraphLayer("head", "Dense", output_bytes=100)
    first = GraphLayer(
        "first", "Dense", ("head",), output_bytes=800, kept_bytes=800, output_kept_bytes=800
    )
    second = GraphLayer("second", "Dense", ("head",), output_bytes=700, around_bytes=2000)
    both = GraphLayer("both", "Normalization", ("first", "second"), meets=(("first", "second"),))
    on = {"head": ("GPU:0",), "first": ("GPU:1",), "second": ("GPU:0",), "both": ("GPU:2",)}

    def total(met: MetOutputs, micro_batches: int = 1) -> int:
        layers = head, replace(first, met_outputs=met), second, both
        return _placed_on_a_card(layers, on, micro_batches, THREE_SLICES)

    apart, added = MetOutputs(), MetOutputs(("second",), bytes=800)
    assert total(apart) == round(ON_CARD * 32 * (100 + 800))
    # Both of them, and their sum.
    assert total(added) == round(ON_CARD * 32 * (100 + 800 + 700 + 800))
    first = replace(first, around_bytes=3000)
    # What meets a whole batch's may be there yet as that goes back.
    assert total(apart) == round(ON_CARD * 32 * (100 + 3000))
    assert total(added) == round(ON_CARD * 32 * (100 + 3000 + 700))
    # While one micro-batch goes back, another one's sum waits, although the output is kept, and
    # what the next one's meets has come; of a product all that has come is needed.
    going = 3 * 100 + 2 * 800 + 3000
    assert total(apart, 4) == round(ON_CARD * 8 * going)
    assert total(added, 4) == round(ON_CARD * 8 * (going + 2 * 800 + 700))
    needed = replace(added, kept=True)
    assert total(needed, 4) == round(ON_CARD * 8 * (going + 2 * 800 + 2 * 700))


def test_that_outputs_that_are_not_kept_wait_on_a_card_until_the_next_one_takes_them() -> None:
    """As seen on practice cards: while one micro-batch goes back, others wait to be sent on."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    grown = GraphLayer("grown", "UpSampling2D", ("head",), output_bytes=800, around_bytes=800)
    tail = GraphLayer("tail", "Dense", ("grown",), output_bytes=8)
    on = {"head": ("GPU:0",), "grown": ("GPU:1",), "tail": ("GPU:2",)}

    def total(layer: GraphLayer, micro_batches: int) -> int:
        return _placed_on_a_card((head, layer, tail), on, micro_batches, THREE_SLICES)

    # It takes two: one goes back, and of the other the output waits.
    assert total(grown, 4) == round(ON_CARD * (2 * 8 * 8 + 8 * 800 + 8 * 800))
    assert total(grown, 1) == round(ON_CARD * 32 * (8 + 800))
    # What is kept waits for nothing more.
    kept = replace(grown, kept_bytes=800, output_kept_bytes=800)
    assert total(kept, 4) == total(grown, 4)


def test_that_another_micro_batch_is_on_its_way_forward_while_one_goes_back() -> None:
    """A recurrent layer keeps lists: its outputs are turned, joined and sent, and not kept."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    mine = GraphLayer(
        "mine", "GRU", ("head",), kept_bytes=3000, output_bytes=800, around_bytes=3000
    )
    late = GraphLayer("late", "ReLU", ("mine",))
    tail = GraphLayer("tail", "Dense", ("late",))
    on = {"head": ("GPU:0",), "mine": ("GPU:1",), "late": ("GPU:2",), "tail": ("GPU:2",)}
    here = {**on, "late": ("GPU:1",)}

    def total(forward: int, on: dict[str, tuple[str, ...]], count: int = 4, kept: int = 0) -> int:
        layers = head, replace(mine, forward_bytes=forward), replace(late, kept_bytes=kept), tail
        return _placed_on_a_card(layers, on, count, THREE_SLICES)

    going = 2 * 8 + 3000 + 3000
    assert total(0, on) == total(800, on) == round(ON_CARD * 8 * (going + 800))
    assert total(1600, on) == round(ON_CARD * 8 * (going + 1600))
    # A single one is on its way back, or not yet.
    assert total(1600, on, 1) == total(0, on, 1)
    # What the layers behind keep is not there by then.
    assert total(0, here) == round(ON_CARD * 8 * going)
    assert total(1600, here) == round(ON_CARD * 8 * (going + 1600))
    assert total(1600, here, kept=1000) == round(ON_CARD * 8 * (going + 2 * 1000 + 600))


def test_that_of_outputs_that_are_not_kept_one_waits_on_a_card_and_more_if_they_go_further() -> (
    None
):
    """The next card takes in one micro-batch fewer; one far behind takes in only two."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    grown = GraphLayer("grown", "UpSampling2D", ("head",), output_bytes=800, around_bytes=800)
    third = GraphLayer("third", "Dense", ("grown",), output_bytes=8)
    tail = GraphLayer("tail", "Dense", ("third",))
    on = {name: (f"GPU:{at}",) for at, name in enumerate(("head", "grown", "third", "tail"))}

    def total(last: GraphLayer) -> int:
        return _placed_on_a_card((head, grown, third, last), on, 4, FOUR_SLICES)

    assert total(tail) == round(ON_CARD * 8 * (3 * 8 + 800 + 800))
    # Both cards send a gradient for it then.
    twice = round(ON_CARD * 8 * (24 + 800 + 1600 + 800))
    assert total(replace(tail, inputs=("third", "grown"))) == twice


def test_that_what_only_a_layer_elsewhere_needs_again_is_not_kept_on_a_card_but_sent() -> None:
    """As seen on practice cards: the next card has a copy, and this one lets go of it."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    mine = GraphLayer(
        "mine", "Dense", ("head",), kept_bytes=900, output_bytes=800, output_kept_bytes=800,
        around_bytes=900,
    )  # fmt: skip
    third = GraphLayer("third", "Dense", ("mine",), output_bytes=8)
    tail = GraphLayer("tail", "Dense", ("third",))
    on = {name: (f"GPU:{at}",) for at, name in enumerate(("head", "mine", "third", "tail"))}

    def total(lent: int, **elsewhere: tuple[str, ...]) -> int:
        layers = head, replace(mine, lent_bytes=lent), third, tail
        return _placed_on_a_card(layers, {**on, **elsewhere}, 4, FOUR_SLICES)

    assert total(0) == round(ON_CARD * 8 * (3 * 8 + 2 * 900 + 900))
    assert total(800) == round(ON_CARD * 8 * (3 * 8 + 2 * 100 + 800 + 900))
    # A layer here needs it here.
    assert total(800, third=("GPU:1",)) == total(0, third=("GPU:1",))


def test_that_a_gradient_from_another_card_outlives_its_use_while_its_receiver_holds_it() -> None:
    """Seen at `SameWorkerRecvDone`: nothing is written over it, and early layers may meet it."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    early = GraphLayer("early", "Dense", ("head",), kept_bytes=10, around_bytes=2000)
    late = GraphLayer("late", "ReLU", ("early",), output_bytes=700, kept_bytes=10, around_bytes=900)
    tail = GraphLayer("tail", "Dense", ("late",))
    on = {"head": ("GPU:0",), "early": ("GPU:1",), "late": ("GPU:1",), "tail": ("GPU:2",)}

    def total(around: int, outlived: int) -> int:
        late_one = replace(late, around_bytes=around, outlived_bytes=outlived)
        return _placed_on_a_card((head, early, late_one, tail), on, 1, THREE_SLICES)

    assert total(900, 0) == total(900, 300) == round(ON_CARD * 32 * (8 + 2000 + 700))
    assert total(2900, 0) == round(ON_CARD * 32 * (8 + 10 + 2900))
    assert total(2900, 300) == round(ON_CARD * 32 * (8 + 10 + 2900 + 300))
    # Here it is made in the memory of what it is made from.
    both = {**on, "tail": ("GPU:1",)}
    assert _placed_on_a_card((head, early, late, tail), both) == round(ON_CARD * 32 * (8 + 2000))


def test_that_a_gradient_is_written_over_what_came_to_the_first_layer_of_a_card() -> None:
    head = GraphLayer("head", "ReLU", output_bytes=800, kept_bytes=800)
    pool = GraphLayer("pool", "MaxPooling2D", ("head",), around_bytes=1000, spared_bytes=300)
    needy = replace(pool, kernels=(Kernel(900, 90_000),))
    on = {"head": ("GPU:0",), "pool": ("GPU:1",)}
    assert _placed_on_a_card((head, pool), on) == round(ON_CARD * 32 * (800 + 800))
    kept = replace(pool, around_bytes=1500)
    assert _placed_on_a_card((head, kept), on) == round(ON_CARD * 32 * (800 + 1200))
    needed = _placed_on_a_card((head, needy), on)
    assert needed == round(ON_CARD * (32 * (800 + 600) + 90_000))
    # Of a part of it nothing is known.
    split = {"head": ("GPU:0",), "pool": ("GPU:1", "GPU:2")}
    parts = [
        _placed_on_a_card((head, each), split, devices=THREE_SLICES)
        for each in (kept, replace(kept, spared_bytes=0))
    ]
    assert parts[0] == parts[1] > 0
    # The layer before it needs the same tensor where both are.
    here = dict.fromkeys(on, ("GPU:1",))
    assert _placed_on_a_card((head, kept), here) == round(ON_CARD * 32 * (100 + 800 + 1500))


def test_that_a_kernel_needs_no_scratch_for_a_micro_batch_that_is_too_small_for_it() -> None:
    """As Eigen's of volumes, which unroll many at once or none."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    on = {"head": ("GPU:0",), "layer": ("GPU:1",)}

    def total(least: int, parts: int) -> int:
        kernels = (Kernel(100, 900_000, least),)
        layer = GraphLayer("layer", "Conv3D", ("head",), around_bytes=100, kernels=kernels)
        return _placed_on_a_card((head, layer), on, parts)

    assert total(32, 1) == total(0, 1) == round(ON_CARD * (32 * (8 + 100) + 900_000))
    assert total(33, 1) == round(ON_CARD * 32 * (8 + 100))
    assert total(32, 2) < 900_000 < total(16, 2)


def test_that_each_kernel_of_a_layer_has_its_own_scratch_beside_what_is_held_then() -> None:
    """The gradient of a filter needs much scratch, that of its input much beside."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    kernels = Kernel(100, 90_000), Kernel(2000, 10_000)
    layer = GraphLayer("layer", "Conv2D", ("head",), around_bytes=1500, kernels=kernels)
    on = {"head": ("GPU:0",), "layer": ("GPU:1",)}
    assert _placed_on_a_card((head, layer), on) == round(ON_CARD * (32 * 8 + 32 * 100 + 90_000))
    assert _placed_on_a_card((head, replace(layer, kernels=kernels[1:])), on) == round(
        ON_CARD * (32 * 8 + 32 * 2000 + 10_000)
    )


def test_that_what_came_in_is_there_of_a_micro_batch_on_its_way_while_another_goes_back() -> None:
    """As two outputs that are concatenated: the gradient needs neither, but they lie there yet."""
    head = GraphLayer("head", "Dense", output_bytes=500)
    joined = GraphLayer(
        "joined", "Concatenate", ("head",), kept_bytes=500, around_bytes=600, keeps_inputs=False
    )
    dense = GraphLayer("dense", "Dense", ("joined",), kept_bytes=400, around_bytes=600)
    tail = GraphLayer("tail", "Dense", ("dense",))
    on = {"head": ("GPU:0",), "joined": ("GPU:1",), "dense": ("GPU:1",), "tail": ("GPU:2",)}

    def total(kept: int) -> int:
        layers = head, joined, replace(dense, kept_bytes=kept), tail
        return _placed_on_a_card(layers, on, 4, THREE_SLICES)

    # One that is through holds more than one that is not, if the last layer keeps more than came.
    assert total(400) == round(ON_CARD * 8 * (500 + 600 + 500 + 500))
    assert total(4000) == round(ON_CARD * 8 * (500 + 600 + 500 + 4000))


def test_that_a_loop_has_zeros_for_each_micro_batch_and_a_turn_has_its_gradients() -> None:
    """The zeros to which it adds gradients wait for nothing: all lie there from the beginning."""
    head = GraphLayer("head", "Dense", output_bytes=8)
    plain = GraphLayer("loop", "LSTM", ("head",), around_bytes=100, trainable_bytes=9000)
    loop = replace(plain, added_up_bytes=9000)
    there = {"head": ("GPU:0",), "loop": ("GPU:1",)}

    def zeros(micro_batches: int, on: dict[str, tuple[str, ...]]) -> int:
        with_loop, without = (
            _placed_on_a_card((head, each), on, micro_batches) for each in (loop, plain)
        )
        return with_loop - without

    # Those of two are the gradient of the one that goes back, and the sum of those before.
    assert [zeros(count, there) for count in (1, 2)] == [0, 0]
    assert zeros(4, there) == pytest.approx(ON_CARD * 2 * 9000, abs=1)
    assert zeros(8, there) == pytest.approx(ON_CARD * 6 * 9000, abs=1)
    assert zeros(8, {"head": ("GPU:1",), "loop": ("GPU:0",)}) == 0
    # A turn makes its own before it adds them, as a kernel has scratch memory.
    turn = replace(loop, kernels=(Kernel(90, 9000),))
    more = [_placed_on_a_card((head, each), there, 4) for each in (loop, turn)]
    assert more[1] - more[0] == pytest.approx(ON_CARD * (9000 - 8 * 10), abs=1)


def test_that_a_gradient_waits_to_be_sent_back_while_the_third_micro_batch_goes_back() -> None:
    """Until then the card before has gone back with the one before; meanwhile none is taken in."""
    head = GraphLayer("head", "Dense", output_bytes=500)
    middle = GraphLayer("middle", "Flatten", ("head",), around_bytes=900, keeps_inputs=False)
    more, tail = GraphLayer("more", "Dense", ("middle",)), GraphLayer("tail", "Dense", ("more",))
    on = {name: (f"GPU:{at}",) for at, name in enumerate(("head", "middle", "more", "tail"))}

    def total(micro_batches: int, devices: dict[str, tuple[str, ...]] = on) -> int:
        layers = head, middle, more, tail
        return _placed_on_a_card(layers, devices, micro_batches, FOUR_SLICES)

    assert total(2) == round(ON_CARD * 16 * (900 + 500))
    assert total(4) == round(ON_CARD * 8 * (900 + 500 + 500))
    # With two on a card at once none is beside the one that goes back.
    two = {**on, "tail": ("GPU:2",)}
    assert total(4, two) == round(ON_CARD * 8 * (900 + 500))


def test_that_packing_all_gradients_takes_more_than_summing_one_after_the_other() -> None:
    packed = predicted(plan("mirrored", all_reduce="hierarchical_copy"))["CPU:0"].total
    assert packed - predicted(plan("mirrored"))["CPU:0"].total == 2 * GRADIENTS - 4 * 1000


def test_that_central_storage_keeps_the_slots_in_one_place() -> None:
    cards = predicted(replace(plan("central_storage"), devices=DeviceSettings()), machine=TWO_CARDS)
    assert {name: memory.slots.bytes for name, memory in cards.items()} == {
        "GPU:0": 0,
        "GPU:1": 0,
        "CPU:0": SLOTS,
    }
    assert cards["GPU:1"].weights.bytes == WEIGHTS
    assert "copy" in cards["GPU:1"].weights.formula


def test_that_a_card_that_is_sent_the_weights_holds_what_was_rehearsed_of_such_steps() -> None:
    """The weights are in the step: sent for each read, and gone after it."""
    central = replace(plan("central_storage", batch=64), devices=DeviceSettings())
    steps = {"GPU": STEP, READING: StepMemory((MemoryMoment(900_000),))}
    facts = replace(FACTS, model=replace(MODEL, steps=steps))
    found = predicted(central, facts, TWO_CARDS)
    assert MODEL.graph is not None
    assert found["GPU:0"].total == 900_000 + 2 * 32 * MODEL.graph.input_bytes
    assert "the next two batches" in found["GPU:0"].other.formula


def test_that_a_card_has_the_shapes_that_turns_of_loops_keep_and_a_cpu_does_not() -> None:
    assert MODEL.graph is not None
    first, *others = MODEL.graph.layers
    looping = ModelGraph("one", (replace(first, shape_bytes=70_000), *others), input_bytes=400)
    plain = replace(looping, layers=MODEL.graph.layers)

    def totals(strategy: str, graph: ModelGraph, machine) -> dict[str, int]:
        facts = PlanFacts(model=replace(MODEL, graph=graph, steps={"GPU": STEP, "CPU": STEP}))
        spread = replace(plan(strategy), devices=DeviceSettings())
        return {name: each.total for name, each in predicted(spread, facts, machine).items()}

    for strategy in ("one_device", "mirrored", "central_storage"):
        for machine in (TWO_CARDS, WITHOUT_CARDS):
            with_them, without = (totals(strategy, x, machine) for x in (looping, plain))
            for name, total in without.items():
                more = 70_000 if total and name.startswith("GPU") else 0
                assert with_them[name] == total + more


def test_that_a_device_that_keeps_the_variables_may_train_as_well() -> None:
    found = predicted(plan("central_storage", parameter_device="CPU:1"))
    assert [memory.slots.bytes for memory in found.values()] == [0, SLOTS, 0, 0]
    assert found["CPU:1"].activations.bytes > 0
    assert found["CPU:0"].weights.bytes == 0


def test_that_a_single_replica_leaves_its_variables_on_the_parameter_device() -> None:
    alone = plan("central_storage", devices=("CPU:2",), parameter_device="CPU:0")
    assert [memory.slots.bytes for memory in predicted(alone).values()] == [SLOTS, 0, 0, 0]
    assert predicted(alone)["CPU:2"].activations.bytes == 600 * 32


def test_that_placed_layers_take_their_weights_and_slots_with_them() -> None:
    placed = Placed(1, {"one": ("CPU:0",), "two": ("CPU:2",), "three": ("CPU:2",)})
    found = predicted(plan("placed", placed=placed))
    assert [memory.weights.bytes for memory in found.values()] == [4000, 0, 2400, 0]
    assert [memory.slots.bytes for memory in found.values()] == [8012, 0, 4800, 0]
    assert found["CPU:0"].activations.bytes == 400 * 32


def test_that_a_split_layer_is_shared_evenly() -> None:
    placed = Placed(1, {"one": ("CPU:0", "CPU:1"), "two": ("CPU:1",)})
    found = predicted(plan("placed", placed=placed))
    assert found["CPU:0"].weights.bytes == 2000
    assert found["CPU:1"].weights.bytes == 2000 + 2000 + 400


def test_that_micro_batches_shrink_what_passes_and_not_what_is_kept() -> None:
    layers = {"one": ("CPU:0",)}
    halves = predicted(plan("placed", 1000, placed=Placed(2, layers)), NOTHING_FORGOTTEN)["CPU:0"]
    cut = predicted(plan("placed", 1000, placed=Placed(4, layers)), NOTHING_FORGOTTEN)["CPU:0"]
    assert cut.activations.bytes == halves.activations.bytes
    assert halves.total - cut.total == 800 * 250


@given(st.integers(1, 5000))
def test_that_a_model_placed_whole_on_one_device_holds_no_less_than_its_rehearsed_step(
    batch,
) -> None:
    placed = predicted(plan("placed", batch, placed=Placed(1, {"one": ("CPU:1",)})))["CPU:1"]
    alone = predicted(plan(batch=batch))["CPU:0"]
    assert placed.total >= alone.total - MODEL.state_bytes


def test_that_every_micro_batch_that_is_computed_holds_what_the_formula_forgets_of_one() -> None:
    layers = {"one": ("CPU:0",)}
    rehearsed = StepMemory((MemoryMoment(50_000, 2000),))
    facts = replace(FACTS, model=replace(MODEL, steps={"CPU": rehearsed}))
    # A micro-batch of 25 samples: kept, what passes, and the batch itself; the gradients of the
    # weights.
    forgotten = rehearsed.peak(25) - (600 + 800 + 40) * 25 - GRADIENTS
    known = predicted(plan("placed", 100, placed=Placed(4, layers)), NOTHING_FORGOTTEN)[
        "CPU:0"
    ].total
    for cores, at_work in ((1, 1), (2, 2), (16, 4)):
        machine = replace(WITHOUT_CARDS, cpu_cores=cores)
        found = predicted(plan("placed", 100, placed=Placed(4, layers)), facts, machine)["CPU:0"]
        assert found.total - known == at_work * forgotten
        assert (
            f"what operations and the allocator take besides, {at_work * forgotten:,} B"
            in found.other.formula
        )


def test_that_what_the_formula_forgets_is_divided_by_what_layers_keep_and_their_gradients() -> None:
    facts = replace(FACTS, model=replace(MODEL, steps={"CPU": StepMemory((MemoryMoment(10**6),))}))
    placed = plan("placed", 20, placed=Placed(2, {"one": ("CPU:0",), "two": ("CPU:1",)}))
    more = predicted(placed, facts)
    less = predicted(placed, NOTHING_FORGOTTEN)
    first, second = (more[name].total - less[name].total for name in ("CPU:0", "CPU:1"))
    held = 400 * 20 + 4000, 200 * 20 + 2400
    assert first / second == pytest.approx(held[0] / held[1], rel=1e-4)
    at_work = min(2, WITHOUT_CARDS.cpu_cores)
    forgotten = 10**6 - (600 + 800 + 40) * 10 - GRADIENTS
    assert first + second == pytest.approx(at_work * forgotten, abs=2)


@given(st.integers(1, 5000), st.integers(0, 3), st.integers(0, 3))
def test_that_logical_cpus_together_hold_what_one_would_as_they_have_one_memory(
    batch, home, other
) -> None:
    layers = {"one": (f"CPU:{home}",), "two": (f"CPU:{other}",)}
    placed = predicted(plan("placed", batch, placed=Placed(1, layers)))
    alone = predicted(plan(batch=batch))["CPU:0"].total - MODEL.state_bytes
    assert sum(each.total for each in placed.values()) == pytest.approx(alone, abs=4)
    for each in placed.values():
        assert each.total >= each.weights.bytes + each.slots.bytes


def test_that_of_many_micro_batches_only_what_is_kept_of_those_under_way_is_there() -> None:
    layers = {"one": ("CPU:0",)}
    many = predicted(plan("placed", 1000, placed=Placed(8, layers)))["CPU:0"]
    assert many.activations.bytes == 600 * 500
    assert "600 B a sample × 500 samples (4 micro-batches in flight)" in many.activations.formula


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
def test_that_only_what_micro_batches_hold_on_cpus_is_called_a_bound(device) -> None:
    facts = replace(FACTS, model=replace(MODEL, steps=dict.fromkeys(("CPU", "GPU"), STEP)))
    placed = [plan("placed", 64, placed=Placed(count, {"one": (device,)})) for count in (1, 4)]
    machine = TWO_CARDS if device == "GPU:0" else WITHOUT_CARDS
    whole, many = (
        predicted(replace(each, devices=DeviceSettings()), facts, machine)[device]
        for each in placed
    )
    assert (whole.bound, whole.at_most) == (False, "")
    assert many.bound == ("at most this" in many.total_formula) == (device == "CPU:0")


def test_that_gradients_are_held_of_micro_batches_going_back_at_once_and_of_the_others_sum() -> (
    None
):
    layers = {"one": ("CPU:0",)}
    four, five, many = (
        predicted(plan("placed", 1, placed=Placed(count, layers)))["CPU:0"] for count in (4, 5, 32)
    )
    assert five.total - four.total == GRADIENTS
    assert many.total == five.total
    assert (
        "or, if that is more, 5 gradients of each variable, to be summed, or what updates"
        in many.other.formula
    )


def test_that_a_card_has_taken_in_the_next_micro_batches_when_two_gradients_are_added() -> None:
    """As seen on practice cards: the second of four goes back while the next two lie there."""
    assert [Step(16, 4, turns, in_turn=True).beside for turns in (1, 2, 3, 4)] == [4, 8, 12, 12]
    assert [Step(16, 4, 4).beside, Step(16).beside, Step(16, 2, 2, in_turn=True).beside] == [
        4,
        16,
        8,
    ]


def test_that_the_more_devices_or_cores_are_to_be_kept_busy_the_more_are_under_way() -> None:
    assert [at_once(devices) for devices in (1, 3, 4, 8)] == [4, 4, 5, 9]
    assert [at_once(2, cores) for cores in (2, 16)] == [4, 16]
    assert [Step(16, count, 9).summed for count in (1, 9, 16)] == [1, 9, 10]
    assert [Step(16, count, 9, in_turn=True).summed for count in (1, 2, 16)] == [1, 2, 2]
    assert [samples_at_once(100, count, 4) for count in (1, 3, 7, 10)] == [100, 100, 60, 40]


def test_that_a_card_holds_a_micro_batch_for_itself_and_for_each_device_behind_it() -> None:
    row = [("GPU:0",), ("GPU:0",), ("GPU:1",), ("CPU:0",), ("GPU:2",)]
    assert turns_at_once(row) == {"GPU:0": 4, "GPU:1": 3, "GPU:2": 1}
    assert turns_at_once([("GPU:0",)]) == {"GPU:0": 1}
    to_and_fro = [("GPU:0",), ("GPU:1",), ("GPU:0",)]
    assert turns_at_once(to_and_fro) == {"GPU:0": 2, "GPU:1": 2}
    assert turns_at_once([("GPU:0",), ("GPU:1", "GPU:2")]) == {"GPU:0": 3}


def test_that_the_batch_is_where_a_layer_takes_it() -> None:
    placed = Placed(1, {"one": ("CPU:0",), "two": ("CPU:1",)})
    found = predicted(plan("placed", 100, placed=placed))
    assert "the batch itself, 40 B a sample × 100 samples" in found["CPU:0"].other.formula
    assert "batch itself" not in found["CPU:1"].other.formula


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ({}, ["A", "A", "A"]),
        ({"one": ("B",)}, ["B", "B", "B"]),
        ({"three": ("B",)}, ["B", "B", "B"]),
        ({"two": ("B",), "three": ("C",)}, ["B", "B", "C"]),
    ],
)
def test_that_a_layer_that_is_left_out_goes_where_its_neighbours_are(layers, expected) -> None:
    assert [
        devices[0] for devices in THREE_LAYERS.devices_of(layers, ("A", "B")).values()
    ] == expected


def test_that_the_limit_is_the_slices_or_the_cards() -> None:
    carved = DeviceSettings(carve=(Carve("GPU:0", (1024, 2048)),))
    limits = [memory.limit_bytes for memory in predict(Plan(devices=carved), TWO_CARDS, FACTS)]
    most = most_mib(TWO_CARDS.cards[1])
    assert limits == [1024 * MIB, 2048 * MIB, None if most is None else most * MIB, None]


def test_that_what_does_not_fit_is_said() -> None:
    small = Plan(
        devices=DeviceSettings(carve=(Carve("GPU:0", (1,)),)), training=Training(batch_size=100_000)
    )
    memory = predicted(small, machine=TWO_CARDS)
    assert memory["GPU:0"].fits is False
    assert memory["CPU:0"].fits is None


def test_that_facts_survive_being_told_as_json() -> None:
    assert decoded(encoded(FACTS)) == FACTS
