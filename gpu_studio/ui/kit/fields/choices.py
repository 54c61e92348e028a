"""Fields with a few values to choose from: a list of names, words side by side, a switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen, QWheelEvent
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QComboBox, QHBoxLayout, QWidget

from gpu_studio.plan import shown
from gpu_studio.ui.kit.basic_widgets import Button
from gpu_studio.ui.kit.theme import GRID, font


class Choice(QComboBox):
    """One of several names or values, each with a tooltip where `tips` has one.

    A name that is not among them, from a file, is shown as it is, as long as it stands there.
    """

    edited = Signal(object)
    merges = False

    def __init__(
        self,
        name: str,
        names: Sequence[str | bool | None],
        parent: QWidget | None = None,
        *,
        tips: Mapping[str, str] | None = None,
        words: Mapping[Any, str] | None = None,
    ) -> None:
        super().__init__(parent)
        self._words = dict(words or {})
        self._tips = dict(tips or {})
        self._names: tuple[str | bool | None, ...] = ()
        self._known = 0
        self.set_names(names)
        self.setAccessibleName(name)
        # On Linux, screen readers take the value of a combo box for its name.
        self.setAccessibleDescription(name)
        self.setFont(font("text"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.textActivated.connect(self._tell)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says."""
        self.setToolTip(tip)

    def set_names(self, names: Sequence[str | bool | None]) -> None:
        """Offer these names; `show_value` has to follow."""
        if tuple(names) == self._names:
            return
        self._names = tuple(names)
        self.clear()
        for each in names:
            self.addItem(self._words.get(each, str(each or "")), each)
            tip = self._tips.get(str(each or ""))
            self.setItemData(self.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self._known = self.count()

    def show_value(self, value: Any) -> None:
        """Show a name without reporting it."""
        index = next((index for index in range(self._known) if self.itemData(index) == value), -1)
        if index < 0:
            index = self._foreign(value)
        elif self.count() > self._known:
            self.removeItem(self._known)
        if index != self.currentIndex():
            self.setCurrentIndex(index)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the wheel to the page."""
        event.ignore()

    def showPopup(self) -> None:  # noqa: N802 - Qt's name
        """Open the list as wide as its longest name."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 24)
        super().showPopup()

    def _foreign(self, value: Any) -> int:
        text = (
            value
            if isinstance(value, str)
            else self._words.get(value, "")
            if value is None
            else shown(value)
        )
        if self.count() == self._known:
            self.addItem(text)
        elif self.itemText(self._known) != text:
            self.setItemText(self._known, text)
        return self._known

    def _tell(self, text: str) -> None:
        index = self.findText(text, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        if 0 <= index < self._known:
            self.edited.emit(self.itemData(index))


class Segments(QWidget):
    """A button for each word; the arrow keys move between them.

    `show_value` of an unknown value checks none.
    """

    edited = Signal(object)
    merges = False

    def __init__(self, name: str, words: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self.buttons = {key: self._make(name, key, text) for key, text in words.items()}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID // 2)
        for button in self.buttons.values():
            row.addWidget(button)
        row.addStretch(1)

    def set_tip(self, tip: str) -> None:
        """What the tooltip of every button says."""
        for button in self.buttons.values():
            button.setToolTip(tip)

    def show_value(self, value: object) -> None:
        """Check the button of this value without reporting it."""
        chosen = self.buttons.get(value) if isinstance(value, str) else None
        if chosen is not None:
            chosen.setChecked(True)
        elif self._group.checkedButton() is not None:
            self._uncheck()

    def _make(self, name: str, key: str, text: str) -> Button:
        button = Button(text, small=True)
        button.setCheckable(True)
        button.setAccessibleName(f"{name}: {text}")
        button.clicked.connect(lambda: self.edited.emit(key))
        self._group.addButton(button)
        return button

    def _uncheck(self) -> None:
        # An exclusive group never unchecks its last button.
        self._group.setExclusive(False)
        for button in self.buttons.values():
            button.setChecked(False)
        self._group.setExclusive(True)


_WIDTH, _HEIGHT = 30.0, 17.0
_GAP = 8
_HIGH = 28


class Switch(QCheckBox):
    """A pill with a knob, and its state in words.

    A value from a file that is neither true nor false is quoted.
    """

    edited = Signal(object)
    merges = False

    def __init__(
        self, name: str, parent: QWidget | None = None, *, on: str = "on", off: str = "off"
    ) -> None:
        super().__init__(off, parent)
        self._words = {True: on, False: off}
        self.setAccessibleName(name)
        self.setFont(font("text"))
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(self._tell)

    def set_tip(self, tip: str) -> None:
        """What the tooltip says."""
        self.setToolTip(tip)

    def show_value(self, value: Any) -> None:
        """Show a value without reporting it."""
        self.setChecked(value is True)
        text = self._words[value] if isinstance(value, bool) else shown(value)
        if text != self.text():
            self.setText(text)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The pill and the words."""
        words = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(int(_WIDTH) + _GAP + words + 4, max(_HIGH, self.fontMetrics().height()))

    def hitButton(self, pos: QPoint) -> bool:  # noqa: N802 - Qt's name
        """Accept clicks on the words too."""
        return self.rect().contains(pos)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill, the knob and the words."""
        del event
        palette, on = self.palette(), self.isChecked()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pill = QRectF(1.5, (self.height() - _HEIGHT) / 2, _WIDTH, _HEIGHT)
        painter.setPen(QPen(palette.color(self._edge()), 1.5 if self.hasFocus() else 1))
        painter.setBrush(
            palette.color(QPalette.ColorRole.Highlight if on else QPalette.ColorRole.Button)
        )
        painter.drawRoundedRect(pill, _HEIGHT / 2, _HEIGHT / 2)
        self._draw_knob(painter, pill)
        painter.setPen(palette.color(QPalette.ColorRole.WindowText))
        words = self.rect().adjusted(int(_WIDTH) + _GAP + 2, 0, 0, 0)
        painter.drawText(
            words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text()
        )

    def _edge(self) -> QPalette.ColorRole:
        """The colour around the pill: with the focus it differs from every colour inside."""
        if self.hasFocus():
            return (
                QPalette.ColorRole.WindowText if self.isChecked() else QPalette.ColorRole.Highlight
            )
        return (
            QPalette.ColorRole.Highlight if self.isChecked() else QPalette.ColorRole.PlaceholderText
        )

    def _draw_knob(self, painter: QPainter, pill: QRectF) -> None:
        on, radius = self.isChecked(), _HEIGHT / 2 - 3.5
        role = QPalette.ColorRole.HighlightedText if on else QPalette.ColorRole.PlaceholderText
        middle = pill.right() - _HEIGHT / 2 if on else pill.left() + _HEIGHT / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.palette().color(role)))
        painter.drawEllipse(QPointF(middle, pill.center().y()), radius, radius)

    def _tell(self, checked: bool) -> None:
        self.setText(self._words[checked])
        self.edited.emit(checked)
