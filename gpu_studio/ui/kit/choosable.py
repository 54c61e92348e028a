"""Buttons of which one is chosen, as rows or tiles.

Those that cannot be chosen can get the focus, and say why.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QSizePolicy, QWidget

from gpu_studio.ui.kit.theme import ThemeManager, font, line_height, mix, readable


class Choosable(QAbstractButton):
    """A button that can be chosen unless `why_not` says why it cannot.

    If a plan has chosen it, it stays chosen.
    """

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._why_not = ""
        self.setAccessibleName(name)
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    @property
    def why_not(self) -> str:
        """Why it cannot be chosen; empty if it can."""
        return self._why_not

    def set_why_not(self, reason: str) -> None:
        """Say why it cannot be chosen; empty if it can."""
        if reason != self._why_not:
            self._why_not = reason
            self.update()

    def nextCheckState(self) -> None:  # noqa: N802 - Qt's name
        """Let a button that cannot be chosen only be unchecked."""
        if not self._why_not or self.isChecked():
            super().nextCheckState()


class ChoiceGroup(QObject):
    """One of several Choosables, in rows of `columns`.

    Tab stops once; the arrow keys move between them.
    """

    chosen = Signal(str)
    pointed = Signal(str)

    def __init__(
        self, buttons: Mapping[str, Choosable], columns: int = 1, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.buttons = dict(buttons)
        self._columns = columns
        self._group = QButtonGroup(self)
        for name, button in self.buttons.items():
            self._group.addButton(button)
            button.clicked.connect(lambda _=False, name=name: self._choose(name))
            button.installEventFilter(self)

    def show_chosen(self, name: str) -> None:
        """Check this one, or none if it is not among them, without reporting it."""
        checked = self._group.checkedButton()
        if name in self.buttons:
            self.buttons[name].setChecked(True)
        elif checked is not None:
            # An exclusive group never unchecks its last button.
            self._group.setExclusive(False)
            checked.setChecked(False)
            self._group.setExclusive(True)
        if not any(button.hasFocus() for button in self.buttons.values()):
            self._stop_at_chosen()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Follow the arrow keys and the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._move(watched, event.key())
        if isinstance(event, QFocusEvent):
            if event.lostFocus():
                self._stop_at_chosen()
            self.pointed.emit(self._name_of(watched) if event.gotFocus() else "")
        return False

    def _move(self, button: QObject, key: int) -> bool:
        steps = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -self._columns,
            Qt.Key.Key_Down: self._columns,
        }
        if key not in steps:
            return False
        every = list(self.buttons.values())
        place = every.index(button) + steps[Qt.Key(key)]  # type: ignore[arg-type]
        if 0 <= place < len(every):
            every[place].setFocus(Qt.FocusReason.TabFocusReason)
            if not every[place].why_not:
                every[place].click()
        return True

    def _choose(self, name: str) -> None:
        if not self.buttons[name].why_not:
            self.chosen.emit(name)

    def _stop_at_chosen(self) -> None:
        """Let Tab stop at the chosen one.

        This holds even after the keys moved to one that cannot be chosen.
        """
        stop = self._group.checkedButton() or next(iter(self.buttons.values()))
        for button in self.buttons.values():
            button.setFocusPolicy(
                Qt.FocusPolicy.StrongFocus if button is stop else Qt.FocusPolicy.ClickFocus
            )

    def _name_of(self, button: QObject) -> str:
        return next((name for name, each in self.buttons.items() if each is button), "")


_MARK, _LEFT, _TOP = 14, 26, 4
_RADIUS = 6.0
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
_LINE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ChoiceRow(Choosable):
    """Round marks choose one of several, square ones check each for itself.

    A `place` gives a device's dot.

    In `one_line` what it means stands beside the title, and is cut where space is short.
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
        """Set the note; `tag` is shown beside the title, `why_not` instead of the note."""
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
        painter.setBrush(
            QColor(tokens.raised)
            if self.underMouse() and not self.why_not
            else Qt.BrushStyle.NoBrush
        )
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS
        )

    def _paint_mark(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        area = QRectF(6, _TOP + (self._title_height() - _MARK) / 2, _MARK, _MARK)
        edge = tokens.accent if self.isChecked() else tokens.muted
        painter.setPen(
            QPen(QColor(edge), 1.4, Qt.PenStyle.DotLine if self.why_not else Qt.PenStyle.SolidLine)
        )
        filled = self.isChecked() and self._mark == "square"
        painter.setBrush(QColor(tokens.accent) if filled else QColor(tokens.surface))
        radius = _MARK / 2 if self._mark == "round" else 3.5
        painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), radius, radius)
        if filled:
            painter.setPen(QPen(QColor(tokens.on_accent), 1.8))
            x, y = area.left(), area.top()
            painter.drawPolyline(
                [QPointF(x + 4, y + 7.2), QPointF(x + 6.3, y + 9.6), QPointF(x + 10.3, y + 4.8)]
            )
        elif self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(area.center(), 3.4, 3.4)

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
            cut = painter.fontMetrics().elidedText(
                self._note, Qt.TextElideMode.ElideRight, beside.width()
            )
            painter.drawText(beside, int(_LINE), cut)
        else:
            painter.drawText(
                self._note_size(self.width()).translated(0, title.bottom() + 1),
                int(_WRAP),
                self._note,
            )

    def _paint_tag(self, painter: QPainter, left: int) -> None:
        if not self._tag:
            return
        tokens = self._theme.tokens
        painter.setFont(font("caption"))
        area = QRectF(
            left,
            _TOP + 1,
            painter.fontMetrics().horizontalAdvance(self._tag) + 12,
            self._title_height() - 2,
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mix(tokens.accent, tokens.surface, 0.16)))
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2)
        painter.setPen(QColor(tokens.text))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), self._tag)

    def _title_height(self) -> int:
        return line_height("mono") + 4

    def _note_height(self, width: int) -> int:
        if not self._note or self._one_line:
            return 0
        size = font("caption").pointSizeF()
        return _wrapped_height(self._note, self._note_size(width).width(), size)

    @staticmethod
    def _note_size(width: int) -> QRect:
        return QRect(_LEFT, 0, max(40, width - _LEFT - 6), 1000)


@lru_cache(maxsize=512)
def _wrapped_height(text: str, width: int, size: float) -> int:
    """How high a wrapped text is in letters of this size, which a layout asks again and again."""
    del size
    return QFontMetrics(font("caption")).boundingRect(0, 0, width, 1000, int(_WRAP), text).height()


_HEIGHT = 34
_TILE_RADIUS = 8.0
_SIDE = 4
_MIDDLE = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


class Tile(Choosable):
    """Paints its title, on two lines if needed.

    A tile that cannot be chosen is muted and has a dashed frame.
    """

    def __init__(
        self, title: str, name: str, theme: ThemeManager, parent: QWidget | None = None
    ) -> None:
        super().__init__(name, theme, parent)
        self.setText(title)
        self.setFont(font("caption"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Two lines of the title."""
        metrics = self.fontMetrics()
        return QSize(
            metrics.horizontalAdvance(self.text()) + 2 * _SIDE,
            max(_HEIGHT, 2 * metrics.height() + 4),
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the frame and the title."""
        del event
        tokens = self._theme.tokens
        ground = self._ground()
        edge = tokens.accent if self.isChecked() or self.hasFocus() else tokens.line
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(ground))
        style = Qt.PenStyle.DashLine if self.why_not else Qt.PenStyle.SolidLine
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1, style))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(1, 1, -1, -1), _TILE_RADIUS, _TILE_RADIUS
        )
        painter.setPen(
            QColor(readable(tokens.muted if self.why_not else tokens.text, ground, tokens.text))
        )
        painter.drawText(self.rect().adjusted(_SIDE, 0, -_SIDE, 0), int(_MIDDLE), self.text())

    def _ground(self) -> str:
        tokens = self._theme.tokens
        if self.isChecked():
            return mix(tokens.accent, tokens.surface, 0.16)
        if self.why_not:
            return tokens.surface
        return mix(tokens.text, tokens.raised, 0.06) if self.underMouse() else tokens.raised
