"""Messages that do not interrupt: what happened, why, and what to do.

A `Notice` floats over a corner of the pages; a `Note` stands beside its subject. Each offers at
most one action, a note also a second button.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QEnterEvent,
    QHideEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.ui.kit.basic_widgets import Button, Paragraph
from gpu_studio.ui.kit.theme import GRID

Tone = Literal["plain", "warning", "bad"]
SHOWN_MS = 8_000
"""How long a message stays that asks for nothing."""
OFFERED_MS = 30_000
"""How long one stays that offers something to do."""
WIDEST = 460
AROUND = 2 * GRID
_LEAST_LETTERS = 8
UNDO = "Undo"
"""The label of what takes back that which the message tells of."""


class Notice(QFrame):
    """One message at a time, over a corner of the pages, which do not move.

    A new message replaces the old one. `changed` says that there is another, or none any more.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self._action: Callable[[], object] | None = None
        self._about = ""
        self._over: QWidget | None = None
        self._before: QWidget | None = None
        self._text = Paragraph()
        self.button, self.close_button = (
            Button("", small=True),
            Button("Close", "quiet", small=True),
        )
        self.button.clicked.connect(self._act)
        self.close_button.setToolTip("Close this message (Esc)")
        self.close_button.clicked.connect(self.hide)
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.timeout.connect(self._go)
        self._lay_out()
        self.hide()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow_focus)

    @property
    def text(self) -> str:
        """The message, also after it was closed."""
        return self._text.text()

    @property
    def leaves_in(self) -> int | None:
        """The milliseconds until it closes by itself; None if it stays."""
        return self._clock.interval() if self._clock.isActive() else None

    def float_over(self, pages: QWidget) -> None:
        """Float over the lower corner of these pages, which have the same parent."""
        self._over = pages
        self.setParent(pages.parentWidget())
        pages.installEventFilter(self)
        self.hide()

    def say(
        self,
        text: str,
        tone: Tone = "plain",
        label: str = "",
        action: Callable[[], object] | None = None,
        *,
        about: str = "",
        stays: bool = False,
    ) -> None:
        """Show a message.

        With a `label` there is a button for the `action`, which also closes the message.
        """
        self._clock.stop()
        self._action, self._about = action, about
        self._text.setText(text)
        self.setAccessibleName(text)
        self.button.setVisible(bool(label and action))
        self.button.setText(label)
        self.button.setAccessibleName(label)
        self.setProperty("tone", tone)
        self.style().unpolish(self)
        self.style().polish(self)
        self._clock.setInterval(0 if stays or tone == "bad" else OFFERED_MS if label else SHOWN_MS)
        self.show()
        self._place()
        self.raise_()
        self._count_down()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self.changed.emit()

    def settle(self, about: str) -> None:
        """Close the message if it is about this: it no longer holds."""
        if about == self._about:
            self.hide()

    def make_way(self) -> None:
        """Lie where the message hides least of the page that is seen now."""
        self._place()

    @property
    def offers_undo(self) -> bool:
        """Whether what the message tells of can be taken back."""
        return self.isVisible() and self.button.isVisible() and self.button.text() == UNDO

    def take_back(self) -> bool:
        """Take back what the message tells of, if it offers that; whether it does."""
        if offered := self.offers_undo:
            self._act()
        return offered

    def take_focus(self) -> None:
        """Move the focus to the message, if there is one."""
        if self.isVisible():
            (self.button if self.button.isVisible() else self.close_button).setFocus(
                Qt.FocusReason.ShortcutFocusReason
            )

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Keep to the corner of the pages."""
        if watched is self._over and event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return super().eventFilter(watched, event)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Stay while the pointer is over it."""
        super().enterEvent(event)
        self._clock.stop()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Stay a while longer."""
        super().leaveEvent(event)
        self._count_down()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape closes the message."""
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Count down from now on, also for what was said before there was a window to see it in."""
        super().showEvent(event)
        self._count_down()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Stop the countdown."""
        super().hideEvent(event)
        self._clock.stop()
        self.changed.emit()

    def setVisible(self, visible: bool) -> None:  # noqa: N802 - Qt's name
        """Return the focus before Qt moves it to whatever comes next."""
        if not visible:
            self._give_back_focus()
        super().setVisible(visible)

    def _follow_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if new is not None and self.isAncestorOf(new):
            self._clock.stop()
            if old is not None and not self.isAncestorOf(old):
                self._before = old
            return
        if old is not None and self.isAncestorOf(old):
            self._count_down()
        self._place()

    def _give_back_focus(self) -> None:
        focused = QApplication.focusWidget()
        if focused is None or not self.isAncestorOf(focused):
            return
        before, self._before = self._before, None
        if before is not None and before.isVisible() and before.window() is self.window():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.window().setFocus(Qt.FocusReason.OtherFocusReason)

    def _count_down(self) -> None:
        focused = QApplication.focusWidget()
        kept = self.underMouse() or (focused is not None and self.isAncestorOf(focused))
        if self.isVisible() and self._clock.interval() and not kept:
            self._clock.start()

    def _go(self) -> None:
        # The user cannot have read it while another window was active.
        if self.window().isActiveWindow():
            self.hide()
        else:
            self._clock.start()

    def _place(self) -> None:
        if self._over is None or self.isHidden():
            return
        width = min(WIDEST, self._over.width() - 2 * AROUND)
        height = max(self.minimumSizeHint().height(), self._column.totalHeightForWidth(width))
        there = self._over.geometry().adjusted(AROUND, AROUND, -AROUND, -AROUND)
        right, low = there.right() - width, there.bottom() - height
        left, top = there.left(), there.top()
        # A page's buttons are in its upper right corner, and its name in the left one.
        corners = [
            QRect(x, y, width, height)
            for x, y in ((right, low), (left, low), (left, top), (right, top))
        ]
        free = [each for each in corners if not self._hides_focus(each)] or corners[:1]
        self.setGeometry(next((each for each in free if not self._hides_button(each)), free[0]))

    def _hides_button(self, place: QRect) -> bool:
        """Return whether the message would cover something that can be pressed."""
        parent, pages = self.parentWidget(), self._over
        buttons = pages.findChildren(QAbstractButton) if pages is not None else ()
        return parent is not None and any(
            place.intersects(QRect(each.mapTo(parent, QPoint(0, 0)), each.size()))
            for each in buttons
            if each.isVisible() and each.isEnabled() and not each.visibleRegion().isEmpty()
        )

    def _hides_focus(self, place: QRect) -> bool:
        """Return whether the message would cover the focused widget, which must stay visible."""
        focused, parent = self.window().focusWidget(), self.parentWidget()
        if (
            focused is None
            or parent is None
            or not parent.isAncestorOf(focused)
            or self.isAncestorOf(focused)
        ):
            return False
        return place.intersects(QRect(focused.mapTo(parent, QPoint(0, 0)), focused.size()))

    def _lay_out(self) -> None:
        self._column = column = QVBoxLayout(self)
        row = QHBoxLayout()
        column.setContentsMargins(GRID + 6, GRID + 2, GRID + 2, GRID)
        column.setSpacing(GRID // 2)
        column.addWidget(self._text)
        row.addStretch(1)
        row.addWidget(self.button)
        row.addWidget(self.close_button)
        column.addLayout(row)

    def _act(self) -> None:
        action = self._action
        self.hide()
        if action is not None:
            action()


class Note(QFrame):
    """Hidden while there is nothing to say.

    `more` is a second button, hidden until it is offered.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._action: Callable[[], object] | None = None
        self.words = Paragraph()
        # Beside buttons a long word would push them out of a narrow card: it is cut itself.
        self.words.setMinimumWidth(self.words.fontMetrics().horizontalAdvance("M" * _LEAST_LETTERS))
        self.button = Button("", small=True)
        self.button.clicked.connect(self._act)
        self.more = Button("Details", small=True)
        self.more.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID // 2, GRID, GRID // 2)
        row.addWidget(self.words, 1)
        row.addWidget(self.more)
        row.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        """What is said."""
        return self.words.text() if not self.isHidden() else ""

    def say(
        self,
        text: str,
        tone: Tone = "plain",
        label: str = "",
        action: Callable[[], object] | None = None,
    ) -> None:
        """Show this text, with a button for the action; hide without text."""
        self._action = action
        self.setVisible(bool(text))
        self.words.setText(text)
        self.setAccessibleName(text)
        self.button.setVisible(bool(label))
        if self.button.text() != label:
            self.button.setText(label)
            self.button.setAccessibleName(label)
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)

    def _act(self) -> None:
        if self._action is not None:
            self._action()
