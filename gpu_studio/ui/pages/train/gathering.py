"""Something long made a piece at a time, while the window goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QProgressDialog, QWidget

SLICE_MS: Final = 12
UNSEEN_MS: Final = 200
"""What takes no longer than this needs no word."""


class Gathering(QObject):
    """Takes pieces as they are made. `done` brings them all, unless a person has cancelled it; then nothing comes."""

    done = Signal(bytes)

    def __init__(self, pieces: Iterator[bytes], words: str, window: QWidget) -> None:
        super().__init__(window)
        self._pieces = pieces
        self._made: list[bytes] = []
        self._words = words
        self._window = window
        self._since = QElapsedTimer()
        self.dialog: QProgressDialog | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._go_on)

    def start(self) -> None:
        """Begin, with the event loop's next turn."""
        self._since.start()
        self._timer.start(0)

    def cancel(self) -> None:
        """Make no more."""
        self._end()

    def _go_on(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        for piece in self._pieces:
            self._made.append(piece)
            if clock.hasExpired(SLICE_MS):
                self._show()
                return
        self._end()
        self.done.emit(b"".join(self._made))

    def _show(self) -> None:
        if self.dialog is None and self._since.hasExpired(UNSEEN_MS):
            self.dialog = dialog = QProgressDialog(self._words, "Cancel", 0, 0, self._window)
            dialog.setWindowModality(Qt.WindowModality.WindowModal)
            dialog.setAccessibleName(self._words)
            dialog.canceled.connect(self.cancel)
            dialog.show()

    def _end(self) -> None:
        self._timer.stop()
        self.deleteLater()
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None
