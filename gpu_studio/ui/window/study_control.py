"""Studies in the window: make, run, stop, and turn what a study says into a plan or a file.

A study runs in a process that outlives the window. What brings numpy or reads studies is imported
when it is first needed: the window's start waits for this module.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer

from gpu_studio.common.practice import chosen as practice_cards
from gpu_studio.contract.user_files import named_files
from gpu_studio.plan import AbsolutePlan, PlanError
from gpu_studio.ui.kit import UNDO, BackgroundTask
from gpu_studio.ui.window.live_runs import RunEnds
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.run_control import CodeConsent
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.runs.study_shelf import OpenStudy
    from gpu_studio.runs.study_view import StudyDesk, StudySnapshot
    from gpu_studio.ui.lab.lab_page import LabPage
    from gpu_studio.ui.lab.studies_section import StudiesSection

REAP_MS: Final = 500
ABOUT: Final = "studies"
NONE_CHOSEN: Final = "Choose a study on the Lab page"
PRACTISED: Final = (
    "Practice cards compute on the CPU: how fast they are says nothing of real ones. Stop "
    "practising to run a study."
)
SIMULATED: Final = "Simulated cards compute nothing: a study of them would measure nothing."
_FAILED, _REFUSED, _STOPPED = 1, 2, 130
"""What `gpu-studio study run` ends with."""
_OF_CHOSEN: Final = (
    "run_study", "stop_study", "end_study", "edit_study", "study_plan", "study_runs",
    "report_study", "save_study_png", "save_study_svg", "save_study_csv", "forget_study",
)  # fmt: skip


class StudyControl(QObject):
    """Handlers of the actions about studies; those on one are about the one that is shown."""

    def __init__(
        self,
        services: Services,
        pages: Pages,
        consent: CodeConsent,
        files: PlanFiles,
        ends: RunEnds,
    ) -> None:
        super().__init__(services.window)
        self._services, self._pages = services, pages
        self._consent, self._files = consent, files
        self._to_run: Path | None = None
        self.processes: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._checking = BackgroundTask("points of a study", self)
        self._checking.done.connect(lambda answer: answer[0](answer[1]))
        self._judging = BackgroundTask("verdicts of studies that are over", self, in_turn=True)
        self._judging.done.connect(lambda verdict: ends.tell_of_study(*verdict))
        self._reaper = QTimer(self)
        self._reaper.setInterval(REAP_MS)
        self._reaper.timeout.connect(self._reap)
        pages.lab_made.connect(self._take_page)
        for name in _OF_CHOSEN:
            services.actions.allow(name, NONE_CHOSEN)

    @property
    def section(self) -> StudiesSection:
        """The studies half of the Lab page."""
        from gpu_studio.ui.lab.studies_section import StudiesSection

        section = self._pages.lab.sections["studies"]
        assert isinstance(section, StudiesSection)
        return section

    @property
    def snapshot(self) -> StudySnapshot | None:
        """The study that is shown."""
        return self.section.snapshot

    def close(self) -> None:
        """Look at nothing any more. A study that runs goes on."""
        self._reaper.stop()
        self._checking.close()
        self._judging.close()

    def show_study(self, path: Path) -> None:
        """Show the study in a file on the Lab page, and list it from now on."""
        from gpu_studio.runs.study_shelf import remember

        try:
            remember(self._services.runs_dir, path)
        except OSError as error:
            self._say(f"{path.name} cannot be listed for good: {error.strerror or error}.")
        self._pages.turn_to("lab")
        self.section.want(path.absolute())

    def run(self) -> None:
        """Run what is left of the study that is shown, once its points and its code are allowed."""
        snapshot = self.snapshot
        if snapshot is None or snapshot.opened is None:
            return
        opened, machine = snapshot.opened, self._services.readiness.machine
        if practice_cards() is not None:
            self._say(PRACTISED)
        elif machine is not None and machine.simulated:
            self._say(SIMULATED)
        else:
            from gpu_studio.runs.study_checks import checked

            arguments = (opened.study, opened.plan, opened.folder, machine, self._services.runs_dir)
            self._check(lambda: checked(*arguments).problems, partial(self._go_on, opened))

    def run_when_shown(self, path: Path) -> None:
        """Run the study in this file once the page shows it."""
        self._to_run = path.absolute()
        self._run_shown()

    def _run_shown(self) -> None:
        snapshot = self.snapshot
        if snapshot is not None and snapshot.opened and snapshot.path == self._to_run:
            self._to_run = None
            self.run()

    def stop(self) -> None:
        """Stop the study that is being run, whichever that is; what is done is kept."""
        from gpu_studio.runs.study_runner import stop_running

        problem = stop_running(self._services.runs_dir)
        self._say(problem or "Asked it to stop: the run under way ends, what is done is kept.")
        self.section.look()

    def end(self) -> None:
        """Let the study that is being run begin no further run."""
        from gpu_studio.runs.study_runner import end_after_this_one

        problem = end_after_this_one(self._services.runs_dir)
        self._say(problem or "It stops once the run under way is measured.")
        self.section.look()

    def open_plan(self) -> None:
        """Open the study's plan as its verdict has it, as a step that can be undone."""
        from gpu_studio.lab.outcome import chosen_plan

        snapshot = self.snapshot
        if snapshot is None or snapshot.opened is None or not snapshot.plan_words:
            return
        opened, words = snapshot.opened, snapshot.plan_words[:1].lower() + snapshot.plan_words[1:]
        document = self._services.document

        def change() -> None:
            plan = document.plan or opened.plan
            try:
                made = chosen_plan(opened.study, plan, snapshot.verdict, opened.points)
            except PlanError as error:
                self._say(str(error))
            else:
                document.replace(made or plan, words)
                self._pages.turn_to("plan")

        if document.path == opened.plan_file:
            change()
        else:
            self._files.leave(lambda: self._open_then(opened.plan_file, change))

    def _open_then(self, plan: Path, then: Callable[[], None]) -> None:
        if self._files.open(plan):
            then()

    def show_runs(self) -> None:
        """Show the runs of the study on the Runs page, and no others."""
        snapshot = self.snapshot
        if snapshot is not None:
            self._pages.turn_to("runs")
            name = snapshot.name.replace('"', " ")
            self._pages.runs.filter.clear()
            self._pages.runs.filter.search.setText(f'tag:study name:"{name}"')

    def forget(self) -> None:
        """Take the study off the list, and offer to put it back."""
        from gpu_studio.runs.study_shelf import forget

        snapshot = self.snapshot
        if snapshot is None:
            return
        try:
            forget(self._services.runs_dir, snapshot.path)
        except OSError as error:
            self._say(f"{snapshot.name} cannot be taken off: {error.strerror or error}.")
            return
        self.section.look()
        self._services.notice.say(
            f"{snapshot.name} is listed no more. Its file and its runs are still there.",
            label=UNDO,
            action=partial(self.show_study, snapshot.path),
        )

    def measure_anew(self) -> None:
        """Let what failed or has changed count no more, and measure it again."""
        self.section.measure_anew(self.run)

    def _check(
        self, look: Callable[[], Sequence[str]], then: Callable[[Sequence[str]], None]
    ) -> None:
        """Have the problems of points found in the background, and go on with them."""
        self._checking.start(lambda: (then, look()))

    def _go_on(self, opened: OpenStudy, problems: Sequence[str]) -> None:
        if problems:
            self._say("Nothing was begun. " + "\n".join(problems), "bad")
        else:
            plans = {tuple(named_files(plan)): plan for plan in opened.plans()}
            self._allowed([*plans.values()], partial(self.start, opened.path))

    def have_allowed(self, plan: AbsolutePlan, then: Callable[[], object]) -> None:
        """Do `then` once the Python of this plan is allowed."""
        self._consent.obtain(plan, lambda: then() and None)

    def _allowed(self, each: Sequence[AbsolutePlan], then: Callable[[], object]) -> None:
        """Do `then` once the Python of each of these is allowed."""
        if not each:
            then()
        else:
            self._consent.obtain(each[0], lambda: self._allowed(each[1:], then))

    def start(self, path: Path) -> None:
        """Start what is left of a study in the background."""
        from gpu_studio.runs.studies import StudyError
        from gpu_studio.runs.study_runner import start_detached

        try:
            process = start_detached(self._services.runs_dir, path)
        except StudyError as error:
            self._say(str(error))
        except OSError as error:
            self._say(f"The study cannot be started: {error.strerror or error}.", "bad")
        else:
            self.processes.append((process, path))
            self._reaper.start()
            self._services.live_watch.look()
        self._follow()

    def _follow(self) -> None:
        """Look often while what was started here lives: how it begins is waited for."""
        self.section.set_starting(starting=bool(self.processes))
        self._allow()

    def _reap(self) -> None:
        """See which of the studies that were started here have ended, and say how."""
        ended = [each for each in self.processes if each[0].poll() is not None]
        self.processes = [each for each in self.processes if each not in ended]
        for process, path in ended:
            self._tell_end(process.returncode, path)
        if ended:
            self._follow()
        if not self.processes:
            self._reaper.stop()

    def _tell_end(self, code: int, path: Path) -> None:
        """Say why a study was refused, or that it is over; what it measured the page shows."""
        from gpu_studio.runs.study_runner import last_said

        name = path.name
        if code == _REFUSED:
            self._say(f"{name} was not run. {last_said(self._services.runs_dir, path)}", "bad")
        elif code in (0, _FAILED):
            desk = self.section.desk
            self._judging.start(lambda: (f"Study {name}", _headline_of(desk, path)))
            text = f"{name} is done." if code == 0 else f"{name}: not every point is measured."
            self._services.notice.say(
                text, label="Show", action=partial(self.show_study, path), about=ABOUT
            )
        elif code != _STOPPED:
            self._say(f"{name} ended without a word. Go on measures the rest.", "bad")

    def _say(self, text: str, tone: str = "warning") -> None:
        self._services.notice.say(text, "bad" if tone == "bad" else "warning", about=ABOUT)

    def _take_page(self, page: LabPage) -> None:
        del page
        section = self.section
        section.shown.connect(self._allow)
        section.shown.connect(self._run_shown)
        section.view.anew_wanted.connect(self.measure_anew)
        self._allow()

    def _allow(self) -> None:
        """Enable what can be done with the study that is shown; else say why it cannot."""
        actions, snapshot = self._services.actions, self.snapshot
        if snapshot is None:
            for name in _OF_CHOSEN:
                actions.allow(name, NONE_CHOSEN)
            return
        broken = "It cannot be read" if snapshot.opened is None else ""
        running = any(each.is_run for each in self.section.snapshots)
        busy = "A study is being run" if running or self.processes else ""
        all_done = "Every run of it is done" if snapshot.done == snapshot.total else ""
        unmeasured = "" if snapshot.done else "Nothing of it has been measured yet"
        actions.allow("run_study", broken or busy or all_done)
        actions["run_study"].setText("Go on with study" if snapshot.run_ids else "Run study")
        idle = "" if running else "No study is being run"
        ending = "It stops after this run already" if snapshot.ends else ""
        actions.allow("stop_study", idle)
        actions.allow("end_study", idle or ending)
        has_runs = "It has runs: a study that was begun stays as it is" if snapshot.run_ids else ""
        actions.allow("edit_study", broken or busy or has_runs)
        actions.allow("study_plan", broken or ("" if snapshot.plan_words else unmeasured or "None"))
        actions["study_plan"].setText(snapshot.plan_words or "Plan of the verdict")
        actions.allow("study_runs", "" if snapshot.run_ids else "It has no runs yet")
        for name in ("report_study", "save_study_png", "save_study_svg", "save_study_csv"):
            actions.allow(name, broken or unmeasured)
        actions.allow("forget_study", busy if snapshot.is_run else "")


def _headline_of(desk: StudyDesk, path: Path) -> str:
    """The verdict of a study as it is now: what the page showed last may be older."""
    try:
        seen = next((each for each in desk.look(path) if each.path == path), None)
    except OSError:
        seen = None
    return seen.verdict.headline if seen is not None and not seen.problem else "It is over."
