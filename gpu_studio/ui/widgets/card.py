"""A card: the surface on which everything stands, with 12 px corners and a 1 px line."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.labels import Label


class Card(QFrame):
    """A framed surface with a column, `body`, and, where it has a title, a row `header` that holds it."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(2 * GRID, GRID + 2, 2 * GRID, GRID + 6)
        self.body.setSpacing(GRID)
        self.header = QHBoxLayout()
        self.header.setSpacing(GRID)
        if title:
            self._add_header(title)

    def _add_header(self, title: str) -> None:
        self.setAccessibleName(title)
        label = Label(title.upper(), "section")
        # As high as a small button beside it, so that titles stand on one line from card to card.
        label.setMinimumHeight(3 * GRID)
        self.header.addWidget(label)
        self.header.addStretch(1)
        self.body.addLayout(self.header)
