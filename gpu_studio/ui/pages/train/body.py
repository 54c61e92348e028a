"""How the parts of the Train page stand: the head, what must be said, the plots beside their figures, the details."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID

_BETWEEN = 12
_DETAILS_HEIGHT = 260


class Body(QWidget):
    """`above` stand over each other; under them the plots with the figures, and the details.

    A person can move the border between the two.
    """

    def __init__(
        self, above: Sequence[QWidget], charts: QWidget, now: QWidget, details: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._split = split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(_BETWEEN)
        split.addWidget(_beside(charts, now))
        split.addWidget(details)
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 2 * GRID, 22, 2 * GRID)
        column.setSpacing(_BETWEEN)
        for widget in above:
            column.addWidget(widget)
        column.addWidget(split, 1)

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
