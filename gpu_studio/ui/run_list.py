"""What the window does with the runs of its list: show, go on with, open the plan of, reveal, delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from gpu_studio import plan as plans
from gpu_studio.plan import PlanError
from gpu_studio.runs import catalogue
from gpu_studio.runs.catalogue import LiveRunError, UnknownRunError
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.ui.pages.runs_page import RunsPage

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow


class RunList(QObject):
    """The handlers of the actions about the run that is selected on the Runs page, which it owns."""

    def __init__(self, window: MainWindow, runs_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self._runs_dir = runs_dir
        self.page = RunsPage(window.theme, runs_dir, window.actions_)

    def show_selected(self) -> None:
        """Show the selected run."""
        if run := self._selected():
            self._window.show_run(run)

    def open_selected_plan(self) -> None:
        """Open the selected run's plan, as a plan without a file."""
        if run := self._selected():
            try:
                self._window.plan_files.take(plans.load(run.plan_file))
            except PlanError as error:
                self._window.notice.say(str(error), "bad")

    def resume_selected(self) -> None:
        """Go on with the selected run."""
        if run := self._selected():
            self._window.runs.resume(run)

    def reveal_selected(self) -> None:
        """Open the selected run's folder in the file manager; where there is none, say where it is."""
        run = self._selected()
        if run and not QDesktopServices.openUrl(QUrl.fromLocalFile(str(run.path))):
            self._window.notice.say(f"No file manager answers here. The run is in {run.path}", "warning")

    def delete_selected(self) -> None:
        """Move the selected run to the trash, and offer to take it back."""
        run = self._selected()
        if run is None:
            return
        try:
            catalogue.delete(run)
        except LiveRunError:
            self._window.notice.say("This run is still training: stop it before you delete it.", "warning")
        except OSError as error:
            self._window.notice.say(f"{run.id} cannot be deleted: {error.strerror or error}.", "bad")
        else:
            self._window.notice.say(f"{run.id} was deleted.", label="Undo", deed=lambda: self._restore(run.id))
        self.page.reader.read()

    def close(self) -> None:
        """Read no more, and leave no thread behind."""
        self.page.reader.close()

    def _restore(self, name: str) -> None:
        try:
            catalogue.restore(self._runs_dir, name)
        except UnknownRunError as error:
            self._window.notice.say(str(error), "bad")
        self.page.reader.read()

    def _selected(self) -> RunDirectory | None:
        summary = self.page.selected
        return summary.directory if summary else None
