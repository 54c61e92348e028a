"""A card: the surface of the window's contents, with 12 px corners and a 1 px line."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.kit.labels import Label
from gpu_studio.ui.kit.theme.tokens import GRID


class CardFrame(QFrame):
    """A framed surface with a column, `body`, and, if it has a title, a `header` row for it."""

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
        # As high as a small button beside it, so that the titles of all cards are aligned.
        label.setMinimumHeight(3 * GRID)
        self.header.addWidget(label)
        self.header.addStretch(1)
        self.body.addLayout(self.header)
