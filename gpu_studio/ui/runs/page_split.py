"""The table above the results of its runs, with a movable edge between them."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSplitter, QSplitterHandle, QWidget

from gpu_studio.ui.kit.page import GAP
from gpu_studio.ui.kit.settings import RUNS_SHARE, Settings
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.runs.table_card import TableCard

_MOST: Final = 0.44
_LEAST_UPPER: Final = 130
_LEAST_LOWER: Final = 190
_STEP: Final = 28
"""Pixels by which an arrow key moves the edge: a row of the table."""
_GRIP: Final = QSize(40, 4)
_EDGE: Final = "Edge between the runs and what came of them"
_TIP: Final = (
    "Drag to give the table more or less room, or press Up and Down; "
    "double-click for the usual part"
)


class PageSplit(QSplitter):
    """The table has all the height while nothing is selected.

    Else it is as high as its rows, but takes no more than its part, until a person moves the edge:
    that part is then remembered.
    """

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        card: TableCard,
        lower: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._theme, self._settings = theme, settings
        self._card, self._lower = card, lower
        self._share = _share(settings.get(RUNS_SHARE))
        self._large = False
        self.addWidget(card)
        self.addWidget(lower)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(GAP)
        # Otherwise the message for an empty table decides, which is higher than a few rows.
        card.setMinimumHeight(_LEAST_UPPER)
        lower.setMinimumHeight(_LEAST_LOWER)
        self.splitterMoved.connect(self._keep)

    @property
    def large(self) -> bool:
        """Whether the results have all the height."""
        return self._large

    def enlarge(self, large: bool) -> None:
        """Give the results all the height, or as much as before."""
        self._large = large
        self._card.setVisible(not large)
        self.fit()

    def show_lower(self, shown: bool) -> None:
        """Show the results of the selected runs, or give all the height to the table."""
        if self._lower.isHidden() is shown:
            self._lower.setVisible(shown)
            self.refresh()  # otherwise the edge has no height of its own yet
            self.fit()

    def fit(self) -> None:
        """Divide the height as intended."""
        if self._large or self._lower.isHidden():
            return
        space = self.height() - self.handleWidth()
        usual = self._card.height_within(round(space * _MOST))
        upper = usual if self._share is None else round(space * self._share)
        self.setSizes([upper, space - upper])

    def forget(self) -> None:
        """Divide the height as if nobody had moved the edge."""
        self._share = None
        self._settings.set(RUNS_SHARE, "")
        self.fit()

    def createHandle(self) -> QSplitterHandle:  # noqa: N802 - Qt's name
        """An edge that shows where it can be gripped."""
        return _Edge(self._theme, self)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the new room."""
        super().resizeEvent(event)
        self.fit()

    def _keep(self) -> None:
        upper, lower = self.sizes()
        self._share = upper / max(upper + lower, 1)
        self._settings.set(RUNS_SHARE, f"{self._share:.3f}")


class _Edge(QSplitterHandle):
    """A short bar in the middle of the edge, in the accent while it is under the pointer or has the
    focus.
    """

    def __init__(self, theme: ThemeManager, split: PageSplit) -> None:
        super().__init__(Qt.Orientation.Vertical, split)
        self._theme, self._split = theme, split
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(_EDGE)
        self.setToolTip(_TIP)
        theme.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move the edge with the arrow keys, by a row."""
        by = {Qt.Key.Key_Up: -_STEP, Qt.Key.Key_Down: _STEP}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.moveSplitter(self._split.sizes()[0] + by)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Restore the initial division."""
        del event
        self._split.forget()

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Light up under the pointer."""
        super().enterEvent(event)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Light up with the focus."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Go out without it."""
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the grip."""
        del event
        tokens = self._theme.tokens
        grip = QRectF(0, 0, _GRIP.width(), _GRIP.height())
        grip.moveCenter(QRectF(self.rect()).center())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(
            QColor(tokens.accent if self.hasFocus() or self.underMouse() else tokens.muted)
        )
        painter.drawRoundedRect(grip, grip.height() / 2, grip.height() / 2)


def _share(text: str) -> float | None:
    """Return the share of the height that the user gave the table; None if none is remembered."""
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 < share < 1 else None
