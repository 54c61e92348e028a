"""What is said when the folder of the run that is shown is gone, or cannot be read any more."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

LOOK_MS: Final = 1000
GONE: Final = (
    "The folder of this run is gone: it was deleted or moved. What was read before is still shown; nothing can be "
    "asked of the run. One that was deleted here can be taken back for an hour: gpu-studio runs restore {name}"
)


class GoneBanner(QFrame):
    """Looks once a second whether the run is there, and goes when it is back. `runs_wanted` asks for the Runs page."""

    runs_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "bad")
        self._run: LiveRun | None = None
        self.words = Paragraph()
        self.button = Button("Runs page")
        self.button.setToolTip("See which runs there are")
        self.button.clicked.connect(self.runs_wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        row.addWidget(self.words, 1)
        row.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self.hide()

    def follow(self, run: LiveRun | None) -> None:
        """Look after this run, or none."""
        self._run = run
        if run is None:
            self._timer.stop()
        else:
            self._timer.start()
        self.look()

    def look(self) -> None:
        """Look now."""
        text = _what_is_wrong(self._run) if self._run is not None else ""
        self.setVisible(bool(text))
        if text and text != self.words.text():
            self.words.setText(text)
            self.setAccessibleName(text)


def _what_is_wrong(run: LiveRun) -> str:
    try:
        there = run.run.exists()
    except OSError as error:
        return f"The run cannot be looked at: {error.strerror or error}. Look at {run.run.path}."
    return run.problem if there else GONE.format(name=run.run.id)
