"""Whether the open plan's file still holds what the window read or wrote last."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gpu_studio.ui.models.plan.plan_document import PlanDocument, text_of

SETTLE_MS = 100
"""An editor may empty a file before it writes it: it is read once it has come to rest."""

Standing = Literal["same", "changed", "gone"]


class PlanOnDisk(QObject):
    """Watches the open plan's file. `changed` fires when what it holds, or whether it is there, has become otherwise.

    File systems on other machines tell of no change: `look` sees it.
    """

    changed = Signal()

    def __init__(self, document: PlanDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._watched: Path | None = None
        self._told: tuple[Path | None, str | None] = (None, None)
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
        """How the file stands to what the window knows of it; `same` where the plan has no file."""
        if self._document.path is None:
            return "same"
        text = self.text
        if text is None:
            return "gone"
        return "same" if text == self._document.base_text else "changed"

    def look(self) -> None:
        """Look at the file now, and tell if it is not as it was when it was looked at last."""
        self._watch_file()
        path = self._document.path
        found = (path, self.text)
        if found != self._told:
            self._told = found
            self.changed.emit()

    def _follow(self) -> None:
        if self._document.path == self._watched:
            return
        self._watched = self._document.path
        self._told = (self._watched, self._document.base_text)
        if watched := [*self._watcher.files(), *self._watcher.directories()]:
            self._watcher.removePaths(watched)
        if self._watched is not None:
            self._watcher.addPath(str(self._watched.parent))
        self._watch_file()
        self._timer.start()  # it may have changed since the draft of it was written

    def _watch_file(self) -> None:
        """Watch the file itself as well: one that replaced it is another to the system."""
        path = self._watched
        if path is not None and str(path) not in self._watcher.files() and path.is_file():
            self._watcher.addPath(str(path))
