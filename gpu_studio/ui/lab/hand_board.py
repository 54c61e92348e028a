"""Operations as chips in lanes, a lane for each device, which are dragged from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QWidget

from gpu_studio.lab.hand_placement import HandOperation, HandPlacement
from gpu_studio.ui.kit import GRID, LEFT, FontRole, ThemeManager, font, mix
from gpu_studio.ui.lab.pictures.drawing import number_of

ANY: Final = ""
"""The lane of what no device was asked for."""
ANY_WORDS: Final = "TensorFlow chooses"
NOT_HERE: Final = "not here"
_HEAD, _CHIP, _GAP, _LANE, _DOT = 28.0, 42.0, 6.0, 132, 4.0
_STEPS: Final = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
_LANES: Final = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
_RETURN: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_DELETE: Final = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)


class HandBoard(QWidget):
    """Up and Down choose an operation, Left and Right move it, Return edits it, Delete removes it.

    `moved(name, device)`, `edit_asked(name)` and `remove_asked(name)` say what is wanted;
    `current_changed` that another operation is chosen.
    """

    moved = Signal(str, str)
    edit_asked = Signal(str)
    remove_asked = Signal(str)
    current_changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._placement = HandPlacement()
        self._devices: tuple[str, ...] = ()
        self._executed: dict[str, str] = {}
        self._current = ""
        self._pressed: QPointF | None = None
        self._dragged: QPointF | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Operations on devices")
        theme.changed.connect(self.update)

    @property
    def current(self) -> str:
        """The name of the operation that is chosen; empty if there is none."""
        return self._current

    @property
    def lanes(self) -> tuple[str, ...]:
        """The device of each lane, from the left: those that are there, that are not, and any."""
        asked = (one.device for one in self._placement.operations if one.device)
        others = dict.fromkeys(device for device in asked if device not in self._devices)
        return (*self._devices, *others, ANY)

    def show_placement(
        self, placement: HandPlacement, devices: Sequence[str], executed: Mapping[str, str]
    ) -> None:
        """Show these operations; `executed` has the device that executed each, as far as known."""
        self._placement, self._devices = placement, tuple(devices)
        self._executed = dict(executed)
        names = [one.name for one in placement.operations]
        if self._current not in names:
            self._choose(names[0] if names else "")
        self.setMinimumSize(self.minimumSizeHint())
        self.setAccessibleDescription("; ".join(self._said(one) for one in placement.operations))
        self.update()

    def choose(self, name: str) -> None:
        """Choose this operation, if it is there."""
        if any(one.name == name for one in self._placement.operations):
            self._choose(name)

    def chip_of(self, name: str) -> QRectF:
        """Where an operation is drawn."""
        lanes, rows = self.lanes, dict.fromkeys(self.lanes, 0)
        for one in self._placement.operations:
            if one.name == name:
                top = _HEAD + rows[one.device] * (_CHIP + _GAP)
                lane = self.lane_at(lanes.index(one.device))
                return QRectF(lane.left() + 4, top, lane.width() - 8, _CHIP)
            rows[one.device] += 1
        return QRectF()

    def lane_at(self, number: int) -> QRectF:
        """Where a lane is drawn."""
        width = self.width() / max(len(self.lanes), 1)
        return QRectF(number * width, 0, width, self.height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for the longest lane, and for one operation more."""
        devices = [one.device for one in self._placement.operations]
        longest = max((devices.count(each) for each in devices), default=0)
        high = _HEAD + (longest + 1) * (_CHIP + _GAP)
        return QSize(len(self.lanes) * _LANE, round(high))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the lanes, the chips, and what is dragged over them."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        target = self._lane_under(self._dragged) if self._dragged is not None else -1
        for number, device in enumerate(self.lanes):
            self._paint_lane(painter, device, self.lane_at(number), lit=number == target)
        for one in self._placement.operations:
            area = self.chip_of(one.name)
            if one.name == self._current and self._dragged and self._pressed:
                area = area.translated(self._dragged - self._pressed)
            self._paint_chip(painter, one, area)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the operation under the pointer."""
        name = self._under(event.position())
        if name and event.button() == Qt.MouseButton.LeftButton:
            self._choose(name)
            self._pressed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Drag it."""
        if self._pressed is None:
            return
        far = (event.position() - self._pressed).manhattanLength()
        if self._dragged is not None or far >= QApplication.startDragDistance():
            self._dragged = event.position()
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Drop it on the lane under the pointer."""
        dragged = self._dragged is not None
        self._let_go()
        if dragged and self.rect().contains(event.position().toPoint()):
            self._move_to(self._lane_under(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Edit the operation under the pointer."""
        if name := self._under(event.position()):
            self.edit_asked.emit(name)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Choose, move, edit or remove an operation; Escape lets go of what is dragged."""
        key, names = Qt.Key(event.key()), [one.name for one in self._placement.operations]
        if key == Qt.Key.Key_Escape and self._pressed is not None:
            self._let_go()
        elif not self._current:
            super().keyPressEvent(event)
        elif key in _STEPS:
            self._choose(names[(names.index(self._current) + _STEPS[key]) % len(names)])
        elif key in _LANES:
            self._move_to(self.lanes.index(self._operation().device) + _LANES[key])
        elif key in _RETURN:
            self.edit_asked.emit(self._current)
        elif key in _DELETE:
            self.remove_asked.emit(self._current)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show which operation the keys are about."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show that they are about none."""
        super().focusOutEvent(event)
        self._let_go()

    def _operation(self) -> HandOperation:
        return next(one for one in self._placement.operations if one.name == self._current)

    def _choose(self, name: str) -> None:
        if name != self._current:
            self._current = name
            self.current_changed.emit()
            if name and self.hasFocus():
                self._announce()
        self.update()

    def _move_to(self, number: int) -> None:
        if not 0 <= number < len(self.lanes):
            return
        device = self.lanes[number]
        if device != self._operation().device:
            self.moved.emit(self._current, device)
            self._announce()

    def _announce(self) -> None:
        words = self._said(self._operation())
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def _let_go(self) -> None:
        self._pressed = self._dragged = None
        self.update()

    def _under(self, at: QPointF) -> str:
        names = (one.name for one in self._placement.operations)
        return next((name for name in names if self.chip_of(name).contains(at)), "")

    def _lane_under(self, at: QPointF) -> int:
        return int(at.x() // self.lane_at(0).width())

    def _said(self, one: HandOperation) -> str:
        taken = f" of {' and '.join(one.inputs)}" if one.inputs else ""
        where = f"on {one.device}" if one.device else "where TensorFlow chooses"
        executed = self._executed.get(one.name)
        done = f", executed on {executed}" if executed else ""
        return f"{one.name}, {one.kind}{taken} {where}{done}"

    def _paint_lane(self, painter: QPainter, device: str, area: QRectF, *, lit: bool) -> None:
        tokens = self._theme.tokens
        inside = area.adjusted(1, 1, -1, -1)
        painter.setPen(QPen(QColor(tokens.accent if lit else tokens.line), 2 if lit else 1))
        ground = mix(tokens.accent, tokens.surface, 0.12) if lit else tokens.surface
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(inside, 8, 8)
        left = inside.left() + GRID
        known = device in self._devices
        if known:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.device_colour(number_of(device))))
            painter.drawEllipse(QPointF(left + _DOT, _HEAD / 2), _DOT, _DOT)
            left += 2 * _DOT + 6
        words = device or ANY_WORDS
        words = words if known or not device else f"{device}, {NOT_HERE}"
        head = QRectF(left, 0, inside.right() - left - 4, _HEAD)
        self._write(painter, words, "section", tokens.text if known else tokens.muted, head)

    def _paint_chip(self, painter: QPainter, one: HandOperation, area: QRectF) -> None:
        tokens = self._theme.tokens
        current = one.name == self._current
        edge = tokens.accent if current and self.hasFocus() else tokens.line
        painter.setPen(QPen(QColor(edge), 1.4))
        tint = mix(tokens.accent, tokens.surface, 0.16) if current else tokens.raised
        painter.setBrush(QColor(tint))
        painter.drawRoundedRect(area, 6, 6)
        inside, below = area.adjusted(GRID, 3, -GRID, -3), self._below(one)
        half = QRectF(inside.left(), inside.top(), inside.width(), inside.height() / 2)
        upper = half if below else inside
        self._write(painter, f"{one.name} = {one.kind}", "strong", tokens.text, upper)
        lower = half.translated(0, half.height())
        self._write(painter, below, "caption", tokens.muted, lower)

    @staticmethod
    def _write(painter: QPainter, text: str, role: FontRole, colour: str, area: QRectF) -> None:
        painter.setFont(font(role))
        painter.setPen(QColor(colour))
        right = Qt.TextElideMode.ElideRight
        cut = painter.fontMetrics().elidedText(text, right, int(area.width()))
        painter.drawText(area, int(LEFT), cut)

    def _below(self, one: HandOperation) -> str:
        """What it takes, and where it was executed."""
        executed = self._executed.get(one.name, "")
        done = "" if not executed else "✔ here" if executed == one.device else f"✘ {executed}"
        if executed and not one.device:
            done = f"→ {executed}"
        taken = f"of {', '.join(one.inputs)}" if one.inputs else ""
        return " · ".join(filter(None, (done, taken)))
