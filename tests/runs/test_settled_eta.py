"""The remaining time runs down evenly, changes slowly, and is as precise as it is known."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.runs.reading.settled_eta import SETTLING_SECONDS, SettledEta, in_words


@dataclass
class Estimated:
    """As much of a history as an estimate has."""

    eta_seconds: float | None
    last_time: float | None = 1000.0
    state: str = "running"


def followed(*story: tuple[float, float | None]) -> SettledEta:
    """The time left after estimates, each so many seconds after the one before."""
    eta, now = SettledEta(), 1000.0
    for passed, estimate in story:
        now += passed
        eta.follow(Estimated(estimate, now))
    return eta


def test_that_it_is_a_dash_until_it_can_be_told() -> None:
    assert (SettledEta().words, followed((0, None)).words) == ("–", "–")
    assert followed((0, None), (1, 300.0)).words == "about 5 min"


@given(total=st.floats(260, 1e6), steps=st.lists(st.floats(0.1, 5), max_size=40))
def test_that_a_steady_run_counts_down_as_the_time_goes_by(total, steps) -> None:
    left, story = total, [(0.0, total)]
    for passed in steps:
        left -= passed
        story.append((passed, left))
    assert followed(*story).seconds == pytest.approx(left, rel=1e-6, abs=1e-3)


def test_that_a_jump_of_the_estimate_is_followed_slowly_and_then_wholly() -> None:
    before = [(0.0, 100.0), (1.0, 99.0)]
    assert followed(*before, (1.0, 298.0)).seconds == pytest.approx(98 + 200 * 0.0645, rel=1e-3)
    slow = [(1.0, 300.0)] * round(6 * SETTLING_SECONDS)
    assert followed(*before, *slow).seconds == pytest.approx(300.0, rel=0.06)


@given(st.lists(st.tuples(st.floats(0, 30), st.none() | st.floats(0, 1e7)), max_size=30))
def test_that_it_is_never_negative_and_always_has_words(story) -> None:
    eta = followed(*story)
    assert eta.seconds is None or eta.seconds >= 0
    assert eta.words


def test_that_a_pause_takes_no_time() -> None:
    eta = followed((0.0, 300.0))
    eta.follow(Estimated(300.0, 5000.0, "paused"))
    assert eta.words == "about 5 min"
    eta.follow(Estimated(300.0, 5001.0))
    assert eta.seconds == pytest.approx(299.0, abs=0.1)


def test_that_words_do_not_flicker_where_the_time_hovers() -> None:
    eta, told = SettledEta(), set()
    for place in range(200):
        eta.left = 330.0 + (5.0 if place % 2 else -5.0)
        told.add(eta.words)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few seconds"), (9, "a few seconds"), (40, "about 40 s"), (60, "about 1 min"),
        (90, "about 1 min 30 s"), (240, "about 4 min"), (1500, "about 25 min"),
        (3600, "about 1 h"), (9000, "about 2 h 30 min"), (86400, "about 24 h"),
    ],
)  # fmt: skip
def test_that_a_time_is_told_as_one_says_it(seconds, words) -> None:
    assert in_words(seconds) == words


@given(st.floats(0, 1e6))
def test_that_what_is_told_is_within_a_quarter_or_a_few_seconds(seconds) -> None:
    eta = SettledEta()
    eta.left = seconds
    assert eta.words
    assert eta.reported == pytest.approx(seconds, rel=0.26, abs=6)
