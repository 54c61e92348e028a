"""Start runs: the open plan as a new run, a resumed run, a run's plan once more.

What starts a run is imported when one is started: it brings numpy, for which the window's own start
need not wait.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.hardware import accompany
from gpu_studio.plan import Plan, PlanError, load
from gpu_studio.runs.state import live_run
from gpu_studio.ui.plan.plan_document import folder_of
from gpu_studio.ui.window.code_consent import CodeConsent
from gpu_studio.ui.window.pages import Pages
from gpu_studio.ui.window.services import Services

if TYPE_CHECKING:
    from gpu_studio.runs.launch import Launched

REAP_MS = 1000
BREATH_MS = 1000


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
        document = self._services.document
        if document.plan is not None:
            self._consent.obtain(document.plan, folder_of(document.path), self._train)

    def _train(self) -> None:
        document, machine = self._services.document, self._services.inventory.machine
        if document.plan is None:
            return
        from gpu_studio.runs.launch import launch
        from gpu_studio.runs.resume import resume

        other = live_run(self._runs_dir)
        base = folder_of(document.path)
        start = partial(launch, document.plan, self._runs_dir)
        if (target := self._services.resuming.target) is not None:
            start = partial(
                resume,
                target.run,
                self._runs_dir,
                checkpoint=target.checkpoint.name,
                plan=document.plan,
            )
        if not self._start(partial(start, base=base, machine=machine, trainer=self._trainer)):
            return
        self._keep_prediction(self.launched[-1].directory, document.plan, base)
        self._services.resuming.end()
        if other is not None:
            self.beside.emit(other)

    def resume(self, run: RunDirectory, checkpoint: str | None = None) -> None:
        """Go on with a run from its newest checkpoint, or the one called so, as a new run, and show
        that.
        """
        from gpu_studio.runs.resume import resume

        start = partial(resume, run, self._runs_dir, checkpoint=checkpoint, trainer=self._trainer)
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
            load(run.plan_file),
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
            self._services.notice.say(str(error), "bad")
        except OSError as error:
            why = error.strerror or str(error)
            text = (
                f"The run could not be started in {self._runs_dir}: {why}. Look whether there is "
                "room, and whose it is."
            )
            self._services.notice.say(text, "bad")
        else:
            self.launched.append(launched)
            self._recorders.append(accompany(launched.directory.path))
            self._reaper.start()
            self.breath.start()
            self.started.emit(launched.directory)
            return True
        return False

    def _keep_prediction(self, run: RunDirectory, plan: Plan, base: Path) -> None:
        """Write beside the run what the Plan page says of it."""
        from gpu_studio.ui.runs.run_prediction import keep_prediction

        if (machine := self._services.inventory.machine) is not None:
            facts = self._services.facts.known_of(plan, base)
            keep_prediction(run, plan, machine, facts, self._pages.plan.step_seconds)

    def _reap(self) -> None:
        self.launched = [launched for launched in self.launched if launched.poll() is None]
        self._recorders = [
            recorder for recorder in self._recorders if recorder and recorder.poll() is None
        ]
        if not self.launched and not self._recorders:
            self._reaper.stop()
