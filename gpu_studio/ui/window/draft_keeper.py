"""Save edits as they are made, so that they survive whatever ends the window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.ui.kit.settings import LAST_DRAFT, LAST_PLAN, Settings
from gpu_studio.ui.plan.drafts import Draft, Drafts, id_of, made, new_id
from gpu_studio.ui.plan.plan_document import PlanDocument

WAIT_MS = 1000
"""So long after a change it is written, with all that came meanwhile."""


class DraftKeeper(QObject):
    """Keeps the draft of the open plan true.

    Written while there are changes, gone once they are saved or undone.

    `written` fires when it was, `failed(text)`, once, when drafts cannot be written.
    """

    written = Signal()
    failed = Signal(str)

    def __init__(self, document: PlanDocument, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._settings = settings
        self.kept = Drafts(settings.folder / "drafts")
        self._untitled = new_id()
        self._open: Path | None = None
        self._rests = False
        self._has_failed = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(WAIT_MS)
        self._timer.timeout.connect(self.write)
        document.changed.connect(self._follow)

    @property
    def others(self) -> list[Draft]:
        """The drafts of plans that are not open, the last one first."""
        open_one = self.kept.name_of(self._key)
        return [draft for draft in self.kept.all() if draft.id != open_one]

    def of(self, path: Path | None) -> Draft | None:
        """The draft of the plan in a file; without one, of the last plan that had no file."""
        return self.kept.get(id_of(path) if path else self._settings.get(LAST_DRAFT) or "none")

    @contextmanager
    def going_on_with(self, draft: Draft) -> Iterator[None]:
        """Let `draft` be made the open plan, step by step.

        It stays written while that is half done.
        """
        self._rests = True
        if not draft.path:
            self._untitled = draft.id
        self.kept.take_up(id_of(Path(draft.path)) if draft.path else draft.id, draft)
        try:
            yield
        finally:
            self._rests = False
            self._follow()

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Let the open plan be left or saved for good: if that succeeds its draft is forgotten.

        What was half typed is not saved with it, and has a draft at once.
        """
        key = self._key
        yield
        path = self._document.path
        if key != self._key:
            self.kept.remove(key)
            if path is not None and (left := self.of(path)) is not None:
                # changes of the file that was saved over: they go with it
                self.kept.take_up(self._key, left)
        if not self._document.dirty:
            self.kept.remove(self._key)
        self.write()

    def discard(self) -> None:
        """Forget the draft of the open plan."""
        self._timer.stop()
        self.kept.remove(self._key)

    def write(self) -> None:
        """Write the open plan's draft down now, if there are changes."""
        self._timer.stop()
        document = self._document
        if document.plan is None or not document.dirty:
            return
        half, texts = document.half_typed, (document.plan.name, document.text, document.base_text)
        try:
            self.kept.write(made(self._key, document.path, *texts, half))
        except (OSError, UnicodeError) as error:
            self._tell(error)
        else:
            self.written.emit()

    def close(self) -> None:
        """Write the open plan's draft down, and leave it to the next window."""
        self.write()
        self.kept.close()

    def _tell(self, error: Exception) -> None:
        if not self._has_failed:
            why = getattr(error, "strerror", None) or str(error)
            self.failed.emit(
                f"Unsaved changes cannot be kept for the next start ({why}): "
                "save the plan to a file."
            )
        self._has_failed = True

    @property
    def _key(self) -> str:
        return id_of(self._document.path) if self._document.path else self._untitled

    def _follow(self) -> None:
        if self._rests:
            return
        if self._document.path != self._open and self._timer.isActive():
            # what it would have written is of a plan that was left, after it was asked about
            self._timer.stop()
        self._remember_which()
        if self._document.dirty:
            if not self._timer.isActive():
                self._timer.start()
        else:
            self.discard()

    def _remember_which(self) -> None:
        path = self._document.path
        if path != self._open or path is None:
            self._settings.set(LAST_PLAN, str(path) if path else "")
            self._settings.set(LAST_DRAFT, "" if path else self._untitled)
        self._open = path
