"""A strip below the page's header: the gravest warning in a line, the others on demand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QObject, QPoint, QTimer, Signal
from PySide6.QtGui import QCursor, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.contract import Warned
from gpu_studio.contract.failure_texts import is_disk_full
from gpu_studio.runs.failure_guide import PAGE, place_of_failure
from gpu_studio.runs.warnings import Concern, concerns_of
from gpu_studio.runs.warnings_cards import CardWatch
from gpu_studio.ui.kit import GRID, GUIDE_PLACE, Button, Elided, ThemeManager, pixmap
from gpu_studio.ui.train.live_run import LiveRun

LOOK_MS: Final = 1000


class RunConcerns(QObject):
    """`concerns` are those that hold and were not dismissed, the gravest first.

    `changed` reports a change of them. Their beginning and end are written to the run's log; the
    beginning is also a mark on the time axis. A dismissed one comes back only after it was over.
    """

    changed = Signal()

    def __init__(
        self, parent: QObject | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(parent)
        self.concerns: tuple[Concern, ...] = ()
        self.clock = clock
        self._run: LiveRun | None = None
        self._cards: CardWatch | None = None
        self._standing: tuple[Concern, ...] = ()
        self._dismissed: set[tuple[str, float]] = set()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)

    @property
    def words(self) -> str:
        """The gravest, in a few words for the window's status line; empty if there is none."""
        if not self.concerns:
            return ""
        more = f" and {len(self.concerns) - 1} more" if len(self.concerns) > 1 else ""
        return f"⚠ {self.concerns[0].text.rstrip('.')}{more}"

    def follow(self, run: LiveRun | None) -> None:
        """Watch this run, and no other."""
        self._run, self._cards = run, CardWatch(run.run.hardware_file) if run else None
        self._standing = ()
        self._dismissed.clear()
        self._show()
        if run is None:
            self._timer.stop()
        else:
            self._timer.start()

    def look(self) -> None:
        """Check now."""
        run = self._run
        if run is None or self._cards is None or run.reading:
            return
        if run.live:
            self._cards.read()
        else:
            self._timer.stop()
        now = self.clock()
        cards = self._cards.sights(run.history.devices, now)
        before, full = self._standing, run.live and is_disk_full(run.run.path)
        moment = run.history.time_of(now)
        self._standing = concerns_of(run.history, cards, now=moment, before=before, disk_full=full)
        self._tell(run, before)
        self._show()

    def dismiss(self, concern: Concern) -> None:
        """Hide this one for as long as it holds."""
        self._dismissed.add((concern.key, concern.since))
        self._show()

    def _tell(self, run: LiveRun, before: tuple[Concern, ...]) -> None:
        """Write to the log what is new and what is over."""
        known, standing = ({each.key for each in some} for some in (before, self._standing))
        new = [each for each in self._standing if each.key not in known]
        for concern in new:
            if not concern.reported:
                _tell_begun(run, concern)
        for concern in before:
            if concern.key not in standing and not concern.reported and run.live:
                run.log.say(self.clock(), "info", f"over: {concern.text}")

    def _show(self) -> None:
        shown = tuple(
            each for each in self._standing if (each.key, each.since) not in self._dismissed
        )
        if shown != self.concerns:
            self.concerns = shown
            self.changed.emit()


def _tell_begun(run: LiveRun, concern: Concern) -> None:
    run.log.say(concern.since, concern.level, concern.said)
    # Without a number, because no trainer wrote it.
    run.history.warnings.append(
        Warned(time=concern.since, message=concern.text, suggestion=concern.suggestion)
    )


MOST_LINES = 6
"""So many are shown at most: the plots must not give way to them. All stand in the log."""
_SIGN = 14
_ALL = 100
"""The stretch of what takes the space that is left, as far as it needs it."""


class WarningLine(QWidget):
    """One warning: an icon, what it is, what to do, and a button that dismisses it."""

    dismissed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone = "warning"
        self._sign = QLabel()
        self.text, self.advice = Elided(), Elided(role="muted")
        # The description is elided only after the advice.
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
        place = place_of_failure(concern.text)
        self.setProperty(GUIDE_PLACE, place if place != PAGE else "")
        self.dismiss.setAccessibleName(f"Dismiss: {concern.text}")
        self._draw_sign()

    def _draw_sign(self) -> None:
        colour = getattr(self._theme.tokens, self._tone)
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the sign for the screen that it is on."""
        super().showEvent(event)
        self._draw_sign()


REST_MS: Final = 1500
"""So long the pointer rests on what lies below before that moves."""


class WarningsStrip(QFrame):
    """Hidden while there is nothing. `dismissed(Concern)` asks to show one no more.

    It comes and goes above `below`, which then moves. While the pointer is on its way there, as
    before a click, it waits until the pointer rests or has left.
    """

    dismissed = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.below: QWidget | None = None
        self._seen_at = QPoint()
        self.rest = QTimer(self)
        """Runs out once the pointer has rested for a while, or has left."""
        self.rest.setSingleShot(True)
        self.rest.setInterval(REST_MS)
        self.rest.timeout.connect(self._come_or_go)
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
        # What is over stands there until the strip goes: a lower one would move what lies below.
        if concerns:
            self._show_lines()
        if self.isHidden() != bool(concerns):
            self.rest.stop()
        elif not self.rest.isActive():
            self._seen_at = QPoint()
            self._come_or_go()

    def _come_or_go(self) -> None:
        """Show or hide it, unless the pointer is on its way over what would move."""
        at = QCursor.pos()
        moving, self._seen_at = at != self._seen_at, at
        if moving and self._is_below(at):
            self.rest.start()
        else:
            self.setVisible(bool(self._concerns))

    def _is_below(self, at: QPoint) -> bool:
        below = self.below
        if below is None or not below.isVisible():
            return False
        return below.rect().contains(below.mapFromGlobal(at))

    def _show_lines(self) -> None:
        count = len(self._concerns)
        for place, line in enumerate(self.lines):
            line.setVisible(place < min(count, MOST_LINES if self._open else 1))
        self.more.setVisible(count > 1)
        self.more.setText("Show one" if self._open else f"and {count - 1} more")
        self.more.setAccessibleName(
            "Show one warning" if self._open else f"Show {count - 1} more warnings"
        )
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
