"""A message that is in nobody's way: what happened, why, what to do, and at most one thing to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QEnterEvent, QHideEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

Tone = Literal["plain", "warning", "bad"]
SHOWN_MS = 8_000
"""How long a message stays that asks for nothing."""
OFFERED_MS = 30_000
"""How long one stays that offers something to do."""
WIDEST = 460
AROUND = 2 * GRID


class Notice(QFrame):
    """One message at a time, over a corner of the pages, which do not move for it; a new one takes the old one's place.

    It never lies over what has the focus: then it goes to another corner.
    It goes by itself after a while in an active window, but not under the pointer or while it has the focus. What went
    wrong stays until a person closes it, by Escape too, or does what it offers, or until it is `settle`d. The focus
    then goes back to where it was.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toast")
        self._deed: Callable[[], object] | None = None
        self._about = ""
        self._over: QWidget | None = None
        self._before: QWidget | None = None
        self._text = Paragraph()
        self._button, self._close = Button("", small=True), Button("Close", "quiet", small=True)
        self._button.clicked.connect(self._act)
        self._close.setToolTip("Close this message (Esc)")
        self._close.clicked.connect(self.hide)
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
        """After how many milliseconds it goes by itself; None where it stays."""
        return self._clock.interval() if self._clock.isActive() else None

    def float_over(self, pages: QWidget) -> None:
        """Stand over the lower corner of these pages, which have the same parent."""
        self._over = pages
        self.setParent(pages.parentWidget())
        pages.installEventFilter(self)
        self.hide()

    def say(
        self,
        text: str,
        tone: Tone = "plain",
        label: str = "",
        deed: Callable[[], object] | None = None,
        *,
        about: str = "",
        stays: bool = False,
    ) -> None:
        """Show a message; with a `label` also a button that does the `deed` and closes the message.

        `about` names what it is about, by which it can be settled. What is not red can be told to stay as well.
        """
        self._clock.stop()
        self._deed, self._about = deed, about
        self._text.setText(text)
        self.setAccessibleName(text)
        self._button.setVisible(bool(label and deed))
        self._button.setText(label)
        self._button.setAccessibleName(label)
        self.setProperty("tone", tone)
        self.style().unpolish(self)
        self.style().polish(self)
        self._clock.setInterval(0 if stays or tone == "bad" else OFFERED_MS if label else SHOWN_MS)
        self.show()
        self._place()
        self.raise_()
        self._count_down()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def settle(self, about: str) -> None:
        """Take the message away if it is about this: what it says is so no more."""
        if about == self._about:
            self.hide()

    def take_focus(self) -> None:
        """Bring the focus to the message, if there is one."""
        if self.isVisible():
            (self._button if self._button.isVisible() else self._close).setFocus(Qt.FocusReason.ShortcutFocusReason)

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

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Count no more."""
        super().hideEvent(event)
        self._clock.stop()

    def setVisible(self, visible: bool) -> None:  # noqa: N802 - Qt's name
        """Give the focus back before Qt gives it to whatever comes next."""
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
        # Nobody has read it who looked at another window.
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
        corners = [QRect(x, y, width, height) for x, y in ((right, low), (there.left(), low), (right, there.top()))]
        self.setGeometry(next((corner for corner in corners if not self._hides_focus(corner)), corners[0]))

    def _hides_focus(self, place: QRect) -> bool:
        """Whether the message would lie there over what has the focus, which a person must see."""
        focused, parent = self.window().focusWidget(), self.parentWidget()
        if focused is None or parent is None or not parent.isAncestorOf(focused) or self.isAncestorOf(focused):
            return False
        return place.intersects(QRect(focused.mapTo(parent, QPoint(0, 0)), focused.size()))

    def _lay_out(self) -> None:
        self._column = column = QVBoxLayout(self)
        row = QHBoxLayout()
        column.setContentsMargins(GRID + 6, GRID + 2, GRID + 2, GRID)
        column.setSpacing(GRID // 2)
        column.addWidget(self._text)
        row.addStretch(1)
        row.addWidget(self._button)
        row.addWidget(self._close)
        column.addLayout(row)

    def _act(self) -> None:
        deed = self._deed
        self.hide()
        if deed is not None:
            deed()
