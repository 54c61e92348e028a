"""Practise with cards that are not there: choose them, build what they need, and stop again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QProgressBar, QWidget

from gpu_studio.common.figures import MIB, size
from gpu_studio.common.practice import (
    LEAST_MIB,
    MOST_CARDS,
    MOST_MIB,
    PracticeCards,
    PracticeError,
    chosen,
    practice_cards,
)
from gpu_studio.hardware import practice
from gpu_studio.hardware.source import simulated
from gpu_studio.ui.kit import BackgroundTask, Button, Dialog, Label, Paragraph, Report, sentence
from gpu_studio.ui.kit.fields import WholeNumber
from gpu_studio.ui.kit.settings import PRACTICE, Settings
from gpu_studio.ui.window.services import Pages, Services

ABOUT: Final = (
    "TensorFlow gets GPUs of this size. Carving, memory limits, running out of memory, placement "
    "and losses are as on real cards; their memory is this machine's, and they compute on its CPU, "
    "so that times mean nothing."
)
BUILDING: Final = "Compiling the cards for this TensorFlow, once; it takes about 20 seconds…"
OF_SIMULATED: Final = "The cards of this window are simulated: start it without --simulate"
_WIDTH: Final = 460


class PracticeDialog(Dialog):
    """How many cards, and how large. `ready(PracticeCards, Path)` once their library is there."""

    ready = Signal(object, object)

    def __init__(self, cards: PracticeCards, host_mib: int, parent: QWidget | None = None) -> None:
        super().__init__("Practise with cards that are not there", parent)
        self._host_mib = host_mib
        self.count = WholeNumber("number of cards", 1, MOST_CARDS)
        self.memory = WholeNumber("memory of each card in MiB", LEAST_MIB, MOST_MIB)
        self.count.show_value(cards.count)
        self.memory.show_value(cards.memory_mib)
        self.words = Paragraph("", "muted")
        self.progress = QProgressBar()
        self.progress.setRange(0, 0)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("compiling the cards")
        self.start = Button("Practise", "primary")
        self._task = BackgroundTask("practice", self)
        self._lay_out()
        for field in (self.count, self.memory):
            field.edited.connect(self._show_sum)
        self.start.clicked.connect(self.build)
        self._task.done.connect(self._take)
        self._show_sum()

    @property
    def cards(self) -> PracticeCards:
        """The cards that are chosen."""
        return PracticeCards(self.count.value(), self.memory.value())

    def build(self) -> None:
        """Have the library built, unless it is there already."""
        for field in (self.count, self.memory):
            field.setEnabled(False)
        self.start.setEnabled(False)
        self.progress.show()
        self._say(BUILDING)
        self._task.start_work(_built)

    def done(self, result: int) -> None:
        """Close; what is being compiled is stopped."""
        self._task.forget()
        super().done(result)

    def _lay_out(self) -> None:
        self.column.addWidget(Paragraph(ABOUT))
        grid = QGridLayout()
        for row, (name, field) in enumerate(
            (("cards", self.count), ("memory of each, in MiB", self.memory))
        ):
            label = Label(name)
            label.setBuddy(field)
            grid.addWidget(label, row, 0)
            field.setFixedWidth(120)
            grid.addWidget(field, row, 1)
        grid.setColumnStretch(2, 1)
        self.column.addLayout(grid)
        self.column.addWidget(self.words)
        self.column.addWidget(self.progress)
        self.progress.hide()
        self.add_buttons(self.start, last="Cancel")
        self.start.setDefault(True)
        self.count.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_sum(self) -> None:
        total = self.cards.count * self.cards.memory_mib
        text = f"{self.cards.title}: {size(total * MIB)} in all"
        if self._host_mib:
            text += f", of {size(self._host_mib * MIB)} that this machine has"
        beyond = self._host_mib and total > self._host_mib
        more = ". Who fills them all fills the machine" if beyond else ""
        self._say(f"{text}{more}.")

    def _say(self, text: str) -> None:
        self.words.setText(text)
        self.fit(_WIDTH)

    def _take(self, found: Path | PracticeError) -> None:
        if isinstance(found, Path):
            self.ready.emit(self.cards, found)
            self.accept()
            return
        self.progress.hide()
        for widget in (self.count, self.memory, self.start):
            widget.setEnabled(True)
        self._say(sentence(str(found)))


def _built(_report: Report, cancelled: threading.Event) -> Path | PracticeError:
    try:
        return practice.build(stop=cancelled.is_set)
    except PracticeError as error:
        return error
    except OSError as error:
        return PracticeError(f"practice cards cannot be kept: {error}")


class Practising(QObject):
    """Shows practice cards in place of this machine's own, and these again."""

    def __init__(self, services: Services, pages: Pages) -> None:
        super().__init__(services.window)
        self._services, self._pages = services, pages
        services.inventory.changed.connect(self._allow)
        self._allow()

    def choose(self) -> PracticeDialog:
        """Ask which cards."""
        services = self._services
        machine = services.inventory.machine
        dialog = PracticeDialog(
            chosen() or _remembered(services.settings),
            machine.memory_mib if machine is not None else 0,
            services.window,
        )
        dialog.ready.connect(self._begin)
        dialog.show()
        return dialog

    def stop(self) -> None:
        """Show this machine's own cards again. Runs that are alive go on."""
        practice.end()
        self._renew()
        self._services.notice.say("These are this machine's own cards again.", about=_ABOUT)

    def _begin(self, cards: PracticeCards, folder: Path) -> None:
        self._services.settings.set(PRACTICE, str(cards))
        practice.begin(cards, folder)
        self._renew()
        self._pages.turn_to("devices")
        self._services.notice.say(
            f"Practice cards, {cards.title}: carve them, and train on them.", about=_ABOUT
        )

    def _renew(self) -> None:
        services = self._services
        for watcher in (services.sampler, services.inventory, services.checkup, services.facts):
            watcher.renew()
        self._allow()

    def _allow(self) -> None:
        actions = self._services.actions
        actions.allow("practise", OF_SIMULATED if simulated() else "")
        actions.allow("stop_practising", "" if chosen() else "These are this machine's own cards")


_ABOUT: Final = "practice"


def _remembered(settings: Settings) -> PracticeCards:
    try:
        return practice_cards(settings.get(PRACTICE))
    except PracticeError:
        return practice_cards(PRACTICE.default)
