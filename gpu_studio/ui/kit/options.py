"""Words that are pressed to choose: options in the header of a card, and rows of tabs.

An option is a switch, opens a menu, or names the menu's choice. Tabs are as wide as their
words, and a tab with news has a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QTabBar, QWidget

from gpu_studio.ui.kit.theme import ThemeManager, font, mix

_SIDE = 8
_HEIGHT = 22
_RADIUS = 6.0
_SIGN = 8
_SIGN_GAP = 4


class OptionButton(QAbstractButton):
    """A caption in a pill.

    When on, it is tinted and has the text colour; with a menu, a chevron follows it.
    """

    def __init__(
        self, text: str, theme: ThemeManager, tip: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._menu: QMenu | None = None
        self.setFont(font("caption"))
        self.setToolTip(tip)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.set_text(text)
        theme.changed.connect(self.update)

    @classmethod
    def switch(cls, text: str, theme: ThemeManager, tip: str, *, on: bool = False) -> OptionButton:
        """An option that is on or off."""
        option = cls(text, theme, tip)
        option.setCheckable(True)
        option.setChecked(on)
        return option

    def set_text(self, text: str) -> None:
        """Show this text."""
        self.setText(text)
        self.setAccessibleName(f"{text}: {self.toolTip()}" if self.toolTip() else text)
        self.updateGeometry()
        self.update()

    @property
    def menu(self) -> QMenu | None:
        """The menu that opens when it is pressed."""
        return self._menu

    def set_menu(self, menu: QMenu) -> None:
        """Open this menu when pressed."""
        self._menu = menu
        self.clicked.connect(lambda: menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2))))
        self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The text, and the chevron of a menu."""
        sign = _SIGN + _SIGN_GAP if self._menu else 0
        text = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(text + sign + 2 * _SIDE, max(_HEIGHT, self.fontMetrics().height() + 6))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the pill and the text."""
        del event
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_pill(painter)
        lit = self.isChecked() or self.underMouse() or self.isDown()
        colour = (
            mix(tokens.muted, tokens.surface, 0.6)
            if not self.isEnabled()
            else tokens.text
            if lit
            else tokens.muted
        )
        painter.setPen(QColor(colour))
        words = self.rect().adjusted(_SIDE, 0, -_SIDE, 0)
        painter.drawText(
            words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text()
        )
        if self._menu:
            left, middle = self.width() - _SIDE - _SIGN, self.height() / 2
            painter.setPen(QPen(QColor(colour), 1.4))
            down = ((left, middle - 2), (left + _SIGN / 2, middle + 2), (left + _SIGN, middle - 2))
            painter.drawPolyline([QPointF(x, y) for x, y in down])

    def _paint_pill(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        painter.setPen(QColor(tokens.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.isChecked():
            painter.setBrush(QColor(mix(tokens.accent, tokens.surface, 0.2)))
        elif self.underMouse():
            painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS
        )


class ChoiceOption(OptionButton):
    """Names the present choice, and opens a menu of all choices."""

    def __init__(self, theme: ThemeManager, tip: str, parent: QWidget | None = None) -> None:
        super().__init__("", theme, tip, parent)
        self.choices = QMenu(tip, self)
        self._group = QActionGroup(self)
        self._actions: dict[str, QAction] = {}
        self.set_menu(self.choices)

    def set_choices(
        self, words: Mapping[str, str], chosen: str, choose: Callable[[str], object]
    ) -> None:
        """Offer these, by name and in words; `choose` is called with the user's choice."""
        for name, text in words.items():
            action = self.choices.addAction(text)
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, name=name: choose(name))
            self._actions[name] = self._group.addAction(action)
        self.show_choice(chosen)

    def show_choice(self, name: str) -> None:
        """Show this choice without calling anything."""
        self._actions[name].setChecked(True)
        self.set_text(self._actions[name].text())


class SteadyTabs(QTabBar):
    """A row of tabs with no line under it, which stay where they are whichever is chosen.

    A screen reader says `name`. The chosen one's text is bolder: each has the room for that.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)

    def tabSizeHint(self, index: int) -> QSize:  # noqa: N802 - Qt's name
        """As wide as with the bolder text."""
        size = super().tabSizeHint(index)
        if index != self.currentIndex():
            bolder, text = QFont(self.font()), self.tabText(index)
            bolder.setWeight(QFont.Weight.Medium)
            more = _width(text, bolder) - _width(text, self.font())
            size.setWidth(size.width() + more)
        return size


def _width(text: str, drawn_in: QFont) -> int:
    return QFontMetrics(drawn_in).size(Qt.TextFlag.TextShowMnemonic, text).width()


RADIUS = 3.0
_FROM_RIGHT, _FROM_TOP = 6.0, 8.0
"""Where the middle of the dot is: in the padding of its tab, so that no tab becomes wider by it."""


class MarkedTabs(SteadyTabs):
    """Marks a tab with a problem by a dot, and tells it in the tooltip and accessible name."""

    def __init__(self, name: str, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._theme = theme
        self._tips: dict[int, str] = {}
        self.marks: dict[int, str] = {}
        theme.changed.connect(self.update)

    def add(self, name: str, tip: str) -> None:
        """A tab after those that there are."""
        index = self.addTab(name)
        self._tips[index] = tip
        self.setTabToolTip(index, tip)

    def mark(self, index: int, words: str) -> None:
        """Mark a tab, saying what is wrong in it; without words it has no mark."""
        if self.marks.get(index, "") == words:
            return
        self.marks[index] = words
        name, tip = self.tabText(index), self._tips.get(index, "")
        self.setTabToolTip(index, f"{tip}\n{words}" if words else tip)
        self.setAccessibleTabName(index, f"{name}: {words}" if words else name)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the tabs, and the dots over them."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.bad))
        for index in (index for index, words in self.marks.items() if words):
            tab = self.tabRect(index)
            painter.drawEllipse(
                QPointF(tab.right() - _FROM_RIGHT, tab.top() + _FROM_TOP), RADIUS, RADIUS
            )
