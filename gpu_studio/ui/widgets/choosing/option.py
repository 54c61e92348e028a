"""A small word that can be switched on and off, or opens a menu: an option in the head of a card."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix

_SIDE = 8
_HEIGHT = 22
_RADIUS = 6.0
_SIGN = 8
_SIGN_GAP = 4


class Option(QAbstractButton):
    """A caption in a pill. Switched on it is tinted and set in the text colour; with a menu a chevron stands behind."""

    def __init__(self, text: str, theme: ThemeManager, tip: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._menu: QMenu | None = None
        self.setFont(font("caption"))
        self.setToolTip(tip)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.set_text(text)
        theme.changed.connect(self.update)

    @classmethod
    def switch(cls, text: str, theme: ThemeManager, tip: str, *, on: bool = False) -> Option:
        """An option that is on or off."""
        option = cls(text, theme, tip)
        option.setCheckable(True)
        option.setChecked(on)
        return option

    def set_text(self, text: str) -> None:
        """Show this text."""
        self.setText(text)
        self.setAccessibleName(f"{text}: {self.toolTip()}" if self.toolTip() else text)
        self.updateGeometry()
        self.update()

    @property
    def menu(self) -> QMenu | None:
        """What opens when it is pressed."""
        return self._menu

    def set_menu(self, menu: QMenu) -> None:
        """Open this menu when pressed."""
        self._menu = menu
        self.clicked.connect(lambda: menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2))))
        self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The text, and the chevron of a menu."""
        sign = _SIGN + _SIGN_GAP if self._menu else 0
        text = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(text + sign + 2 * _SIDE, max(_HEIGHT, self.fontMetrics().height() + 6))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill and the text."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_pill(painter)
        lit = self.isChecked() or self.underMouse() or self.isDown()
        colour = (
            mix(tokens.muted, tokens.surface, 0.6) if not self.isEnabled() else tokens.text if lit else tokens.muted
        )
        painter.setPen(QColor(colour))
        words = self.rect().adjusted(_SIDE, 0, -_SIDE, 0)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
        if self._menu:
            left, middle = self.width() - _SIDE - _SIGN, self.height() / 2
            painter.setPen(QPen(QColor(colour), 1.4))
            down = ((left, middle - 2), (left + _SIGN / 2, middle + 2), (left + _SIGN, middle - 2))
            painter.drawPolyline([QPointF(x, y) for x, y in down])

    def _paint_pill(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        painter.setPen(QColor(tokens.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.isChecked():
            painter.setBrush(QColor(mix(tokens.accent, tokens.surface, 0.2)))
        elif self.underMouse():
            painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)
