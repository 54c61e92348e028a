"""What is said when the folder of the run that is shown is gone, or cannot be read any more."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.runs.stop import Patience, StopLadder
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

LOOK_MS: Final = 1000
_NEVER: Final = Patience(math.inf, math.inf, math.inf)
GONE: Final = (
    "The folder of this run is gone: it was deleted or moved. What was read before is still shown; nothing can be "
    "asked of the run. One that was deleted here can be taken back for an hour: gpu-studio runs restore {name}"
)
ASTRAY: Final = (
    "The folder of this run was moved to {folder}. Its trainer, process {pid}, still runs there, but cannot be seen or "
    "asked from here: put the folder back, or end the trainer."
)
ENDING: Final = (
    "The trainer, process {pid}, was asked to end (SIGTERM) and still runs. It may be in a long call: wait, or kill it."
)


class GoneBanner(QFrame):
    """Looks once a second whether the run is there, and goes when it is back. `runs_wanted` asks for the Runs page.

    Where the trainer goes on in a folder that was moved, it can be ended.
    """

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
        self.end = Button("End the trainer")
        self.end.clicked.connect(self._end)
        self._ladder: StopLadder | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        row.addWidget(self.words, 1)
        row.addWidget(self.end)
        row.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)
        self.hide()

    def follow(self, run: LiveRun | None) -> None:
        """Look after this run, or none."""
        self._run, self._ladder = run, None
        self.end.setText("End the trainer")
        if run is None:
            self._timer.stop()
        else:
            self._timer.start()
        self.look()

    def look(self) -> None:
        """Look now."""
        text = self._what_is_wrong(self._run) if self._run is not None else ""
        self.end.setVisible(self._run is not None and self._run.astray is not None)
        self.setVisible(bool(text))
        if text and text != self.words.text():
            self.words.setText(text)
            self.setAccessibleName(text)

    def _what_is_wrong(self, run: LiveRun) -> str:
        try:
            # A folder alone may be what a trainer made again for its last checkpoint.
            there = run.run.plan_file.exists() or run.run.events_file.exists()
        except OSError as error:
            return f"The run cannot be looked at: {error.strerror or error}. Look at {run.run.path}."
        if there:
            return run.problem
        if run.astray is None:
            return GONE.format(name=run.run.id)
        if self._ladder is not None:
            return self._ladder.problem or ENDING.format(pid=run.astray.pid)
        return ASTRAY.format(folder=run.astray.run.path, pid=run.astray.pid)

    def _end(self) -> None:
        """Send the trainer SIGTERM, and, pressed once more, SIGKILL: where it looks for requests nobody can write."""
        astray = self._run.astray if self._run is not None else None
        if astray is not None:
            self._ladder = self._ladder or StopLadder(astray.run, patience=_NEVER)
            self._ladder.escalate()
            self.end.setText("Kill the trainer")
            self.look()
