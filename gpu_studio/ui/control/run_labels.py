"""What the window does with names, tags and notes: ask for them, write them beside its thread, take them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QThreadPool, Signal

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.label_changes import Change, Changed, change_labels, with_name, with_note, with_tags
from gpu_studio.ui.models.runs.run_filter import known_tags
from gpu_studio.ui.pages.runs.label_dialogs import NameDialog, NoteDialog, TagDialog
from gpu_studio.ui.units import plural

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.pages.runs_page import RunsPage


class RunLabels(QObject):
    """The handlers of the actions about what a person writes on runs."""

    _written = Signal(object, str)

    def __init__(self, window: MainWindow, page: RunsPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window = window
        self._page = page
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._written.connect(self._tell)

    def rename(self) -> None:
        """Ask for the name of the selected run."""
        rows = self._page.chosen
        if len(rows) != 1:
            return
        dialog = NameDialog(rows[0], self._window)
        run = rows[0].summary.directory

        def save() -> None:
            if dialog.name != dialog.before:
                self._change([run], with_name(dialog.name), "The name")

        dialog.saved.connect(save)
        dialog.show()

    def tag(self) -> None:
        """Ask for the tags of the selected runs."""
        rows = self._page.chosen
        if not rows:
            return
        dialog = TagDialog(rows, known_tags(self._page.model.all), self._window)
        runs = [row.summary.directory for row in rows]

        def save() -> None:
            if dialog.tags != dialog.before:
                self._change(runs, with_tags(dialog.tags, dialog.before), "The tags")

        dialog.saved.connect(save)
        dialog.show()

    def note(self) -> None:
        """Ask for the note of the selected runs."""
        rows = self._page.chosen
        if not rows:
            return
        dialog = NoteDialog(rows, self._window)
        runs = [row.summary.directory for row in rows]

        def save() -> None:
            if dialog.note != (dialog.before or ""):
                self._change(runs, with_note(dialog.note), "The note")

        dialog.saved.connect(save)
        dialog.show()

    def close(self) -> None:
        """Write what is to be written, and leave no thread behind."""
        self._written.disconnect(self._tell)
        self._pool.waitForDone()

    def _change(self, runs: list[RunDirectory], change: Change, what: str) -> None:
        self._start(lambda: change_labels(runs, change), what)

    def _start(self, write: Callable[[], Changed], what: str) -> None:
        self._pool.start(lambda: self._written.emit(write(), what))

    def _tell(self, changed: Changed, what: str) -> None:
        self._page.reader.read()
        if (shown := self._window.shown_run) is not None:
            shown.read_name()
        self._window.live_runs.show()
        notice = self._window.notice
        if changed.why_not:
            notice.say(changed.why_not, "bad")
        elif changed.before and what:
            text = f"{what} of {plural(len(changed.before), 'run')} changed."
            notice.say(text, label="Undo", deed=lambda: self._start(changed.undo, ""))
