"""One logical device's memory, now: its dot and name, a bar towards its limit, its peak."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.models.train.memory_now import DeviceMemoryNow
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.bar import HEIGHT as BAR
from gpu_studio.ui.widgets.bar import draw_bar
from gpu_studio.ui.widgets.painting import LEFT, RIGHT

_DOT = 8
_NAME_LEFT = 15
_GAP = 4
Form = Literal["full", "dense", "line"]
FORMS: tuple[Form, ...] = ("full", "dense", "line")
"""From the highest to the lowest."""
_BELOW: dict[Form, int] = {"full": 10, "dense": 4, "line": 2}
_BESIDE = 8


class DeviceMeter(QWidget):
    """Paints one device. A dense meter leaves the caption to its tooltip; one of a line has its bar beside the name."""

    def __init__(self, theme: ThemeManager, now: DeviceMemoryNow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self._form: Form = "full"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self._tell()

    @property
    def now(self) -> DeviceMemoryNow:
        """What is shown."""
        return self._now

    def set_now(self, now: DeviceMemoryNow) -> None:
        """Show these figures of the same device."""
        if now != self._now:
            self._now = now
            self._tell()
            self.update()

    def set_form(self, form: Form) -> None:
        """Be as high as that."""
        if form != self._form:
            self._form = form
            self.updateGeometry()
            self.update()

    def height_if(self, form: Form) -> int:
        """Name, bar and caption under each other, as far as there are such."""
        height = _line("text") + _BELOW[form]
        height += int(BAR) + _GAP if self._now.limit and form != "line" else 0
        return height + (_line("caption") + _GAP // 2 if form == "full" else 0)

    def _tell(self) -> None:
        self.setAccessibleName(self._now.text)
        self.setToolTip(self._now.text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As high as what is drawn."""
        return QSize(160, self.height_if(self._form))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the device."""
        del event
        painter = QPainter(self)
        top = QRectF(0, 0, self.width(), _line("text"))
        self._paint_name(painter, top)
        bottom = top.bottom()
        if self._now.share is not None:
            room = self._bar_room(top)
            draw_bar(painter, room, self._now.share, self._colour(), self._theme.tokens)
            self._paint_peak(painter, room)
            bottom = room.bottom() + _GAP / 2
        if self._form == "full":
            self._paint_caption(painter, QRectF(0, bottom + _GAP / 2, self.width(), _line("caption")))

    def _bar_room(self, name: QRectF) -> QRectF:
        """Under the name, or between it and the amount, as wide on every device."""
        if self._form != "line":
            return QRectF(0, name.bottom() + _GAP / 2, self.width(), BAR)
        left = _NAME_LEFT + QFontMetrics(font("mono")).horizontalAdvance("GPU:00") + _BESIDE
        right = self.width() - QFontMetrics(font("text")).horizontalAdvance("9,999 MiB") - _BESIDE
        return QRectF(left, name.center().y() - BAR / 2, max(right - left, 0), BAR)

    def _paint_name(self, painter: QPainter, room: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._colour()))
        painter.drawEllipse(QPointF(_DOT / 2, room.center().y()), _DOT / 2, _DOT / 2)
        painter.setPen(QColor(self._theme.tokens.text))
        painter.setFont(font("mono"))
        painter.drawText(room.adjusted(_NAME_LEFT, 0, 0, 0), LEFT, self._now.name)
        painter.setFont(font("text"))
        painter.drawText(room, RIGHT, self._now.amount)

    def _paint_peak(self, painter: QPainter, room: QRectF) -> None:
        """A notch in the bar where the peak was."""
        share = self._now.peak_share or 0.0
        x = min(room.left() + share * room.width(), room.right() - 2)
        painter.fillRect(QRectF(x - 1, room.top(), 2, room.height()), QColor(self._theme.tokens.text))

    def _paint_caption(self, painter: QPainter, room: QRectF) -> None:
        painter.setFont(font("caption"))
        painter.setPen(QColor(self._theme.tokens.muted))
        text = painter.fontMetrics().elidedText(self._now.caption, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, LEFT, text)

    def _colour(self) -> str:
        tokens = self._theme.tokens
        return tokens.host if self._now.place is None else tokens.device_colour(self._now.place)


def _line(role: str) -> int:
    metrics = QFontMetrics(font("caption" if role == "caption" else "text"))
    return metrics.height() + 2
