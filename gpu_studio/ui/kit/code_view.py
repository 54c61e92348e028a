"""A program's text with line numbers: it can be selected and copied, but not edited."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from gpu_studio.ui.kit.theme import GRID, ThemeManager, font

TAB = 4


class CodeView(QPlainTextEdit):
    """Long lines are wrapped, so that nothing is hidden at the side. Tab leaves it."""

    def __init__(self, theme: ThemeManager, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(font("mono"))
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabStopDistance(TAB * self.fontMetrics().horizontalAdvance(" "))
        self.setAccessibleName(name)
        # Keys move a visible cursor, which reading without a mouse needs.
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.numbers = _Numbers(self)
        self.blockCountChanged.connect(self._fit_margin)
        self.updateRequest.connect(self._scroll_numbers)
        self._fit_margin()

    @property
    def margin(self) -> int:
        """The width of the line numbers, in pixels."""
        digits = max(3, len(str(self.blockCount())))
        return digits * self.fontMetrics().horizontalAdvance("9") + 2 * GRID

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the numbers as high as the text."""
        super().resizeEvent(event)
        inside = self.contentsRect()
        self.numbers.setGeometry(QRect(inside.left(), inside.top(), self.margin, inside.height()))

    def paint_numbers(self, event: QPaintEvent) -> None:
        """Draw the numbers of the lines that are in sight."""
        painter = QPainter(self.numbers)
        painter.setFont(self.font())
        painter.setPen(QColor(self._theme.tokens.muted))
        block, width = self.firstVisibleBlock(), self.margin - GRID
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            line = QRect(0, round(top), width, self.fontMetrics().height())
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, str(block.blockNumber() + 1))
            top += self.blockBoundingRect(block).height()
            block = block.next()

    def _fit_margin(self) -> None:
        self.setViewportMargins(self.margin, 0, 0, 0)

    def _scroll_numbers(self, area: QRect, by: int) -> None:
        if by:
            self.numbers.scroll(0, by)
        else:
            self.numbers.update(0, area.y(), self.numbers.width(), area.height())


class _Numbers(QWidget):
    """The strip beside the text."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as the greatest number."""
        return QSize(self._view.margin, 0)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Have the view draw, which knows where its lines are."""
        self._view.paint_numbers(event)
