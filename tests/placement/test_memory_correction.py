"""What a measured step does to the prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plan_facts import FACTS, MODEL

from gpu_studio.placement.correction import MeasuredPeak, corrected, factors_of, held_in
from gpu_studio.placement.memory import predict
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.placement.step_memory import SplitTurns
from gpu_studio.plan import Distribution, Plan, Training

BATCH = 64
FORESEEN = MODEL.steps["CPU"].peak(BATCH)


def plan(batch: int = BATCH) -> Plan:
    return Plan(training=Training(batch_size=batch), distribution=Distribution("one_device"))


def test_that_a_step_that_held_more_raises_the_total_by_just_that() -> None:
    (before,) = predict(plan(), WITHOUT_CARDS, FACTS)
    (after,) = predict(
        plan(), WITHOUT_CARDS, corrected(FACTS, {"CPU:0": MeasuredPeak(BATCH, FORESEEN + 6_400)})
    )
    assert after.total == pytest.approx(before.total + 6_400, abs=BATCH)
    assert (after.weights, after.slots, after.gradients) == (
        before.weights,
        before.slots,
        before.gradients,
    )
    assert f"held {1 + 6_400 / FORESEEN:.2f} × what was predicted" in after.total_formula
    assert "measured" not in before.total_formula


def test_that_what_loops_waste_is_corrected_too() -> None:
    split = SplitTurns(1000, 4, 4 * 57)
    wasting = replace(MODEL.steps["CPU"], splits=(split,))
    foreseen = wasting.peak(41)
    assert foreseen > MODEL.steps["CPU"].peak(41)
    facts = replace(FACTS, model=replace(MODEL, steps={**MODEL.steps, "CPU": wasting}))
    after = corrected(facts, {"CPU:0": MeasuredPeak(41, 2 * foreseen)}).model
    assert after is not None
    assert after.steps["CPU"].peak(41) == pytest.approx(2 * foreseen, abs=2 * 41)
    assert after.steps["CPU"].splits[0].wasted(41) == pytest.approx(2 * split.wasted(41), abs=1)


@given(st.integers(1, 10 * FORESEEN), st.integers(1, 10 * FORESEEN))
def test_that_only_the_last_measurement_counts(first: int, last: int) -> None:
    once = corrected(FACTS, {"CPU:0": MeasuredPeak(BATCH, last)})
    twice = corrected(
        corrected(FACTS, {"CPU:0": MeasuredPeak(BATCH, first)}),
        {"CPU:0": MeasuredPeak(BATCH, last)},
    )
    assert twice.model is not None
    assert once.model is not None
    # Bytes a sample are whole numbers, and a correction to almost nothing leaves little to correct.
    if first > FORESEEN / 2:
        peak = once.model.steps["CPU"].peak(BATCH)
        assert twice.model.steps["CPU"].peak(BATCH) == pytest.approx(peak, rel=0.05, abs=2 * BATCH)
        assert twice.model.corrections["CPU"] == pytest.approx(
            once.model.corrections["CPU"], rel=0.05
        )


def test_that_what_a_processor_held_says_nothing_of_a_cards_scratch_memory() -> None:
    found = corrected(FACTS, {"CPU:0": MeasuredPeak(BATCH, 2 * FORESEEN)})
    assert found.model is not None
    assert found.model.steps["GPU"] == MODEL.steps["GPU"]
    (before, *_), (after, *_) = predict(plan(), TWO_CARDS, FACTS), predict(plan(), TWO_CARDS, found)
    assert after.device.startswith("GPU")
    assert after.total == before.total


def test_that_of_several_cards_the_fullest_counts() -> None:
    foreseen = MODEL.steps["GPU"].peak(BATCH)
    held = {"GPU:0": MeasuredPeak(BATCH, foreseen), "GPU:1": MeasuredPeak(BATCH, 3 * foreseen)}
    assert factors_of(MODEL, held) == {"GPU": 3.0}


@pytest.mark.parametrize(
    "held", [{}, {"CPU:0": MeasuredPeak(BATCH, 0)}, {"TPU:0": MeasuredPeak(BATCH, 100)}]
)
def test_that_without_a_measurement_nothing_is_corrected(held) -> None:
    assert corrected(FACTS, held) == FACTS


def test_that_a_model_that_is_not_known_is_not_corrected() -> None:
    nothing = PlanFacts(data=FACTS.data)
    assert corrected(nothing, {"CPU:0": MeasuredPeak(1, 1)}) == nothing
    no_graph = replace(FACTS, model=replace(MODEL, graph=None))
    assert corrected(no_graph, {"CPU:0": MeasuredPeak(BATCH, 2 * FORESEEN)}).graph is None


def test_that_what_was_held_is_read_from_an_answer() -> None:
    assert held_in({"held": {"CPU:0": {"batch": 8, "bytes": 100}}}) == {
        "CPU:0": MeasuredPeak(8, 100)
    }
    assert held_in({"times": {}}) == {}
    with pytest.raises(ValueError, match="Expected"):
        held_in({"held": {"CPU:0": "much"}})
