"""The header of the Train page: the run's name, state and progress, and its buttons."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import UNKNOWN, duration, metric_label
from gpu_studio.contract import ENDED, Finished, State
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.settled_eta import SettledEta
from gpu_studio.ui.kit import (
    GRID,
    ICONS,
    Button,
    Elided,
    LiveButton,
    PaintedLine,
    ThemeManager,
    coloured_icon,
    font,
    icon,
    mix,
    readable,
    state_colour,
)
from gpu_studio.ui.train.live_run import FOLDER_GONE, LiveRun

_HEIGHT = 22
_SIGN = 14
_SIDE = 8
_GAP = 5


class Badge(QWidget):
    """A pill in the state's colour, with its icon and name. Without a state it is hidden."""

    def __init__(
        self, theme: ThemeManager, state: State | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: State | None = None
        caption = font("caption")
        caption.setWeight(caption.Weight.Medium)
        self.setFont(caption)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.set_state(state)

    @property
    def state(self) -> State | None:
        """The state shown; None shows nothing."""
        return self._state

    def set_state(self, state: State | None) -> None:
        """Show this state; None shows nothing and takes no space."""
        self._state = state
        self.setAccessibleName(f"state: {state}" if state else "no state")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The size of icon and name with their margins; zero without a state."""
        if self._state is None:
            return QSize(0, 0)
        word = self.fontMetrics().horizontalAdvance(self._state)
        return QSize(
            word + _SIGN + _GAP + 2 * _SIDE + 2, max(_HEIGHT, self.fontMetrics().height() + 6)
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill, the sign and the word."""
        del event
        if self._state is None:
            return
        tokens = self._theme.tokens
        colour = state_colour(self._state, tokens)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        ground = mix(colour, tokens.background, 0.18)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
        sign = QRectF(_SIDE, (self.height() - _SIGN) / 2, _SIGN, _SIGN)
        coloured_icon(ICONS[self._state], colour).paint(painter, sign.toAlignedRect())
        painter.setPen(QColor(readable(colour, ground, tokens.text)))
        words = self.rect().adjusted(_SIDE + _SIGN + _GAP, 0, 0, 0)
        painter.drawText(
            words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._state
        )


_SEPARATOR = " · "
_TEST = "test_"


def headlines(history: History, left: str = UNKNOWN) -> list[str]:
    """Return the text beside the run's name, with the time `left`, and ever shorter ones.

    They leave out first what is read elsewhere on the page, and last what a person decides by.
    """
    marked = f"practice{_SEPARATOR}" if history.practice else ""
    return [f"{marked}{text}" for text in _headlines(history, left)]


def _headlines(history: History, left: str) -> list[str]:
    if history.finished is not None:
        return _finished(history, history.finished)
    if history.state in ("failed", "lost"):
        return [f"ended {history.reached}", f"ended {_reached_briefly(history)}"]
    if history.state == "starting" and history.reason:
        return [history.reason, history.reason.partition(":")[0]]
    if history.model is None:
        return ["starting TensorFlow…" if history.devices is None else "building the model…"]
    if history.state == "running" and history.loss is None and not _speed(history):
        return ["the first step takes longest: TensorFlow compiles it…", "the first step…"]
    place, speed, remains = _place(history, short=True), _speed(history), _left(history, left)
    return _joined(
        [_place(history), speed, remains], [place, speed, remains], [place, remains], [place]
    )


def _joined(*lines: list[str]) -> list[str]:
    """Each line as text; none twice, and none that is empty."""
    texts = [_SEPARATOR.join(filter(None, parts)) for parts in lines]
    return list(dict.fromkeys(filter(None, texts)))


def _place(history: History, *, short: bool = False) -> str:
    total = f" of {figures.grouped(history.epochs_total)}" if history.epochs_total else ""
    step = "" if short else f"{_SEPARATOR}step {figures.grouped(history.step)}"
    return f"epoch {figures.grouped(max(history.epoch, 1))}{total}{step}"


def _speed(history: History) -> str:
    speed = history.samples_per_second
    return "" if speed is None else figures.throughput(speed)


def _left(history: History, left: str) -> str:
    if history.state == "stopping":
        return ""
    return f"time left {UNKNOWN}" if left == UNKNOWN else f"{left} left"


def _finished(history: History, event: Finished) -> list[str]:
    # The badge beside this already says that it is finished or stopped.
    before, after = {
        "completed": ("", ""),
        "early_stopping": ("ended early", ""),
        "stopped": ("", "with a checkpoint"),
        "stopped_now": ("", "without a checkpoint"),
    }[event.reason]
    how, briefly = history.reached, _reached_briefly(history)
    if before:
        how, briefly = f"{before} {how}", f"{before} {briefly}"
    elif after:
        how, briefly = f"{how}, {after}", f"{briefly.removeprefix('in ')}, {after}"
    else:
        how = briefly = ""
    test = _test_figures(event.metrics)
    # As everywhere else: including the trainer's start.
    took = f"took {duration(event.seconds if history.seconds is None else history.seconds)}"
    least = before or after
    return _joined(
        [how, *test, took],
        [how, *test],
        [briefly, *test],
        [briefly, *test[:1]],
        [least, *test[:1]],
        [least] if least else test[:1],
    )


def _reached_briefly(history: History) -> str:
    """`in epoch 3 of 30` where that is shorter than how far training came to the step."""
    model = history.model
    whole, rest = divmod(history.step, model.steps_per_epoch or 1) if model else (0, 0)
    if not whole or not rest or model is None:
        return history.reached
    return f"in epoch {figures.grouped(whole + 1)} of {figures.grouped(model.epochs)}"


def _test_figures(metrics: dict[str, float | None]) -> list[str]:
    """The metrics of the test data, the loss last."""
    test = {
        name.removeprefix(_TEST): number
        for name, number in metrics.items()
        if name.startswith(_TEST)
    }
    ordered = sorted(test, key=lambda name: name == "loss")
    return [f"test {metric_label(name, test)} {figures.metric(test[name])}" for name in ordered]


_THIN = 2


class ThinBar(QWidget):
    """A line of two pixels for the share that is done; empty if that is unknown."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.share: float | None = None
        self.setFixedHeight(_THIN)
        theme.changed.connect(self.update)

    def set_share(self, share: float | None) -> None:
        """Show this share (0 to 1), or nothing."""
        if share != self.share:
            self.share = share
            self.setAccessibleName(
                "" if share is None else f"Progress of the epoch: {figures.share(share)}"
            )
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
        del event
        if not self.share:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.muted))
        painter.drawRoundedRect(
            QRectF(0, 0, self.width() * self.share, _THIN), _THIN / 2, _THIN / 2
        )


_PARTS = 1000
_MORE_WIDTH = 40
_ROW = 34
_MOST_OF_NAME = 0.36
_WIDE = 1000
"""From this width on there is space for words beside the signs of all buttons."""
EVALUATE_WORDS, SAVE_WORDS = "Evaluate", "Save model…"
EVALUATE = "Loss and metrics of the best checkpoint, on data held out"
SAVE = "Write the model of the best checkpoint to a file that Keras loads"
NO_CHECKPOINT = "The run has written no checkpoint"
AGAIN = "Train the plan of this run once more, as a new run"


class RunHeader(QWidget):
    """Name, state, headline, buttons and progress.

    The buttons only report that they were pressed.
    """

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
        self._saved, self._gone = False, False
        self._eta = SettledEta()
        self.name = Elided(role="heading")
        self.live, self.badge = LiveButton(theme), Badge(theme)
        self.line = PaintedLine(theme)
        self.pause, self.stop, self.more = Button("Pause"), Button("Stop"), Button("⋯")
        self.again, self.evaluate, self.save = (
            Button("Run again"),
            Button(EVALUATE_WORDS),
            Button(SAVE_WORDS),
        )
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
        """Show another run, of which only the name is known."""
        self.name.setText(name)
        self.line.set_text("")
        self._eta.restart()
        self.set_progress(None)
        self.set_state(None)

    def show_line(self, run: LiveRun) -> None:
        """Show how far the run is, what is being waited for, or why it cannot be read."""
        if run.problem:
            self.line.set_text(run.problem)
        elif run.reading:
            self.line.set_text(f"reading the run… {figures.share(run.share_read)}")
        else:
            waiting = run.waiting_for
            texts = [waiting] if waiting else headlines(run.history, self._eta.words)
            self.line.set_text(*texts)
        self.name.setText(run.title)

    def show_progress(self, run: LiveRun) -> None:
        """Show the progress of the run and of its epoch, and estimate the time left."""
        self._eta.follow(run.history)
        self.set_progress(run.history.progress, run.history.epoch_progress if run.live else None)

    def set_state(self, state: State | None) -> None:
        """Show this state, and only the buttons that apply to it."""
        self._state = state
        self.badge.set_state(state)
        paused = state == "paused"
        self.pause.setText("Resume" if paused else "Pause")
        self.pause.setAccessibleName(self.pause.text())
        self.pause.setToolTip("Resume the run" if paused else "Pause the run; its memory stays")
        self.pause.setEnabled(state in ("running", "paused", "starting"))
        live = state is not None and state not in ENDED
        self.stop.setEnabled(live)
        for button in (self.pause, self.stop, self.more):
            if not live:
                button.clearFocus()  # otherwise hiding it would move the focus elsewhere
            button.setVisible(live)
        for button in (self.again, self.evaluate, self.save):
            button.setVisible(state in ENDED)
        self._paint()

    def set_saved(self, there: bool) -> None:
        """Set whether there is a checkpoint to evaluate and save."""
        self._saved = there
        self._allow()

    def set_gone(self, gone: bool) -> None:
        """Set whether the run's folder is gone: nothing can be asked of such a run."""
        self._gone = gone
        self._allow()

    def _allow(self) -> None:
        """Enable what can be done with a run that has ended, or say why it cannot."""
        saved = "" if self._saved else NO_CHECKPOINT
        for button, tip, why_not in (
            (self.again, AGAIN, ""),
            (self.evaluate, EVALUATE, saved),
            (self.save, SAVE, saved),
        ):
            lacking = FOLDER_GONE if self._gone else why_not
            button.setEnabled(not lacking)
            button.setToolTip(lacking or tip)

    def set_progress(self, share: float | None, of_epoch: float | None = None) -> None:
        """Fill the bars up to `share` and `of_epoch` (0 to 1); None means unknown."""
        # Left to itself it paints at once, with all else of the window that is to be painted.
        self.bar.setUpdatesEnabled(False)
        self.bar.setValue(round((share or 0.0) * _PARTS))
        self.bar.setUpdatesEnabled(True)
        self.epoch_bar.set_share(of_epoch)
        texts = [
            f"{words} {figures.share(part)}"
            for words, part in (("run", share), ("epoch", of_epoch))
            if part
        ]
        self.bar.setToolTip(", ".join(texts))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Leave space for the headline beside a long name.

        A run that has ended needs space for its actions too.
        """
        super().resizeEvent(event)
        for button, text in ((self.evaluate, EVALUATE_WORDS), (self.save, SAVE_WORDS)):
            button.setText(text if self.width() >= _WIDE else "")
        self.name.setMaximumWidth(round(self.width() * _MOST_OF_NAME))

    def _make_buttons(self) -> None:
        self.stop.setToolTip("Stop the run, with a checkpoint to resume from")
        self.more.setToolTip("What else can be asked of the run")
        self.more.setAccessibleName("More")
        self.more.setFixedWidth(_MORE_WIDTH)
        menu = QMenu("More", self)
        self.checkpoint = menu.addAction("Checkpoint now")
        self.stop_now = menu.addAction("Stop now, without a checkpoint")
        # Not `setMenu`, which draws a chevron that does not fit on an icon this small.
        self.more.clicked.connect(
            lambda: menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 2)))
        )
        self.pause.clicked.connect(self.pause_pressed)
        self.stop.clicked.connect(self.stop_pressed)
        self.checkpoint.triggered.connect(self.checkpoint_pressed)
        self.stop_now.triggered.connect(self.stop_now_pressed)
        self.again.setToolTip(AGAIN)
        self.evaluate.setAccessibleName("Evaluate")
        self.save.setAccessibleName("Save model")
        self.set_saved(False)
        self.again.clicked.connect(self.again_pressed)
        self.evaluate.clicked.connect(self.evaluate_pressed)
        self.save.clicked.connect(self.save_pressed)

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GRID + 4)
        # So that nothing moves when the buttons are hidden.
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
        for button, sign in (
            (self.again, "refresh"),
            (self.evaluate, "checkpoint"),
            (self.save, "save"),
        ):
            button.setIcon(icon(sign, tokens))
