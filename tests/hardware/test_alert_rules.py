"""The thresholds of the alerts, without a window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.contract.samples import CardFacts, FastFigures, SlowFigures
from gpu_studio.hardware.alerts import (
    FULL,
    HARMLESS,
    IDLE_SECONDS,
    NEAR_SLOWDOWN_C,
    Alert,
    Watched,
    alerts,
)
from gpu_studio.hardware.nvml import THROTTLES
from gpu_studio.hardware.picture import CardNow


def card(fast: dict | None = None, slow: dict | None = None, **facts) -> CardNow:
    known = {"total_mib": 1000, "slowdown_c": 90} | facts
    return CardNow(
        CardFacts(card="a", **known),
        FastFigures(card="a", **(fast or {})),
        SlowFigures(card="a", **(slow or {})),
    )


def kinds(found: list[Alert]) -> list[str]:
    return [alert.kind for alert in found]


@given(used=st.integers(0, 1000), reserved=st.none() | st.integers(0, 200))
def test_that_a_card_is_full_above_95_percent_with_what_the_driver_keeps(used, reserved) -> None:
    found = alerts(Watched(card({"memory_used_mib": used, "memory_reserved_mib": reserved})))
    assert kinds(found) == (["full"] if (used + (reserved or 0)) / 1000 > FULL else [])


@given(temperature=st.integers(0, 110), slowdown=st.none() | st.integers(60, 110))
def test_that_a_card_is_hot_within_5_degrees_of_slowing_down(temperature, slowdown) -> None:
    found = alerts(Watched(card(slow={"temperature_c": temperature}, slowdown_c=slowdown)))
    assert kinds(found) == (
        ["hot"] if slowdown is not None and slowdown - temperature <= NEAR_SLOWDOWN_C else []
    )


@given(reasons=st.lists(st.sampled_from(sorted(THROTTLES.values())), unique=True))
def test_that_clocks_are_held_by_all_but_what_is_chosen(reasons) -> None:
    found = alerts(Watched(card(slow={"throttle": reasons})))
    bad = [reason for reason in reasons if reason not in HARMLESS]
    assert [alert.key for alert in found] == ([", ".join(bad)] if bad else [])
    assert all(reason in found[0].words for reason in bad)


@pytest.mark.parametrize(
    ("run", "seconds", "told"),
    [("digits", IDLE_SECONDS, True), ("digits", IDLE_SECONDS - 1, False), ("", 9999.0, False)],
)
def test_that_a_card_is_idle_only_during_a_run_and_after_a_minute(run, seconds, told) -> None:
    assert kinds(alerts(Watched(card(), run, seconds))) == (["idle"] if told else [])


def test_that_of_a_card_that_is_gone_nothing_else_is_said() -> None:
    full = {"memory_used_mib": 1000}
    [lost] = alerts(Watched(card(full, gone="lost"), "digits", 100))
    [asleep] = alerts(Watched(card(full, gone="asleep", asleep=True)))
    assert (lost.kind, lost.bad, asleep.kind, asleep.bad) == ("gone", True, "gone", False)


def test_that_figures_that_are_not_known_alarm_nobody() -> None:
    assert alerts(Watched(CardNow(CardFacts(card="a")))) == []
