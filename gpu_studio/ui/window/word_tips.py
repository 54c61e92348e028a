"""What a word on the screen means, where the pointer rests on it."""

from __future__ import annotations

from textwrap import fill

from PySide6.QtCore import QChildEvent, QEvent, QObject, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QDialog,
    QHeaderView,
    QLabel,
    QTabBar,
    QToolTip,
    QWidget,
)

_MOST = 2
_COLUMNS = 72


class WordTips(QObject):
    """Tooltips of the guide's words in a window and its dialogs, for what has none of its own.

    Qt passes the wish for a tooltip on to the parent until one has it: it comes to the window, or
    the dialog, where nobody had.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show what the words under the pointer mean, from now on in a new dialog, too."""
        if event.type() is QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            if isinstance(dialog := event.child(), QDialog):
                dialog.installEventFilter(self)
            return False
        if event.type() is not QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return False
        assert isinstance(watched, QWidget)
        under = watched.childAt(watched.mapFromGlobal(event.globalPos()))
        tip = meanings(_text_of(under, event)) if under is not None else ""
        if not tip:
            return False
        QToolTip.showText(event.globalPos(), tip, under)
        return True


def meanings(text: str) -> str:
    """What the guide says of the first words of a text that it defines, in lines of plain text."""
    from gpu_studio.common.guide import definitions, words_in

    known = definitions()
    return "\n\n".join(
        f"{word.capitalize()}\n{fill(known[word], _COLUMNS)}" for word in words_in(text)[:_MOST]
    )


def _text_of(widget: QWidget, event: QHelpEvent) -> str:
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text().replace("&", "")
    if isinstance(widget, QTabBar):
        at = widget.tabAt(widget.mapFromGlobal(event.globalPos()))
        return widget.tabText(at) if at >= 0 else ""
    view = widget.parent()
    if isinstance(view, QAbstractItemView) and widget is view.viewport():
        return _text_in(view, view.viewport().mapFromGlobal(event.globalPos()))
    return widget.accessibleName()


def _text_in(view: QAbstractItemView, at: QPoint) -> str:
    """The text of the row, or of the head of the column, under the pointer."""
    if isinstance(view, QHeaderView):
        place = view.logicalIndexAt(at)
        return str(view.model().headerData(place, view.orientation()) or "") if place >= 0 else ""
    return str(view.indexAt(at).data() or "")
