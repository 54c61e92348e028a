"""What widgets that paint themselves have in common: where a line of text stands, and how the focus is drawn."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.theme.tokens import Tokens

LEFT: Final = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
RIGHT: Final = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


def draw_focus(painter: QPainter, widget: QWidget, tokens: Tokens, radius: float) -> None:
    """Draw a frame around a widget that has the focus, with corners of this radius in pixels."""
    if widget.hasFocus():
        painter.setPen(QColor(tokens.accent))
        painter.drawRoundedRect(QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
