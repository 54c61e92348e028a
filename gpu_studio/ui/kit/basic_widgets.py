"""The basic widgets of every page: texts by role, buttons in three weights, cards, scroll areas.

The page itself is here too, with the message of one that has nothing to show. The functions at
the end move the keyboard focus between the widgets of a window.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final, Literal

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.ui.kit.icons import coloured_icon
from gpu_studio.ui.kit.theme import GRID, FontRole, ThemeManager, font, mix

Role = Literal[
    "text", "strong", "heading", "title", "caption", "muted", "section", "mono", "mono_caption"
]


def _font_role(role: Role) -> FontRole:
    return "text" if role == "muted" else role


_MOST_WIDTHS = 32


_FROM_LEFT: Final = "\u200e"
_FROM_RIGHT: Final = ("R", "AL")


def _from_left(text: str) -> str:
    """`text`, marked where Qt would write a sentence or a title of ours from right to left.

    Qt goes by the first letter, and a number before it is none.
    """
    if text.isascii():
        return text
    directions = [unicodedata.bidirectional(letter) for letter in text]
    first = next((each for each in directions if each in ("L", *_FROM_RIGHT)), "L")
    return (
        f"{_FROM_LEFT}{text}"
        if first != "L" and ("L" in directions or directions[0] != first)
        else text
    )


class Label(QLabel):
    """A line of plain text in one role.

    Text is never interpreted as rich text, so a name with `<` is shown as it is. A sentence with a
    name that is written from right to left runs from left to right all the same.
    """

    def __init__(self, text: str = "", role: Role = "text", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self._laid_out: object = None
        self._heights: dict[int, int] = {}
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setFont(font(_font_role(role)))

    def setText(self, text: str) -> None:  # noqa: N802 - Qt's name
        """Show this text."""
        super().setText(_from_left(text))

    def text(self) -> str:
        """The text, as it was given."""
        return super().text().removeprefix(_FROM_LEFT)

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """As high as Qt finds it, which lays the text out anew for each question of a layout."""
        given = self.text(), self.font().key(), self.wordWrap(), self.contentsMargins()
        if given != self._laid_out or len(self._heights) > _MOST_WIDTHS:
            self._laid_out, self._heights = given, {}
        if width not in self._heights:
            self._heights[width] = super().heightForWidth(width)
        return self._heights[width]

    def set_tone(self, tone: Literal["", "bad"]) -> None:
        """Colour the text as an error, or not."""
        self.setProperty("tone", tone)
        self.style().unpolish(self)
        self.style().polish(self)


_LONGEST_WORD = 24


class Paragraph(Label):
    """Wrapped text of several lines that can be selected and copied.

    A word that is too long for its place is cut itself, and makes nothing beside it wider than the
    window has space for.
    """

    def __init__(self, text: str = "", role: Role = "text", parent: QWidget | None = None) -> None:
        super().__init__(text, role, parent)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for a word, but for no more than so many wide letters."""
        hint = super().minimumSizeHint()
        return QSize(
            min(hint.width(), self.fontMetrics().horizontalAdvance("M" * _LONGEST_WORD)),
            hint.height(),
        )


class Elided(Label):
    """A line that is elided at its end or middle if it does not fit.

    Its tooltip holds all of it.
    """

    def __init__(
        self,
        text: str = "",
        role: Role = "text",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        letters: int = 3,
    ) -> None:
        """At least `letters` wide letters, or the whole of a shorter text, always fit."""
        super().__init__(text, role, parent)
        self.shorter: tuple[str, ...] = ()
        """What is shown where the text does not fit: the first that does, else the last, cut."""
        self.whole = ""
        """What the tooltip says where it is more than the text."""
        self._mode = mode
        self._letters = letters
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for its letters: the rest may be cut."""
        few = self.fontMetrics().horizontalAdvance(f"{'M' * self._letters}…")
        return QSize(min(few, super().sizeHint().width()), super().minimumSizeHint().height())

    @property
    def shown(self) -> str:
        """What fits of it."""
        texts = (self.text(), *filter(None, self.shorter))
        return next((each for each in texts if self._cut(each) == each), self._cut(texts[-1]))

    def _cut(self, text: str) -> str:
        return self.fontMetrics().elidedText(text, self._mode, self.width())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what fits."""
        del event
        shown = self.shown
        self.setToolTip(self.whole or (self.text() if shown != self.text() else ""))
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.rect(),
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            shown,
            self.foregroundRole(),
        )


Kind = Literal["plain", "primary", "quiet"]


class Button(QPushButton):
    """A push button.

    It is `primary` for the page's main action, `plain`, or `quiet` without a frame.
    """

    def __init__(
        self, text: str, kind: Kind = "plain", parent: QWidget | None = None, *, small: bool = False
    ) -> None:
        super().__init__(text, parent)
        self.setProperty("kind", kind)
        self.setProperty("small", small)
        self.setFont(font("text"))
        self.setAccessibleName(text)
        self.setAutoDefault(False)


class ActionButton(Button):
    """A button for one of the window's actions: it has its state and tooltip, and triggers it.

    Without a `text` of its own it is called as the action is, also when that changes. With the text
    "" it shows the icon alone, and is called as the action is.
    """

    def __init__(
        self,
        action: QAction,
        kind: Kind = "plain",
        parent: QWidget | None = None,
        *,
        text: str | None = None,
        small: bool = False,
    ) -> None:
        super().__init__(action.text() if text is None else text, kind, parent, small=small)
        self._action = action
        self._called_as_action = text is None
        self.setAccessibleName(text or action.text())
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        if self._called_as_action and self.text() != self._action.text():
            self.setText(self._action.text())
            self.setAccessibleName(self._action.text())
        self.setEnabled(self._action.isEnabled())
        self.setToolTip(self._action.toolTip())
        self.setIcon(self._action.icon())


class PrimaryButton(ActionButton):
    """The button of a page's main action. Its icon has the colour of text on the accent."""

    def __init__(
        self, theme: ThemeManager, action: QAction, icon: str, parent: QWidget | None = None
    ) -> None:
        self._theme = theme
        self._icon = icon
        super().__init__(action, "primary", parent)
        theme.changed.connect(self._follow)

    def _follow(self) -> None:
        super()._follow()
        tokens = self._theme.tokens
        faint = mix(tokens.muted, tokens.surface, 0.6)
        self.setIcon(coloured_icon(self._icon, tokens.on_accent if self.isEnabled() else faint))


class CardFrame(QFrame):
    """A framed surface with a column, `body`, and, if it has a title, a `header` row for it."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(2 * GRID, GRID + 2, 2 * GRID, GRID + 6)
        self.body.setSpacing(GRID)
        self.header = QHBoxLayout()
        self.header.setSpacing(GRID)
        if title:
            self._add_header(title)

    def _add_header(self, title: str) -> None:
        self.setAccessibleName(title)
        label = Label(title.upper(), "section")
        # As high as a small button beside it, so that the titles of all cards are aligned.
        label.setMinimumHeight(3 * GRID)
        self.header.addWidget(label)
        self.header.addStretch(1)
        self.body.addLayout(self.header)


SIDE = 22
TOP = 16
GAP = 14


class Page(QWidget):
    """A page.

    `header` holds the heading and ends with the buttons; `column` takes what is below it.
    """

    def __init__(self, heading: QWidget | str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SIDE, TOP, SIDE, TOP + 2)
        self.column.setSpacing(GAP)
        self.caption = Elided(role="muted")
        self.header = QHBoxLayout()
        self.header.setSpacing(GAP)
        self.header.addWidget(Label(heading, "heading") if isinstance(heading, str) else heading)
        self.header.addWidget(self.caption)
        self.header.addStretch(1)
        self.column.addLayout(self.header)

    def add_button(self, button: QWidget) -> None:
        """Put a button at the right end of the header."""
        self.header.addWidget(button)

    def add_strip(self, strip: QWidget) -> None:
        """Add a strip below the header, above earlier ones."""
        self.column.insertWidget(1, strip)


class Scrolled(QScrollArea):
    """A column that scrolls up and down only; Qt brings what Tab reaches into view."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        inside = QWidget()
        inside.setObjectName("plain")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(GRID // 2, GRID // 2, GRID, GRID)
        self.column.setSpacing(GRID)
        self.setWidget(inside)


_WIDTH = 440


class EmptyState(QWidget):
    """A sentence in the middle of the page, a `note` below it, and a button to begin.

    The button fires `pressed`.
    """

    pressed = Signal()

    def __init__(
        self, title: str, text: str, button: str, note: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        middle = QWidget()
        middle.setFixedWidth(_WIDTH)
        words = QVBoxLayout(middle)
        words.setSpacing(GRID)
        labels = [Label(title, "heading"), Paragraph(text, "muted")]
        if note:
            labels.append(Elided(note, "caption", mode=Qt.TextElideMode.ElideMiddle))
        for label in labels:
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            words.addWidget(
                label, 0, Qt.AlignmentFlag.AlignHCenter if label is labels[-1] and note else _WHOLE
            )
        self.button = Button(button)
        self.button.clicked.connect(self.pressed)
        words.addSpacing(GRID)
        words.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(middle)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)


_WHOLE = Qt.AlignmentFlag(0)


GUIDE_PLACE: Final = "guide_place"
"""The property of a widget that says where the guide is about it; its class's place without one."""


def holds_focus(widget: QWidget) -> bool:
    """Return whether keys go to `widget`, or will once its window is active again."""
    return widget.window().focusWidget() is widget


def bring_into_view(widget: QWidget, *, if_out: bool = False) -> None:
    """Scroll whatever it lies in so far that it is seen; with `if_out` only if nothing of it is."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            view = around.viewport()
            place = QRect(widget.mapTo(view, QPoint()), widget.size())
            if not (if_out and view.rect().intersects(place)):
                around.ensureWidgetVisible(widget)
        around = None if around.isWindow() else around.parentWidget()


def let_go_of_focus(widget: QWidget) -> None:
    """Move the focus from `widget` to its window before `widget` is hidden.

    Otherwise Qt would move it to whatever field comes next.
    """
    focused = widget.window().focusWidget()
    if focused is not None and (focused is widget or widget.isAncestorOf(focused)):
        widget.window().setFocus()


def show_if(widget: QWidget, wanted: bool) -> None:
    """Show `widget`, or hide it without its focus going to whatever field comes next."""
    if not wanted and widget.isVisible():
        let_go_of_focus(widget)
    widget.setVisible(wanted)


def tab_after(anchor: QWidget, widgets: Iterable[QWidget]) -> None:
    """Let Tab reach the widgets in this order after `anchor`.

    The anchor need not take the focus itself.
    """
    policy = anchor.focusPolicy()
    # Qt cannot order widgets after one that takes no focus.
    anchor.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    before = anchor
    for widget in widgets:
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus:
            QWidget.setTabOrder(before, widget)
            before = widget
    anchor.setFocusPolicy(policy)
