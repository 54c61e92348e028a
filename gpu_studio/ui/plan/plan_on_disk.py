"""Whether the open plan's file still holds what the window last read or wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.ui.plan.plan_document import PlanDocument, text_of

SETTLE_MS = 100
"""An editor may empty a file before it writes it: it is read once it has come to rest."""

Standing = Literal["same", "changed", "gone"]


class PlanOnDisk(QObject):
    """Watches the open plan's file.

    `changed` fires when its content changes, or whether it exists. Network file systems report no
    changes: `look` finds them.
    """

    changed = Signal()

    def __init__(self, document: PlanDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._watched: Path | None = None
        self._reported: tuple[Path | None, str | None] = (None, None)
        self._watcher = QFileSystemWatcher(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self.look)
        self._watcher.fileChanged.connect(self._timer.start)
        self._watcher.directoryChanged.connect(self._timer.start)
        document.changed.connect(self._follow)

    @property
    def text(self) -> str | None:
        """What the file holds now; None if it is not there, or cannot be read as text."""
        return text_of(self._document.path) if self._document.path else None

    @property
    def standing(self) -> Standing:
        """How the file compares with what the window knows; `same` if the plan has no file."""
        if self._document.path is None:
            return "same"
        text = self.text
        if text is None:
            return "gone"
        return "same" if text == self._document.base_text else "changed"

    def look(self) -> None:
        """Look at the file now, and report if it has changed since the last look."""
        self._watch_file()
        path = self._document.path
        found = (path, self.text)
        if found != self._reported:
            self._reported = found
            self.changed.emit()

    def _follow(self) -> None:
        if self._document.path == self._watched:
            return
        self._watched = self._document.path
        self._reported = (self._watched, self._document.base_text)
        if watched := [*self._watcher.files(), *self._watcher.directories()]:
            self._watcher.removePaths(watched)
        if self._watched is not None:
            self._watcher.addPath(str(self._watched.parent))
        self._watch_file()
        self._timer.start()  # the file may have changed since its draft was written

    def _watch_file(self) -> None:
        """Watch the file itself as well: a replaced file is another one to the system."""
        path = self._watched
        if path is not None and str(path) not in self._watcher.files() and path.is_file():
            self._watcher.addPath(str(path))
