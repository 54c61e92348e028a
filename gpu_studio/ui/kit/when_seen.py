"""What is shown of a widget that is hidden waits until somebody turns to it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget


class WhenSeen(QObject):
    """Fills `widget` by `fill` when that is wanted: at once, or if it is hidden, when it is shown.

    However often it was wanted meanwhile, it is filled once, before it is painted and before its
    own `showEvent`. `due` says that this is still to come.
    """

    def __init__(self, widget: QWidget, fill: Callable[[], None]) -> None:
        super().__init__(widget)
        self._widget, self._fill = widget, fill
        self.due = False

    def want(self) -> None:
        """Fill the widget, now or once it is shown."""
        if self._widget.isVisible():
            self._fill()
        elif not self.due:
            self.due = True
            # Only as long as it waits: a filter is called for each event of the widget.
            self._widget.installEventFilter(self)

    def now(self) -> None:
        """Fill the widget, as it is about to be seen: what is seen is laid out for each change."""
        self.due = False
        self._widget.removeEventFilter(self)
        self._fill()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Fill the widget that comes into sight."""
        del watched
        if event.type() == QEvent.Type.Show:
            self.now()
        return False
