"""A line to choose or to check: its mark, its title, and what it means beneath."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpu_studio.ui.theme.fonts import font
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.palette import mix
from gpu_studio.ui.widgets.choosing.choosable import Choosable

_MARK, _LEFT, _TOP = 14, 26, 4
_RADIUS = 6.0
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
_LINE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ChoiceRow(Choosable):
    """Round marks choose one of several, square ones check each for itself. A `place` gives a device's dot.

    In `one_line` what it means stands beside the title, and is cut where room is short.
    """

    def __init__(
        self,
        title: str,
        name: str,
        theme: ThemeManager,
        parent: QWidget | None = None,
        *,
        mark: Literal["round", "square"] = "round",
        one_line: bool = False,
    ) -> None:
        super().__init__(name, theme, parent)
        self._mark = mark
        self._one_line = one_line
        self._note = self._tag = ""
        self._place: int | None = None
        self.setText(title)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    @property
    def note(self) -> str:
        """What it means, in words."""
        return self._note

    @property
    def tag(self) -> str:
        """The word beside the title."""
        return self._tag

    def say(self, note: str, tag: str = "", why_not: str = "", place: int | None = None) -> None:
        """Say what it means; `tag` stands beside the title, `why_not` in place of the note."""
        self.set_why_not(why_not)
        note = why_not or note
        if (note, tag, place) != (self._note, self._tag, self._place):
            self._note, self._tag, self._place = note, tag, place
            self.setAccessibleDescription(", ".join(each for each in (tag, note) if each))
            self.setToolTip(note if self._one_line else "")
            self.updateGeometry()
            self.update()

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """The note wraps."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """The title, and the lines that the note takes."""
        return _TOP + self._title_height() + self._note_height(width) + _TOP

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as may be."""
        return QSize(220, self.heightForWidth(max(self.width(), 220)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Narrow: the note wraps."""
        return QSize(120, _TOP + self._title_height() + _TOP)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the ground, the mark and the words."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter)
        self._paint_mark(painter)
        self._paint_words(painter)

    def _paint_ground(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        painter.setPen(QColor(tokens.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised) if self.underMouse() and not self.why_not else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _paint_mark(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        room = QRectF(6, _TOP + (self._title_height() - _MARK) / 2, _MARK, _MARK)
        edge = tokens.accent if self.isChecked() else tokens.muted
        painter.setPen(QPen(QColor(edge), 1.4, Qt.PenStyle.DotLine if self.why_not else Qt.PenStyle.SolidLine))
        filled = self.isChecked() and self._mark == "square"
        painter.setBrush(QColor(tokens.accent) if filled else QColor(tokens.surface))
        radius = _MARK / 2 if self._mark == "round" else 3.5
        painter.drawRoundedRect(room.adjusted(1, 1, -1, -1), radius, radius)
        if filled:
            painter.setPen(QPen(QColor(tokens.on_accent), 1.8))
            x, y = room.left(), room.top()
            painter.drawPolyline([QPointF(x + 4, y + 7.2), QPointF(x + 6.3, y + 9.6), QPointF(x + 10.3, y + 4.8)])
        elif self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(room.center(), 3.4, 3.4)

    def _paint_words(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        left = _LEFT
        if self._place is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.device_colour(self._place)))
            painter.drawEllipse(QPointF(left + 4, _TOP + self._title_height() / 2), 4, 4)
            left += 14
        painter.setFont(font("mono"))
        painter.setPen(QColor(tokens.muted if self.why_not else tokens.text))
        title = QRect(left, _TOP, self.width() - left, self._title_height())
        painter.drawText(title, int(_LINE), self.text())
        after = left + painter.fontMetrics().horizontalAdvance(self.text()) + 8
        self._paint_tag(painter, after)
        painter.setFont(font("caption"))
        painter.setPen(QColor(tokens.muted))
        if self._one_line:
            beside = title.adjusted(after - left, 0, -4, 0)
            cut = painter.fontMetrics().elidedText(self._note, Qt.TextElideMode.ElideRight, beside.width())
            painter.drawText(beside, int(_LINE), cut)
        else:
            painter.drawText(self._note_room(self.width()).translated(0, title.bottom() + 1), int(_WRAP), self._note)

    def _paint_tag(self, painter: QPainter, left: int) -> None:
        if not self._tag:
            return
        tokens = self._theme.tokens
        painter.setFont(font("caption"))
        room = QRectF(left, _TOP + 1, painter.fontMetrics().horizontalAdvance(self._tag) + 12, self._title_height() - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mix(tokens.accent, tokens.surface, 0.16)))
        painter.drawRoundedRect(room, room.height() / 2, room.height() / 2)
        painter.setPen(QColor(tokens.text))
        painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), self._tag)

    def _title_height(self) -> int:
        return QFontMetrics(font("mono")).height() + 4

    def _note_height(self, width: int) -> int:
        if not self._note or self._one_line:
            return 0
        return QFontMetrics(font("caption")).boundingRect(self._note_room(width), int(_WRAP), self._note).height()

    @staticmethod
    def _note_room(width: int) -> QRect:
        return QRect(_LEFT, 0, max(40, width - _LEFT - 6), 1000)
