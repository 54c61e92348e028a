"""Mouse and keys on a plot, and the crosshair and band that they move.

The gestures are hover, brush, pan, wheel, double click and arrows.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QMouseEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QGraphicsItem, QGraphicsLineItem, QGraphicsRectItem

from gpu_studio.ui.kit.plots.backdrop import Backdrop
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.theme import Tokens


class Overlay:
    """Two items of a plot's scene, in pixels."""

    def __init__(self) -> None:
        self.crosshair = QGraphicsLineItem()
        self.crosshair.setZValue(10)
        self.crosshair.hide()
        self.band = QGraphicsRectItem()
        self.band.setZValue(9)
        self.band.hide()

    @property
    def items(self) -> list[QGraphicsItem]:
        """What has to be put into the scene."""
        return [self.crosshair, self.band]

    def set_tokens(self, tokens: Tokens) -> None:
        """Wear the colours of this theme."""
        pen = QPen(QColor(tokens.muted), 1.0)
        pen.setCosmetic(True)
        pen.setDashPattern([3.0, 3.0])
        self.crosshair.setPen(pen)
        fill = QColor(tokens.accent)
        fill.setAlphaF(0.16)
        self.band.setBrush(fill)
        self.band.setPen(QPen(Qt.PenStyle.NoPen))

    def show_crosshair(self, area: QRectF, x: float | None) -> None:
        """Draw the crosshair at this pixel; none outside the area."""
        shown = x is not None and area.left() <= x <= area.right()
        if x is not None and shown:
            self.crosshair.setLine(round(x), area.top(), round(x), area.bottom())
        self.crosshair.setVisible(shown)

    def show_band(self, area: QRectF, first: float, second: float) -> None:
        """Draw the brushed band between two pixels."""
        left, right = max(min(first, second), area.left()), min(max(first, second), area.right())
        self.band.setRect(QRectF(left, area.top(), max(right - left, 0.0), area.height()))
        self.band.show()

    def hide_band(self) -> None:
        """Nothing is being brushed."""
        self.band.hide()


_CLICK_PIXELS = 4
_WHEEL_STEP = 120.0
_ZOOM = 0.8
_PAN = 0.1
_PAGE = 0.8
_FAST = 10

HELP = (
    "Drag or wheel to zoom, double click for all; Shift with either, or the middle button, to pan. "
    "Keys: arrows, Home and End move the crosshair (Shift: faster, Ctrl: pan), + and - zoom, 0 "
    "shows all, F follows, Escape."
)
_SHIFT, _CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


class Gestures(QObject):
    """Turns events of a plot and its viewport into changes of a `TimeView`, as their filter.

    `copy_asked` says that the values at the crosshair shall be copied.
    """

    copy_asked = Signal()

    def __init__(
        self, time: TimeView, backdrop: Backdrop, overlay: Overlay, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._time, self._backdrop, self._overlay = time, backdrop, overlay
        self._brush_start: float | None = None
        self._pan_from: float | None = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Take the events that mean something here; leave all others."""
        del watched
        if isinstance(event, QMouseEvent):
            return self._mouse(event)
        if isinstance(event, QWheelEvent):
            return self._wheel(event)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if event.type() == QEvent.Type.Leave:
            self._time.move_cursor(None)
        return False

    def _mouse(self, event: QMouseEvent) -> bool:
        x = event.position().x()
        match event.type():
            case QEvent.Type.MouseButtonDblClick:
                self._time.show_all()
            case QEvent.Type.MouseButtonPress:
                self._press(event, x)
            case QEvent.Type.MouseMove:
                self._hover(x)
            case QEvent.Type.MouseButtonRelease:
                self._release(x)
        return True

    def _press(self, event: QMouseEvent, x: float) -> None:
        left = event.button() == Qt.MouseButton.LeftButton
        pans = event.button() == Qt.MouseButton.MiddleButton or (
            left and bool(event.modifiers() & _SHIFT)
        )
        self._pan_from = x if pans else None
        self._brush_start = x if left and not pans else None

    def _hover(self, x: float) -> None:
        if self._pan_from is not None:
            self._time.pan_share((self._pan_from - x) / max(self._backdrop.area.width(), 1.0))
            self._pan_from = x
        self._time.point_at(self._backdrop.place_at(x))
        if self._brush_start is not None and abs(x - self._brush_start) > _CLICK_PIXELS:
            self._overlay.show_band(self._backdrop.area, self._brush_start, x)

    def _release(self, x: float) -> None:
        start, self._brush_start, self._pan_from = self._brush_start, None, None
        self._overlay.hide_band()
        if start is not None and abs(x - start) > _CLICK_PIXELS:
            self._time.zoom(self._backdrop.place_at(start), self._backdrop.place_at(x))

    def _wheel(self, event: QWheelEvent) -> bool:
        turn = event.angleDelta()
        sideways = abs(turn.x()) > abs(turn.y())
        if sideways or event.modifiers() & _SHIFT:
            self._time.pan_share(-(turn.x() if sideways else turn.y()) / _WHEEL_STEP * _PAN)
        else:
            centre = self._backdrop.place_at(event.position().x())
            self._time.zoom_about(centre, _ZOOM ** (turn.y() / _WHEEL_STEP))
        return True

    def _key(self, event: QKeyEvent) -> bool:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
            return True
        done = self._panning(event) if event.modifiers() & _CONTROL else self._moving(event)
        if done is not None:
            done()
        return done is not None

    def _panning(self, event: QKeyEvent) -> Callable[[], None] | None:
        shares = {Qt.Key.Key_Left: -_PAN, Qt.Key.Key_Right: _PAN}
        share = shares.get(Qt.Key(event.key()))
        return None if share is None else lambda: self._time.pan_share(share)

    def _moving(self, event: QKeyEvent) -> Callable[[], None] | None:
        time, steps = self._time, _FAST if event.modifiers() & _SHIFT else 1
        actions: dict[int, Callable[[], None]] = {
            Qt.Key.Key_Left: lambda: time.nudge_cursor(-steps),
            Qt.Key.Key_Right: lambda: time.nudge_cursor(steps),
            Qt.Key.Key_Home: lambda: time.point_at_edge(last=False),
            Qt.Key.Key_End: lambda: time.point_at_edge(last=True),
            Qt.Key.Key_PageUp: lambda: time.pan_share(-_PAGE),
            Qt.Key.Key_PageDown: lambda: time.pan_share(_PAGE),
            Qt.Key.Key_Plus: lambda: time.zoom_about(self._centre(), _ZOOM),
            Qt.Key.Key_Equal: lambda: time.zoom_about(self._centre(), _ZOOM),
            Qt.Key.Key_Minus: lambda: time.zoom_about(self._centre(), 1 / _ZOOM),
            Qt.Key.Key_0: time.show_all,
            Qt.Key.Key_A: time.show_all,
            Qt.Key.Key_F: lambda: time.set_follow(not time.window.follow),
            Qt.Key.Key_Escape: lambda: time.move_cursor(None),
        }
        return actions.get(event.key())

    def _centre(self) -> float:
        window = self._time.window
        if self._time.cursor is not None:
            return self._time.ruler.place(self._time.cursor)
        return (window.start + window.end) / 2
