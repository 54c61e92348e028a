"""The table over what came of its runs, with an edge between them that can be dragged."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from gpu_studio.ui.pages.runs.table_card import TableCard
from gpu_studio.ui.widgets.page import GAP

_MOST = 0.44
_LEAST_LOWER = 190


class PageSplit(QSplitter):
    """The table is as high as its rows, but takes no more than its part, until a person drags the edge."""

    def __init__(self, card: TableCard, lower: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._card = card
        self._dragged = False
        self._large = False
        self.addWidget(card)
        self.addWidget(lower)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(GAP)
        lower.setMinimumHeight(_LEAST_LOWER)
        self.splitterMoved.connect(self._keep)

    @property
    def large(self) -> bool:
        """Whether what came of the runs has all of the room."""
        return self._large

    def enlarge(self, large: bool) -> None:
        """Give what came of the runs all of the room, or no more than before."""
        self._large = large
        self._card.setVisible(not large)
        self.fit()

    def fit(self) -> None:
        """Share the room as it is meant to be."""
        if self._dragged or self._large:
            return
        room = self.height() - self.handleWidth()
        upper = self._card.height_within(round(room * _MOST))
        self.setSizes([upper, room - upper])

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the new room."""
        super().resizeEvent(event)
        self.fit()

    def _keep(self) -> None:
        self._dragged = True
