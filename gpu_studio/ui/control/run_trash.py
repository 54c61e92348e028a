"""Deleting runs, so that it can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpu_studio.runs import catalogue
from gpu_studio.runs.catalogue import LiveRunError, UnknownRunError
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.naming import title_of
from gpu_studio.ui.widgets.notice import Notice, Tone


class RunTrash(QObject):
    """Moves runs to the trash and back, and says so in a notice. `changed` fires after each."""

    changed = Signal()

    def __init__(self, notice: Notice, runs_dir: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._notice = notice
        self._runs_dir = runs_dir

    def delete(self, runs: Sequence[RunDirectory]) -> None:
        """Delete these runs, as far as they can be, and offer to take back those that were."""
        gone: dict[str, str] = {}
        why_not = ""
        for run in runs:
            name, why = title_of(run), _delete(run)
            why_not = why_not or why
            if not why:
                gone[run.id] = name
        which = next(iter(gone.values())) if len(gone) == 1 else f"{len(gone)} runs"
        told = f"{which} {'was' if len(gone) == 1 else 'were'} deleted." if gone else ""
        text = " ".join(filter(None, (why_not, told)))
        if gone:
            tone: Tone = "warning" if why_not else "plain"
            # There is no other way back.
            self._notice.say(text, tone, "Undo", lambda: self._restore(list(gone)), stays=True)
        elif text:
            self._notice.say(text, "warning")
        self.changed.emit()

    def _restore(self, names: Sequence[str]) -> None:
        try:
            for name in names:
                catalogue.restore(self._runs_dir, name)
        except UnknownRunError as error:
            self._notice.say(str(error), "bad")
        self.changed.emit()


def _delete(run: RunDirectory) -> str:
    """Move a run to the trash; why it cannot be, else nothing."""
    try:
        catalogue.delete(run)
    except LiveRunError:
        return f"{title_of(run)} is still training: stop it before you delete it."
    except OSError as error:
        return f"{title_of(run)} cannot be deleted: {error.strerror or error}."
    return ""
