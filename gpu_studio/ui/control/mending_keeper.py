"""Keeps the text of a broken plan file that a person mends, so that it survives whatever ends the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.ui.control import draft_keeper
from gpu_studio.ui.models.plan.drafts import Draft, Drafts, made_of_text, mending_id_of

if TYPE_CHECKING:
    from gpu_studio.ui.pages.plan.repair_pane import RepairPane


class MendingKeeper(QObject):
    """Writes the text down while it differs from the file's, and forgets it once it was saved or left on purpose.

    `written` fires when it was written, `failed(text)` when it could not be.
    """

    written = Signal()
    failed = Signal(str)

    def __init__(self, folder: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._drafts = Drafts(folder)
        self._pane: RepairPane | None = None
        self._path: Path | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.write)

    @property
    def last(self) -> Draft | None:
        """The text that was edited last and neither saved nor left; None if there is none."""
        return next((draft for draft in self._drafts.all() if draft.mending), None)

    def of(self, path: Path) -> Draft | None:
        """The text of this file as it was left; None if there is none."""
        return self._drafts.get(mending_id_of(path))

    def follow(self, pane: RepairPane, path: Path) -> None:
        """Keep what is written in the pane from now on, where the file at `path` is mended."""
        if self._pane is None:
            self._pane = pane
            pane.text.textChanged.connect(self._wait)
            pane.left.connect(self._forget)
        self._path = path

    def write(self) -> None:
        """Write the text down now; one that is as the file's needs no draft."""
        self._timer.stop()
        pane, path = self._pane, self._path
        if pane is None or path is None or pane.path != path:
            return
        if not pane.changed:
            self._drafts.remove(mending_id_of(path))
            return
        try:
            self._drafts.write(made_of_text(path, pane.written, pane.base))
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self.failed.emit(f"The text of {path.name} cannot be kept for the next start ({why}): save it as it is.")
        else:
            self.written.emit()

    def _wait(self) -> None:
        if not self._timer.isActive():
            self._timer.start(draft_keeper.WAIT_MS)

    def _forget(self) -> None:
        self._timer.stop()
        if self._path is not None:
            self._drafts.remove(mending_id_of(self._path))
        self._path = None
