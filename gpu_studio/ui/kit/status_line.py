"""The status line at the foot of the window: the machine, TensorFlow, the live run.

`LiveButton` shows how many runs are alive and leads to each; the Train page has one too.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStatusBar, QWidget

from gpu_studio.ui.kit.basic_widgets import Elided
from gpu_studio.ui.kit.icons import coloured_icon
from gpu_studio.ui.kit.options import OptionButton
from gpu_studio.ui.kit.theme import GRID, ICONS, ThemeManager, state_colour

if TYPE_CHECKING:
    from gpu_studio.contract import State

_SIGN = 14


class Dot(QWidget):
    """A small round sign beside a word: filled in one of the theme's colours."""

    def __init__(
        self, theme: ThemeManager, colour: str = "muted", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._colour = colour
        self.setFixedSize(QSize(GRID + 2, GRID + 2))
        theme.changed.connect(self.update)

    def set_colour(self, colour: str) -> None:
        """Take another colour: the name of a token, or `#rrggbb`."""
        self._colour = colour
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the dot."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(self._theme.tokens, self._colour, self._colour)))
        painter.drawEllipse(QPointF(self.width() / 2, self.height() / 2), GRID / 2, GRID / 2)


class Sign(QWidget):
    """The sign of a run's state in its colour; hidden without one."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: State | None = None
        self.setFixedSize(QSize(_SIGN, _SIGN))
        theme.changed.connect(self.update)
        self.hide()

    def set_state(self, state: State | None) -> None:
        """Show the sign of this state."""
        self._state = state
        self.setVisible(state is not None)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the sign."""
        del event
        if self._state is not None:
            icon = coloured_icon(ICONS[self._state], state_colour(self._state, self._theme.tokens))
            icon.paint(QPainter(self), self.rect())


class StatusLine(QStatusBar):
    """The machine and the TensorFlow in use at the left.

    At the right the run that is shown, and a way to live runs.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self._machine_dot, self.run_sign = Dot(theme), Sign(theme)
        self.live = LiveButton(theme)
        self._machine, self._run = Elided(role="caption"), Elided(role="caption")
        self._tensorflow = Elided(role="caption")
        self.addWidget(_row(self._machine_dot, self._machine, self._tensorflow), 1)
        self.addPermanentWidget(_row(self.run_sign, self._run, self.live))

    def set_machine(self, text: str, colour: str) -> None:
        """Say what is known of the machine; `colour` is the name of a token."""
        self._machine.setText(text)
        self._machine_dot.set_colour(colour)

    def show_tensorflow(self) -> None:
        """Say which TensorFlow is in use.

        Reading that takes longer than a first window should wait.
        """
        self._tensorflow.setText(tensorflow_in_use())

    def set_run(self, text: str, state: State | None) -> None:
        """Say how the run is; empty without one."""
        self._run.setText(text)
        self.run_sign.set_state(state)

    @property
    def machine_text(self) -> str:
        """What it says of the machine."""
        return self._machine.text()

    @property
    def tensorflow_text(self) -> str:
        """What is said of the TensorFlow in use."""
        return self._tensorflow.text()

    @property
    def run_text(self) -> str:
        """What it says of the run."""
        return self._run.text()


def tensorflow_in_use() -> str:
    """The version of the installed TensorFlow, and where it is installed.

    TensorFlow is not imported for that.
    """
    from importlib.metadata import PackageNotFoundError, version

    place = Path(sys.prefix)
    home = Path.home()
    shown = f"~/{place.relative_to(home)}" if place.is_relative_to(home) else str(place)
    try:
        return f"TensorFlow {version('tensorflow')} · {shown}"
    except PackageNotFoundError:
        return f"TensorFlow is not installed in {shown}"


def _row(*widgets: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(GRID + 4, 0, GRID + 4, 0)
    row.setSpacing(GRID)
    for widget in widgets:
        row.addWidget(widget)
        if isinstance(widget, Elided):
            row.addSpacing(GRID)
    row.addStretch(1)
    return holder


TIP = "Runs that are training now: choose the one to show"


class LiveButton(OptionButton):
    """`2 live`, with a menu of the runs.

    It is hidden while no run is alive, or only the one that is shown.
    """

    chosen = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", theme, TIP, parent)
        self.runs = QMenu("Live runs", self)
        self.set_menu(self.runs)
        self.hide()

    def show_runs(self, titles: Mapping[str, str], shown: str) -> None:
        """Offer these runs, whose titles stand by their ids.

        The one that is `shown` has a check.
        """
        self.runs.clear()
        for run, title in titles.items():
            action = self.runs.addAction(title.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(run == shown)
            action.triggered.connect(partial(self.chosen.emit, run))
        self.set_text(f"{len(titles)} live")
        self.setVisible(bool(set(titles) - {shown}))
