"""Plans and files: new, open, save, and the menu of recent files.

It also saves what the next start needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu

from gpu_studio import plan as plans
from gpu_studio.common.paths import is_file
from gpu_studio.plan import Machine, Plan, PlanError, printable
from gpu_studio.plan.references import SUFFIX as CODE
from gpu_studio.plan.starter import template
from gpu_studio.ui.kit import Question
from gpu_studio.ui.kit.settings import LAST_PLAN, RECENT_PLANS
from gpu_studio.ui.plan.drafts import Draft
from gpu_studio.ui.plan.plan_document import plan_in
from gpu_studio.ui.plan.python_files import moment
from gpu_studio.ui.window.disk_changes import DiskChanges
from gpu_studio.ui.window.draft_keeper import DraftKeeper
from gpu_studio.ui.window.services import Services

FILTER = "Plans and scripts (*.plan.toml *.toml *.py);;All files (*)"
PLANS = "Plans (*.plan.toml *.toml);;All files (*)"
SUFFIX = ".plan.toml"
MOST_RECENT = MOST_DRAFTS = 8


def names_study(path: Path) -> bool:
    """Whether a file is a study, by its name; what that needs is imported once one is named."""
    from gpu_studio.lab.study import is_study

    return is_study(path)


class PlanFiles(QObject):
    """What happens to the document's files.

    `opened` fires when a plan was opened, `failed(text)` when one was not.

    `broken(path, PlanError)` brings a file that holds no plan that can be used, and
    `mending(draft)` the text of one as it was left. `restored(draft)` fires when a plan was opened
    with changes that are in no file, `half_typed` when a text came with them that is no plan yet,
    and `compared(path, plan)` has a plan that the open one shall be held against. `study_named`
    has a file that is a study, which leaves the open plan alone.
    """

    opened = Signal()
    restored = Signal(object)
    half_typed = Signal()
    failed = Signal(str)
    broken = Signal(object, object)
    mending = Signal(object)
    recent_changed = Signal()
    compared = Signal(object, object)
    study_named = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__(services.window)
        self._document, self._readiness = services.document, services.readiness
        self._settings, self._window = services.settings, services.window
        self._script: Path | None = None
        self.disk = DiskChanges(self._document, self)
        self.drafts = DraftKeeper(self._document, self._settings, self)
        self.drafts.failed.connect(self.failed)
        self.disk.compared.connect(self.compared)

    @property
    def recent(self) -> tuple[Path, ...]:
        """Plans opened or saved lately that are still there, the last first."""
        return tuple(
            path for text in self._settings.get(RECENT_PLANS) if is_file(path := Path(text))
        )

    def begin(self, path: Path | None, *, fresh: bool = False) -> None:
        """Hold the plan of this start: the one asked for, or that of last time, or a starter.

        If `fresh`, a starter, whatever was open last.
        """
        last = self._settings.get(LAST_PLAN)
        if path is not None:
            self.open(path)
        elif fresh:
            pass
        elif last and (is_file(Path(last)) or self.drafts.of(Path(last))):
            self.open(Path(last))
        elif not last and (draft := self.drafts.of(None)):
            self.restore(draft)
        self.offer_starter()

    def offer_starter(self) -> None:
        """Hold a starter plan, if there is no plan yet and the machine is known."""
        machine = self._readiness.machine
        if self._document.plan is None and machine is not None:
            self._document.begin(plans.starter(machine))

    def new_starter(self) -> None:
        """Switch to a starter plan for this machine; the plan before comes back by undo."""
        self._make(plans.starter, "new starter plan")

    def new_from_template(self, strategy: str) -> None:
        """Switch to a plan for this machine that trains with `strategy`.

        The plan before comes back by undo.
        """
        self._make(partial(template, strategy), f"new plan, {strategy}")

    def take(self, plan: Plan, then: Callable[[], object] | None = None) -> None:
        """Switch to a plan that has no file, as that of a run.

        `then` is done once that has happened.
        """
        self.leave(lambda: self._take(plan, then or _nothing))

    def _take(self, plan: Plan, then: Callable[[], object]) -> None:
        self._switch(plan, f"open {plan.name}")
        then()

    def choose_and_open(self) -> None:
        """Ask for a file, and open it."""
        self._ask(self._opening("Open plan"), self.change_to)

    def choose_and_compare(self) -> None:
        """Ask for a file, and hold the open plan against the one in it."""
        self._ask(self._opening("Compare plan with"), self.compare_with)

    def compare_with(self, path: Path) -> None:
        """Hold the open plan against the one in a file; if that cannot be read, say why."""
        try:
            self.compared.emit(path, plans.load(path.absolute()))
        except PlanError as error:
            self.failed.emit(str(error))

    def leave(self, then: Callable[[], object]) -> None:
        """Go on to another plan, after having asked about changes that are in no file."""
        if not self._document.dirty:
            then()
            return
        name = self._document.plan.name if self._document.plan else "the plan"
        text = (
            f"The changes of “{name}” are in no file yet. Undo brings them "
            "back until the window is closed."
        )
        if self._document.half_typed is not None:
            text += " What is typed on the File tab is no plan yet: it cannot be saved as one."
        answers = {
            "Save": lambda: self._save_then(then),
            "Don’t save": lambda: self._leave_for_good(then),
        }
        Question("Save the changes?", text, answers, self._window).show()

    def _leave_for_good(self, then: Callable[[], object]) -> None:
        with self.drafts.leaving():
            then()

    def change_to(self, path: Path) -> None:
        """Open the plan in a file, after having asked about changes that are in no file.

        Nobody is asked to leave the open plan for one that cannot be opened.
        """
        path = path.absolute()
        if names_study(path):
            self.study_named.emit(path)
            return
        try:
            if self.drafts.of(path) is None:
                plans.load(path)
        except PlanError as error:
            self.broken.emit(path, error)
        else:
            self.leave(lambda: self.open(path))

    def open(self, path: Path) -> bool:
        """Open the plan in a file; if it cannot be, say why, and keep what is open.

        Returns whether it was opened.
        """
        path = path.absolute()
        if (draft := self.drafts.of(path)) is not None:
            return self.restore(draft)
        try:
            if path.suffix == CODE:  # a plan made of a script is in no file yet
                plan = plans.with_absolute_files(plans.load(path), path.parent)
                self._script = path
                self._switch(plan, f"open {path.name}")
                return True
            self._document.open(path)
        except PlanError as error:
            self.broken.emit(path, error)
            return False
        self._note(path)
        self.opened.emit()
        return True

    def change_to_draft(self, draft: Draft) -> None:
        """Open a plan with its unsaved changes, after having asked about those of the open one."""
        if draft.mending:
            self.mending.emit(draft)
        else:
            self.leave(lambda: self.restore(draft))

    def restore(self, draft: Draft) -> bool:
        """Open a plan with its unsaved changes, which undo takes away.

        Returns whether that could be done.

        Whatever its file holds by now, or held when it was edited: that need not be a plan.
        """
        path = Path(draft.path) if draft.path else None
        edited, base = plan_in(draft.text), plan_in(draft.base)
        if edited is None:
            self.failed.emit(
                f"The unsaved changes of “{draft.name}” are no plan that this version can read."
            )
            return False
        with self.drafts.going_on_with(draft):
            if path is None or not self._opens(path):
                self._document.switch(base or edited, path, f"open {draft.name}")
            self._document.know_of_disk(base, draft.base)
            self._document.replace(edited, "unsaved changes")
            self._document.keep_text(draft.text)
            self._document.type_half(draft.half_typed)
        self.drafts.write()
        if path is not None:
            self._note(path)
        self.restored.emit(draft)
        self.opened.emit()
        if draft.half_typed is not None:
            self.half_typed.emit()
        self.disk.look()
        return True

    def _opens(self, path: Path) -> bool:
        """Open the plan in a file, if there is one."""
        try:
            self._document.open(path)
        except PlanError:
            return False
        return True

    def save(self) -> None:
        """Write the plan to its file; without one, ask for one."""
        self._save_then(_nothing)

    def save_as(self) -> None:
        """Ask for a file, and write the plan to it."""
        self._save_as_then(_nothing)

    def _save_then(self, then: Callable[[], object]) -> None:
        if self._document.path is None:
            self._save_as_then(then)
        elif self.disk.would_be_overwritten:
            self._ask_about_disk(self._document.path, then)
        elif self.save_to(self._document.path):
            then()

    def _ask_about_disk(self, path: Path, then: Callable[[], object]) -> None:
        text = (
            f"{path.name} was changed by another program since it was read here. Saving replaces "
            "what it holds now."
        )
        answers: dict[str, Callable[[], object]] = {
            "Replace it": lambda: self.save_to(path) and then(),
            "Save as…": lambda: self._save_as_then(then),
        }
        if self.disk.conflict == "changed":
            answers = {"Compare": self.disk.compare, **answers}
        Question("Replace the changed file?", text, answers, self._window).show()

    def _save_as_then(self, then: Callable[[], object]) -> None:
        if self._document.plan is None:
            return
        dialog = QFileDialog(self._window, "Save plan as", self._folder(), PLANS)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(SUFFIX.lstrip("."))
        dialog.selectFile(file_name(self._document.plan.name))
        self._ask(dialog, lambda path: self.save_to(path) and then())

    def save_to(self, path: Path) -> bool:
        """Write the plan to a file; if that fails, say why. Returns whether it was written."""
        try:
            with self.drafts.leaving():
                self._document.save(path.absolute())
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(
                f"The plan could not be saved to {path}: {why}. Save it to another place."
            )
            return False
        self._note(path.absolute())
        return True

    def copy(self) -> None:
        """Put the plan's text on the clipboard."""
        if self._document.plan is not None:
            QGuiApplication.clipboard().setText(self._document.text)

    def _make(self, make: Callable[[Machine], Plan], text: str) -> None:
        machine = self._readiness.machine
        if machine is None:
            self.failed.emit(
                "The machine is still being looked at: a plan for it can be made in a moment."
            )
            return
        self.leave(lambda: self._switch(make(machine), text))

    def _switch(self, plan: Plan, text: str) -> None:
        self._document.switch(plan, None, text)
        self.opened.emit()

    def _opening(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self._window, title, self._folder(), FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        return dialog

    def _ask(self, dialog: QFileDialog, then: Callable[[Path], object]) -> None:
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: then(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _folder(self) -> str:
        path = self._document.path or self._script or next(iter(self.recent), None)
        return str(path.parent if path else Path.home())

    def _note(self, path: Path) -> None:
        others = [each for each in self._settings.now(RECENT_PLANS) if each != str(path)]
        self._settings.set(RECENT_PLANS, (str(path), *others)[:MOST_RECENT])
        self.recent_changed.emit()


def file_name(plan_name: str) -> str:
    """A file name for a plan of this name: `digits-on-four-devices.plan.toml`."""
    words = "".join(letter if letter.isalnum() else " " for letter in plan_name.lower()).split()
    return ("-".join(words)[:60] or "untitled") + SUFFIX


def _nothing() -> None:
    """What follows a saving that nothing waits for."""


class RecentMenu(QMenu):
    """Follows the recent plans; greyed while there are none."""

    def __init__(self, files: PlanFiles, within: QMenu, before: QAction) -> None:
        super().__init__("Open recent", within)
        self._files = files
        within.insertMenu(before, self)
        files.recent_changed.connect(self._fill)
        self.aboutToShow.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        self.clear()
        for draft in self._files.drafts.others[:MOST_DRAFTS]:
            action = self.addAction(f"Unsaved: {_plain(draft.title)}{_of_file(draft)}")
            action.setToolTip(f"Changes that are in no file, of {moment(draft.time)}")
            action.triggered.connect(partial(self._files.change_to_draft, draft))
        if not self.isEmpty():
            self.addSeparator()
        for path in self._files.recent:
            action = self.addAction(_shown(path))
            action.setToolTip(str(path))
            action.triggered.connect(partial(self._files.change_to, path))
        self.setEnabled(not self.isEmpty())


def _shown(path: Path) -> str:
    home = Path.home()
    return _plain(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))


def _plain(text: str) -> str:
    """The text as a menu shows it: an ampersand would be taken for the mark of a shortcut."""
    return printable(text).replace("&", "&&")


def _of_file(draft: Draft) -> str:
    return f" – {_shown(Path(draft.path))}" if draft.path else ""


def restored_in_words(draft: Draft) -> str:
    """What is said when a plan was opened with changes that are in no file."""
    of = f"of “{draft.title}”, of {moment(draft.time)},"
    if draft.mending:
        return f"The unsaved text {of} is back on the File tab. Undo takes it away."
    if draft.half_typed is not None:
        return f"The half-typed text {of} is back on the File tab. It is no plan yet."
    return f"The unsaved changes {of} are back. Undo takes them away."
