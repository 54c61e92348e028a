"""One lane: the device's header, its layers, and what is dropped on it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import plural
from gpu_studio.ui.kit import LEFT, RIGHT, ThemeManager, draw_bar, font, mix
from gpu_studio.ui.plan.layers.board import OPEN, Lane
from gpu_studio.ui.plan.layers.layer_list import SIDE, LayerList
from gpu_studio.ui.plan.layers.layer_moves import FORMAT, DropMark, LayerDrop, Verdict, carried

HEIGHT = 46
HEAD_SIDE = 10
_DOT = 8.0


class LaneHead(QWidget):
    """Paints a lane's device.

    Its tooltip has the parts of the memory, each with its formula.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lane = Lane("", None)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_lane(self, lane: Lane) -> None:
        """Show this lane's device."""
        if lane != self._lane:
            self._lane = lane
            self.setToolTip(tip_of(lane))
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The name and the bar."""
        return QSize(80, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the name, the figures and the bar."""
        del event
        tokens, lane = self._theme.tokens, self._lane
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QRectF(HEAD_SIDE, 8, self.width() - 2 * HEAD_SIDE, 18)
        colour = tokens.muted if lane.place is None else tokens.device_colour(lane.place)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(line.left() + _DOT / 2, line.center().y()), _DOT / 2, _DOT / 2)
        painter.setFont(font("mono"))
        painter.setPen(QColor(tokens.text))
        painter.drawText(line.adjusted(_DOT + 8, 0, 0, 0), LEFT, lane.title)
        left = line.left() + _DOT + 16 + painter.fontMetrics().horizontalAdvance(lane.title)
        self._draw_amount(
            painter, QRectF(left, line.top(), max(0.0, line.right() - left), line.height())
        )
        below = QRectF(HEAD_SIDE, 27, line.width(), 14)
        if lane.why_not:
            painter.setFont(font("caption"))
            painter.setPen(QColor(tokens.bad))
            painter.drawText(below, LEFT, "not there")
        elif lane.place is not None:
            draw_bar(
                painter, below, share_of(lane), tokens.bad if is_over(lane) else colour, tokens
            )

    def _draw_amount(self, painter: QPainter, area: QRectF) -> None:
        """Write the memory, with the limit if there is space for it."""
        tokens = self._theme.tokens
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.bad if is_over(self._lane) else tokens.muted))
        metrics = painter.fontMetrics()
        words = amounts_of(self._lane)
        fits = next((each for each in words if metrics.horizontalAdvance(each) <= area.width()), "")
        painter.drawText(area, RIGHT, fits)


def amount_of(lane: Lane) -> str:
    """Return a lane's figures: its memory of its limit, or how many layers are left out."""
    if lane.why_not:
        return ""
    if lane.place is None:
        return str(len(lane.items))
    if lane.memory is None:
        return ""
    taken = lane.memory.total
    said = figures.size_of(taken, lane.limit_bytes) if lane.limit_bytes else figures.size(taken)
    return f"{lane.memory.at_most}{said}"


def amounts_of(lane: Lane) -> tuple[str, ...]:
    """Return a lane's figures, the longest form first.

    Overuse is never shown by colour alone.
    """
    whole = amount_of(lane)
    if is_over(lane):
        return f"too much: {whole}", "too much"
    if lane.memory is None or lane.why_not:
        return (whole,)
    return whole, f"{lane.memory.at_most}{figures.size(lane.memory.total)}"


def share_of(lane: Lane) -> float:
    """Return the share of the memory that is taken, 0 to 1; 0 if the memory is unknown."""
    if lane.memory is None or not lane.limit_bytes:
        return 0.0
    return min(1.0, lane.memory.total / lane.limit_bytes)


def is_over(lane: Lane) -> bool:
    """Return whether a step needs more memory than there is."""
    return lane.memory is not None and lane.memory.fits is False


def tip_of(lane: Lane) -> str:
    """Return everything known about a lane's memory."""
    if lane.why_not or lane.memory is None:
        return lane.why_not
    verdict = ", which is too much" if is_over(lane) else ""
    if lane.memory.lacking:
        verdict = f", which {lane.memory.lacking}"
    lines = [f"{lane.device}: {amount_of(lane)}{verdict}"]
    lines += [
        f"{name} {figures.size(part.bytes)}: {part.formula}"
        for name, part in lane.memory.parts
        if part.bytes
    ]
    return "\n".join(lines)


SLIM = 30
"""The width of the lane of those left out while there are none."""
_RADIUS = 10.0
_MARK = 38
_ALT = Qt.KeyboardModifier.AltModifier
Judge = Callable[[LayerDrop], Verdict]


class LaneView(QWidget):
    """`dropped(Drop)` is the user's drop; `refused(text, where)` why it is impossible, or "".

    "" means that nothing is over the lane. `judge` returns the effect of a drop; `where` is a place
    in this widget.
    """

    dropped = Signal(object)
    refused = Signal(str, QPoint)

    def __init__(self, theme: ThemeManager, judge: Judge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._judge = judge
        self._tone = ""
        self.lane = Lane("", None)
        self.head = LaneHead(theme)
        self.list = LayerList(theme)
        self.mark = DropMark(theme, self)
        self.setAcceptDrops(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 6)
        column.setSpacing(6)
        column.addWidget(self.head)
        column.addWidget(self.list, 1)
        theme.changed.connect(self.update)

    @property
    def slim(self) -> bool:
        """Whether only its name is shown: no layer is left out."""
        return self.lane.device == OPEN and not self.lane.items

    def show_lane(self, lane: Lane) -> None:
        """Show this lane."""
        self.lane = lane
        self.head.show_lane(lane)
        self.list.rows.show_items(lane.items)
        for part in (self.head, self.list):
            part.setVisible(not self.slim)
        where = lane.device or "no device"
        self.list.setAccessibleName(f"layers on {where}")
        said = ", ".join(
            filter(None, (plural(len(lane.items), "layer"), amount_of(lane) if lane.device else ""))
        )
        self.list.setAccessibleDescription(lane.why_not or said)
        self.setToolTip(
            "Layers that the plan leaves out run where their input is"
            if lane.device == OPEN
            else ""
        )
        self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Accept layers at first; whether they may be dropped is decided as they move."""
        if event.mimeData().hasFormat(FORMAT):
            event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do here, or why it is impossible."""
        where = event.position().toPoint()
        drop = self._drop(event.mimeData(), event.modifiers())
        verdict = self._judge(drop)
        if verdict.change is None:
            self._show_tone("bad")
            self.mark.hide()
            self.refused.emit(verdict.said, where)
            event.ignore()
            return
        self._show_tone("good")
        self.mark.show_text(verdict.said, self._place_of_mark())
        self.refused.emit("", where)
        event.setDropAction(Qt.DropAction.LinkAction if drop.split else Qt.DropAction.MoveAction)
        event.accept()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        """Restore the normal look."""
        del event
        self._end()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Request the drop, if it is possible: not on a lane that has gone while it was dragged."""
        drop = self._drop(event.mimeData(), event.modifiers())
        self._end()
        if not self.isVisible() or self._judge(drop).change is None:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.LinkAction if drop.split else Qt.DropAction.MoveAction)
        event.accept()
        self.dropped.emit(drop)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame, accented while a drop is possible, and the rule under the header."""
        del event
        tokens = self._theme.tokens
        colour = {"good": tokens.accent, "bad": tokens.bad}.get(self._tone, tokens.line)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(
            QColor(
                tokens.surface if self._tone != "good" else mix(tokens.accent, tokens.surface, 0.05)
            )
        )
        pen = QPen(QColor(colour), 1.5 if self._tone else 1)
        pen.setStyle(
            Qt.PenStyle.DashLine
            if self.lane.device == OPEN and not self._tone
            else Qt.PenStyle.SolidLine
        )
        painter.setPen(pen)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
        if self.slim:
            self._draw_slim(painter)
            return
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(2, self.list.y() - 5, self.width() - 3, self.list.y() - 5)

    def _draw_slim(self, painter: QPainter) -> None:
        painter.setFont(font("caption"))
        painter.setPen(QColor(self._theme.tokens.muted))
        painter.translate(0, self.height())
        painter.rotate(-90)
        painter.drawText(
            QRectF(0, 0, self.height(), self.width()), Qt.AlignmentFlag.AlignCenter, "unplaced  0"
        )

    def _drop(self, data: QMimeData, held: Qt.KeyboardModifier) -> LayerDrop:
        return LayerDrop(carried(data), self.lane.device, split=bool(held & _ALT))

    def _place_of_mark(self) -> QRect:
        """Below the last layer; over the last ones if they leave no space."""
        if self.slim:
            return self.rect().adjusted(3, 3, -3, -3)
        list_ = self.list
        last = (
            list_.visualRect(list_.rows.index(list_.rows.rowCount() - 1))
            if list_.rows.rowCount()
            else QRect()
        )
        top = min(last.bottom() + 3 if last.isValid() else 2, list_.height() - _MARK - 2)
        return QRect(
            SIDE, list_.y() + max(0, top), self.width() - 2 * SIDE, min(_MARK, list_.height())
        )

    def _show_tone(self, tone: str) -> None:
        if tone != self._tone:
            self._tone = tone
            self.update()

    def _end(self) -> None:
        self._show_tone("")
        self.mark.hide()
        self.refused.emit("", QPoint())
