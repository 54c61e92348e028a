"""The window: a rail of pages, a status line, menus; and who hears of what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QByteArray, QEvent, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QIcon,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget
from shiboken6 import isValid

from gpu_studio.plan import Plan
from gpu_studio.resource_files import resource
from gpu_studio.runs.directory import RunDirectory
from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.control.code_consent import CodeConsent
from gpu_studio.ui.control.live_runs import LiveRuns
from gpu_studio.ui.control.plan_files import PlanFiles
from gpu_studio.ui.control.queue_control import QueueControl
from gpu_studio.ui.control.quitting import Quitting
from gpu_studio.ui.control.repairs import FILE, Repairs
from gpu_studio.ui.control.run_control import RunControl, live_run
from gpu_studio.ui.control.run_ends import RunEnds
from gpu_studio.ui.control.run_plans import RunPlans
from gpu_studio.ui.control.scripts import Scripts
from gpu_studio.ui.drops import Drops
from gpu_studio.ui.late_pages import LatePages
from gpu_studio.ui.menus import RecentMenu, restored_in_words
from gpu_studio.ui.models.devices.checkup import Checkup
from gpu_studio.ui.models.devices.inventory import Inventory
from gpu_studio.ui.models.devices.live_machine import LiveMachine
from gpu_studio.ui.models.devices.sampler import Sampler
from gpu_studio.ui.models.plan.plan_document import PlanDocument
from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.models.plan.readiness import Readiness
from gpu_studio.ui.models.plan.resuming import Resuming
from gpu_studio.ui.pages.devices_page import DevicesPage
from gpu_studio.ui.pages.plan_page import PlanPage
from gpu_studio.ui.settings import GEOMETRY, THEME, Settings, settings_path
from gpu_studio.ui.settling import Settling
from gpu_studio.ui.theme.manager import Mode, ThemeManager
from gpu_studio.ui.widgets.notice import Notice
from gpu_studio.ui.widgets.rail import Rail
from gpu_studio.ui.widgets.status_line import StatusLine
from gpu_studio.ui.window_parts import SMALLEST, beside, complete, room, usual_size
from gpu_studio.ui.window_state import WindowState

if TYPE_CHECKING:
    from gpu_studio.ui.control.run_list import RunList
    from gpu_studio.ui.models.train.checkpoint_jobs import CheckpointJobs
    from gpu_studio.ui.models.train.live_run import LiveRun
    from gpu_studio.ui.pages.train_page import TrainPage

PageName = Literal["devices", "plan", "train", "runs"]
PAGES: tuple[PageName, ...] = ("devices", "plan", "train", "runs")


class MainWindow(QMainWindow):
    """The one window. Closing it stops no run that it was not asked to stop.

    What is not given of `settings`, the watchers and the command line `trainer` is the usual one.
    """

    def __init__(
        self,
        runs_dir: Path,
        plan_path: Path | None,
        theme: ThemeManager,
        *,
        settings: Settings | None = None,
        inventory: Inventory | None = None,
        sampler: Sampler | None = None,
        checkup: Checkup | None = None,
        facts: FactsReader | None = None,
        trainer: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.theme = theme
        self.settings = settings or Settings(settings_path())
        self.inventory: Inventory = inventory or Inventory()
        self.sampler: Sampler = sampler or Sampler(runs_dir)
        self.checkup: Checkup = checkup or Checkup(runs_dir)
        self.document: PlanDocument = PlanDocument(self)
        self.facts: FactsReader = facts or FactsReader()
        self.live_machine = LiveMachine(self.inventory, self.sampler, self)
        self.readiness = Readiness(self.document, self.live_machine, self, facts=self.facts)
        self.resuming: Resuming = Resuming(self.document, self.readiness, self)
        self.plan_files: PlanFiles = PlanFiles(self.document, self.readiness, self.settings, self)
        self.scripts: Scripts = Scripts(self.document, self.readiness, self.facts, self)
        self._watchers = (self.inventory, self.sampler, self.checkup, self.facts)
        for watcher in self._watchers:
            watcher.setParent(self)
        self._make_handlers(runs_dir, trainer)
        self.actions_ = ActionSet(self)
        self._runs_dir = runs_dir
        self._settling = Settling(self.inventory, self._settle, self)
        self._rooms = {name: room() for name in PAGES}
        self._left_at: dict[PageName, QWidget] = {}
        self._late = LatePages(self, runs_dir, self._rooms["train"], self._rooms["runs"])
        self._build()
        self._connect()
        self._restore()
        self._begin(plan_path)

    # What others ask for

    @property
    def train_page(self) -> TrainPage:
        """The Train page, made when it is first needed."""
        return self._late.train

    @property
    def run_list(self) -> RunList:
        """The Runs page and what it does, made when it is first needed."""
        return self._late.runs

    @property
    def shown_run(self) -> LiveRun | None:
        """The run that the Train page shows, if it shows one."""
        return self._late.shown_run

    @property
    def checkpoint_jobs(self) -> CheckpointJobs | None:
        """What is being done with checkpoints; None while nothing can have been asked."""
        return self._late.jobs

    @property
    def page(self) -> PageName:
        """The page that is shown."""
        return PAGES[self._stack.currentIndex()]

    def show_page(self, name: PageName) -> None:
        """Show a page."""
        if name == "train":
            _ = self.train_page
        elif name == "runs":
            _ = self.run_list
        self._turn_to(name)
        self._rail.check(name)

    def _turn_to(self, name: PageName) -> None:
        """Turn to a page, and to the field that had the focus there last.

        Left to itself, Qt would go on from the field that is gone to the first one of the page.
        """
        focused, room_before = self.focusWidget(), self._rooms[self.page]
        if focused is not None and name != self.page and room_before.isAncestorOf(focused):
            self._left_at[self.page] = focused
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._stack.setCurrentIndex(PAGES.index(name))
        back = self._left_at.get(name)
        if self.hasFocus() and back is not None and isValid(back) and back.isVisible():
            back.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_run(self, run: RunDirectory) -> None:
        """Show a run on the Train page."""
        self.train_page.show_run(run)
        self.state.follow_run()
        self.show_page("train")
        self.live_runs.show()

    def set_theme(self, mode: Mode) -> None:
        """Follow the system's colours, or wear one theme always; remembered."""
        self.theme.set_mode(mode)
        self.settings.set(THEME, mode)
        self.actions_[f"theme_{mode}"].setChecked(True)

    # How it is made

    def _make_handlers(self, runs_dir: Path, trainer: Sequence[str] | None) -> None:
        self.consent: CodeConsent = CodeConsent(self)
        self.runs: RunControl = RunControl(self, runs_dir, trainer)
        self.run_plans: RunPlans = RunPlans(self)
        self.queue: QueueControl = QueueControl(self, runs_dir)
        self.quitting: Quitting = Quitting(self, runs_dir)
        self.run_ends: RunEnds = RunEnds(self, runs_dir)

    def _build(self) -> None:
        self.setWindowIcon(QIcon(str(resource("icons/gpu-studio.svg"))))
        self.setMinimumSize(SMALLEST)
        self.setAcceptDrops(True)
        self._drops = Drops(self)
        # A click beside the fields takes the focus from them, and at the start no field has it.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("GPU Studio")
        self.notice: Notice = Notice()
        self.status_line = StatusLine(self.theme)
        self.setStatusBar(self.status_line)
        self.devices_page: DevicesPage = DevicesPage(
            self.theme,
            self.inventory,
            self.sampler,
            self.checkup,
            self.actions_["doctor"],
            self.actions_["copy_devices"],
        )
        self.plan_page = PlanPage(
            self.theme, self.document, self.readiness, self.facts, self.checkup, self.actions_, runs=self._runs_dir
        )
        complete(self.plan_page, self.resuming, self.plan_files.disk, self.actions_)
        self._stack = QStackedWidget()
        self._stack.setObjectName("pages")
        self._rooms["devices"].addWidget(self.devices_page)
        self._rooms["plan"].addWidget(self.plan_page)
        for name in PAGES:
            self._stack.addWidget(self._rooms[name])
        self._rail = Rail({name: self.actions_[f"page_{name}"] for name in PAGES})
        self.setCentralWidget(beside(self._rail, self.notice, self._stack))
        menus = self.actions_.fill(self.menuBar())
        self._recent = RecentMenu(self.plan_files, menus["File"], before=self.actions_["save_plan"])

    def _connect(self) -> None:
        self.state = WindowState(self)
        self.live_runs: LiveRuns = LiveRuns(self, self._runs_dir)
        self.plan_files.failed.connect(lambda text: self.notice.say(text, "bad", about=FILE))
        for settled in (self.plan_files.opened, self.plan_files.recent_changed):
            settled.connect(lambda: self.notice.settle(FILE))
        self.repairs: Repairs = Repairs(self)
        self.plan_files.opened.connect(lambda: self.show_page("plan"))
        self.plan_files.compared.connect(self._compare)
        self.plan_page.seen.connect(self._watch_cards)
        self.plan_files.disk.told.connect(self.notice.say)
        self.plan_files.restored.connect(lambda draft: self.notice.say(restored_in_words(draft)))
        for teller in (self.scripts, self.devices_page.file):
            teller.told.connect(self.notice.say)
            teller.failed.connect(lambda text: self.notice.say(text, "bad"))
        self.inventory.changed.connect(self.plan_files.offer_starter)
        self.facts.consent_wanted.connect(self.consent.ask)
        self.runs.started.connect(self.run_ends.watch.add)
        self.runs.started.connect(self.show_run)

    def _compare(self, path: Path, plan: Plan) -> None:
        self.show_page("plan")
        self.plan_page.compare(path, plan)

    def _restore(self) -> None:
        geometry = self.settings.get(GEOMETRY)
        if not geometry or not self.restoreGeometry(QByteArray(geometry)):
            self.resize(usual_size(self))
        self.actions_[f"theme_{self.theme.mode}"].setChecked(True)
        self.actions_["ask_quit"].setChecked(self.quitting.asks)
        self.actions_["notify"].setChecked(self.run_ends.notifies)

    def _begin(self, plan_path: Path | None) -> None:
        self.plan_files.begin(plan_path)
        live = None if plan_path else live_run(self._runs_dir)
        if live is None:
            self.show_page("plan")
        else:
            self.show_run(live)
        self.repairs.begin_again(plan_path, turns=live is None)

    # What Qt tells

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Settle in once the window is painted and the machine has answered, or takes too long for it."""
        super().showEvent(event)
        self.setFocus()
        self._settling.begin()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape, where nothing else has a use for it, closes the notice."""
        if event.key() == Qt.Key.Key_Escape and self.notice.isVisible():
            self.notice.hide()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """See, once the window is used again, whether the plan's files were changed in another one."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.readiness.look_again()
            self.plan_files.disk.look()

    def _settle(self) -> None:
        """Do what the first painted window need not wait for."""
        self.status_line.show_tensorflow()
        self.run_list.page.reader.tidy()
        self.queue.attend()
        self.run_ends.begin()
        self._watch_cards(self.plan_page.isVisible())
        _ = self.train_page

    def _watch_cards(self, on: bool) -> None:
        """Look at the cards while a plan is held against them, but not before the window is painted."""
        self.live_machine.watch(on and self._settling.done)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Ask, if runs are alive; else remember, and let go of what is watched."""
        if not self.quitting.may_close():
            event.ignore()
            return
        self.settings.set(GEOMETRY, bytes(self.saveGeometry().data()))
        self.plan_files.drafts.write()
        self.repairs.kept.write()
        self.state.close()
        self.resuming.close()
        for watcher in self._watchers:
            watcher.close()
        self.devices_page.close_parts()
        self.runs.close()
        self.queue.close()
        self.run_ends.close()
        self._settling.stop()
        self._late.close()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do."""
        self._drops.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do, wherever in the window it is."""
        self._drops.enter(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        """Say nothing of drops any more."""
        self._drops.leave()
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Open the plan that was dropped, or use what was dropped in the open one."""
        self._drops.drop(event)
