"""Mouse and keys on a plot: hover, brush, wheel, double click, arrows."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from gpu_studio.ui.widgets.plots.backdrop import Backdrop
from gpu_studio.ui.widgets.plots.overlay import Overlay
from gpu_studio.ui.widgets.plots.time_view import TimeView

_CLICK_PIXELS = 4
_WHEEL_STEP = 120.0
_ZOOM = 0.8
_PAN = 0.1

HELP = "Drag to zoom, wheel to zoom, double click for all. Keys: arrows, Shift with arrows, +, -, Home, Escape."


class Gestures(QObject):
    """An event filter for a plot and its viewport that turns what a person does into changes of a `TimeView`."""

    def __init__(self, time: TimeView, backdrop: Backdrop, overlay: Overlay, parent: QObject) -> None:
        super().__init__(parent)
        self._time, self._backdrop, self._overlay = time, backdrop, overlay
        self._brush_start: float | None = None

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
                self._brush_start = x if event.button() == Qt.MouseButton.LeftButton else None
            case QEvent.Type.MouseMove:
                self._hover(x)
            case QEvent.Type.MouseButtonRelease:
                self._release(x)
        return True

    def _hover(self, x: float) -> None:
        self._time.move_cursor(self._backdrop.time_at(x))
        if self._brush_start is not None and abs(x - self._brush_start) > _CLICK_PIXELS:
            self._overlay.show_band(self._backdrop.area, self._brush_start, x)

    def _release(self, x: float) -> None:
        start, self._brush_start = self._brush_start, None
        self._overlay.hide_band()
        if start is not None and abs(x - start) > _CLICK_PIXELS:
            self._time.zoom(self._backdrop.time_at(start), self._backdrop.time_at(x))

    def _wheel(self, event: QWheelEvent) -> bool:
        turn = event.angleDelta()
        if abs(turn.x()) > abs(turn.y()):
            self._time.pan(-turn.x() / _WHEEL_STEP * _PAN * self._time.window.span)
        else:
            centre = self._backdrop.time_at(event.position().x())
            self._time.zoom_about(centre, _ZOOM ** (turn.y() / _WHEEL_STEP))
        return True

    def _key(self, event: QKeyEvent) -> bool:
        steps = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        match event.key():
            case Qt.Key.Key_Left:
                self._time.nudge_cursor(-steps)
            case Qt.Key.Key_Right:
                self._time.nudge_cursor(steps)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self._time.zoom_about(self._centre(), _ZOOM)
            case Qt.Key.Key_Minus:
                self._time.zoom_about(self._centre(), 1 / _ZOOM)
            case Qt.Key.Key_Home:
                self._time.show_all()
            case Qt.Key.Key_Escape:
                self._time.move_cursor(None)
            case _:
                return False
        return True

    def _centre(self) -> float:
        window = self._time.window
        return self._time.cursor if self._time.cursor is not None else (window.start + window.end) / 2
