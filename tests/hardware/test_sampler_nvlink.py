"""How much goes over NVLink: from the driver's counters, on the simulated library."""

from __future__ import annotations

import pytest
from watched_machine import watched

from gpu_studio.contract.samples import MEASURED_NEXT, Pcie
from gpu_studio.hardware.sampler.card import NAMES, RESTARTED, NvlinkRates
from gpu_studio.hardware.simulated.cards import KIB_A_SECOND
from gpu_studio.hardware.simulated.profiles import profile

PER_SECOND = KIB_A_SECOND / 1024


def test_that_two_counts_make_a_rate_and_the_first_makes_none() -> None:
    with watched(profile("2xH100")) as two:
        two.begin()
        two.run(12)
        mine = next(iter(two.picture.cards))
        first, *_, last = (
            sample.cards[0] for sample in two.of(Pcie) if sample.cards[0].card == mine
        )
        assert [first.why[name] for name in NAMES] == [MEASURED_NEXT] * 2
        assert last.nvlink_sent_mib_s == pytest.approx(PER_SECOND, rel=0.01)
        assert last.nvlink_received_mib_s == pytest.approx(PER_SECOND, rel=0.01)
        assert not set(NAMES) & set(last.why)


def test_that_a_card_without_nvlink_says_so_and_is_asked_once() -> None:
    with watched(profile("RTX4090")) as one:
        asked: list[str] = []
        ask = one.sampler.driver.calls.ask
        one.sampler.driver.calls.ask = lambda name, *rest: (asked.append(name), ask(name, *rest))[1]
        one.begin()
        one.run(20)
        card = next(iter(one.picture.cards.values()))
        assert card.figure("nvlink_sent_mib_s") is None
        assert card.why("nvlink_sent_mib_s") == "not supported by this card"
        assert asked.count("nvmlDeviceGetFieldValues") == 1
        assert card.figure("sent_mib_s") is not None


class _Fields:
    """A card whose counters are given."""

    key = "a"

    def __init__(self, *counts: int) -> None:
        self._counts = iter(counts)

    def answer_once(self, _name, _call):
        count = next(self._counts)
        value = type("Value", (), {"ullVal": count})
        return [type("Field", (), {"nvmlReturn": 0, "value": value})] * 2


def test_that_a_counter_that_begins_anew_gives_no_rate_below_zero() -> None:
    rates, card = NvlinkRates(), _Fields(5000, 100, 100 + 2048)
    rates.read(card, 0.0)
    assert rates.read(card, 1.0) == {"why": dict.fromkeys(NAMES, RESTARTED)}
    assert rates.read(card, 2.0) == {**dict.fromkeys(NAMES, 2.0), "why": {}}
