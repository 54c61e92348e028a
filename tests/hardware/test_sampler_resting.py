"""A card that may sleep is released when nobody uses it.

It is tested on the simulated library and on the kernel's list.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from pci_folders import listed_device
from watched_machine import Watched, watched

from gpu_studio.hardware.host import PciCard, PciWatch, pci_cards
from gpu_studio.hardware.sampler.driver import ASLEEP, RESTING
from gpu_studio.hardware.sampler.schedule import IDLE_AFTER, LONGEST_REST, SHORTEST_REST, Resting
from gpu_studio.hardware.simulated.profiles import L4, RTX_4090, machine

IDLE = 3
"""The place of the simulated card that nobody works on."""
BUS = "0000:28:00.0"


@pytest.fixture
def laptop():
    """Four cards, of which the idle one may sleep."""
    with watched(machine([RTX_4090, L4, L4, RTX_4090])) as made:
        made.library.may_sleep = {IDLE}
        yield made


def gone(of: Watched) -> list[str]:
    return [card.facts.gone for card in of.picture.cards.values()]


def test_that_an_idle_card_that_may_sleep_is_let_go_of_while_the_others_go_on(laptop):
    laptop.begin()
    laptop.run(IDLE_AFTER - 2)
    assert gone(laptop) == ["", "", "", ""]
    laptop.run(4)
    assert gone(laptop) == ["", "", "", RESTING]
    assert [card.figure("power_w") is not None for card in laptop.picture.cards.values()] == [
        True,
        True,
        True,
        False,
    ]
    assert list(laptop.picture.cards.values())[IDLE].facts.name == "NVIDIA GeForce RTX 4090"
    assert laptop.library.running == 1


def test_that_nothing_of_the_driver_is_open_while_the_only_card_rests():
    with watched(machine([RTX_4090])) as laptop:
        laptop.library.may_sleep = {0}
        laptop.sampler.driver.calls.ask = idle_card(laptop.sampler.driver.calls.ask)
        laptop.begin()
        laptop.run(IDLE_AFTER + 2)
        assert gone(laptop) == [RESTING]
        assert laptop.library.running == 0
        before = laptop.library.calls
        laptop.run(SHORTEST_REST - 10)
        assert laptop.library.calls == before


def idle_card(ask):
    """The driver's answers, but that the card does nothing and nobody is on it."""

    def answer(name, *rest):
        told = ask(name, *rest)
        if name == "nvmlDeviceGetUtilizationRates":
            told.gpu = 0
        return [] if "RunningProcesses" in name else told

    return answer


@pytest.mark.slow
def test_that_a_card_that_falls_asleep_then_says_so_and_is_watched_again_when_somebody_wakes_it(
    laptop,
):
    laptop.begin()
    laptop.run(IDLE_AFTER + 2)
    laptop.library.asleep = {IDLE}
    laptop.run(SHORTEST_REST + LONGEST_REST)
    assert gone(laptop)[IDLE] == ASLEEP
    laptop.library.asleep = set()
    laptop.run(15)
    assert gone(laptop) == ["", "", "", ""]


@pytest.mark.slow
def test_that_one_that_stays_awake_is_asked_again_and_then_left_alone_for_longer(laptop):
    laptop.begin()
    rests = []
    resting = 0.0
    for _ in range(1500):
        laptop.run(1)
        if gone(laptop)[IDLE]:
            resting += 1
        elif resting:
            rests.append(resting)
            resting = 0.0
    assert len(rests) >= 4
    assert SHORTEST_REST <= rests[0] <= SHORTEST_REST + 10
    for earlier, later in pairwise(rests):
        assert later == pytest.approx(min(LONGEST_REST, 2 * earlier), abs=15)


def test_that_a_card_with_a_program_on_it_is_watched_on(laptop):
    laptop.library.may_sleep = {0, 1, 2}
    laptop.begin()
    laptop.run(3 * IDLE_AFTER)
    assert gone(laptop) == ["", "", "", ""]


def test_that_a_card_that_may_not_sleep_is_watched_on(laptop):
    laptop.library.may_sleep = set()
    laptop.begin()
    laptop.run(3 * IDLE_AFTER)
    assert gone(laptop) == ["", "", "", ""]


def test_that_one_that_does_not_tell_whether_it_works_is_taken_to_be_in_use(laptop):
    laptop.library.errors["nvmlDeviceGetUtilizationRates", IDLE] = 3
    laptop.begin()
    laptop.run(3 * IDLE_AFTER)
    assert gone(laptop)[IDLE] == ""


def test_that_work_in_between_begins_the_time_anew():
    resting = Resting()
    resting.saw(BUS, 0.0, busy=False)
    resting.saw(BUS, IDLE_AFTER - 1, busy=True)
    resting.saw(BUS, IDLE_AFTER, busy=False)
    assert not resting.is_idle(BUS, IDLE_AFTER + 1)
    assert resting.is_idle(BUS, 2 * IDLE_AFTER)


@pytest.mark.parametrize(("control", "may_sleep"), [("auto", True), ("on", False), (None, False)])
def test_that_the_kernel_says_whether_a_card_may_sleep(tmp_path, control, may_sleep):
    listed_device(tmp_path, BUS)
    if control:
        (tmp_path / BUS / "power" / "control").write_text(f"{control}\n")
    assert pci_cards(tmp_path) == [PciCard(BUS, asleep=False, may_sleep=may_sleep)]
    assert PciWatch(tmp_path).cards() == pci_cards(tmp_path)
