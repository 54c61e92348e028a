"""Which actions can be done now and why not, the status line, the title: all that follows from what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio.runs.naming import title_of
from gpu_studio.ui.models.runs.run_permissions import OF_RUNS, why_not
from gpu_studio.ui.settings import PLAN_TAB
from gpu_studio.ui.theme.states import LIVE
from gpu_studio.ui.train_state import NO_RUN, follow_train_page
from gpu_studio.ui.units import duration, number, plural
from gpu_studio.ui.widgets.notice import Tone

if TYPE_CHECKING:
    from gpu_studio.runs.reading.history import History
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.models.runs.run_row import RunRow
    from gpu_studio.ui.models.train.live_run import LiveRun
    from gpu_studio.ui.pages.runs_page import RunsPage
    from gpu_studio.ui.pages.train_page import TrainPage

TRAINING = "training"
"""What a notice is about that goes once the plan can be trained."""
NOT_LIVE = "The run that is shown has ended"
BEGINNING = "A run is just being started"
NO_RUN_IN_HAND = "Show a run, or select one on the Runs page"
NOT_RESUMING = "The open plan goes on with no run"
NOTHING_TO_ALLOW = "The open plan names no Python file that is not allowed"


class WindowState(QObject):
    """Keeps the window's actions, status line and title true."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._followed: LiveRun | None = None
        window.readiness.changed.connect(self._follow_plan)
        window.inventory.changed.connect(self._follow_machine)
        window.sampler.changed.connect(self._follow_machine)
        window.actions_["refresh"].triggered.connect(lambda: window.sampler.retry())
        window.runs.breath.timeout.connect(self._allow_train)
        window.actions_.answer_refused("train", self._tell_why_not)
        window.document.undo_stack.indexChanged.connect(self._follow_undo)
        window.resuming.changed.connect(self._follow_resuming)
        for follow in (self._follow_plan, self._follow_machine, self._follow_undo):
            follow()
        self.follow_chosen(())
        self.follow_run()
        self._follow_resuming()
        self._keep_tab()

    def watch(self, page: TrainPage) -> None:
        """Follow the run that the Train page shows."""
        page.state_changed.connect(self.follow_run)
        page.status.connect(self._tell)
        page.concerns.changed.connect(self._tell_of_run)
        details = page.details
        for changed in (details.table.allowed, details.desk.jobs.changed, details.placement.changed):
            changed.connect(lambda: follow_train_page(self._window))

    def watch_list(self, page: RunsPage) -> None:
        """Follow what is selected on the Runs page."""
        page.selection_changed.connect(lambda: self.follow_chosen(page.chosen))

    def follow_chosen(self, chosen: Sequence[RunRow]) -> None:
        """Allow what can be done to the runs that are selected on the Runs page."""
        for name in OF_RUNS:
            self._window.actions_.allow(name, why_not(name, chosen))
        self._selected = len(chosen) == 1
        self._allow_plans()

    def close(self) -> None:
        """Follow the undo steps no more: the stack tells of its own end, when it is no longer there to be asked."""
        self._window.document.undo_stack.indexChanged.disconnect(self._follow_undo)

    def _follow_plan(self) -> None:
        window, document = self._window, self._window.document
        none = "" if document.plan is not None else "There is no plan yet: the machine is being looked at"
        for name in ("save_plan", "save_plan_as", "copy_plan", "copy_python", "export_python", "compare_plan"):
            window.actions_.allow(name, none)
        no_code = "" if window.readiness.not_allowed else NOTHING_TO_ALLOW
        window.actions_.allow("allow_code", no_code)
        self._allow_train()
        title = document.plan.name if document.plan else "GPU Studio"
        window.setWindowTitle(f"{title}[*] — GPU Studio" if document.plan else title)
        window.setWindowModified(document.dirty)

    def _follow_machine(self) -> None:
        inventory, line = self._window.inventory, self._window.status_line
        self._window.actions_.allow("refresh", "The machine is being looked at" if inventory.looking else "")
        if inventory.looking:
            line.set_machine("looking at the machine…", "muted")
        elif inventory.error:
            line.set_machine(inventory.error, "bad")
        elif self._window.sampler.trouble:
            line.set_machine(self._window.sampler.trouble, "bad")
        elif self._window.sampler.watched and self._window.sampler.status:
            simulated = self._window.sampler.picture.simulated
            marked = f"simulated: {simulated} · " if simulated else ""
            line.set_machine(f"{marked}{self._window.sampler.status}", "warning" if simulated else "good")
        elif (machine := inventory.machine) is not None:
            cards = plural(len(machine.cards), "NVIDIA card") if machine.cards else "no NVIDIA card"
            marked = "simulated: " if machine.simulated else ""
            tone = "warning" if machine.simulated else "good"
            line.set_machine(f"{marked}{plural(machine.cpu_cores, 'core')} · {cards}", tone)

    def _keep_tab(self) -> None:
        workspace, settings = self._window.plan_page.workspace, self._window.settings
        workspace.begin_with(settings.get(PLAN_TAB))
        workspace.opened.connect(lambda name: settings.set(PLAN_TAB, name))

    def _follow_undo(self) -> None:
        stack, actions = self._window.document.undo_stack, self._window.actions_
        actions.allow("undo", "" if stack.canUndo() else "There is nothing to undo")
        actions.allow("redo", "" if stack.canRedo() else "There is nothing to redo")
        actions["undo"].setText(f"Undo: {stack.undoText()}" if stack.canUndo() else "Undo")
        actions["redo"].setText(f"Redo: {stack.redoText()}" if stack.canRedo() else "Redo")

    def _follow_resuming(self) -> None:
        target = self._window.resuming.target
        self._window.actions_["train"].setText("Resume" if target else "Train")
        self._window.actions_.allow("cancel_resuming", "" if target else NOT_RESUMING)
        self._allow_train()

    def _allow_plans(self) -> None:
        in_hand = self._selected or self._followed is not None
        for name in ("run_again", "resume_changed", "duplicate_plan"):
            self._window.actions_.allow(name, "" if in_hand else NO_RUN_IN_HAND)

    def follow_run(self) -> None:
        """Follow the run that is shown now."""
        live, actions = self._window.shown_run, self._window.actions_
        if live is not self._followed:
            self._followed = live
            if live is not None:
                live.changed.connect(self._tell_of_run)
        state = live.state if live else None
        self._window.sampler.keep_watch(state in LIVE)
        why_not = NO_RUN if live is None else "" if state in LIVE else NOT_LIVE
        for name in ("pause", "checkpoint", "stop", "stop_now"):
            actions.allow(name, why_not)
        actions["pause"].setText("Resume" if state == "paused" else "Pause")
        follow_train_page(self._window)
        self._allow_plans()
        self._tell_of_run()

    def _allow_train(self) -> None:
        """Allow Train if the plan can run; asked for twice in a breath it is meant once."""
        live = self._followed
        silent = live is not None and live.history.started is None and live.live
        beginning = silent or self._window.runs.breath.isActive()
        self._window.actions_.allow("queue_plan", self._window.readiness.why_not)
        if not self._window.readiness.why_not:
            self._window.notice.settle(TRAINING)
        why_not = BEGINNING if beginning else self._window.readiness.why_not
        self._window.actions_.allow("train", why_not)
        if (target := self._window.resuming.target) and not why_not:
            self._window.actions_["train"].setToolTip(f"Go on with {title_of(target.run)} as a new run (Ctrl+Return)")

    def _tell_why_not(self) -> None:
        """Say why the plan cannot be trained; of a run that is just being started there is nothing to say."""
        if why_not := self._window.readiness.why_not:
            tone: Tone = "bad" if self._window.readiness.problems else "plain"
            self._window.notice.say(why_not, tone, about=TRAINING)

    def _tell_of_run(self) -> None:
        live = self._followed
        self._allow_train()
        if live is None or live.state is None:
            self._window.status_line.set_run("", None)
        elif not live.waiting_for:
            warned = self._window.train_page.concerns.words
            self._tell(" · ".join(filter(None, (in_a_line(live.title, live.history), warned))))

    def _tell(self, text: str) -> None:
        self._window.status_line.set_run(text, self._followed.state if self._followed else None)


def in_a_line(name: str, history: History) -> str:
    """How the run is: `#7 digits on four devices · epoch 21 of 30`."""
    if history.ended:
        took = f" after {duration(history.seconds)}" if history.seconds is not None else ""
        return f"{name} · {history.state}{took}"
    if history.epochs_total is None:
        return f"{name} · {history.state}"
    paused = " · paused" if history.state == "paused" else ""
    return f"{name} · epoch {number(max(1, history.epoch))} of {number(history.epochs_total)}{paused}"
