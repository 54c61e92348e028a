"""What the window does with the runs of its list: find, show, go on with, open the plan of, reveal, copy, delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from gpu_studio import plan as plans
from gpu_studio.plan import PlanError
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.ui.control.run_exports import RunExports
from gpu_studio.ui.control.run_labels import RunLabels
from gpu_studio.ui.control.run_trash import RunTrash
from gpu_studio.ui.pages.runs_page import RunsPage

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow


class RunList(QObject):
    """The handlers of the actions about the runs that are selected on the Runs page, which it owns."""

    def __init__(self, window: MainWindow, runs_dir: Path) -> None:
        super().__init__(window)
        self._window = window
        self.page: RunsPage = RunsPage(window.theme, window.settings, runs_dir, window.actions_)
        self.labels: RunLabels = RunLabels(window, self.page, self)
        self.exports: RunExports = RunExports(window, self.page, self)
        self._trash = RunTrash(window.notice, runs_dir, self)
        self._trash.changed.connect(self.page.reader.read)

    def find(self) -> None:
        """Show the Runs page, ready to type what to find."""
        self._window.show_page("runs")
        self.page.begin_search()

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

    def compare_selected(self) -> None:
        """Show what came of the selected runs large, or as it was before."""
        self._window.show_page("runs")
        self.page.toggle_compare()

    def copy_ids(self) -> None:
        """Put the ids of the selected runs on the clipboard, a line each."""
        QGuiApplication.clipboard().setText("\n".join(row.id for row in self.page.chosen))

    def delete_selected(self) -> None:
        """Move the selected runs to the trash, and offer to take them back."""
        self._trash.delete([row.summary.directory for row in self.page.chosen])

    def close(self) -> None:
        """Read and write no more, and leave no thread behind."""
        self.page.remember()
        self.page.reader.close()
        self.page.outcome.close_parts()
        self.labels.close()
        self.exports.close()

    def _selected(self) -> RunDirectory | None:
        summary = self.page.selected
        return summary.directory if summary else None
