"""Learning rates as functions of the step, against their formulas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.plan.values import Named, Training
from gpu_studio.trainer.errors import PlanRefused

pytestmark = pytest.mark.slow

RATE, PER_EPOCH, TOTAL = 0.4, 10, 60
steps = st.integers(0, TOTAL)


def rate_at(step, name, **options):
    from gpu_studio.trainer.keras_objects.optimizers import learning_rate

    rate = learning_rate(
        Training(learning_rate=RATE, schedule=Named(name, options)), PER_EPOCH, TOTAL
    )
    return float(rate(step)) if callable(rate) else rate


def test_that_without_a_schedule_and_with_a_constant_one_the_rate_is_a_number():
    from gpu_studio.trainer.keras_objects.optimizers import learning_rate

    assert learning_rate(Training(learning_rate=RATE), PER_EPOCH, TOTAL) == RATE
    assert rate_at(7, "constant") == RATE


@settings(max_examples=30)
@given(steps, st.floats(0.1, 1), st.integers(1, 4))
def test_that_step_drops_at_the_end_of_every_period(step, drop, epochs):
    expected = RATE * drop ** (step // (epochs * PER_EPOCH))
    assert rate_at(step, "step", drop=drop, every_epochs=epochs) == pytest.approx(
        expected, rel=1e-5
    )


@settings(max_examples=30)
@given(steps, st.floats(0.5, 1), st.integers(1, 30), st.booleans())
def test_that_exponential_multiplies_by_its_factor_over_each_period(step, decay, period, staircase):
    periods = step // period if staircase else step / period
    options = {"decay": decay, "every_steps": period, "staircase": staircase}
    assert rate_at(step, "exponential", **options) == pytest.approx(RATE * decay**periods, rel=1e-5)


@settings(max_examples=30)
@given(steps, st.integers(0, TOTAL - 1), st.floats(0, 1))
def test_that_cosine_rises_evenly_and_falls_along_half_a_cosine(step, warmup, minimum):
    angle = math.pi * (step - warmup) / (TOTAL - warmup)
    falling = RATE * (minimum + (1 - minimum) / 2 * (1 + math.cos(angle)))
    rising = RATE * (1 + (warmup - 1) * step / max(warmup, 1)) / max(warmup, 1)
    got = rate_at(step, "cosine", warmup_steps=warmup, minimum=minimum)
    assert got == pytest.approx(rising if step < warmup else falling, rel=1e-4, abs=1e-6)


def test_that_the_first_step_of_a_warm_up_is_not_wasted():
    rates = [rate_at(step, "cosine", warmup_epochs=1) for step in range(PER_EPOCH + 1)]
    assert rates[0] == pytest.approx(RATE / PER_EPOCH)
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(RATE)


def test_that_a_warm_up_longer_than_the_run_is_refused_with_both_lengths():
    with pytest.raises(PlanRefused, match="takes 60 steps, but the whole run has 60"):
        rate_at(0, "cosine", warmup_epochs=6)


def test_that_an_unknown_schedule_is_refused_with_the_nearest():
    with pytest.raises(PlanRefused, match=r'schedule\.name is "cosin"') as refused:
        rate_at(0, "cosin")
    assert "cosine" in refused.value.suggestions[0]


def test_that_the_optimizer_follows_the_schedule():
    from gpu_studio.trainer.keras_objects import make_optimizer

    training = Training(
        learning_rate=RATE, schedule=Named("step", {"drop": 0.5, "every_steps": 1}), optimizer="sgd"
    )
    optimizer = make_optimizer(training, PER_EPOCH, TOTAL)
    seen = []
    for _ in range(3):
        seen.append(float(optimizer.learning_rate))
        optimizer.iterations.assign_add(1)
    assert seen == pytest.approx([RATE, RATE / 2, RATE / 4])
