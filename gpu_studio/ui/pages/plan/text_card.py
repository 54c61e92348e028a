"""The plan as the text that its file holds."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from gpu_studio.plan import Plan, dumps
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.widgets.button import ActionButton
from gpu_studio.ui.widgets.card import Card


class TextCard(Card):
    """Read-only; it keeps its place while the text changes."""

    def __init__(self, copy: QAction, parent: QWidget | None = None) -> None:
        super().__init__("The plan's file", parent)
        self.header.addWidget(ActionButton(copy, "quiet", text="Copy", small=True))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setFont(font("mono"))
        self.text.setAccessibleName("the plan as TOML")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.body.addWidget(self.text, 1)

    def show_plan(self, plan: Plan) -> None:
        """Show the plan's text."""
        written = dumps(plan)
        if written == self.text.toPlainText():
            return
        place = self.text.verticalScrollBar().value()
        self.text.setPlainText(written)
        self.text.verticalScrollBar().setValue(place)
