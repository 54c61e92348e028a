from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.trainer.progress import CALL_SECONDS, CallLength


def settled(pace: CallLength, step_seconds: float) -> int:
    for _ in range(40):
        count = pace.next(10**9)
        pace.measured(count, count * step_seconds)
    return pace.next(10**9)


@given(st.floats(1e-5, 10))
def test_that_calls_come_to_last_a_tenth_of_a_second(step_seconds: float) -> None:
    count = settled(CallLength(0), step_seconds)
    assert count == 1 or CALL_SECONDS / 2 <= count * step_seconds <= CALL_SECONDS * 1.001


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_that_a_call_never_goes_beyond_the_epoch(wanted: int, left: int) -> None:
    assert CallLength(wanted).next(left) == min(wanted, left)


def test_that_a_fixed_number_of_steps_stays_fixed() -> None:
    assert settled(CallLength(7), 1e-4) == 7


def test_that_one_slow_call_does_not_make_the_next_ones_jump() -> None:
    pace = CallLength(0)
    fast = settled(pace, 1e-3)
    pace.measured(fast, 10.0)
    assert pace.next(10**9) == 1
    pace.measured(1, 1e-3)
    assert pace.next(10**9) == 4
