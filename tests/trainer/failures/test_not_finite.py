from __future__ import annotations

import pytest

from gpu_studio.trainer.failures.failure_context import NotFiniteFinding, StepExamination

CASES = {
    "Repeated from step 7 on, it was finite: the cause is not in the plan alone.": NotFiniteFinding(
        7, StepExamination("none"), {"a": 1.0}
    ),
    "The samples of that step hold values that are not finite.": NotFiniteFinding(
        0, StepExamination("data")
    ),
    "The first layer whose output is not finite is a.": NotFiniteFinding(
        0, StepExamination("output", "a")
    ),
    "The first layer whose weights were no longer finite is a. One step before, the largest "
    "gradient was that of b, with a norm of 2.5e+19; that of a had 1.": NotFiniteFinding(
        0, StepExamination("weights", "a"), {"a": 1.0, "b": 2.5e19}
    ),
    "Every layer's output is finite, but so large that the loss of it is not. One step before, "
    "the largest gradient was that of a, with a norm of 3.": NotFiniteFinding(
        0, StepExamination("loss"), {"a": 3.0}
    ),
}


@pytest.mark.parametrize("words", CASES)
def test_that_what_was_found_is_said_in_words(words: str) -> None:
    assert CASES[words].words == words
