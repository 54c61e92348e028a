"""What a word on the screen means, where the pointer rests on it."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QAbstractButton, QLabel, QTabBar, QToolTip, QWidget

from gpu_studio.common.guide import definitions, words_in

_MOST = 2


class WordTips(QObject):
    """Tooltips of the guide's words in a window, for what has no tooltip of its own.

    Qt passes the wish for a tooltip on to the parent until one has it: it comes to the window
    where nobody had.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show what the words under the pointer mean."""
        if event.type() is not QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return False
        under = self._window.childAt(self._window.mapFromGlobal(event.globalPos()))
        tip = meanings(_text_of(under, event)) if under is not None else ""
        if not tip:
            return False
        QToolTip.showText(event.globalPos(), tip, under)
        return True


def meanings(text: str) -> str:
    """What the guide says of the first words of a text that it defines, as rich text."""
    known = definitions()
    return "".join(
        f"<p><b>{escape(word.capitalize())}</b><br>{escape(known[word])}</p>"
        for word in words_in(text)[:_MOST]
    )


def _text_of(widget: QWidget, event: QHelpEvent) -> str:
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text().replace("&", "")
    if isinstance(widget, QTabBar):
        at = widget.tabAt(widget.mapFromGlobal(event.globalPos()))
        return widget.tabText(at) if at >= 0 else ""
    return widget.accessibleName()
