"""Actions on the list of runs.

They find, show, resume, reveal, copy and delete runs, and open their plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from gpu_studio import plan as plans
from gpu_studio.common.figures import plural
from gpu_studio.common.safe_files import write_output
from gpu_studio.contract import RunDirectory
from gpu_studio.plan import PlanError
from gpu_studio.runs import catalogue
from gpu_studio.runs.catalogue import LiveRunError, UnknownRunError
from gpu_studio.runs.labels import (
    Change,
    Changed,
    change_labels,
    title_of,
    with_name,
    with_note,
    with_tags,
)
from gpu_studio.ui.kit import (
    UNDO,
    BackgroundTask,
    CancelledError,
    FileJobs,
    Notice,
    Stop,
    Tone,
    write_lines,
)
from gpu_studio.ui.runs.run_rows import known_tags
from gpu_studio.ui.runs.runs_page import NameDialog, NoteDialog, RunsPage, TagDialog
from gpu_studio.ui.window.file_notices import tell_of_files
from gpu_studio.ui.window.plan_files import SUFFIX, PlanFiles, file_name
from gpu_studio.ui.window.run_control import RunControl, say_practised
from gpu_studio.ui.window.services import Pages, Services

_CSV = {
    "Each epoch (*.csv)": "epochs",
    "Each step (*.csv)": "steps",
    "Memory of the devices (*.csv)": "memory",
    "Cards, as they were recorded (*.csv)": "hardware",
}


class RunExports(QObject):
    """The handlers of the actions that write files.

    A notice says what is being written, and then where it is.
    """

    def __init__(self, services: Services, page: RunsPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._notice = services.window, services.notice
        self._page = page
        self._jobs = FileJobs(self)
        tell_of_files(self._jobs, self._notice)

    def report(self) -> None:
        """Ask for a file, and write the report of the selected runs to it."""
        runs = self._runs()
        if runs:
            dialog = self._dialog("Report", ["Report (*.html)"], "html")
            dialog.fileSelected.connect(lambda name: self.write_report(runs, Path(name)))

    def csv(self) -> None:
        """Ask for a file, and write the numbers of the selected runs to it, or to one file each."""
        runs = self._runs()
        if runs:
            dialog = self._dialog("Export as CSV", list(_CSV), "csv")
            dialog.fileSelected.connect(
                lambda name: self.write_csv(
                    runs, Path(name), _CSV.get(dialog.selectedNameFilter(), "epochs")
                )
            )

    def picture(self) -> None:
        """Ask for a file, and write the curves of the selected runs to it, as PNG or SVG."""
        if self._runs():
            dialog = self._dialog("Export curves", ["Picture (*.png)", "Drawing (*.svg)"], "png")
            dialog.filterSelected.connect(
                lambda name: dialog.setDefaultSuffix("svg" if "svg" in name else "png")
            )
            dialog.fileSelected.connect(lambda name: self.write_picture(Path(name)))

    def write_report(self, runs: Sequence[RunDirectory], path: Path) -> None:
        """Write the report of these runs."""

        def write(stop: Stop) -> None:
            # Imported when first needed: most windows never write one.
            from gpu_studio.runs.results.report.writing import report
            from gpu_studio.runs.results.run_figures import figures_of

            text = report([figures_of(run) for run in runs if _go_on(stop)])
            write_output(path, [text.encode("utf-8", "replace")])

        self._start("The report is being written…", path, write)

    def write_csv(self, runs: Sequence[RunDirectory], path: Path, what: str) -> None:
        """Write `epochs`, `steps`, `memory` or `hardware` of these runs.

        Of several with their ids in the names.
        """

        def write(stop: Stop) -> None:
            from gpu_studio.runs.results.exporting import csv_lines

            for run in runs:
                target = (
                    path if len(runs) == 1 else path.with_name(f"{path.stem}-{run.id}{path.suffix}")
                )
                write_lines(target, csv_lines(run, what), stop)

        self._start(
            "The numbers are being written…", path if len(runs) == 1 else path.parent, write
        )

    def write_picture(self, path: Path) -> None:
        """Write the curves as they are on the screen now: an SVG if named so, or else a PNG."""
        picture = self._page.outcome.curves.picture(", ".join(run.id for run in self._runs()))
        data = picture.svg() if path.suffix.lower() == ".svg" else picture.png()
        self._start("", path, lambda _stop: write_output(path, [data]))

    def close(self) -> None:
        """Cancel what is being written, and leave no thread behind."""
        self._jobs.close()

    def _runs(self) -> list[RunDirectory]:
        return [row.summary.directory for row in self._page.chosen]

    def _start(self, words: str, path: Path, write: Callable[[Stop], None]) -> None:
        if words:
            self._notice.say(words, label="Cancel", action=self._jobs.cancel, stays=True)
        self._jobs.start(path, write)

    def _dialog(self, title: str, filters: list[str], suffix: str) -> QFileDialog:
        chosen = self._page.chosen
        name = chosen[0].name if len(chosen) == 1 else f"{len(chosen)} runs"
        dialog = QFileDialog(self._window, title, str(Path.home()))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(filters)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(f"{file_name(name).removesuffix(SUFFIX)}.{suffix}")
        dialog.setAccessibleName(title)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def _go_on(stop: Stop) -> bool:
    if stop():
        raise CancelledError
    return True


class RunLabels(QObject):
    """The handlers of the actions about what a person writes on runs.

    `changed` fires when it was written.
    """

    changed = Signal()

    def __init__(self, services: Services, page: RunsPage, parent: QObject) -> None:
        super().__init__(parent)
        self._window, self._notice = services.window, services.notice
        self._page = page
        self._writing = BackgroundTask("labels", self, in_turn=True)
        self._writing.done.connect(self._tell)

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
        self._writing.close()

    def _change(self, runs: list[RunDirectory], change: Change, what: str) -> None:
        self._start(lambda: change_labels(runs, change), what)

    def _start(self, write: Callable[[], Changed], what: str) -> None:
        self._writing.start(lambda: (write(), what))

    def _tell(self, written: tuple[Changed, str]) -> None:
        changed, what = written
        self._page.read()
        self.changed.emit()
        notice = self._notice
        if changed.why_not:
            notice.say(changed.why_not, "bad")
        elif changed.before and what:
            text = f"{what} of {plural(len(changed.before), 'run')} changed."
            notice.say(text, label=UNDO, action=lambda: self._start(changed.undo, ""))


class RunList(QObject):
    """The handlers of the actions about the runs that are selected on the Runs page.

    It brings what the window's start need not wait for, and is made with that page.
    """

    def __init__(
        self,
        page: RunsPage,
        services: Services,
        pages: Pages,
        plan_files: PlanFiles,
        runs: RunControl,
    ) -> None:
        super().__init__(services.window)
        self.page = page
        self._pages, self._plan_files, self._runs = pages, plan_files, runs
        self._notice = services.notice
        self.labels: RunLabels = RunLabels(services, page, self)
        self.exports: RunExports = RunExports(services, page, self)
        self._trash = RunTrash(services.notice, services.runs_dir, self)
        self._trash.changed.connect(page.read)
        page.refused.connect(self._notice.say)

    def find(self) -> None:
        """Show the Runs page, ready to type what to find."""
        self._pages.turn_to("runs")
        self.page.begin_search()

    def show_selected(self) -> None:
        """Show the selected run."""
        if run := self._selected():
            self._pages.show_run(run)

    def open_selected_plan(self) -> None:
        """Open the selected run's plan, as a plan without a file."""
        if run := self._selected():
            try:
                self._plan_files.take(
                    plans.load(run.plan_file), lambda: say_practised(self._notice, run)
                )
            except PlanError as error:
                self._notice.say(str(error), "bad")

    def resume_selected(self) -> None:
        """Go on with the selected run."""
        if run := self._selected():
            self._runs.resume(run)

    def reveal_selected(self) -> None:
        """Open the selected run's folder in the file manager, or say where it is."""
        run = self._selected()
        if run and not QDesktopServices.openUrl(QUrl.fromLocalFile(str(run.path))):
            self._notice.say(f"No file manager answers here. The run is in {run.path}", "warning")

    def compare_selected(self) -> None:
        """Show what came of the selected runs large, or as it was before."""
        self._pages.turn_to("runs")
        self.page.toggle_compare()

    def copy_ids(self) -> None:
        """Put the ids of the selected runs on the clipboard, a line each."""
        QGuiApplication.clipboard().setText("\n".join(row.id for row in self.page.chosen))

    def delete_selected(self) -> None:
        """Move the selected runs to the trash, and offer to take them back."""
        self._trash.delete([row.summary.directory for row in self.page.chosen])

    def close(self) -> None:
        """Write no more, and leave no thread behind."""
        self.labels.close()
        self.exports.close()

    def _selected(self) -> RunDirectory | None:
        summary = self.page.selected
        return summary.directory if summary else None


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
        text = f"{which} {'was' if len(gone) == 1 else 'were'} deleted." if gone else ""
        text = " ".join(filter(None, (why_not, text)))
        if gone:
            tone: Tone = "warning" if why_not else "plain"
            # There is no other way back.
            self._notice.say(text, tone, UNDO, lambda: self._restore(list(gone)), stays=True)
        elif text:
            self._notice.say(text, "warning")
        self.changed.emit()

    def _restore(self, names: Sequence[str]) -> None:
        lost = []
        for name in names:
            try:
                catalogue.restore(self._runs_dir, name)
            except UnknownRunError as error:
                lost.append(str(error))
        if lost:
            self._notice.say(" ".join(lost), "bad")
        self.changed.emit()


def _delete(run: RunDirectory) -> str:
    """Move a run to the trash; why it cannot be, else nothing."""
    try:
        catalogue.delete(run)
    except LiveRunError:
        return f"{title_of(run)} is still training: stop it before you delete it."
    except UnknownRunError as error:
        return str(error)
    except OSError as error:
        return f"{title_of(run)} cannot be deleted: {error.strerror or error}."
    return ""
