"""A picture of a result as a widget, and as a file: a PNG, or an SVG of lines and letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from PySide6.QtCore import (
    QEvent,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.lab.benchmark_pictures import Bars, Curves, Heat, Picture, described
from gpu_studio.ui.kit import ThemeManager, Tokens, draw_focus, font
from gpu_studio.ui.kit.picture_file import image_of, png_of, svg_of
from gpu_studio.ui.lab.pictures import bars, curves, heat
from gpu_studio.ui.lab.pictures.drawing import Hotspot, draw_ring

_SIDE, _HEAD, _FOOT, _EDGE = 16, 34, 26, 4.0
_HIGHEST: Final = 16_000
_LEAST_WIDTH: Final = 200
_LEAST: Final = (720, 360)
_STEPS: Final = {
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
}


@dataclass(frozen=True, slots=True)
class _Drawer:
    paint: Callable[[QPainter, Any, QRectF, Tokens], None]
    spots: Callable[[Any, QRectF], list[Hotspot]]
    least_height: Callable[[Any], float]
    usual_height: Callable[[Any], float]


_DRAWERS: Final[dict[type, _Drawer]] = {
    Bars: _Drawer(bars.paint, bars.spots, bars.least_height, bars.usual_height),
    Heat: _Drawer(heat.paint, heat.spots, heat.least_height, heat.usual_height),
    Curves: _Drawer(curves.paint, curves.spots, curves.least_height, curves.usual_height),
}


class PictureView(QWidget):
    """Draws a picture. The pointer and the arrow keys go over its places.

    `pointed(words)` says what is there; nothing, when no place is pointed at.
    """

    pointed = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._picture: Picture | None = None
        self._at: int | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self.update)

    @property
    def picture(self) -> Picture | None:
        """What is drawn."""
        return self._picture

    @property
    def spots(self) -> list[Hotspot]:
        """The places that can be pointed at, where they are drawn now."""
        if self._picture is None:
            return []
        return _DRAWERS[type(self._picture)].spots(self._picture, self._area)

    def show_picture(self, picture: Picture | None) -> None:
        """Draw this."""
        if picture == self._picture:
            return
        self._picture = picture
        self._point(None)
        self.setAccessibleName(picture.title if picture is not None else "")
        self.setAccessibleDescription(described(picture) if picture is not None else "")
        least = _DRAWERS[type(picture)].least_height(picture) if picture is not None else 0.0
        self.setMinimumHeight(round(least + 2 * _EDGE))
        wide = heat.least_width(picture) + 2 * _EDGE if isinstance(picture, Heat) else _LEAST_WIDTH
        self.setMinimumWidth(round(wide))
        self.update()

    @property
    def usual_height(self) -> int:
        """As high as it needs be at most, in pixels."""
        if self._picture is None:
            return 0
        usual = _DRAWERS[type(self._picture)].usual_height(self._picture) + 2 * _EDGE
        return round(min(usual, _HIGHEST))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Narrow: names are cut."""
        return QSize(self.minimumWidth(), self.minimumHeight())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the picture, and a ring around the place that is pointed at."""
        del event
        if self._picture is None:
            return
        painter, tokens = QPainter(self), self._theme.tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _DRAWERS[type(self._picture)].paint(painter, self._picture, self._area, tokens)
        spots = self.spots
        if self._at is not None and self._at < len(spots):
            draw_ring(painter, tokens, spots[self._at].area)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        draw_focus(painter, self, tokens, 6.0)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Say what is under the pointer: the nearest place, where several overlap."""
        at, spots = event.position(), self.spots
        under = [place for place, spot in enumerate(spots) if spot.area.contains(at)]
        self._point(min(under, key=lambda n: _far(spots[n].area.center(), at), default=None))

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Say nothing any more."""
        super().leaveEvent(event)
        self._point(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Go to the next place, or the one before; Escape leaves them."""
        spots, step = self.spots, _STEPS.get(Qt.Key(event.key()))
        if step is not None and spots:
            first = 0 if step > 0 else len(spots) - 1
            self._point(first if self._at is None else (self._at + step) % len(spots))
        elif event.key() == Qt.Key.Key_Escape and self._at is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Point at nothing."""
        super().focusOutEvent(event)
        self._point(None)

    @property
    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)

    def _point(self, place: int | None) -> None:
        if place != self._at:
            self._at = place
            spots = self.spots
            self.pointed.emit(spots[place].said if place is not None else "")
            self.update()


def _far(one: QPointF, other: QPointF) -> float:
    return (one - other).manhattanLength()


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture with its title over it and a caption below, in the colours of a theme."""

    picture: Picture
    caption: str
    tokens: Tokens
    shown: QSize

    @property
    def size(self) -> QSize:
        """As large as on the screen, or larger where that is too small to be looked at alone."""
        drawer = _DRAWERS[type(self.picture)]
        high = max(self.shown.height(), _LEAST[1], round(drawer.least_height(self.picture)))
        least = heat.least_width(self.picture) if isinstance(self.picture, Heat) else 0
        wide = max(self.shown.width(), _LEAST[0], round(least))
        return QSize(wide + 2 * _SIDE, high + _HEAD + _FOOT)

    def image(self) -> QImage:
        """In pixels, twice as many each way as the size says."""
        return image_of(self.size, self._paint)

    def png(self) -> bytes:
        """The same as a PNG file."""
        return png_of(self.size, self._paint)

    def svg(self) -> bytes:
        """As an SVG file of lines and letters."""
        return svg_of(self.size, self._paint, self.picture.title, described(self.picture))

    def _paint(self, painter: QPainter) -> None:
        tokens, size = self.tokens, self.size
        whole = QRectF(0, 0, size.width(), size.height())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(whole, QColor(tokens.surface))
        painter.setFont(font("title"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(QPointF(_SIDE, 23), self.picture.title)
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.muted))
        painter.drawText(QPointF(_SIDE, whole.height() - 9), self.caption)
        area = whole.adjusted(_SIDE, _HEAD, -_SIDE, -_FOOT)
        _DRAWERS[type(self.picture)].paint(painter, self.picture, area, tokens)
