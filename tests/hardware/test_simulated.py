"""Machines that are not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watched_machine import watched

from gpu_studio.hardware import inventory, simulated
from gpu_studio.hardware.simulated.cards import moment
from gpu_studio.hardware.simulated.profiles import FIRST_PID, KINDS, NAMES, known, profile
from gpu_studio.hardware.source import SimulationError


@pytest.mark.parametrize(
    "name", [*NAMES, *(f"8x{name}" for name in KINDS), "4×h100", "2x RTX 4090", "rtx-4090"]
)
def test_that_every_machine_can_be_watched(name):
    with watched(profile(name)) as machine:
        machine.begin()
        machine.run(5.0)
        assert machine.picture.cards
        assert any(card.fast for card in machine.picture.cards.values())


@pytest.mark.parametrize(
    "name", ["", "H200x8", "8x", "x", "65xH100", "999xL4", "-1xH100", "1000xL4"]
)
def test_that_what_is_no_machine_is_refused_with_what_there_is(name):
    with pytest.raises(SimulationError, match=r"choose from H100, A100|simulate 64 or fewer"):
        profile(name)


@given(st.sampled_from(list(KINDS.values())), st.integers(0, 63), st.floats(0, 1e7))
def test_that_every_figure_is_one_that_such_a_card_could_show(card, place, seconds):
    now = moment(card, place, seconds)

    assert 0 <= now.utilisation <= 1
    assert 0 <= now.used <= card.total - card.reserved
    assert card.idle_power <= now.power <= card.power
    assert 20 <= now.temperature < card.slowdown + 5
    assert now.energy >= 0


def test_that_figures_move():
    told = {moment(KINDS["H100"], 0, float(second)).utilisation for second in range(60)}
    assert len(told) > 30


def test_that_no_simulated_program_has_the_number_of_a_real_one():
    assert known(1) is None
    assert known(FIRST_PID - 1) is None
    assert known(FIRST_PID) is not None
    with watched(profile("8xH100")) as machine:
        machine.begin()
        assert all(process.pid >= FIRST_PID for process in machine.picture.processes.processes)


def test_that_the_inventory_is_of_the_simulated_cards_and_says_so(monkeypatch):
    assert not inventory().simulated
    monkeypatch.setenv(simulated.VARIABLE, "broken")
    machine = inventory()

    assert machine.simulated
    assert [card.name for card in machine.cards][:1] == ["NVIDIA H100 80GB HBM3"]
    assert [card.asleep for card in machine.cards] == [False, False, False, True, False]
    assert machine.cards[1].why_unknown == "lost: the driver no longer answers for it"
    assert machine.cards[0].used_mib is not None


def test_that_an_inventory_of_what_is_no_machine_says_why(monkeypatch):
    monkeypatch.setenv(simulated.VARIABLE, "H9000")

    assert inventory().why_no_cards.startswith("there is no simulated machine 'H9000'")
