"""Start runs: the open plan as a new run, a resumed run, a run's plan once more.

`CodeConsent` asks first whether the user's Python may run. `RunPlans` opens a run's plan again:
to resume the run differently, to train it changed, or with a remedy applied. What starts a run
is imported when one is started: it brings numpy, for which the window's own start need not
wait.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio import plan as plans
from gpu_studio.common.practice import chosen
from gpu_studio.contract import NoLocksError, RunDirectory
from gpu_studio.contract.consent import allow_shell, is_shell_allowed
from gpu_studio.hardware import accompany
from gpu_studio.plan import AbsolutePlan, Plan, PlanError
from gpu_studio.runs.labels import title_of
from gpu_studio.runs.sources import not_allowed
from gpu_studio.runs.state import live_run
from gpu_studio.ui.kit import Notice
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.contract import Resume
    from gpu_studio.contract.event_parts import SuggestedChange
    from gpu_studio.runs.launch import Launched
    from gpu_studio.ui.plan.code_dialogs import AllowDialog

REAP_MS = 1000
BREATH_MS = 1000
_STARTING: Final = "starting a run"
"""What a notice is about that goes once a run was started."""


class RunControl(QObject):
    """Starts trainers. `started(RunDirectory)` brings the run that shall be shown.

    `beside(RunDirectory)` brings another one that was already training when the open plan was
    started. `launched` are those that this window started and that were alive when they were last
    asked. `breath` runs for a second after each start: a Train asked for again in one breath is
    meant once.
    """

    started = Signal(object)
    beside = Signal(object)

    def __init__(
        self,
        services: Services,
        pages: Pages,
        consent: CodeConsent,
        trainer: Sequence[str] | None = None,
    ) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._consent = services, pages, consent
        self._runs_dir = services.runs_dir
        self._trainer = trainer
        self.launched: list[Launched] = []
        # Those that record the machine beside a run; they end when it does.
        self._recorders: list[subprocess.Popen[bytes] | None] = []
        # A trainer that has ended stays in the process table until it is asked how it ended.
        self._reaper = QTimer(self)
        self.breath = QTimer(self)
        self.breath.setSingleShot(True)
        self.breath.setInterval(BREATH_MS)
        self._reaper.setInterval(REAP_MS)
        self._reaper.timeout.connect(self._reap)

    @property
    def records(self) -> bool:
        """Whether the machine is being recorded beside a run that was started here."""
        return bool(self._recorders)

    def train(self) -> None:
        """Start the open plan as a new run and show it.

        In resuming it goes on with the run that was chosen.
        """
        if (plan := self._services.document.absolute) is not None:
            self._consent.obtain(plan, self._train)

    def _train(self) -> None:
        document, machine = self._services.document, self._services.inventory.machine
        plan = document.absolute
        if plan is None:
            return
        from gpu_studio.runs.launch import launch
        from gpu_studio.runs.resume import resume

        other = live_run(self._runs_dir)
        start = partial(launch, plan, self._runs_dir)
        if (target := self._services.resuming.target) is not None:
            start = partial(
                resume,
                target.run,
                self._runs_dir,
                checkpoint=target.checkpoint.name,
                plan=plan,
                wait=0.0,
            )
        begin = partial(start, base=document.folder, machine=machine, trainer=self._trainer)
        if not self._start(begin):
            return
        self._services.resuming.end()
        if other is not None:
            self.beside.emit(other)

    def resume(self, run: RunDirectory, checkpoint: str | None = None) -> None:
        """Go on with a run from the named or its newest checkpoint, as a new run, and show that."""
        from gpu_studio.runs.resume import resume

        start = partial(
            resume,
            run,
            self._runs_dir,
            checkpoint=checkpoint,
            wait=0.0,
            trainer=self._trainer,
        )
        self._consent.obtain_for_run(run, lambda: self._start(start))

    def again(self, run: RunDirectory | None) -> None:
        """Train the plan of a run once more, as a new run, and show that.

        Asked twice in a breath it is meant once.
        """
        if run is not None and not self.breath.isActive():
            self._consent.obtain_for_run(run, lambda: self._start(partial(self._launch_again, run)))

    def _launch_again(self, run: RunDirectory) -> Launched:
        from gpu_studio.runs.launch import launch

        machine = self._services.inventory.machine
        return launch(
            run.load_plan(),
            self._runs_dir,
            base=run.path,
            machine=machine,
            trainer=self._trainer,
        )

    def look_after(self, process: subprocess.Popen[bytes]) -> None:
        """Ask a process now and then how it ended, so that the system can forget it."""
        self._recorders.append(process)
        self._reaper.start()

    def close(self) -> None:
        """Ask no more. The trainers go on."""
        self._reaper.stop()
        self.breath.stop()

    def _start(self, start: Callable[[], Launched]) -> bool:
        """Start a run and show it; if it cannot be, say why. Returns whether it was started."""
        from gpu_studio.runs.resume import ResumeError

        try:
            launched = start()
        except (PlanError, ResumeError) as error:
            self._services.notice.say(str(error), "bad", about=_STARTING)
        except OSError as error:
            why = error.strerror or str(error)
            mend = " Check whether there is free space, and who owns the folder."
            text = f"The run could not be started in {self._runs_dir}: {why}."
            text += "" if isinstance(error, NoLocksError) else mend
            self._services.notice.say(text, "bad", about=_STARTING)
        else:
            self._services.notice.settle(_STARTING)
            self.launched.append(launched)
            self._recorders.append(accompany(launched.directory.path))
            self._reaper.start()
            self.breath.start()
            self._keep_prediction(launched.directory)
            self.started.emit(launched.directory)
            return True
        return False

    def _keep_prediction(self, run: RunDirectory) -> None:
        """Write beside the run what the Plan page says of its plan, or would say."""
        from gpu_studio.ui.runs.run_prediction import keep_prediction, known_about

        machine, opened = self._services.inventory.machine, self._services.document.absolute
        with suppress(PlanError):
            plan = run.load_plan()
            if machine is not None:
                facts = self._services.facts.known_of(plan) or known_about(plan)
                seconds = self._pages.plan.step_seconds if plan == opened else None
                keep_prediction(run, plan, machine, facts, seconds)

    def _reap(self) -> None:
        self.launched = [launched for launched in self.launched if launched.poll() is None]
        self._recorders = [
            recorder for recorder in self._recorders if recorder and recorder.poll() is None
        ]
        if not self.launched and not self._recorders:
            self._reaper.stop()


class CodeConsent(QObject):
    """Opens the dialogs.

    Nobody is asked unless he wants to be, or starts something that needs the answer.
    """

    def __init__(self, services: Services) -> None:
        super().__init__(services.window)
        self._theme, self._readiness = services.theme, services.readiness
        self._window, self._notice = services.window, services.notice

    def ask(self, path: Path, then: Callable[[], object] | None = None) -> AllowDialog:
        """Ask about the file at `path`; `then` is done once it is allowed."""
        # Imported when somebody is asked: the window's start waits for this module.
        from gpu_studio.ui.plan.code_dialogs import AllowDialog

        dialog = AllowDialog(path, self._theme, self._window)
        dialog.allowed.connect(partial(self._go_on, then))
        dialog.show()
        return dialog

    def ask_about_plan(self) -> None:
        """Ask about each file of the open plan that is not allowed, one after the other."""
        missing = self._readiness.not_allowed
        if missing:
            self.ask(missing[0].path, self.ask_about_plan)

    def obtain(self, plan: AbsolutePlan, then: Callable[[], object]) -> None:
        """Do `then` once all Python that `plan` names is allowed, and its lines of shell.

        At once, or after having asked about each file.
        """
        from gpu_studio.hosts.slurm_run import shell_of

        missing = not_allowed(plan)
        if missing:
            self._readiness.look_again()
            self.ask(missing[0], lambda: self.obtain(plan, then))
        elif not is_shell_allowed(lines := shell_of(plan)):
            self._ask_about_shell(lines, then)
        else:
            then()

    def _ask_about_shell(self, lines: Sequence[str], then: Callable[[], object]) -> None:
        # Imported when somebody is asked, as above.
        from gpu_studio.ui.plan.code_dialogs import ShellDialog

        def allow() -> None:
            try:
                allow_shell(lines)
            except OSError as error:
                self._notice.say(f"It could not be written down: {error.strerror or error}.", "bad")
            else:
                then()

        dialog = ShellDialog(lines, self._theme, self._window)
        dialog.allowed.connect(allow)
        dialog.show()

    def obtain_for_run(self, run: RunDirectory, then: Callable[[], object]) -> None:
        """The same for the plan of a run; what is wrong with that plan itself, `then` says."""
        try:
            plan = run.load_plan()
        except PlanError:
            then()
        else:
            self.obtain(plan, then)

    def show_allowed(self) -> None:
        """List what is allowed."""
        from gpu_studio.ui.plan.code_dialogs import AllowedDialog

        dialog = AllowedDialog(self._window)
        dialog.changed.connect(self._readiness.look_again)
        dialog.show()

    def _go_on(self, then: Callable[[], object] | None) -> None:
        self._readiness.look_again()
        if then is not None:
            then()


_PRACTISED: Final = "made in practice"


class RunPlans(QObject):
    """Handlers of the actions that open a run's plan.

    They are about the run that is shown, or else selected.
    """

    def __init__(self, services: Services, pages: Pages, plan_files: PlanFiles) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._plan_files = services, pages, plan_files

    @property
    def run(self) -> RunDirectory | None:
        """The run shown on the Train page; elsewhere the one selected on the Runs page."""
        shown = self._pages.shown_run
        if shown is not None and self._pages.current == "train":
            return shown.run
        selected = self._pages.runs.selected
        return selected.directory if selected else None

    def resume_with_changes(
        self, run: RunDirectory | None = None, checkpoint: str | None = None
    ) -> None:
        """Open a run's plan, to go on from a checkpoint (the newest) once it is changed."""
        from gpu_studio.runs.resume import ResumeError, choose

        run = run or self.run
        if run is None:
            return
        try:
            target = choose(run, checkpoint)
        except ResumeError as error:
            self._services.notice.say(str(error), "warning")
        else:
            self._take(
                run, lambda plan: plan, lambda plan: self._services.resuming.begin(target, plan)
            )

    def duplicate(self, run: RunDirectory | None = None) -> None:
        """Open a run's plan as a new one, and show how it differs from the run's."""
        run = run or self.run
        if run is not None:
            self._take(run, _renamed, lambda _: self._compare(run))

    def open_changed(self, run: RunDirectory, mend: SuggestedChange) -> None:
        """Open a run's plan, and make the change that may help it as a step that can be undone.

        Where the run has a checkpoint from which it can go on with that change, it will. Nothing is
        asked where the run's plan is open already, saved or not: nothing is left for it.
        """

        def change(plan: Plan) -> None:
            mended = plans.with_value(plan, mend.field, mend.value)
            self._services.document.replace(mended, f"{mend.text[:1].lower()}{mend.text[1:]}")
            if (target := self._to_go_on_from(run, plan, mended)) is not None:
                self._services.resuming.begin(target, plan)

        plan = _plan_of(run)
        if plan is not None and self._services.document.absolute == plan:
            self._pages.turn_to("plan")
            change(self._services.document.plan or plan)
        else:
            self._take(run, lambda plan: plan, change)

    def open_part(self, part: str) -> None:
        """Show the tab of a part of the run's plan, `model` or `data`.

        The open plan's, where that is the same plan.
        """
        run = self.run
        if run is None:
            return
        if run.exists() and self._services.document.absolute == _plan_of(run):
            self._show_part(part)
        else:
            self._take(run, lambda plan: plan, lambda _: self._show_part(part))

    def _show_part(self, part: str) -> None:
        self._pages.turn_to("plan")
        self._pages.plan.open_part(part.capitalize())

    def _to_go_on_from(self, run: RunDirectory, plan: Plan, changed: Plan) -> Resume | None:
        from gpu_studio.runs.resume import ResumeError, choose, problems_of

        try:
            target = choose(run)
        except ResumeError:
            return None
        return (
            None if problems_of(target, plan, changed, self._services.inventory.machine) else target
        )

    def _take(
        self, run: RunDirectory, make: Callable[[Plan], Plan], then: Callable[[Plan], object]
    ) -> None:
        try:
            plan = make(plans.load(run.plan_file))
        except PlanError as error:
            self._services.notice.say(str(error), "bad")
        else:
            self._plan_files.take(plan, lambda: then(plan))

    def _compare(self, run: RunDirectory) -> None:
        self._pages.plan.compare(title_of(run), plans.load(run.plan_file))
        say_practised(self._services.notice, run)


def say_practised(notice: Notice, run: RunDirectory) -> None:
    """Say of a run's plan that it was made in practice, unless the same cards are there."""
    from gpu_studio.runs.reading.summary import summarise

    with suppress(OSError):
        made_for, here = summarise(run).practice, chosen()
        if made_for and (here is None or here.title != made_for):
            notice.say(
                f"This plan was made in practice, on cards that are not there ({made_for}): look "
                "whether its devices are as you want them here.",
                about=_PRACTISED,
            )


def _plan_of(run: RunDirectory) -> Plan | None:
    try:
        return plans.load(run.plan_file)
    except PlanError:
        return None


def _renamed(plan: Plan) -> Plan:
    return replace(plan, name=next_name(plan.name))


def next_name(name: str) -> str:
    """What a second plan called `name` is called: `digits (2)`, and of that `digits (3)`."""
    stem, bracket, number = name.rpartition(" (")
    if bracket and number.endswith(")") and number[:-1].isdecimal():
        return f"{stem} ({int(number[:-1]) + 1})"
    return f"{name} (2)"
