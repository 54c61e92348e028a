"""The curve that is drawn before a run, against the Keras schedules that it is trained with."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_studio.plan import Named, Training
from gpu_studio.plan.catalogue import Length, rate_of

pytestmark = pytest.mark.slow

PER_EPOCH, TOTAL = 10, 60
FACTORS = st.floats(0.05, 1)
PERIODS = st.fixed_dictionaries(
    {}, optional={"every_epochs": st.integers(1, 9), "every_steps": st.integers(0, 70)}
)
SCHEDULES = st.one_of(
    st.none(),
    st.builds(lambda: Named("constant")),
    st.builds(lambda drop, period: Named("step", {"drop": drop, **period}), FACTORS, PERIODS),
    st.builds(
        lambda decay, period, stairs: Named(
            "exponential", {"decay": decay, "staircase": stairs, **period}
        ),
        FACTORS,
        PERIODS,
        st.booleans(),
    ),
    st.builds(
        lambda warmup, minimum: Named("cosine", {"warmup_steps": warmup, "minimum": minimum}),
        st.integers(0, TOTAL - 1),
        st.floats(0, 1),
    ),
    st.builds(lambda epochs: Named("cosine", {"warmup_epochs": epochs}), st.integers(0, 5)),
)


@settings(max_examples=60)
@given(SCHEDULES, st.floats(1e-5, 10), st.integers(0, TOTAL - 1))
def test_that_the_drawn_rate_is_the_one_that_keras_gives(
    schedule: Named | None, rate: float, step: int
) -> None:
    from gpu_studio.trainer.keras_objects.optimizers import learning_rate

    training = Training(learning_rate=rate, schedule=schedule)
    keras_rate = learning_rate(training, PER_EPOCH, TOTAL)
    expected = float(keras_rate(step)) if callable(keras_rate) else keras_rate
    assert rate_of(training, Length(PER_EPOCH, TOTAL))(step) == pytest.approx(
        expected, rel=2e-4, abs=rate * 1e-5
    )
