"""The rail at the left: an icon and a word for each page."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QButtonGroup, QFrame, QToolButton, QVBoxLayout, QWidget

from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.tokens import GRID

WIDTH = 84


class Rail(QFrame):
    """Buttons that trigger the page actions; the one of the page that is shown is checked."""

    def __init__(self, actions: dict[str, QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rail")
        self.setFixedWidth(WIDTH)
        self._group = QButtonGroup(self)
        self._buttons = {name: self._make(action) for name, action in actions.items()}
        column = QVBoxLayout(self)
        column.setContentsMargins(GRID, GRID + 4, GRID, GRID)
        column.setSpacing(6)
        for button in self._buttons.values():
            column.addWidget(button)
        column.addStretch(1)

    def check(self, name: str) -> None:
        """Mark the page that is shown."""
        self._buttons[name].setChecked(True)

    def _make(self, action: QAction) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("destination")
        button.setText(action.text().removesuffix(" page"))
        button.setAccessibleName(action.text())
        button.setToolTip(action.toolTip())
        button.setFont(font("caption"))
        button.setIconSize(QSize(20, 20))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        button.setFixedSize(WIDTH - 2 * GRID, 60)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(action.trigger)
        button.setIcon(action.icon())
        action.changed.connect(lambda: button.setIcon(action.icon()))
        self._group.addButton(button)
        return button
