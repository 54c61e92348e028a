"""The button that opens the doctor, with how many things are to be mended in a pill behind its word."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAction, QColor, QFontMetrics, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix, readable
from gpu_studio.ui.widgets.button import ActionButton

_HEIGHT, _SIDE, _BEFORE = 20, 8, 6


class DoctorButton(ActionButton):
    """Says `Doctor`, and in a pill how many problems there are, if there are any."""

    def __init__(self, theme: ThemeManager, action: QAction, parent: QWidget | None = None) -> None:
        self._theme, self._problems = theme, 0
        super().__init__(action, parent=parent, text="Doctor")
        # The icon stands behind the word.
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        theme.changed.connect(self._follow)

    @property
    def problems(self) -> int:
        """How many things are shown to be mended."""
        return self._problems

    def show_problems(self, problems: int) -> None:
        """Show so many."""
        if problems != self._problems:
            self._problems = problems
            self.setAccessibleName(f"Doctor, {problems} to be mended" if problems else "Doctor")
            self._follow()

    def _follow(self) -> None:
        super()._follow()
        pill = self._pill() if self._problems else QPixmap()
        self.setIcon(QIcon(pill))
        self.setIconSize(pill.deviceIndependentSize().toSize() if self._problems else QSize(0, 0))

    def _pill(self) -> QPixmap:
        tokens, ratio, text = self._theme.tokens, self.devicePixelRatioF(), str(self._problems)
        ground = mix(tokens.bad, tokens.raised, 0.22)
        pill = QRectF(_BEFORE, 0, QFontMetrics(font("caption")).horizontalAdvance(text) + 2 * _SIDE, _HEIGHT)
        pixmap = QPixmap(QSize(round(pill.right()), _HEIGHT) * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(pill, _HEIGHT / 2, _HEIGHT / 2)
        painter.setFont(font("caption"))
        painter.setPen(QColor(readable(tokens.bad, ground, tokens.text)))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
        return pixmap
