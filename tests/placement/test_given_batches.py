"""Data that come in batches of their own."""

from __future__ import annotations

import pytest
from plan_samples import a_plan

from gpu_studio.placement.given_batches import completed_by, given_batch, given_steps
from gpu_studio.plan import with_settings


@pytest.mark.parametrize(
    ("streamed", "batch", "steps"),
    [
        ("", 0, 0),
        ("9 batches of 16", 16, 9),
        ("1 batch of 7", 7, 1),
        ("1,200 batches of 16 and others", 16, 1200),
        ("batches of 8, their number unknown", 8, 0),
        ("batches of 8, without end", 8, 0),
        ("6 samples, one by one", 0, 0),
        ("samples, one by one, without end", 0, 0),
    ],
)
def test_that_the_words_of_a_stream_say_its_batches(streamed: str, batch: int, steps: int) -> None:
    assert (given_batch(streamed), given_steps(streamed)) == (batch, steps)
    plan = with_settings(a_plan(), ["training.batch_size=32", "training.batch_scope=replica"])
    made = completed_by(plan, {}, streamed).training
    if batch:
        assert (made.batch_size, made.batch_scope) == (batch, "global")
    else:
        assert made == plan.training
