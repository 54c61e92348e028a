"""The drawing surface of one plot: curves over a backdrop, under a crosshair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QHelpEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gpu_studio.ui.kit.plots.axes import Scale
from gpu_studio.ui.kit.plots.backdrop import LANE, Backdrop, Limit, PlotMarks, PlotSpan
from gpu_studio.ui.kit.plots.curve import PlotCurve, Style, draw_all
from gpu_studio.ui.kit.plots.gestures import HELP, Gestures, Overlay
from gpu_studio.ui.kit.plots.reduce import AxisView
from gpu_studio.ui.kit.plots.time_view import TimeView, TimeWindow
from gpu_studio.ui.kit.theme import Tokens

LEFT, TOP, RIGHT = 70, 6, 4
BOTTOM, BOTTOM_WITH_TIMES = LANE + 2, LANE + 19
ALL_HIDDEN = "every curve is hidden: choose one by its name above"
NONE_ABOVE_ZERO = "no value above 0 in view: a logarithmic axis cannot show the others"
SOME_NOT_ABOVE_ZERO = "values of 0 and below are not drawn: they have no logarithm"
HIGHER_AT_FIRST = "the first steps reach {:.3g}"
UNCROWDED: Final = 8
"""With more curves than this each is drawn coarser.

They hide one another, and each costs its time in every frame.
"""
_SMALLEST = (160, 44)
_EDGE = 3
"""So many pixels are drawn on above and below, for half a dot or half a line.

A curve along the top, such as an accuracy of 1, would be cut in two.
"""
_NO_HEIGHTS = (0.0, 1.0)
_BY_KEY = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


class Canvas(pg.GraphicsView):  # type: ignore[misc]  # pyqtgraph has no types
    """Curves over one time axis.

    Except for the crosshair, nothing is redrawn before `redraw`.
    """

    menu_asked = Signal(QPoint)
    copy_asked = Signal()
    entered = Signal()

    def __init__(
        self,
        name: str,
        time: TimeView,
        tokens: Tokens,
        parent: QWidget | None = None,
        *,
        nothing: str = "nothing in view",
    ) -> None:
        self._backdrop = Backdrop(tokens)
        super().__init__(parent, useOpenGL=False)
        self._nothing = nothing
        self._hint = ""
        self._time = time
        self._curves: list[PlotCurve] = []
        self._line_width = self._pixel_ratio()
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
        self._box.disableAutoRange()
        self.addItem(self._box)
        self._overlay = Overlay()
        for item in self._overlay.items:
            self.addItem(item)
        self._gestures = Gestures(time, self._backdrop, self._overlay, self)
        self._gestures.copy_asked.connect(self.copy_asked)
        self.installEventFilter(self._gestures)
        self.viewport().installEventFilter(self._gestures)
        time.cursor_changed.connect(self._show_cursor)
        self.setMinimumSize(*_SMALLEST)
        self.setAccessibleName(f"{name} over time")
        self.setAccessibleDescription(HELP)
        self.set_tokens(tokens)

    @property
    def backdrop(self) -> Backdrop:
        """What is shown behind the curves, and the ranges of both axes."""
        return self._backdrop

    @property
    def columns(self) -> int:
        """The width of the curves' area in pixels, at least 1.

        A denser screen, where lines are wider, has no more columns.
        """
        return max(int(self._backdrop.area.width()), 1)

    @property
    def curves(self) -> Sequence[PlotCurve]:
        """The curves, from the backmost."""
        return self._curves

    @property
    def crosshair(self) -> float | None:
        """The pixel at which the crosshair is drawn; None if there is none."""
        line = self._overlay.crosshair
        return line.line().x1() if line.isVisible() else None

    @property
    def brushing(self) -> bool:
        """Whether the band that is being brushed is drawn."""
        return self._overlay.band.isVisible()

    def add_curve(self, style: Style) -> PlotCurve:
        """A new curve, drawn over those before it."""
        curve = PlotCurve(style)
        curve.set_tokens(self._backdrop.tokens, self._line_width)
        self._curves.append(curve)
        for item in curve.items:
            self._box.addItem(item)
        return curve

    def enclose(self, curve: PlotCurve, lower: PlotCurve) -> None:
        """Fill the band between two curves, of which the lower one was added first."""
        self._box.addItem(curve.enclose(lower, self._backdrop.tokens))

    def remove_curve(self, curve: PlotCurve) -> None:
        """Remove a curve for good."""
        self._curves.remove(curve)
        for item in curve.items:
            self._box.removeItem(item)

    def set_tokens(self, tokens: Tokens) -> None:
        """Wear the colours of this theme."""
        self._backdrop.tokens = tokens
        self._overlay.set_tokens(tokens)
        self._dress_curves()
        self._repaint_backdrop()

    def show_times(self, shown: bool) -> None:
        """Name the moments under the curves, or not, where a plot below does."""
        self._backdrop.times_shown = shown
        self._place_curves()

    def set_scale(self, scale: Scale) -> None:
        """Measure heights by this scale from the next `redraw` on."""
        self._backdrop.scale = scale

    def set_nothing(self, words: str) -> None:
        """Set the message for when no curve has a visible point, from the next `redraw` on."""
        self._nothing = words

    def set_hint(self, words: str) -> None:
        """Show this in a corner of the curves from now on; nothing if it is empty."""
        if words != self._hint:
            self._hint = words
            self._note(some=not self._backdrop.empty)

    def set_marks(self, marks: Sequence[PlotMarks], spans: Sequence[PlotSpan] = ()) -> None:
        """Show these moments and whiles."""
        self._backdrop.marks, self._backdrop.spans = marks, spans
        self._repaint_backdrop()

    def set_limits(self, limits: Sequence[Limit]) -> None:
        """Show these values as lines from the next `redraw` on; the view is made to hold them."""
        if list(limits) != list(self._backdrop.limits):
            self._backdrop.limits = limits
            self._repaint_backdrop()

    def redraw(self) -> None:
        """Draw the series as they are now, in the present window of time."""
        if self._line_width != self._pixel_ratio():
            self._dress_curves()
        window = self._time.window
        shown = [curve for curve in self._curves if curve.shown]
        view = AxisView(
            window, self.columns * UNCROWDED // max(len(shown), UNCROWDED) or 1, self._time.ruler
        )
        self._backdrop.ruler = self._time.ruler
        heights = draw_all(shown, view, self._backdrop.scale)
        ranges = [found for found in heights if found is not None]
        if ranges:
            ranges += [
                (limit.value, limit.value) for limit in self._backdrop.limits if not limit.above
            ]
        self._note(some=bool(ranges))
        self._show_ranges(window, *self._fit(ranges), "" if ranges else self._words_for_nothing())

    def _words_for_nothing(self) -> str:
        if self._curves and not any(curve.shown for curve in self._curves):
            return ALL_HIDDEN
        return (
            NONE_ABOVE_ZERO
            if any(curve.shown and curve.left_out for curve in self._curves)
            else self._nothing
        )

    def _note(self, *, some: bool) -> None:
        """Say what there is to say, and where some values have no place on the axis."""
        left_out = some and any(curve.shown and curve.left_out for curve in self._curves)
        beyond = max((curve.beyond for curve in self._curves if curve.shown), default=-math.inf)
        higher = HIGHER_AT_FIRST.format(beyond) if some and math.isfinite(beyond) else ""
        note = " · ".join(
            filter(None, (self._hint, SOME_NOT_ABOVE_ZERO if left_out else "", higher))
        )
        if note != self._backdrop.note:
            self._backdrop.note = note
            self._repaint_backdrop()

    def _pixel_ratio(self) -> float:
        return float(max(round(self.devicePixelRatioF()), 1))

    def _dress_curves(self) -> None:
        """Cosmetic pens count in device pixels, so lines have to be wider on a denser screen."""
        self._line_width = self._pixel_ratio()
        for curve in self._curves:
            curve.set_tokens(self._backdrop.tokens, self._line_width)

    def _place_curves(self) -> None:
        bottom = BOTTOM_WITH_TIMES if self._backdrop.times_shown else BOTTOM
        size = (max(self.width() - LEFT - RIGHT, 1), max(self.height() - TOP - bottom, 1))
        self._backdrop.area = QRectF(LEFT, TOP, *size)
        self._box.setGeometry(self._backdrop.area.adjusted(0, -_EDGE, 0, _EDGE))
        self.redraw()
        self._repaint_backdrop()

    def _show_ranges(self, window: TimeWindow, low: float, high: float, empty: str) -> None:
        backdrop = self._backdrop
        if (window, low, high, empty) != (
            backdrop.window,
            backdrop.low,
            backdrop.high,
            backdrop.empty,
        ):
            backdrop.window, backdrop.low, backdrop.high, backdrop.empty = window, low, high, empty
            edge = _EDGE * (high - low) / max(backdrop.area.height(), 1.0)
            self._box.setRange(
                xRange=(window.start, window.end), yRange=(low - edge, high + edge), padding=0
            )
            self._repaint_backdrop()

    def _fit(self, ranges: list[tuple[float, float]]) -> tuple[float, float]:
        if not ranges:
            return _NO_HEIGHTS
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        return self._backdrop.scale.fit(low, high, self._backdrop.rows)

    def _repaint_backdrop(self) -> None:
        self.resetCachedContent()
        self.viewport().update()
        self._show_cursor()

    def _show_cursor(self) -> None:
        moment = self._time.cursor
        x = None if moment is None else self._backdrop.x_of(self._time.ruler.place(moment))
        self._overlay.show_crosshair(self._backdrop.area, x)

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Give the curves what the labels leave."""
        super().resizeEvent(event)
        # pyqtgraph resizes the view from within its constructor.
        if hasattr(self, "_gestures"):
            self._place_curves()

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:  # noqa: N802 - Qt's name
        """Paint the backdrop; Qt keeps the result."""
        del rect
        self._backdrop.paint(painter, QRectF(self.rect()))

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:  # noqa: N802 - Qt's name
        """Write the names of the limits over the curves, which would otherwise hide them."""
        del rect
        self._backdrop.paint_limit_names(painter)

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Tell what the mark under the pointer is."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            words = "\n".join(self._backdrop.texts_at(event.pos().x()))
            QToolTip.showText(event.globalPos(), words, self.viewport())
            return True
        return bool(super().viewportEvent(event))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for the plot's menu."""
        self.menu_asked.emit(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show that the keys go here."""
        super().focusInEvent(event)
        # A click shows where the focus went; the Tab key does not.
        self._backdrop.focused = event.reason() in _BY_KEY
        self._repaint_backdrop()
        self.entered.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show that they no longer do."""
        super().focusOutEvent(event)
        self._backdrop.focused = False
        self._repaint_backdrop()
