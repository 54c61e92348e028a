"""The head of the Train page: which run, how it is, how far it is, and what can be done to it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QProgressBar, QVBoxLayout, QWidget

from gpu_studio.runs.events import State
from gpu_studio.runs.reading.settled_eta import SettledEta
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.train.headline import headline
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.pages.train.thin_bar import ThinBar
from gpu_studio.ui.theme.icons import icon
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.states import LIVE
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.badge import Badge
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Elided
from gpu_studio.ui.widgets.live_button import LiveButton
from gpu_studio.ui.widgets.painted_line import PaintedLine

_PARTS = 1000
_MORE_WIDTH = 40
_ROW = 34
_MOST_OF_NAME = 0.36
_WIDE = 1000
"""From this width on there is room for words beside the signs of all buttons."""
EVALUATE_WORDS, SAVE_WORDS = "Evaluate", "Save model…"
EVALUATE = "Loss and metrics of the best checkpoint, on data held out"
SAVE = "Write the model of the best checkpoint to a file that Keras loads"
NO_CHECKPOINT = "The run has written no checkpoint"


class RunHeader(QWidget):
    """Name, state, headline, buttons and progress. The buttons only say that they were pressed."""

    pause_pressed = Signal()
    stop_pressed = Signal()
    checkpoint_pressed = Signal()
    stop_now_pressed = Signal()
    again_pressed = Signal()
    evaluate_pressed = Signal()
    save_pressed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: State | None = None
        self._eta = SettledEta()
        self.name = Elided(role="heading")
        self.live, self.badge = LiveButton(theme), Badge(theme)
        self.line = PaintedLine(theme)
        self.pause, self.stop, self.more = Button("Pause"), Button("Stop"), Button("⋯")
        self.again, self.evaluate, self.save = Button("Run again"), Button(EVALUATE_WORDS), Button(SAVE_WORDS)
        self.bar = QProgressBar()
        self.bar.setRange(0, _PARTS)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of the run")
        self.epoch_bar = ThinBar(theme)
        self._make_buttons()
        self._lay_out()
        theme.changed.connect(self._paint)
        self.set_state(None)

    def restart(self, name: str) -> None:
        """Show another run, of which only its name is known."""
        self.name.setText(name)
        self.line.set_text("")
        self._eta.restart()
        self.set_progress(None)
        self.set_state(None)

    def show_line(self, run: LiveRun) -> None:
        """Say how far the run is, what is being waited for, or why it cannot be read."""
        if run.problem:
            self.line.set_text(run.problem)
        elif run.reading:
            self.line.set_text(f"reading the run… {figures.percent(run.share_read)}")
        else:
            waiting, left = run.waiting_for, self._eta.words
            short = headline(run.history, left, short=True)
            self.line.set_text(waiting or headline(run.history, left), waiting or short)
        self.name.setText(run.title)

    def show_progress(self, run: LiveRun) -> None:
        """Show how far the run is and its epoch, and learn how long it still takes."""
        self._eta.follow(run.history)
        self.set_progress(run.history.progress, run.history.epoch_progress if run.live else None)

    def set_state(self, state: State | None) -> None:
        """Show this state, and only the buttons that mean something in it."""
        self._state = state
        self.badge.set_state(state)
        paused = state == "paused"
        self.pause.setText("Resume" if paused else "Pause")
        self.pause.setAccessibleName(self.pause.text())
        self.pause.setToolTip("Let the run go on" if paused else "Pause the run; its memory stays")
        self.pause.setEnabled(state in ("running", "paused", "starting"))
        self.stop.setEnabled(state in LIVE)
        for button in (self.pause, self.stop, self.more):
            if state not in LIVE:
                button.clearFocus()  # else hiding it would move the focus on to something not asked for
            button.setVisible(state in LIVE)
        for button in (self.again, self.evaluate, self.save):
            button.setVisible(state is not None and state not in LIVE)
        self._paint()

    def set_saved(self, there: bool) -> None:
        """Take note whether there is a checkpoint, which is what is evaluated and saved."""
        for button, tip in ((self.evaluate, EVALUATE), (self.save, SAVE)):
            button.setEnabled(there)
            button.setToolTip(tip if there else NO_CHECKPOINT)

    def set_progress(self, share: float | None, of_epoch: float | None = None) -> None:
        """Fill the bar up to `share` (0 to 1), and the thin one under it up to that `of_epoch`; None is not known."""
        self.bar.setValue(round((share or 0.0) * _PARTS))
        self.epoch_bar.set_share(of_epoch)
        told = [f"{words} {figures.percent(part)}" for words, part in (("run", share), ("epoch", of_epoch)) if part]
        self.bar.setToolTip(", ".join(told))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave room for the headline beside a long name, and beside what can be done to a run that has ended."""
        super().resizeEvent(event)
        for button, text in ((self.evaluate, EVALUATE_WORDS), (self.save, SAVE_WORDS)):
            button.setText(text if self.width() >= _WIDE else "")
        self.name.setMaximumWidth(round(self.width() * _MOST_OF_NAME))

    def _make_buttons(self) -> None:
        self.stop.setToolTip("Stop the run, with a checkpoint to go on from")
        self.more.setToolTip("What else can be asked of the run")
        self.more.setAccessibleName("More")
        self.more.setFixedWidth(_MORE_WIDTH)
        menu = QMenu("More", self)
        self.checkpoint = menu.addAction("Checkpoint now")
        self.stop_now = menu.addAction("Stop now, without a checkpoint")
        # Not `setMenu`, which draws a chevron that a sign this small has no room for.
        self.more.clicked.connect(lambda: menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 2))))
        self.pause.clicked.connect(self.pause_pressed)
        self.stop.clicked.connect(self.stop_pressed)
        self.checkpoint.triggered.connect(self.checkpoint_pressed)
        self.stop_now.triggered.connect(self.stop_now_pressed)
        self.again.setToolTip("Train the plan of this run once more, as a new run")
        self.evaluate.setAccessibleName("Evaluate")
        self.save.setAccessibleName("Save model")
        self.set_saved(False)
        self.again.clicked.connect(self.again_pressed)
        self.evaluate.clicked.connect(self.evaluate_pressed)
        self.save.clicked.connect(self.save_pressed)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GRID + 4)
        # So that nothing moves when the buttons go.
        row.addStrut(_ROW)
        row.addWidget(self.name)
        row.addWidget(self.live)
        row.addWidget(self.badge)
        row.addWidget(self.line, 1)
        for button in (self.pause, self.stop, self.more, self.again, self.evaluate, self.save):
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID + 4)
        column.addLayout(row)
        bars = QVBoxLayout()
        bars.setSpacing(2)
        bars.addWidget(self.bar)
        bars.addWidget(self.epoch_bar)
        column.addLayout(bars)

    def _paint(self) -> None:
        tokens = self._theme.tokens
        self.pause.setIcon(icon("play" if self._state == "paused" else "pause", tokens))
        self.stop.setIcon(icon("stop", tokens))
        self.checkpoint.setIcon(icon("checkpoint", tokens))
        self.stop_now.setIcon(icon("stop-now", tokens))
        for button, sign in ((self.again, "refresh"), (self.evaluate, "checkpoint"), (self.save, "save")):
            button.setIcon(icon(sign, tokens))
