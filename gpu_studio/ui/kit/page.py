"""The common parts of a page: heading, status line, buttons at the right, and a column."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.kit.labels import Elided, Label

SIDE = 22
TOP = 16
GAP = 14


class Page(QWidget):
    """A page.

    `header` holds the heading and ends with the buttons; `column` takes what is below it.
    """

    def __init__(self, heading: QWidget | str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SIDE, TOP, SIDE, TOP + 2)
        self.column.setSpacing(GAP)
        self.caption = Elided(role="muted")
        self.header = QHBoxLayout()
        self.header.setSpacing(GAP)
        self.header.addWidget(Label(heading, "heading") if isinstance(heading, str) else heading)
        self.header.addWidget(self.caption)
        self.header.addStretch(1)
        self.column.addLayout(self.header)

    def add_button(self, button: QWidget) -> None:
        """Put a button at the right end of the header."""
        self.header.addWidget(button)

    def add_strip(self, strip: QWidget) -> None:
        """Add a strip below the header, above earlier ones."""
        self.column.insertWidget(1, strip)
