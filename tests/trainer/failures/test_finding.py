from __future__ import annotations

import pytest

from gpu_studio.trainer.failures.finding import Finding, Look

CASES = {
    "Repeated from step 7 on, it was finite: the cause is not in the plan alone.": Finding(7, Look("none"), {"a": 1.0}),
    "The samples of that step hold values that are not finite.": Finding(0, Look("data")),
    "The first layer whose output is not finite is a.": Finding(0, Look("output", "a")),
    "The first layer whose weights were no longer finite is a. One step before, the largest gradient was that of b, "
    "with a norm of 2.5e+19; that of a had 1.": Finding(0, Look("weights", "a"), {"a": 1.0, "b": 2.5e19}),
    "Every layer's output is finite, but so large that the loss of it is not. One step before, the largest gradient "
    "was that of a, with a norm of 3.": Finding(0, Look("loss"), {"a": 3.0}),
}


@pytest.mark.parametrize("words", CASES)
def test_that_what_was_found_is_said_in_words(words: str) -> None:
    assert CASES[words].words == words
