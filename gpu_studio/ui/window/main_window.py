"""The main window: it creates services, pages and controllers, and connects them.

`Settling` puts off what the first painted window need not wait for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QCloseEvent, QShowEvent

from gpu_studio.contract import RunDirectory
from gpu_studio.runs.state import live_run
from gpu_studio.ui.kit import ThemeManager
from gpu_studio.ui.kit.garbage import GARBAGE
from gpu_studio.ui.kit.settings import LESSON
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.plan.resuming import ResumingStrip
from gpu_studio.ui.window import wiring
from gpu_studio.ui.window.disk_changes import DiskStrip
from gpu_studio.ui.window.frame import Drops, Rail, WindowFrame
from gpu_studio.ui.window.lessons import Lessons
from gpu_studio.ui.window.live_runs import LiveRuns, RunEnds
from gpu_studio.ui.window.plan_files import PlanFiles, RecentMenu, names_study
from gpu_studio.ui.window.practising import Practising
from gpu_studio.ui.window.queue_control import QueueControl
from gpu_studio.ui.window.quitting import Quitting
from gpu_studio.ui.window.repairs import Repairs
from gpu_studio.ui.window.run_control import CodeConsent, RunControl, RunPlans
from gpu_studio.ui.window.scripts import Scripts
from gpu_studio.ui.window.services import PAGES, Given, PageName, Pages, make_services
from gpu_studio.ui.window.session import ComingBack
from gpu_studio.ui.window.study_control import StudyControl
from gpu_studio.ui.window.study_files import StudyFiles
from gpu_studio.ui.window.study_making import StudyMaking
from gpu_studio.ui.window.window_state import WindowState
from gpu_studio.ui.window.word_tips import WordTips

if TYPE_CHECKING:
    from gpu_studio.ui.devices.devices_page import DevicesPage
    from gpu_studio.ui.runs.runs_page import RunsPage
    from gpu_studio.ui.train.checkpoints_desk import CheckpointJobs
    from gpu_studio.ui.train.live_run import LiveRun
    from gpu_studio.ui.train.train_page import TrainPage
    from gpu_studio.ui.window.run_list import RunList


class MainWindow(WindowFrame):
    """The one window. Closing it stops no run that it was not asked to stop.

    Each controller is given the services, the pages and those controllers before it that it needs;
    none knows the window. Services that are not `given` by their names are the usual ones, and so
    is the command line `trainer`. A `fresh` window begins with a new plan.
    """

    _run_list: RunList | None = None

    def __init__(
        self,
        runs_dir: Path,
        plan_path: Path | None,
        theme: ThemeManager,
        *,
        trainer: Sequence[str] | None = None,
        fresh: bool = False,
        **given: Unpack[Given],
    ) -> None:
        super().__init__()
        self.services = services = make_services(self, runs_dir, theme, **given)
        self._name_services()
        self.pages = pages = Pages(services)
        self.plan_page = pages.plan
        self.plan_files = files = PlanFiles(services)
        self.scripts = Scripts(services)
        self.consent = CodeConsent(services)
        self.runs = RunControl(services, pages, self.consent, trainer)
        self.run_plans = RunPlans(services, pages, files)
        self.run_ends = RunEnds(services, pages)
        self.queue = QueueControl(services, pages, self.consent)
        self.studies = StudyControl(services, pages, self.consent, files, self.run_ends)
        self.study_making = StudyMaking(services, self.studies)
        self.study_files = StudyFiles(services, self.studies)
        self.quitting = Quitting(services, pages, self.queue)
        self.repairs = Repairs(services, pages, files)
        self.practising = Practising(services, pages)
        self.lessons = Lessons(services, pages, files)
        self.session = ComingBack(services, pages)
        self.state = WindowState(services, pages, self.runs.breath)
        self.live_runs = LiveRuns(services, pages)
        self.drops = Drops(services, pages, files)
        self.word_tips = WordTips(self)
        self._comes_back = not fresh
        self._settling = Settling(self.inventory, self._settling_steps(), self)
        self._bind()
        self._connect()
        self._complete()
        self._begin(plan_path, fresh=fresh)

    # What others ask for

    @property
    def devices_page(self) -> DevicesPage:
        """The Devices page, made when it is first needed."""
        return self.pages.devices

    @property
    def train_page(self) -> TrainPage:
        """The Train page, made when it is first needed."""
        return self.pages.train

    @property
    def run_list(self) -> RunList:
        """The actions on the runs of the Runs page, made with that page when first needed."""
        _ = self.pages.runs
        assert self._run_list is not None
        return self._run_list

    @property
    def shown_run(self) -> LiveRun | None:
        """The run that the Train page shows, if it shows one."""
        return self.pages.shown_run

    @property
    def checkpoint_jobs(self) -> CheckpointJobs | None:
        """What is being done with checkpoints; None while nothing can have been asked."""
        return self.pages.checkpoint_jobs

    @property
    def page(self) -> PageName:
        """The page that is shown."""
        return self.pages.current

    @property
    def settled(self) -> bool:
        """Whether all is done that the first painted window need not wait for."""
        return self._settling.done

    def show_page(self, name: PageName) -> None:
        """Show a page."""
        self.pages.turn_to(name)

    def show_run(self, run: RunDirectory) -> None:
        """Show a run on the Train page."""
        self.pages.show_run(run)

    # How it is made

    def _name_services(self) -> None:
        """Give the services that others ask the window for a short name."""
        services = self.services
        self.document, self.resuming = services.document, services.resuming
        self.readiness, self.facts = services.readiness, services.facts
        self.inventory, self.sampler = services.inventory, services.sampler
        self.settings, self.actions_ = services.settings, services.actions
        self.notice, self.status_line = services.notice, services.status_line

    def _bind(self) -> None:
        services, pages = self.services, self.pages
        wiring.bind(
            self.actions_,
            {
                **wiring.of_window(services, pages),
                **wiring.of_pages(pages),
                **wiring.of_plans(
                    services, self.plan_files, self.repairs, self.scripts, self.consent
                ),
                **wiring.of_runs(self.runs, self.run_plans, self.quitting, self.run_ends),
                **wiring.of_settings(services, self.quitting, self.run_ends),
                **wiring.of_queue(self.queue),
                **wiring.of_studies(self.studies, self.study_making, self.study_files),
                **wiring.of_practice(self.practising),
                **wiring.of_lessons(self.lessons),
                **wiring.of_chosen_runs(lambda: self.run_list),
                **wiring.of_shown_run(pages, lambda: self.run_list.find()),
                **wiring.of_plots(pages),
                **wiring.of_benchmarks(pages),
            },
        )

    def _connect(self) -> None:
        services, pages = self.services, self.pages
        wiring.connect_plans(self.plan_files, self.scripts, services, pages)
        services.facts.consent_wanted.connect(self.consent.ask)
        self.plan_files.study_named.connect(self.studies.show_study)
        self.lessons.guide_wanted.connect(partial(wiring.open_guide, services, pages))
        self.runs.started.connect(services.live_watch.add)
        self.runs.started.connect(pages.show_run)
        self.runs.beside.connect(self.live_runs.tell_beside)
        self.queue.runner_started.connect(self.runs.look_after)
        pages.plan.seen.connect(self._watch_cards)
        pages.train_made.connect(self._take_train_page)
        pages.runs_made.connect(self._take_runs_page)

    def _take_train_page(self, page: TrainPage) -> None:
        wiring.connect_train_page(
            page, self.services, self.pages, self.runs, self.run_plans, self.consent
        )
        self.live_runs.add_button(page.live_button)

    def _take_runs_page(self, page: RunsPage) -> None:
        # Imported when they are first needed: the window's start waits for this module.
        from gpu_studio.ui.runs.queue_card import QueueCard
        from gpu_studio.ui.window.run_list import RunList

        self._run_list = RunList(page, self.services, self.pages, self.plan_files, self.runs)
        self._run_list.labels.changed.connect(self.live_runs.read_names)
        page.add_strip(QueueCard(self.queue, self.actions_, self.settings, page))
        page.tidy()

    def _complete(self) -> None:
        actions = self.actions_
        self.plan_page.add_strip(self.lessons.offer)
        self.plan_page.add_strip(DiskStrip(self.plan_files.disk))
        self.plan_page.add_strip(ResumingStrip(self.resuming, actions["cancel_resuming"]))
        rail = Rail({name: actions[f"page_{name}"] for name in PAGES})
        self.pages.turned.connect(rail.check)
        self.pages.turned.connect(self.notice.make_way)
        self.lay_out(rail, self.pages)
        self.setStatusBar(self.status_line)
        menus = actions.fill(self.menuBar())
        RecentMenu(self.plan_files, menus["File"], before=actions["save_plan"])
        actions[f"theme_{self.services.theme.mode}"].setChecked(True)
        actions["ask_quit"].setChecked(self.quitting.asks)
        actions["notify"].setChecked(self.run_ends.notifies)
        self.restore_geometry(self.settings)

    def _begin(self, plan_path: Path | None, *, fresh: bool) -> None:
        """Hold the plan that is wanted, and come back to what was shown.

        But a run that is alive, and was not followed before, is shown. The file of a study is shown
        on the Lab page, over the plan that was open last.
        """
        study = plan_path if plan_path is not None and names_study(plan_path) else None
        plan_path = plan_path if study is None else None
        last, comes_back = self.session, plan_path is None and not fresh
        self.plan_files.begin(plan_path, fresh=fresh)
        live = live_run(self.services.runs_dir) if comes_back else None
        last.run = last.run if comes_back else None
        if live is not None and live != last.run:
            last.run = live
            self.pages.show_run(live)
        elif comes_back and last.page == "train" and last.run is not None:
            self.pages.show_run(last.run)
        else:
            self.pages.turn_to(last.page if comes_back else "plan")
        if not fresh:
            self.repairs.begin_again(plan_path, turns=live is None)
        self.session.follow()
        if study is not None:
            self.studies.show_study(study)

    def _settling_steps(self) -> tuple[Callable[[], object], ...]:
        """What the first painted window need not wait for.

        What takes long is a step of its own, and libraries come before the pages that need them.
        """
        return (
            self.status_line.show_tensorflow,
            partial(import_module, "numpy"),
            partial(import_module, "pyqtgraph"),
            self._attend,
            *(partial(self.pages.make, name) for name in MADE_AHEAD),
            self._come_back,
        )

    def _attend(self) -> None:
        """Look after the queue, the ends of runs and a lesson from now on."""
        self.queue.attend()
        self.run_ends.begin()
        if self._comes_back and self.settings.get(LESSON):
            self.lessons.come_back()

    def _come_back(self) -> None:
        """Hold the run that was shown last, and look at the cards."""
        self._watch_cards(self.plan_page.isVisible())
        GARBAGE.keep()
        if self.session.run is not None and self.shown_run is None:
            self.pages.hold_run(self.session.run)

    def _watch_cards(self, on: bool) -> None:
        """Look at the cards while a plan is held against them, once the window has settled."""
        self.services.live_machine.watch(on and self.settled)

    # What Qt tells

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Settle in once the window is painted and the machine has answered, or takes too long."""
        super().showEvent(event)
        self.setFocus()
        self._settling.begin()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """See, once the window is used again, whether the plan's files have changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.readiness.look_again()
            self.plan_files.disk.look()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Ask, if runs are alive; else remember, and let go of what is watched."""
        if not self.quitting.may_close():
            event.ignore()
            return
        GARBAGE.keep_no_more()
        self.keep_geometry(self.settings)
        self.repairs.kept.write()
        self.plan_files.drafts.close()
        self.state.close()
        self.session.close()
        self.services.close()
        for part in (
            self.runs,
            self.queue,
            self.studies,
            self.study_files,
            self.run_ends,
            self.lessons,
            self._settling,
            self._run_list,
        ):
            if part is not None:
                part.close()
        self.pages.close_parts()
        super().closeEvent(event)


MADE_AHEAD: Final[tuple[PageName, ...]] = ("runs", "devices", "train")
"""The pages that are made, in this order, before anybody turns to them."""
SETTLE_MS: Final = 40
LONGEST_UNSETTLED_MS: Final = 1500


class Settling(QObject):
    """Takes its steps once, soon after `begin`.

    Between two steps the window paints, and does what its user asks for.
    """

    def __init__(
        self, inventory: Inventory, steps: Iterable[Callable[[], object]], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._inventory = inventory
        self._left = deque(steps)
        self._begun = self._stepping = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._step)

    @property
    def done(self) -> bool:
        """Whether the last step is taken, or is being taken."""
        return not self._left

    def begin(self) -> None:
        """Wait from now on; asked for again nothing is done."""
        if not self._begun:
            self._begun = True
            self._timer.start(LONGEST_UNSETTLED_MS)
            self._inventory.changed.connect(self._soon)
            self._soon()

    def close(self) -> None:
        """Leave the steps that are not taken yet: they hold the window. None begins any more."""
        self._begun = True
        self._timer.stop()
        self._left.clear()

    def _soon(self) -> None:
        if self._timer.isActive() and not self._stepping and not self._inventory.looking:
            self._timer.start(SETTLE_MS)

    def _step(self) -> None:
        self._stepping = True
        step = self._left.popleft()
        if self._left:
            self._timer.start(0)
        step()
