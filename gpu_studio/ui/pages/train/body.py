"""How the parts of the Train page stand: the head, what must be said, the plots beside their figures, the details."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID

_BETWEEN = 12
_DETAILS_HEIGHT = 260
LOW = 660
"""Pixels under which a page has no room for what can be left out."""


class Body(QWidget):
    """`above` stand over each other; under them the plots with the figures, and the details.

    A person can move the border between the two. `low_changed` says whether the page is too low for everything in full;
    until the border is moved the details are then as low as they can be.
    """

    low_changed = Signal(bool)

    def __init__(
        self, above: Sequence[QWidget], charts: QWidget, now: QWidget, details: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._split = split = QSplitter(Qt.Orientation.Vertical)
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
        """Whether there is no room for everything in full."""
        return self._low

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Look whether the page is low now."""
        super().resizeEvent(event)
        low = self.height() < LOW
        if low != self._low:
            self._low = low
            self._share_usually()
            self.low_changed.emit(low)

    def _share_usually(self) -> None:
        if not self._moved:
            room, details = sum(self._split.sizes()), self._details
            lower = (details.minimumSizeHint() if self._low else details.sizeHint()).height()
            self._split.setSizes([room - lower, lower])

    def _keep(self) -> None:
        self._moved = True

    def make_room(self, height: int = _DETAILS_HEIGHT) -> None:
        """Give the details room to be read in, if they have less: so many pixels, but never more than half."""
        room = sum(self._split.sizes())
        wanted = max(min(height, room // 2), self._split.sizes()[1])
        self._split.setSizes([room - wanted, wanted])


def _beside(charts: QWidget, now: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(_BETWEEN)
    row.addWidget(charts, 1)
    row.addWidget(now)
    return holder
