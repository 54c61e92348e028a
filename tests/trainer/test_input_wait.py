"""Time counts as a wait for data only while a device has nothing to compute for want of them."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

moments = st.integers(0, 20)
parts = st.lists(st.tuples(moments, st.integers(0, 8), st.sampled_from("ab")), min_size=1)


def waited(steps: list[list[float]], cards: str) -> float:
    """`steps` are asked, ended, when each part was ready, and when each was computed."""
    from gpu_studio.trainer.input_wait import waited

    return waited(np.array(steps, np.float64), cards)


@given(moments, moments, parts)
def test_that_it_is_the_time_in_which_a_card_computes_nothing_and_a_part_is_missing(
    asked: int, ended: int, parts: list[tuple[int, int, str]]
) -> None:
    ready = [at for at, _, _ in parts]
    # A part that lay ready is computed once the step has begun.
    computed = [max(at, asked, ended) + lasts for at, lasts, _ in parts]
    cards = "".join(card for _, _, card in parts)
    idle = []
    for card in set(cards):
        mine = [place for place, its in enumerate(cards) if its == card]
        idle.append(
            sum(
                any(ready[one] > second for one in mine)
                and not any(ready[one] <= second < computed[one] for one in mine)
                for second in range(max(asked, ended), 30)
            )
        )
    assert waited([[asked, ended, *ready, *computed]], cards) == max(idle)


def test_that_slices_of_a_card_do_not_wait_while_one_of_them_computes() -> None:
    # The last part is ready late, but until then the card computes the others.
    step = [0, 0, 0, 0, 0, 9, 10, 10, 10, 12]
    assert waited([step], "aaaa") == 0
    assert waited([step], "aaab") == 9
    assert waited([step, step], "abcd") == 18


@pytest.mark.parametrize(("ahead", "least", "most"), [(-1000, 0, 0), (1000, 2500, 3000)])
def test_that_steps_tell_how_late_their_samples_are(ahead: int, least: float, most: float) -> None:
    import keras
    import tensorflow as tf

    from gpu_studio.trainer.keras_objects import Head, Objective
    from gpu_studio.trainer.keras_objects.compiled import SampleLoss
    from gpu_studio.trainer.keras_objects.forms import OutputForm, Wants
    from gpu_studio.trainer.meters import Meters
    from gpu_studio.trainer.program import Program

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    x, y, weight = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32), np.ones(4, np.float32)
    squared = keras.losses.MeanSquaredError(reduction=None)
    form = OutputForm("values", logits=False, shape=(1,))
    objective = Objective((Head(SampleLoss("mean_squared_error", squared, form, Wants())),))
    program = Program(
        tf.distribute.get_strategy(),
        model,
        optimizer,
        objective,
        Meters(objective.heads),
        0,
    )
    ready = np.float64(time.time() + ahead)
    stream = iter(tf.data.Dataset.from_tensors((x, y, (), weight, ready)).repeat())
    assert least <= program.train(stream, 0, 3).input_seconds <= most
