"""Plans and files: new, open, save, recent, dropped; and what is remembered from one start to the next."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio import plan as plans
from gpu_studio.plan import Plan, PlanError
from gpu_studio.ui.models.plan_document import PlanDocument
from gpu_studio.ui.models.readiness import Readiness
from gpu_studio.ui.settings import DRAFT, LAST_PLAN, RECENT_PLANS, Settings

FILTER = "Plans (*.plan.toml *.toml);;All files (*)"
SUFFIX = ".plan.toml"
MOST_RECENT = 8


class PlanFiles(QObject):
    """What happens to the document's files. `opened` fires when a plan was opened, `failed(text)` when one was not."""

    opened = Signal()
    failed = Signal(str)
    recent_changed = Signal()

    def __init__(self, document: PlanDocument, readiness: Readiness, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._readiness = readiness
        self._settings = settings
        self._window = window

    @property
    def recent(self) -> tuple[Path, ...]:
        """Plans opened or saved lately that are still there, the last first."""
        return tuple(path for text in self._settings.get(RECENT_PLANS) if (path := Path(text)).is_file())

    def begin(self, path: Path | None) -> None:
        """Hold the plan of this start: the one asked for, else that of last time, else a starter."""
        if path is not None:
            self.open(path)
        elif not self._restore_draft() and (last := self._settings.get(LAST_PLAN)) and Path(last).is_file():
            self.open(Path(last))
        self.offer_starter()

    def offer_starter(self) -> None:
        """Hold a starter plan, if there is no plan yet and the machine is known."""
        machine = self._readiness.machine
        if self._document.plan is None and machine is not None:
            self._document.begin(plans.starter(machine))

    def remember(self) -> None:
        """Note what is open, and what of it is in no file, for the next start."""
        plan, path = self._document.plan, self._document.path
        self._settings.set(LAST_PLAN, str(path) if path else "")
        unsaved = plan is not None and self._document.dirty
        self._settings.set(DRAFT, plans.dumps(plan) if plan is not None and unsaved else "")

    def new_starter(self) -> None:
        """Switch to a starter plan for this machine; the plan before comes back by undo."""
        machine = self._readiness.machine
        if machine is None:
            self.failed.emit("The machine is still being looked at: a starter plan can be made in a moment.")
            return
        self._document.switch(plans.starter(machine), None, "new starter plan")
        self.opened.emit()

    def take(self, plan: Plan) -> None:
        """Switch to a plan that has no file, as that of a run."""
        self._document.switch(plan, None, f"open {plan.name}")
        self.opened.emit()

    def choose_and_open(self) -> None:
        """Ask for a file, and open it."""
        dialog = QFileDialog(self._window, "Open plan", self._folder(), FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        self._ask(dialog, self.open)

    def open(self, path: Path) -> bool:
        """Open the plan in a file; if it cannot be, say why, and keep what is open. Returns whether it was opened."""
        try:
            self._document.open(path.absolute())
        except PlanError as error:
            self.failed.emit(str(error))
            return False
        self._note(path.absolute())
        self.opened.emit()
        return True

    def save(self) -> None:
        """Write the plan to its file; without one, ask for one."""
        if self._document.path is None:
            self.save_as()
        else:
            self.save_to(self._document.path)

    def save_as(self) -> None:
        """Ask for a file, and write the plan to it."""
        if self._document.plan is None:
            return
        dialog = QFileDialog(self._window, "Save plan as", self._folder(), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(SUFFIX.lstrip("."))
        dialog.selectFile(file_name(self._document.plan.name))
        self._ask(dialog, self.save_to)

    def save_to(self, path: Path) -> None:
        """Write the plan to a file; if that fails, say why."""
        try:
            self._document.save(path.absolute())
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(f"The plan could not be saved to {path}: {why}. Save it to another place.")
            return
        self._note(path.absolute())

    def copy(self) -> None:
        """Put the plan's text on the clipboard."""
        if self._document.plan is not None:
            QGuiApplication.clipboard().setText(plans.dumps(self._document.plan))

    def _restore_draft(self) -> bool:
        text = self._settings.get(DRAFT)
        last = self._settings.get(LAST_PLAN)
        path = Path(last) if last else None
        try:
            draft = plans.loads(text, "the plan left unsaved last time") if text else None
            stored = plans.load(path) if draft is not None and path is not None else None
        except PlanError as error:
            self.failed.emit(str(error))
            return False
        if draft is not None:
            self._document.begin(draft, path, stored or Plan())
        return draft is not None

    def _ask(self, dialog: QFileDialog, then: object) -> None:
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: then(Path(name)))  # type: ignore[operator]
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _folder(self) -> str:
        path = self._document.path or next(iter(self.recent), None)
        return str(path.parent if path else Path.home())

    def _note(self, path: Path) -> None:
        others = [each for each in self._settings.get(RECENT_PLANS) if each != str(path)]
        self._settings.set(RECENT_PLANS, (str(path), *others)[:MOST_RECENT])
        self.recent_changed.emit()


def file_name(plan_name: str) -> str:
    """A file name for a plan of this name: `digits-on-four-devices.plan.toml`."""
    words = "".join(letter if letter.isalnum() else " " for letter in plan_name.lower()).split()
    return ("-".join(words)[:60] or "untitled") + SUFFIX
