"""The state derived from what is shown.

It covers which actions are possible and why others are not, the status line and the title.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer

from gpu_studio.common.figures import duration, grouped, plural
from gpu_studio.runs.labels import title_of
from gpu_studio.ui.kit import Tone
from gpu_studio.ui.kit.settings import PLAN_TAB
from gpu_studio.ui.runs.run_permissions import OF_RUNS, why_not
from gpu_studio.ui.window.actions.lab_actions import OF_BENCHMARKS
from gpu_studio.ui.window.actions.train_actions import OF_CHECKPOINTS, OF_LOG, OF_PLOTS
from gpu_studio.ui.window.services import Pages, Services

if TYPE_CHECKING:
    from gpu_studio.runs.reading.history import History
    from gpu_studio.ui.lab.lab_page import LabPage
    from gpu_studio.ui.runs.run_rows import RunRow
    from gpu_studio.ui.runs.runs_page import RunsPage
    from gpu_studio.ui.train.live_run import LiveRun
    from gpu_studio.ui.train.train_page import TrainPage

TRAINING: Final = "training"
"""What a notice is about that goes once the plan can be trained."""
NO_RUN: Final = "No run is shown: train a plan, or show a run from the Runs page"
NO_PLACEMENT: Final = (
    "The run that is shown has reported no placement: a placed run reports it at its beginning"
)
NOTHING_DONE: Final = "Nothing is being done with checkpoints"
NOT_LIVE: Final = "The run that is shown has ended"
BEGINNING: Final = "A run is just being started"
NO_RUN_IN_HAND: Final = "Show a run, or select one on the Runs page"
NO_BENCHMARK: Final = "Choose a benchmark on the Lab page"
NOT_RESUMING: Final = "The open plan goes on with no run"
PLAN_ELSEWHERE: Final = "Changes of the plan are taken back on the Plan page"
NOTHING_TO_ALLOW: Final = "The open plan names no Python file that is not allowed"


class WindowState(QObject):
    """Keeps the window's actions, status line and title true.

    While `breath` runs, a run was just started.
    """

    def __init__(self, services: Services, pages: Pages, breath: QTimer) -> None:
        super().__init__(services.window)
        self._services, self._pages, self._breath = services, pages, breath
        self._actions, self._status_line = services.actions, services.status_line
        self._followed: LiveRun | None = None
        services.readiness.changed.connect(self._follow_plan)
        services.inventory.changed.connect(self._follow_machine)
        services.sampler.changed.connect(self._follow_machine)
        services.actions.answer_refused("train", self._tell_why_not)
        services.document.undo_stack.indexChanged.connect(self._follow_undo)
        services.notice.changed.connect(self._follow_undo)
        for name in ("undo", "redo"):
            services.actions.answer_refused(name, partial(self._answer_undo, name))
        services.resuming.changed.connect(self._follow_resuming)
        breath.timeout.connect(self._allow_train)
        pages.run_shown.connect(self.follow_run)
        pages.train_made.connect(self._watch)
        pages.runs_made.connect(self._watch_list)
        pages.lab_made.connect(self._watch_lab)
        pages.turned.connect(self._follow_benchmarks)
        pages.turned.connect(self._follow_undo)
        for follow in (self._follow_plan, self._follow_machine, self._follow_undo):
            follow()
        self.follow_chosen(())
        self.follow_run()
        self._follow_resuming()
        self._follow_benchmarks()
        self._keep_tab()

    def _watch(self, page: TrainPage) -> None:
        """Follow the run that the Train page shows."""
        page.state_changed.connect(self.follow_run)
        page.status.connect(self._tell)
        page.concerns_changed.connect(self._tell_of_run)
        page.permissions_changed.connect(self._allow_on_train_page)

    def _watch_list(self, page: RunsPage) -> None:
        """Follow what is selected on the Runs page."""
        page.selection_changed.connect(lambda: self.follow_chosen(page.chosen))

    def _watch_lab(self, page: LabPage) -> None:
        """Follow what is chosen on the Lab page, and what can be done to it."""
        page.turned.connect(self._follow_benchmarks)
        self._pages.benchmarks.permissions_changed.connect(self._follow_benchmarks)

    def _follow_benchmarks(self) -> None:
        """Allow what can be done to the benchmark in sight; measuring can always be cancelled."""
        pages = self._pages
        made = pages.is_made("lab")
        chosen = pages.lab.chosen if made and pages.current == "lab" else None
        in_sight = chosen is not None and chosen[0] == pages.benchmarks.name
        for name in OF_BENCHMARKS:
            asked = in_sight or (made and name == "cancel_measuring")
            self._actions.allow(name, pages.benchmarks.why_not(name) if asked else NO_BENCHMARK)

    def follow_chosen(self, chosen: Sequence[RunRow]) -> None:
        """Allow what can be done to the runs that are selected on the Runs page."""
        for name in OF_RUNS:
            self._actions.allow(name, why_not(name, chosen))
        self._selected = len(chosen) == 1
        self._allow_plans()

    def close(self) -> None:
        """Follow the undo steps and the messages no more.

        Both tell of their own end, when they are no longer there to be asked.
        """
        self._services.document.undo_stack.indexChanged.disconnect(self._follow_undo)
        self._services.notice.changed.disconnect(self._follow_undo)

    def _follow_plan(self) -> None:
        document, readiness = self._services.document, self._services.readiness
        none = (
            ""
            if document.plan is not None
            else "There is no plan yet: the machine is being looked at"
        )
        for name in (
            "save_plan",
            "save_plan_as",
            "copy_plan",
            "copy_python",
            "export_python",
            "compare_plan",
        ):
            self._actions.allow(name, none)
        no_code = "" if readiness.not_allowed else NOTHING_TO_ALLOW
        self._actions.allow("allow_code", no_code)
        self._allow_train()
        title = document.plan.name if document.plan else "GPU Studio"
        window = self._services.window
        window.setWindowTitle(f"{title}[*] — GPU Studio" if document.plan else title)
        window.setWindowModified(document.dirty)

    def _follow_machine(self) -> None:
        looking = self._services.inventory.looking
        self._actions.allow("refresh", "The machine is being looked at" if looking else "")
        self._show_machine()

    def _show_machine(self) -> None:
        inventory, sampler, line = (
            self._services.inventory,
            self._services.sampler,
            self._status_line,
        )
        if inventory.looking:
            line.set_machine("looking at the machine…", "muted")
        elif trouble := inventory.error or sampler.trouble:
            line.set_machine(trouble, "bad")
        elif sampler.watched and sampler.status:
            self._show_figures(sampler.status, sampler.picture.marked)
        elif (machine := inventory.machine) is not None:
            cards = plural(len(machine.cards), "NVIDIA card") if machine.cards else "no NVIDIA card"
            self._show_figures(f"{plural(machine.cpu_cores, 'core')} · {cards}", machine.marked)

    def _show_figures(self, words: str, marked: str) -> None:
        tone = "warning" if marked else "good"
        self._status_line.set_machine(" · ".join(filter(None, (marked, words))), tone)

    def _keep_tab(self) -> None:
        page, settings = self._pages.plan, self._services.settings
        page.begin_with_part(settings.get(PLAN_TAB))
        page.part_opened.connect(lambda name: settings.set(PLAN_TAB, name))

    def _follow_undo(self) -> None:
        """Allow undo where the plan is seen: elsewhere it would change what nobody looks at.

        There it takes back what the message tells of, if that offers it.
        """
        stack, actions = self._services.document.undo_stack, self._actions
        elsewhere = "" if self._pages.current == "plan" else PLAN_ELSEWHERE
        actions.allow("undo", elsewhere if stack.canUndo() else "There is nothing to undo")
        actions.allow("redo", elsewhere if stack.canRedo() else "There is nothing to redo")
        actions["undo"].setText(f"Undo: {stack.undoText()}" if stack.canUndo() else "Undo")
        if elsewhere and self._services.notice.offers_undo:
            actions.allow("undo", "")
            actions["undo"].setText("Undo")
        actions["redo"].setText(f"Redo: {stack.redoText()}" if stack.canRedo() else "Redo")

    def _answer_undo(self, name: str) -> None:
        """Take back what the message tells of, else say where changes of the plan are."""
        notice, stack = self._services.notice, self._services.document.undo_stack
        if name == "undo" and notice.take_back():
            return
        if stack.canUndo() if name == "undo" else stack.canRedo():
            show = partial(self._pages.turn_to, "plan")
            notice.say(f"{PLAN_ELSEWHERE}.", label="Show the plan", action=show)

    def _follow_resuming(self) -> None:
        target = self._services.resuming.target
        self._actions["train"].setText("Resume" if target else "Train")
        self._actions.allow("cancel_resuming", "" if target else NOT_RESUMING)
        self._allow_train()

    def _allow_plans(self) -> None:
        in_hand = self._selected or self._followed is not None
        for name in ("run_again", "resume_changed", "duplicate_plan"):
            self._actions.allow(name, "" if in_hand else NO_RUN_IN_HAND)

    def follow_run(self) -> None:
        """Follow the run that is shown now."""
        live, actions = self._pages.shown_run, self._actions
        if live is not self._followed:
            self._followed = live
            if live is not None:
                live.changed.connect(self._tell_of_run)
        self._services.sampler.keep_watch(live is not None and live.is_live)
        why_not = NO_RUN if live is None else "" if live.is_live else NOT_LIVE
        for name in ("pause", "checkpoint", "stop", "stop_now"):
            actions.allow(name, why_not)
        paused = live is not None and live.state == "paused"
        actions["pause"].setText("Resume" if paused else "Pause")
        self._allow_on_train_page()
        self._allow_plans()
        self._tell_of_run()

    def _allow_on_train_page(self) -> None:
        """Allow what can be done with the plots and with what stands under them."""
        shown, actions = self._pages.shown_run is not None, self._actions
        for name in (*OF_LOG, *OF_PLOTS):
            actions.allow(name, "" if shown else NO_RUN)
        for name, wanted in OF_CHECKPOINTS.items():
            actions.allow(name, self._pages.train.why_no_checkpoint(wanted) if shown else NO_RUN)
        placed = shown and self._pages.train.has_placement
        actions.allow("copy_placement", "" if placed else NO_PLACEMENT if shown else NO_RUN)
        busy = shown and bool(self._pages.train.checkpoint_jobs.jobs)
        actions.allow("cancel_checkpoints", "" if busy else NOTHING_DONE)

    def _allow_train(self) -> None:
        """Allow Train if the plan can run; asked for twice in a breath it is meant once."""
        live = self._followed
        silent = live is not None and live.history.started is None and live.live
        beginning = silent or self._breath.isActive()
        self._actions.allow("queue_plan", self._services.readiness.why_not)
        if not self._services.readiness.why_not:
            self._services.notice.settle(TRAINING)
        why_not = BEGINNING if beginning else self._services.readiness.why_not
        self._actions.allow("train", why_not)
        if (target := self._services.resuming.target) and not why_not:
            self._actions["train"].setToolTip(
                f"Go on with {title_of(target.run)} as a new run (Ctrl+Return)"
            )

    def _tell_why_not(self) -> None:
        """Say why the plan cannot be trained.

        Of a run that is just being started there is nothing to say.
        """
        if why_not := self._services.readiness.why_not:
            tone: Tone = "bad" if self._services.readiness.problems else "plain"
            self._services.notice.say(why_not, tone, about=TRAINING)

    def _tell_of_run(self) -> None:
        live = self._followed
        self._allow_train()
        if live is None or live.state is None:
            self._status_line.set_run("", None)
        elif not live.waiting_for:
            warned = self._pages.train.concern_words
            self._tell(" · ".join(filter(None, (in_a_line(live.title, live.history), warned))))

    def _tell(self, text: str) -> None:
        self._status_line.set_run(text, self._followed.state if self._followed else None)


def in_a_line(name: str, history: History) -> str:
    """How the run is: `#7 digits on four devices · epoch 21 of 30`."""
    if history.ended:
        took = f" after {duration(history.seconds)}" if history.seconds is not None else ""
        return f"{name} · {history.state}{took}"
    if history.epochs_total is None:
        return f"{name} · {history.state}"
    paused = " · paused" if history.state == "paused" else ""
    return (
        f"{name} · epoch {grouped(max(1, history.epoch))} of "
        f"{grouped(history.epochs_total)}{paused}"
    )
