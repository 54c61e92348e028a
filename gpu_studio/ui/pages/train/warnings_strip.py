"""A calm strip under the head of the page: what should be seen to, one line of it, more on demand."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.runs.warnings import Concern
from gpu_studio.ui.theme.icons import pixmap
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Elided

MOST_LINES = 6
"""So many are shown at most: the plots must not give way to them. All stand in the log."""
_SIGN = 14
_ALL = 100
"""The stretch of what takes the room that is left, as far as it needs it."""


class WarningLine(QWidget):
    """One of them: a sign, what it is, what to do, and a button that takes it away."""

    dismissed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone = "warning"
        self._sign = QLabel()
        self.text, self.advice = Elided(), Elided(role="muted")
        # What it is gives way only after what to do.
        self.text.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.dismiss = Button("Dismiss", "quiet", small=True)
        self.dismiss.setToolTip("Show this no more, until it begins again")
        self.dismiss.clicked.connect(self.dismissed)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(GRID)
        self.row.addWidget(self._sign)
        self.row.addWidget(self.text)
        self.row.addWidget(self.advice, _ALL)
        self.row.addStretch(1)
        self.row.addWidget(self.dismiss)
        theme.changed.connect(self._draw_sign)

    def show_concern(self, concern: Concern) -> None:
        """Show this one."""
        self._tone = "bad" if concern.level == "error" else "warning"
        self.text.setText(concern.text)
        self.advice.setText(concern.suggestion)
        self.setAccessibleName(concern.said)
        self.dismiss.setAccessibleName(f"Dismiss: {concern.text}")
        self._draw_sign()

    def _draw_sign(self) -> None:
        colour = getattr(self._theme.tokens, self._tone)
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the sign for the screen that it is on."""
        super().showEvent(event)
        self._draw_sign()


class WarningsStrip(QFrame):
    """Hidden while there is nothing. `dismissed(Concern)` asks to show one no more."""

    dismissed = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._concerns: Sequence[Concern] = ()
        self._open = False
        self.lines: list[WarningLine] = []
        self.more = Button("", small=True)
        self.more.clicked.connect(self._toggle)
        self.setObjectName("notice")
        self._column = QVBoxLayout()
        self._column.setSpacing(GRID // 2)
        side = QVBoxLayout()
        side.addWidget(self.more)
        side.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID - 2, GRID, GRID - 2)
        row.setSpacing(GRID)
        row.addLayout(self._column, 1)
        row.addLayout(side)
        self.hide()

    def show_concerns(self, concerns: Sequence[Concern]) -> None:
        """Show these, the gravest first."""
        self._concerns = concerns
        while len(self.lines) < len(concerns):
            self._add_line()
        for line, concern in zip(self.lines, concerns, strict=False):
            line.show_concern(concern)
        self._open = self._open and len(concerns) > 1
        self._set_tone("bad" if any(each.level == "error" for each in concerns) else "warning")
        self._show_lines()
        self.setVisible(bool(concerns))

    def _show_lines(self) -> None:
        count = len(self._concerns)
        for place, line in enumerate(self.lines):
            line.setVisible(place < min(count, MOST_LINES if self._open else 1))
        self.more.setVisible(count > 1)
        self.more.setText("Show one" if self._open else f"and {count - 1} more")
        self.more.setAccessibleName("Show one warning" if self._open else f"Show {count - 1} more warnings")
        self.more.setToolTip("All stand in the log" if count > MOST_LINES else "")
        self.setAccessibleName(f"Warnings: {count}")

    def _toggle(self) -> None:
        self._open = not self._open
        self._show_lines()

    def _add_line(self) -> None:
        line, place = WarningLine(self._theme), len(self.lines)
        line.dismissed.connect(lambda: self._dismiss(place))
        self.lines.append(line)
        self._column.addWidget(line)

    def _dismiss(self, place: int) -> None:
        if place < len(self._concerns):
            self.dismissed.emit(self._concerns[place])

    def _set_tone(self, tone: str) -> None:
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)
