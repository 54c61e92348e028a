"""Make a study of the open plan in a dialog, change one that has no runs, or open one's file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from gpu_studio import plan as plans
from gpu_studio.plan import Plan, PlanError
from gpu_studio.ui.kit import sentence
from gpu_studio.ui.window.plan_files import SUFFIX as PLAN_SUFFIX
from gpu_studio.ui.window.plan_files import file_name
from gpu_studio.ui.window.services import Services
from gpu_studio.ui.window.study_control import ABOUT, StudyControl

if TYPE_CHECKING:
    from gpu_studio.lab.study import Study, Template
    from gpu_studio.ui.lab.largest_search import LargestLook
    from gpu_studio.ui.lab.study_dialog import StudyDialog

_MOST_TRIED: Final = 1000


class StudyMaking(QObject):
    """Handlers of the actions that make, open and edit studies."""

    def __init__(self, services: Services, control: StudyControl) -> None:
        super().__init__(services.window)
        self._services, self._control = services, control

    def new(self, template: Template) -> None:
        """Ask about a study of the open plan, made from a template."""
        from gpu_studio.lab.study import SUFFIX
        from gpu_studio.lab.templates import study_from

        document, machine = self._services.document, self._services.readiness.machine
        if document.plan is None or machine is None:
            self._say("The machine is still being looked at: a study can be made in a moment.")
            return
        plan = document.plan if self._is_saved else document.absolute
        assert plan is not None
        folder = document.folder
        stem = file_name(plan.name).removesuffix(PLAN_SUFFIX)
        path = _free(folder / f"{stem}-{template}{SUFFIX}")
        try:
            name = self._plan_file.name
            study = study_from(template, plan, name, machine, samples=self._samples)
        except PlanError as error:
            self._say("\n".join(str(problem) for problem in error.problems))
            return
        note = f"It measures the open plan, {plan.name}, "
        if self._is_saved:
            note += f"of {document.path}."
        else:
            note += "whose changes are in no file: it is written beside the study as it is now."
        self._ask("New study", study, path, plan, folder, note, partial(self._save_new, plan))

    def edit(self) -> None:
        """Ask how the study that is shown shall be; it has no runs yet."""
        snapshot = self._control.snapshot
        if snapshot is None or snapshot.opened is None:
            return
        opened = snapshot.opened
        note = f"It measures the plan {opened.plan.name} of {opened.plan_file}."
        self._ask(
            "Edit study",
            opened.study,
            opened.path,
            opened.plan,
            opened.folder,
            note,
            self._write,
            fixed=True,
        )

    def open(self) -> None:
        """Ask for the file of a study, and show it on the Lab page."""
        from gpu_studio.lab.study import SUFFIX

        folder = str(self._services.document.folder)
        kinds = f"Studies (*{SUFFIX});;All files (*)"
        dialog = QFileDialog(self._services.window, "Open study", folder, kinds)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAccessibleName("Open study")
        dialog.fileSelected.connect(lambda name: self._control.show_study(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @property
    def _is_saved(self) -> bool:
        document = self._services.document
        return document.path is not None and not document.dirty

    @property
    def _samples(self) -> int:
        """How many samples there are to train with; 0 if that is not known yet."""
        plan = self._services.document.absolute
        facts = self._services.facts.facts_so_far(plan) if plan is not None else None
        return facts.data.train if facts is not None and facts.data is not None else 0

    @property
    def _plan_file(self) -> Path:
        """The plan's own file; where its changes are in none, that which will be written."""
        document = self._services.document
        if document.path is not None and self._is_saved:
            return document.path
        name = document.plan.name if document.plan else ""
        return document.folder / file_name(name)

    def _ask(
        self,
        title: str,
        study: Study,
        path: Path,
        plan: Plan,
        folder: Path,
        note: str,
        save: Callable[[Study, Path], bool],
        *,
        fixed: bool = False,
    ) -> StudyDialog:
        from gpu_studio.plan.keys import all_keys
        from gpu_studio.runs.study_checks import checked
        from gpu_studio.ui.lab.study_dialog import StudyDialog

        machine, runs = self._services.readiness.machine, self._services.runs_dir
        dialog = StudyDialog(
            title,
            study,
            path,
            [key.path for key in all_keys()],
            lambda draft: checked(draft, plan, folder, machine, runs),
            note,
            self._services.window,
            fixed=fixed,
            look=self._look(plan, folder) if study.template == "batch" else None,
        )

        def take(made: Study, where: Path, run: bool) -> None:
            if save(made, where):
                dialog.close()
                self._control.show_study(where)
                if run:
                    self._control.run_when_shown(where)

        dialog.saved.connect(take)
        dialog.show()
        return dialog

    def _look(self, plan: Plan, folder: Path) -> LargestLook:
        """How the largest batch of this plan is searched."""
        from gpu_studio.runs.batch_search import BatchSearchError, ProofAsking, largest_batches
        from gpu_studio.runs.questions.ask import AskCancelledError, AskError
        from gpu_studio.ui.lab.largest_search import Found, LargestLook

        absolute = plans.with_absolute_files(plan, folder)
        machine = self._services.readiness.machine

        def look(report: Callable[[str], None], cancelled: threading.Event) -> Found:
            if machine is None:
                return "The machine is still being looked at: search in a moment."
            try:
                return largest_batches(absolute, folder, machine, ProofAsking(report, cancelled))
            except AskCancelledError:
                return ""
            except (BatchSearchError, AskError) as error:
                return sentence(str(error))

        return LargestLook(look, partial(self._control.have_allowed, absolute))

    def _save_new(self, plan: Plan, study: Study, path: Path) -> bool:
        """Write the study, and the plan beside it if it is in no file as it is."""
        from dataclasses import replace

        from gpu_studio.runs.study_shelf import plan_as_written

        plan_file = self._services.document.path
        if plan_file is None or not self._is_saved:
            plan_file = _free(path.with_name(file_name(plan.name)))
            try:
                plans.save(plan, plan_file)
            except OSError as error:
                self._say(f"The plan cannot be written to {plan_file}: {error.strerror or error}.")
                return False
        return self._write(replace(study, plan=plan_as_written(plan_file, path)), path)

    def _write(self, study: Study, path: Path) -> bool:
        from gpu_studio.common.safe_files import write_output
        from gpu_studio.lab.study import dumps_study

        try:
            write_output(path, [dumps_study(study).encode()])
        except OSError as error:
            self._say(f"The study cannot be written to {path}: {error.strerror or error}.")
            return False
        return True

    def _say(self, text: str) -> None:
        self._services.notice.say(text, "warning", about=ABOUT)


def _free(path: Path) -> Path:
    """The path, or the next with a number that no file has yet."""
    stem, dot, rest = path.name.partition(".")
    names = (path.name, *(f"{stem}-{number}{dot}{rest}" for number in range(2, _MOST_TRIED)))
    return next((path.with_name(each) for each in names if not path.with_name(each).exists()), path)
