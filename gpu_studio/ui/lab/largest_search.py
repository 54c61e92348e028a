"""The row of a study's dialog that searches the largest batch, and shows what was found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.lab.largest_batch import LargestBatch, in_words
from gpu_studio.ui.kit import GRID, BackgroundTask, Button, Label, Paragraph, Report

EXPLAINED = (
    "Steps are trained for real, each size in a process of its own, until the next size up does "
    "not run. It takes a minute or a few."
)
NOT_ONE = "No batch fits, so there is nothing to study."
Found = tuple[LargestBatch, ...] | str


@dataclass(frozen=True, slots=True)
class LargestLook:
    """How it is searched: `look` returns what was found, or why nothing is, empty if cancelled.

    `allow` does what it is given once the Python of the plan is allowed.
    """

    look: Callable[[Report, threading.Event], Found]
    allow: Callable[[Callable[[], object]], object]


class LargestSearch(QWidget):
    """A button, and words. `found` has what was found; `resized` fires when it is higher."""

    found = Signal(object)
    resized = Signal()

    def __init__(self, look: LargestLook, known: tuple[LargestBatch, ...]) -> None:
        super().__init__()
        self._look = look
        self.button = Button("Search", small=True)
        self.words = Paragraph(EXPLAINED, "muted")
        self._task = BackgroundTask("the largest batch", self)
        self._task.reported.connect(lambda text: self._say(f"{text}…"))
        self._task.done.connect(self._take)
        self._task.failed.connect(lambda _: self._rest(EXPLAINED))
        row = QHBoxLayout()
        row.addWidget(Label("LARGEST BATCH THAT FITS", "section"))
        row.addStretch(1)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, GRID)
        column.addLayout(row)
        column.addWidget(self.words)
        self.button.clicked.connect(self._click)
        if known:
            self._show(known)
        self._name("Search")

    @property
    def busy(self) -> bool:
        """Whether it is searching."""
        return self._task.busy

    def close_parts(self) -> None:
        """Search no more, and leave no process behind."""
        self._task.close()

    def _click(self) -> None:
        if self.busy:
            self._task.cancel()
            self._say("Cancelling…")
        else:
            self._look.allow(self._start)

    def _start(self) -> None:
        self._task.start_work(self._look.look)
        self._name("Cancel")
        self._say("Looking at the plan…")

    def _take(self, found: Found) -> None:
        if isinstance(found, str):
            self._rest(found or EXPLAINED, bad=bool(found))
        elif not found[0].batch:
            self._rest(f"{in_words(found[0])} {NOT_ONE}", bad=True)
        else:
            self._rest("")
            self._show(found)
            self.found.emit(found)

    def _rest(self, words: str, *, bad: bool = False) -> None:
        self._name("Search")
        self._say(words, bad=bad)

    def _show(self, found: tuple[LargestBatch, ...]) -> None:
        self._say("\n".join(map(in_words, found)))

    def _say(self, words: str, *, bad: bool = False) -> None:
        self.words.set_tone("bad" if bad else "")
        self.words.setText(words)
        self.resized.emit()

    def _name(self, words: str) -> None:
        self.button.setText(words)
        self.button.setAccessibleName(f"{words} the largest batch")
