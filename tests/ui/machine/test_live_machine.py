"""The Plan page checks plans against the machine's present state, like the Devices page."""

from __future__ import annotations

import time

import pytest
from made_machines import TWO_CARDS, WITHOUT_CARDS
from PySide6.QtCore import QObject, Signal

from gpu_studio.common.figures import size_from_mib
from gpu_studio.contract.samples import CardFacts, Cards, Fast, FastFigures
from gpu_studio.hardware.device_rows import rows_of
from gpu_studio.hardware.picture import NEWS_MIB, MachinePicture
from gpu_studio.hardware.source import SIMULATE, SIMULATED_SINCE
from gpu_studio.plan import Machine
from gpu_studio.ui.machine.live_machine import CLASSES, COMMAND, VIEWER, Inventory, LiveMachine
from gpu_studio.ui.window.main_window import MainWindow

LONG_S = 3600.0


@pytest.fixture
def window(open_window, qtbot, monkeypatch: pytest.MonkeyPatch) -> MainWindow:
    """A window with two simulated cards, on which programs take more and more memory.

    Whoever asks the machine, asks it before they have begun, and whoever watches it, long after.
    """
    monkeypatch.setenv(SIMULATE, "2xL4")
    monkeypatch.setenv(SIMULATED_SINCE, str(time.monotonic() - LONG_S))
    before = f"{SIMULATED_SINCE}={time.monotonic() + LONG_S}"
    inventory = Inventory(("env", before, *COMMAND))
    inventory.refresh()
    qtbot.waitUntil(lambda: inventory.machine is not None)
    return open_window(inventory=inventory)


def used(window: MainWindow) -> int:
    machine = window.readiness.machine
    assert machine is not None
    return machine.cards[0].used_mib or 0


def test_that_the_plan_is_held_against_what_programs_hold_now(window, qtbot) -> None:
    first = window.inventory.machine.cards[0].used_mib
    qtbot.waitUntil(lambda: used(window) > first + 1000)
    view = window.plan_page.devices.list.views["GPU:0"]
    assert f"other programs now {size_from_mib(used(window))}" in view._name.toolTip()
    row = rows_of(window.sampler.picture, window.inventory.machine)[0]
    assert abs((row.used_mib or 0) - used(window)) < NEWS_MIB

    window.show_page("runs")
    assert not window.sampler.watched
    before = used(window)
    # F5 asks the machine also while nobody watches.
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: used(window) == first)
    assert first < before


class Eyes(QObject):
    """Stands in for the sampler: what is seen is what a test says."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.picture = MachinePicture()
        self.viewers: dict[str, tuple[str, ...]] = {}

    @property
    def watched(self) -> bool:
        return bool(self.viewers)

    def look(self, classes: tuple[str, ...], viewer: str) -> None:
        self.viewers[viewer] = classes

    def rest(self, viewer: str) -> None:
        del self.viewers[viewer]

    def see(self, *used: int) -> None:
        """Tell of cards with so much memory in use."""
        cards = [
            CardFacts(card=card.uuid, uuid=card.uuid, total_mib=card.total_mib)
            for card in TWO_CARDS.cards
        ]
        self.picture.apply(Cards(time=0.0, cards=cards))
        figures = [
            FastFigures(card=card.uuid, memory_used_mib=mib)
            for card, mib in zip(cards, used, strict=True)
        ]
        self.picture.apply(Fast(time=0.0, cards=figures))
        self.changed.emit()


class Known(QObject):
    """Stands in for the inventory, which has answered."""

    changed = Signal()
    looking = False
    error = ""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine


def test_that_only_news_that_a_plan_could_feel_is_told(qapp) -> None:
    eyes, told = Eyes(), []
    live = LiveMachine(Known(TWO_CARDS), eyes)
    live.changed.connect(lambda: told.append(live.machine))
    live.watch(on=True)
    eyes.see(0, 1024 + NEWS_MIB - 1)
    assert told == []
    eyes.see(0, 1024 + NEWS_MIB)
    assert [machine.cards[1].used_mib for machine in told] == [1024 + NEWS_MIB]
    eyes.see(0, 1024 + NEWS_MIB)
    assert len(told) == 1


def test_that_only_cards_are_looked_at_and_only_while_somebody_watches(qapp) -> None:
    eyes = Eyes()
    live = LiveMachine(Known(TWO_CARDS), eyes)
    assert not eyes.watched
    live.watch(on=True)
    assert eyes.viewers == {VIEWER: CLASSES}
    live.watch(on=False)
    assert not eyes.watched
    LiveMachine(Known(WITHOUT_CARDS), eyes).watch(on=True)
    assert not eyes.watched


def test_that_what_was_seen_while_the_plan_was_hidden_is_told_when_it_is_looked_at_again(
    qapp,
) -> None:
    eyes, told = Eyes(), []
    live = LiveMachine(Known(TWO_CARDS), eyes)
    live.changed.connect(lambda: told.append(live.machine))
    eyes.look(("fast",), "devices")
    eyes.see(5000, 5000)
    assert told == []
    live.watch(on=True)
    assert [[card.used_mib for card in machine.cards] for machine in told] == [[5000, 5000]]


def test_that_what_nobody_looks_at_does_not_outdo_a_new_answer(qapp) -> None:
    eyes, inventory = Eyes(), Known(TWO_CARDS)
    live = LiveMachine(inventory, eyes)
    live.watch(on=True)
    eyes.see(9000, 9000)
    assert [card.used_mib for card in live.machine.cards] == [9000, 9000]
    live.watch(on=False)
    inventory.changed.emit()
    assert live.machine is TWO_CARDS
