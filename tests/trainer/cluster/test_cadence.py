"""How many calls the processes of a cluster agree on at once."""

from __future__ import annotations

from gpu_studio.trainer.cluster.cadence import AGREE_SECONDS, Cadence


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def agreements(clock: Clock, cadence: Cadence, seconds: float, calls: int) -> list[int]:
    """Before which of so many calls, each of so many seconds, all agreed anew."""
    found = []
    for number in range(calls):
        if cadence.known("training") is None:
            found.append(number)
            cadence.agreed("training", cadence.wanted("training"), steps=3)
        clock.now += seconds
    return found


def test_that_calls_are_agreed_on_for_half_a_second_and_more_of_them_by_and_by() -> None:
    clock = Clock()
    cadence = Cadence(clock)
    assert agreements(clock, cadence, 0.099, 17) == [0, 1, 5, 10, 15]
    assert AGREE_SECONDS == 0.5
    assert cadence.known("training") == 3


def test_that_a_long_call_is_agreed_on_alone_also_after_short_ones() -> None:
    clock = Clock()
    assert agreements(clock, Cadence(clock), 1.0, 4) == [0, 1, 2, 3]
    cadence = Cadence(clock)
    agreements(clock, cadence, 0.05, 60)
    late = agreements(clock, cadence, 2.0, 20)
    assert late[-3:] == [17, 18, 19]


def test_that_each_place_has_its_own_number_of_calls_and_is_agreed_on_anew() -> None:
    clock = Clock()
    cadence = Cadence(clock)
    agreements(clock, cadence, 0.1, 7)
    assert cadence.known("epoch end") is None
    assert cadence.wanted("epoch end") == 1
    cadence.agreed("epoch end", 1, steps=0)
    assert cadence.known("training") is None
    assert cadence.wanted("evaluation") == 1
    assert cadence.wanted("training") > 1
