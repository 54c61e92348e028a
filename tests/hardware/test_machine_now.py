"""The machine with the sampler's figures, and what of them is news to a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated_machines import simulated_machine
from watched_machine import watched

from gpu_studio.hardware.picture import NEWS_MIB, MachinePicture, is_news, machine_now
from gpu_studio.hardware.sampler.watching import Request
from gpu_studio.hardware.simulated.profiles import LOST, NAMES, profile


@pytest.mark.parametrize("name", [*NAMES, "2xMIG"])
def test_that_the_sampler_tells_of_the_machine_what_a_new_inventory_would(name):
    machine = simulated_machine(name, 0.5)
    with watched(profile(name)) as seen:
        seen.begin()
        seen.sampler.request(Request(classes=["fast", "processes"]))
        seen.run(60)
        now = machine_now(machine, seen.picture, "nobody")
    later = simulated_machine(name, 60)
    for one, other in zip(now.cards, later.cards, strict=True):
        assert (one.uuid, one.lost, one.asleep) == (other.uuid, other.lost, other.asleep)
        assert abs((one.used_mib or 0) - (other.used_mib or 0)) < NEWS_MIB
        assert [user.pid for user in one.users] == [user.pid for user in other.users]
        assert [user.user for user in one.users] == [user.user for user in other.users]


def test_that_a_card_that_is_lost_while_the_window_is_open_is_lost_to_the_plan():
    machine = simulated_machine("2xL4")
    with watched(profile("2xL4")) as seen:
        seen.begin()
        seen.sampler.request(Request(classes=["fast"]))
        seen.library.errors[("nvmlDeviceGetMemoryInfo_v2", 1)] = LOST
        seen.run(5)
        now = machine_now(machine, seen.picture, "nobody")
    assert [card.lost for card in now.cards] == [False, True]
    assert "lost" in now.cards[1].why_unknown
    assert now.cards[1].used_mib is None
    assert is_news(machine, now)


def test_that_before_it_has_seen_anything_the_inventory_counts():
    machine = simulated_machine("2xL4")
    assert machine_now(machine, MachinePicture(), "nobody") is machine


def test_that_little_is_no_news_and_much_is():
    machine = simulated_machine("2xL4")
    card = machine.cards[0]

    def with_first(**values: object):
        return replace(machine, cards=(replace(card, **values), machine.cards[1]))

    used = card.used_mib or 0
    assert not is_news(machine, with_first(used_mib=used + NEWS_MIB - 1, utilisation_percent=1))
    assert is_news(machine, with_first(used_mib=used + NEWS_MIB))
    assert is_news(machine, with_first(users=()))
    assert is_news(machine, with_first(lost=True))
    assert is_news(machine, with_first(used_mib=None))
