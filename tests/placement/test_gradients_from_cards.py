"""What a card holds of the gradients that come from other cards, and where weights are updated."""

from __future__ import annotations

from dataclasses import replace

from made_machines import TWO_CARDS

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
    between = GraphLayer("between", "Dense", ("first",), output_bytes=700, around_bytes=2100)
    second = GraphLayer("second", "Dense", ("between",), output_bytes=700, gives_back=1)
    added = GraphLayer("added", "Add", ("first", "second"), output_bytes=700)
    on = {first: 0, between: 1, second: 2, added: 2}
    assert held(on)["GPU:1"] == round(ON_CARD * 32 * (700 + 2100 - 700))
    # What the second term passes back as it came is that gradient: it comes to the card.
    passing = replace(second, gives_back=0)
    assert held({first: 0, between: 1, passing: 2, added: 2})["GPU:1"] == round(
        ON_CARD * 32 * (700 + 2100)
    )
    # It is where a term is.
    assert held({first: 0, between: 1, second: 1, added: 2})["GPU:1"] == round(
        ON_CARD * 32 * (700 + 2100 + 700)
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
