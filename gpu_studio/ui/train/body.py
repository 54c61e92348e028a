"""The layout of the Train page: header, messages, plots beside their figures, details."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from gpu_studio.ui.kit import GRID

_BETWEEN = 12
_DETAILS_HEIGHT = 260
LOW = 660
"""Pixels under which a page has no space for what can be left out."""


class Body(QWidget):
    """The widgets `above` are stacked; below them are the plots with the figures, and the details.

    The user can move the border between the two. `low_changed` says whether the page is too low to
    show everything in full; until the border is moved, the details are then as low as possible.
    """

    low_changed = Signal(bool)

    def __init__(
        self,
        above: Sequence[QWidget],
        charts: QWidget,
        now: QWidget,
        details: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.split = split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(_BETWEEN)
        split.addWidget(_beside(charts, now))
        split.addWidget(details)
        self._details = details
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 0)
        split.splitterMoved.connect(self._keep)
        self._low = self._moved = False
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 2 * GRID, 22, 2 * GRID)
        column.setSpacing(_BETWEEN)
        for widget in above:
            column.addWidget(widget)
        column.addWidget(split, 1)

    @property
    def low(self) -> bool:
        """Whether the page is too low to show everything in full."""
        return self._low

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Check whether the page is too low now."""
        super().resizeEvent(event)
        low = self.height() < LOW
        if low != self._low:
            self._low = low
            self._share_usually()
            self.low_changed.emit(low)

    def _share_usually(self) -> None:
        if not self._moved:
            space, details = sum(self.split.sizes()), self._details
            lower = (details.minimumSizeHint() if self._low else details.sizeHint()).height()
            self.split.setSizes([space - lower, lower])

    def _keep(self) -> None:
        self._moved = True

    def grow_details(self, height: int = _DETAILS_HEIGHT) -> None:
        """Give the details at least this many pixels of height, but never more than half."""
        space = sum(self.split.sizes())
        wanted = max(min(height, space // 2), self.split.sizes()[1])
        self.split.setSizes([space - wanted, wanted])


def _beside(charts: QWidget, now: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(_BETWEEN)
    row.addWidget(charts, 1)
    row.addWidget(now)
    return holder
