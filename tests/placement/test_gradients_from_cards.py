"""What a card holds of the gradients that come from other cards, and where weights are updated."""

from __future__ import annotations

from dataclasses import replace

from made_machines import TWO_CARDS

from gpu_studio.placement.apart import Apart
from gpu_studio.placement.layer_holds import Kernel
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph, PlanFacts
from gpu_studio.placement.step_memory import ON_CARD, StepMemory
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Placed, Plan, Training

SLICES = DeviceSettings(carve=(Carve("GPU:0", (300, 300, 300)),), visible=("GPU:0",))


def held(layers: dict[GraphLayer, int], micro_batches: int = 1, batch: int = 32) -> dict[str, int]:
    """The bytes that each slice of a card needs for these layers, with the number of each one's."""
    graph = ModelGraph("made", tuple(layers), input_bytes=100)
    facts = PlanFacts(model=ModelFacts(graph, steps={"GPU": StepMemory()}))
    placed = Placed(micro_batches, {each.name: (f"GPU:{at}",) for each, at in layers.items()})
    plan = Plan(
        devices=SLICES,
        training=Training(batch_size=batch),
        distribution=Distribution("placed", placed=placed),
    )
    return {each.device: each.total for each in predict(plan, TWO_CARDS, facts)}


def test_that_the_gradient_that_came_last_may_be_there_yet_when_weights_change() -> None:
    """The thread that received it computes the gradients of weights, and begins their updates."""
    wide = GraphLayer("wide", "Dense", trainable_bytes=90_000, output_bytes=500)
    tail = GraphLayer("tail", "Dense", ("wide",))
    assert held({wide: 0, tail: 1})["GPU:0"] == round(ON_CARD * (2 * 90_000 + 32 * 500))
    # Where no other card takes the output, none comes.
    assert held({wide: 0, tail: 0})["GPU:0"] == round(ON_CARD * 2 * 90_000)


def test_that_updates_begin_beside_the_rows_of_the_whole_batch_and_their_squares() -> None:
    """As of an embedding: each of Adam's changes is as large as the table, and made from rows."""
    table = GraphLayer(
        "table", "Embedding", trainable_bytes=90_000, output_bytes=500, row_bytes=500
    )
    tail = GraphLayer("tail", "Dense", ("table",))
    whole = round(ON_CARD * (2 * 90_000 + 2 * 32 * 500))
    assert held({table: 0, tail: 1})["GPU:0"] == whole  # what came are these rows
    assert held({table: 0, tail: 0})["GPU:0"] == whole
    assert held({table: 0, tail: 1}, 4)["GPU:0"] == whole


def test_that_one_gradient_for_two_outputs_comes_to_their_card_twice() -> None:
    """As behind a sum: one waits for the layer that made the first term, the other one is used."""
    first = GraphLayer("first", "Dense", output_bytes=700, kept_bytes=10, around_bytes=800)
    second = GraphLayer("second", "Dense", ("first",), output_bytes=700, around_bytes=2000)
    added = GraphLayer("added", "Add", ("first", "second"), output_bytes=700, gives_back=0)
    alone = round(ON_CARD * 32 * (100 + 10 + 2000))
    assert held({first: 0, second: 0, added: 1})["GPU:0"] == round(ON_CARD * 32 * (110 + 2700))
    # It may give back one for each; and on one card there is one.
    assert held({first: 0, second: 0, replace(added, gives_back=2): 1})["GPU:0"] == alone
    assert held({first: 0, second: 0, added: 0})["GPU:0"] == alone
    assert held({first: 0, second: 1, added: 2})["GPU:1"] == round(ON_CARD * 32 * (700 + 2000))


def test_that_the_gradient_of_a_sum_goes_past_the_cards_between_its_terms() -> None:
    """Where the whole model is it waits for the first term, and is held around all between."""
    first = GraphLayer("first", "Dense", output_bytes=700)
    passing = (Apart(700, ((("added", "first"), 700),)),)
    between = GraphLayer(
        "between", "Dense", ("first",), output_bytes=700, around_bytes=2100, apart=passing
    )
    second = GraphLayer("second", "Dense", ("between",), output_bytes=700, gives_back=1)
    added = GraphLayer("added", "Add", ("first", "second"), output_bytes=700)
    on = {first: 0, between: 1, second: 2, added: 2}
    assert held(on)["GPU:1"] == round(ON_CARD * 32 * (700 + 2100 - 700))
    # It is where it comes from, and where it waits.
    both = {first: 0, between: 1, second: 1, added: 1}
    assert held(both)["GPU:1"] == round(ON_CARD * 32 * (700 + 2100))
    assert held({first: 0, between: 0, second: 1, added: 1})["GPU:0"] == round(
        ON_CARD * 32 * (100 + 2100)
    )


def test_that_each_micro_batch_that_is_under_way_keeps_the_shapes_of_its_loops() -> None:
    loop = GraphLayer("loop", "GRU", kept_bytes=2000, around_bytes=2000, output_bytes=8)
    tail = GraphLayer("tail", "Dense", ("loop",))
    counted = replace(loop, shape_bytes=5000)

    def more(parts: int, on: int) -> int:
        return (
            held({counted: on, tail: 1}, parts)[f"GPU:{on}"]
            - held({loop: on, tail: 1}, parts)[f"GPU:{on}"]
        )

    assert more(1, 0) == round(ON_CARD * 5000)
    # The last card has one at a time, that before it two.
    assert more(4, 0) == round(ON_CARD * 2 * 5000)
    assert more(4, 1) == round(ON_CARD * 5000)


def test_that_what_a_card_sends_back_for_both_terms_of_a_sum_is_one_gradient() -> None:
    """It is sent twice from the same memory."""
    first = GraphLayer("first", "Dense", output_bytes=700)
    second = GraphLayer("second", "Dense", ("first",), output_bytes=700)
    added = GraphLayer(
        "added", "Add", ("first", "second"), output_bytes=700, gives_back=0, keeps_inputs=False
    )
    tail = GraphLayer("tail", "Dense", ("added",), trainable_bytes=90_000)
    on: dict[GraphLayer, int] = {first: 0, second: 1, added: 2, tail: 2}
    alone = round(ON_CARD * (2 * 90_000 + 32 * (700 + 700)))
    assert held(on)["GPU:2"] == alone
    # One of its own for each is sent back; so is the sum with what another layer gives for a term.
    both = {first: 0, second: 1, replace(added, gives_back=2): 2, tail: 2}
    assert held(both)["GPU:2"] == alone + round(ON_CARD * 32 * 700)
    other = GraphLayer("other", "Dense", ("second",), keeps_inputs=False)
    assert held({**on, other: 2})["GPU:2"] == alone + round(ON_CARD * 32 * 700)


def test_that_what_lies_beside_a_layer_is_on_its_card_with_those_that_make_or_take_it() -> None:
    """As of two heads: what the nearer card has of the farther head's is on the first one."""
    there = (Apart(700, ((("far", "trunk"), 700),)),)
    kernels = Kernel(3000, 50_000, apart=there), Kernel(2000, 60_000)
    trunk = GraphLayer("trunk", "Conv2D", output_bytes=700)
    near = GraphLayer(
        "near", "Conv2D", ("trunk",), output_bytes=10, around_bytes=3000, apart=there,
        kernels=kernels[:1],
    )  # fmt: skip
    pool = GraphLayer("pool", "MaxPooling2D", ("near",), output_bytes=10, around_bytes=200)
    far = GraphLayer("far", "GlobalAveragePooling2D", ("trunk",), output_bytes=10)

    def on(near: GraphLayer, *cards: int) -> int:
        return held(dict(zip((trunk, near, pool, far), cards, strict=True)))["GPU:1"]

    whole = round(ON_CARD * (32 * (700 + 3000) + 50_000))
    assert on(near, 0, 1, 1, 2) == round(ON_CARD * (32 * (700 + 2300) + 50_000))
    # It is where it is made, and where it waits, and whole where nothing is known of it.
    assert on(near, 0, 1, 1, 1) == whole
    assert on(near, 1, 1, 1, 2) > whole - 32 * 700
    assert (
        on(replace(near, apart=(), kernels=(kernels[0]._replace(apart=()),)), 0, 1, 1, 2) == whole
    )
    # Each kernel has what lies beside it; and a copy spares no more than that, too.
    assert on(replace(near, kernels=kernels), 0, 1, 1, 2) == round(
        ON_CARD * (32 * (700 + 2000) + 60_000)
    )
    spared = replace(near, spared_bytes=500)
    assert on(spared, 0, 1, 1, 2) == on(near, 0, 1, 1, 2)
    assert on(replace(near, spared_bytes=900), 0, 1, 1, 2) < on(near, 0, 1, 1, 2)


def test_that_nothing_is_told_of_what_lies_beside_a_part_of_a_layer() -> None:
    trunk = GraphLayer("trunk", "Dense", output_bytes=700)
    split = GraphLayer("split", "Dense", ("trunk",), output_bytes=10, around_bytes=3000)
    known = replace(split, apart=(Apart(700),))
    assert held({trunk: 0, known: 1}) != held({trunk: 0, split: 1})

    def parts(layer: GraphLayer) -> dict[str, int]:
        graph = ModelGraph("made", (trunk, layer), input_bytes=100)
        facts = PlanFacts(model=ModelFacts(graph, steps={"GPU": StepMemory()}))
        placed = Placed(1, {"trunk": ("GPU:0",), "split": ("GPU:1", "GPU:2")})
        plan = Plan(devices=SLICES, distribution=Distribution("placed", placed=placed))
        return {each.device: each.total for each in predict(plan, TWO_CARDS, facts)}

    assert parts(known) == parts(split)


def test_that_all_that_several_cards_send_for_one_output_is_there_when_it_is_added_up() -> None:
    """Three were predicted 0.71 of what the card held in each step."""
    trunk = GraphLayer("trunk", "Dense", output_bytes=700, kept_bytes=700, around_bytes=1400)
    one, two, three = (GraphLayer(name, "Dense", ("trunk",)) for name in ("one", "two", "three"))
    both = round(ON_CARD * 32 * (100 + 1400))
    assert held({trunk: 0, one: 1, two: 1, three: 1})["GPU:0"] == both
    several = round(ON_CARD * 32 * (100 + 1400 + 700))
    assert held({trunk: 0, one: 1, two: 2, three: 2})["GPU:0"] == several
    # One that outlives its use is one of them. Where a layer here takes it, it is known of that.
    late = replace(trunk, outlived_bytes=600)
    assert held({late: 0, one: 1, two: 2, three: 2})["GPU:0"] == several
    assert held({trunk: 0, one: 0, two: 1, three: 2})["GPU:0"] == both


def test_that_a_gradient_outlives_its_use_where_no_layer_here_takes_the_output_too() -> None:
    """What comes from elsewhere waited long before, and who received it is through."""
    kernel = Kernel(500, 50_000, outlived=700)
    trunk = GraphLayer(
        "trunk", "Conv2D", output_bytes=700, around_bytes=1400, outlived_bytes=900,
        kernels=(kernel,),
    )  # fmt: skip
    near, far = (GraphLayer(name, "Dense", ("trunk",)) for name in ("near", "far"))

    def on(trunk: GraphLayer, *cards: int) -> int:
        return held(dict(zip((trunk, near, far), cards, strict=True)))["GPU:0"]

    # The kernel's moment is the fullest, and so is what is there then.
    assert on(trunk, 0, 1, 1) == round(ON_CARD * (50_000 + 32 * (100 + 500 + 700)))
    assert on(trunk, 0, 0, 1) == round(ON_CARD * (50_000 + 32 * (100 + 500)))
    assert on(replace(trunk, kernels=()), 0, 1, 1) == round(ON_CARD * 32 * (100 + 1400 + 900))


def test_that_a_thread_that_falls_behind_counts_where_the_batch_goes_in_one_piece() -> None:
    """Of several micro-batches all else is seldom at its fullest at that moment."""
    first = GraphLayer("first", "Dense", output_bytes=70, around_bytes=1400, behind_bytes=900)
    far = GraphLayer("far", "Dense", ("first",))
    assert held({first: 0, far: 1})["GPU:0"] == round(ON_CARD * 32 * (100 + 1400 + 900))
    assert held({first: 0, far: 0})["GPU:0"] == round(ON_CARD * 32 * (100 + 1400))
    assert held({first: 0, far: 1}, 2)["GPU:0"] < round(ON_CARD * 16 * (2 * 100 + 1400 + 900))
