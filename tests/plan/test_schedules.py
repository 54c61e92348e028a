from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.plan import Named, Training
from gpu_studio.plan.catalogue import SCHEDULES, Length, rate_of

LENGTH = Length(10, 60)


def rates(name: str | None, rate: float = 0.4, **options: object) -> list[float]:
    schedule = Named(name, options) if name else None
    at = rate_of(Training(learning_rate=rate, schedule=schedule), LENGTH)
    return [at(step) for step in range(LENGTH.total_steps)]


def test_that_without_a_schedule_and_with_a_constant_one_the_rate_stays() -> None:
    assert set(rates(None)) == set(rates("constant")) == {0.4}


def test_that_step_drops_when_its_epochs_are_over() -> None:
    made = rates("step", drop=0.5, every_epochs=2)
    assert (made[19], made[20], made[40]) == (0.4, 0.2, 0.1)


def test_that_steps_given_count_instead_of_epochs() -> None:
    assert rates("exponential", decay=0.5, every_steps=1)[:3] == [0.4, 0.2, 0.1]
    assert rates("exponential", decay=0.5, every_steps=2, staircase=True)[:3] == [0.4, 0.4, 0.2]


@given(st.integers(1, 59), st.floats(0, 1))
def test_that_cosine_rises_to_the_rate_and_falls_to_its_minimum(
    warmup: int, minimum: float
) -> None:
    made = rates("cosine", warmup_steps=warmup, minimum=minimum)
    assert made[:warmup] == sorted(made[:warmup])
    assert made[warmup] == pytest.approx(0.4)
    assert made[warmup:] == sorted(made[warmup:], reverse=True)
    assert 0.4 * minimum <= made[-1] + 1e-9


def test_that_a_warm_up_as_long_as_the_run_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="takes 60 steps, and the whole run has 60"):
        rates("cosine", warmup_epochs=6)


@pytest.mark.parametrize(
    ("name", "options"), [("cosin", {}), ("step", {"drop": 2.0}), ("step", {"dorp": 0.5})]
)
def test_that_what_the_rules_refuse_has_no_curve(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"cosin|drop|dorp"):
        rates(name, **options)


@pytest.mark.parametrize("name", SCHEDULES)
def test_that_every_schedule_of_the_catalogue_has_a_curve(name: str) -> None:
    assert all(rate > 0 for rate in rates(name))
