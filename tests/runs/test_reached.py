"""How far a run came, in words: whole epochs are done, the one under way is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.reading.progress import reached, saved_at, trained


@pytest.mark.parametrize(
    ("step", "per_epoch", "epochs", "words"),
    [
        (819, 23, 400, "after 35 of 400 epochs and 14 steps"),
        (805, 23, 400, "after 35 of 400 epochs"),
        (806, 23, 400, "after 35 of 400 epochs and 1 step"),
        (24, 23, 1, "after 1 of 1 epoch and 1 step"),
        (819, 23, None, "after 35 epochs and 14 steps"),
        (14, 23, 400, "after 14 of 9,200 steps"),
        (14, 23, None, "after 14 steps"),
        (1, None, None, "after 1 step"),
        (0, 23, 400, "before the first step"),
        (0, None, None, "before the first step"),
    ],
)
def test_that_what_is_done_is_counted_and_not_the_epoch_under_way(
    step, per_epoch, epochs, words
) -> None:
    assert reached(step, per_epoch, epochs) == words


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_that_epochs_and_steps_add_up_to_all_the_steps(step: int, per_epoch: int) -> None:
    words = trained(step, per_epoch).replace(",", "").split(" ")
    counted = {
        word.rstrip("s"): int(count) for count, word in zip(words[::3], words[1::3], strict=True)
    }
    assert counted.get("epoch", 0) * per_epoch + counted.get("step", 0) == step


@pytest.mark.parametrize(
    ("epoch", "step", "words"),
    [
        (35, 819, "after epoch 35, at step 819"),
        (0, 14, "at step 14"),
        (0, 0, "before the first step"),
    ],
)
def test_that_a_checkpoint_is_of_the_epochs_that_were_finished(epoch, step, words) -> None:
    assert saved_at(epoch, step) == words
