"""A scroll area for contents that are higher than their space."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.ui.kit.theme.tokens import GRID


class Scrolled(QScrollArea):
    """A column that scrolls up and down only; Qt brings what Tab reaches into view."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QWidget()
        inside.setObjectName("plain")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(GRID // 2, GRID // 2, GRID, GRID)
        self.column.setSpacing(GRID)
        self.setWidget(inside)
