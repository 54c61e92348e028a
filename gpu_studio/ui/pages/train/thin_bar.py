"""How far the epoch is: a line under the bar of the run."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.models import figures
from gpu_studio.ui.theme.manager import ThemeManager

_HEIGHT = 2


class ThinBar(QWidget):
    """A line of two pixels, as long as the part that is done; nothing where that is not known."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.share: float | None = None
        self.setFixedHeight(_HEIGHT)
        theme.changed.connect(self.update)

    def set_share(self, share: float | None) -> None:
        """Show this part (0 to 1), or nothing."""
        if share != self.share:
            self.share = share
            self.setAccessibleName("" if share is None else f"Progress of the epoch: {figures.percent(share)}")
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
        del event
        if not self.share:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.muted))
        painter.drawRoundedRect(QRectF(0, 0, self.width() * self.share, _HEIGHT), _HEIGHT / 2, _HEIGHT / 2)
