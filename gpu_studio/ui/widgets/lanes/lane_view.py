"""One lane: the device's head, its layers, and what is dropped on it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QPoint, QRect, QRectF, Qt, Signal
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
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.lanes.board import OPEN, Lane
from gpu_studio.ui.models.plan.lanes.drops import Drop, Verdict
from gpu_studio.ui.models.plan.lanes.mime import FORMAT, carried
from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.lanes.drop_mark import DropMark
from gpu_studio.ui.widgets.lanes.lane_head import LaneHead, amount_of
from gpu_studio.ui.widgets.lanes.layer_delegate import SIDE
from gpu_studio.ui.widgets.lanes.layer_list import LayerList

SLIM = 30
"""The width of the lane of those left out while there are none."""
_RADIUS = 10.0
_MARK = 38
_ALT = Qt.KeyboardModifier.AltModifier
Judge = Callable[[Drop], Verdict]


class LaneView(QWidget):
    """`dropped(Drop)` is what a person did; `refused(text, where)` why it cannot be, "" when nothing is over it.

    `judge` says what a drop would come to; `where` is a place in this widget.
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
        """Whether only its name is shown: nothing is left out."""
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
        said = ", ".join(filter(None, (plural(len(lane.items), "layer"), amount_of(lane) if lane.device else "")))
        self.list.setAccessibleDescription(lane.why_not or said)
        self.setToolTip("Layers that the plan leaves out run where their input is" if lane.device == OPEN else "")
        self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Listen to layers that come; whether they may stay is said as they move."""
        if event.mimeData().hasFormat(FORMAT):
            event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do here, or why it cannot be."""
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
        """Look as before."""
        del event
        self._end()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Want what was dropped, if it can be."""
        drop = self._drop(event.mimeData(), event.modifiers())
        self._end()
        if self._judge(drop).change is None:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.LinkAction if drop.split else Qt.DropAction.MoveAction)
        event.accept()
        self.dropped.emit(drop)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame, in the accent while a drop can be, and the rule under the head."""
        del event
        tokens = self._theme.tokens
        colour = {"good": tokens.accent, "bad": tokens.bad}.get(self._tone, tokens.line)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(tokens.surface if self._tone != "good" else mix(tokens.accent, tokens.surface, 0.05)))
        pen = QPen(QColor(colour), 1.5 if self._tone else 1)
        pen.setStyle(Qt.PenStyle.DashLine if self.lane.device == OPEN and not self._tone else Qt.PenStyle.SolidLine)
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
        painter.drawText(QRectF(0, 0, self.height(), self.width()), Qt.AlignmentFlag.AlignCenter, "unplaced  0")

    def _drop(self, data: QMimeData, held: Qt.KeyboardModifier) -> Drop:
        return Drop(carried(data), self.lane.device, split=bool(held & _ALT))

    def _place_of_mark(self) -> QRect:
        """Under the last layer; over the last ones where they leave no room."""
        if self.slim:
            return self.rect().adjusted(3, 3, -3, -3)
        list_ = self.list
        last = list_.visualRect(list_.rows.index(list_.rows.rowCount() - 1)) if list_.rows.rowCount() else QRect()
        top = min(last.bottom() + 3 if last.isValid() else 2, list_.height() - _MARK - 2)
        return QRect(SIDE, list_.y() + max(0, top), self.width() - 2 * SIDE, min(_MARK, list_.height()))

    def _show_tone(self, tone: str) -> None:
        if tone != self._tone:
            self._tone = tone
            self.update()

    def _end(self) -> None:
        self._show_tone("")
        self.mark.hide()
        self.refused.emit("", QPoint())
