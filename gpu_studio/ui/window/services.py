"""What the controllers of a window share: the services, and the pages.

The services are plan, machine, settings, actions and notice. `Pages` knows which page is shown,
and which run the Train page shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget
from shiboken6 import isValid

from gpu_studio.contract import RunDirectory
from gpu_studio.ui.kit import ActionSet, Notice, StatusLine, ThemeManager
from gpu_studio.ui.kit.settings import SECONDS, Settings, settings_path
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.live_machine import Inventory, LiveMachine
from gpu_studio.ui.machine.sampler import SamplerClient
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_page import PlanPage
from gpu_studio.ui.plan.readiness import Readiness
from gpu_studio.ui.plan.resuming import Resuming
from gpu_studio.ui.runs.live_watch import LiveWatch
from gpu_studio.ui.window.actions import ACTIONS

if TYPE_CHECKING:
    from gpu_studio.ui.devices.devices_page import DevicesPage
    from gpu_studio.ui.lab.benchmarks_section import BenchmarksSection
    from gpu_studio.ui.lab.lab_page import LabPage
    from gpu_studio.ui.runs.runs_page import RunsPage
    from gpu_studio.ui.train.checkpoints_desk import CheckpointJobs
    from gpu_studio.ui.train.live_run import LiveRun
    from gpu_studio.ui.train.train_page import TrainPage


class Given(TypedDict, total=False):
    """Services that are made already, for a window that shall not make the usual ones."""

    settings: Settings
    inventory: Inventory
    sampler: SamplerClient
    checkup: Checkup
    facts: FactsReader


@dataclass(frozen=True, slots=True)
class Services:
    """What the pages and the controllers of a window are given; it knows none of them.

    Dialogs open over `window`. The `actions` do nothing until they are bound to handlers.
    """

    window: QWidget
    runs_dir: Path
    theme: ThemeManager
    settings: Settings
    inventory: Inventory
    sampler: SamplerClient
    checkup: Checkup
    facts: FactsReader
    document: PlanDocument
    live_machine: LiveMachine
    readiness: Readiness
    resuming: Resuming
    live_watch: LiveWatch
    actions: ActionSet
    notice: Notice
    status_line: StatusLine

    def close(self) -> None:
        """Let go of all that is watched."""
        self.resuming.close()
        for watcher in (self.inventory, self.sampler, self.checkup, self.facts, self.live_watch):
            watcher.close()


def make_services(
    window: QWidget, runs_dir: Path, theme: ThemeManager, **given: Unpack[Given]
) -> Services:
    """The services of `window`: those that are given, and else the usual ones."""
    inventory, sampler = (
        given.get("inventory") or Inventory(),
        given.get("sampler") or SamplerClient(runs_dir),
    )
    settings = given.get("settings") or Settings(settings_path())
    if (seconds := settings.get(SECONDS)) != SECONDS.default:
        sampler.look_every(seconds)
    checkup, facts = given.get("checkup") or Checkup(runs_dir), given.get("facts") or FactsReader()
    for watcher in (inventory, sampler, checkup, facts):
        watcher.setParent(window)
    document = PlanDocument(window)
    live_machine = LiveMachine(inventory, sampler, window)
    readiness = Readiness(document, live_machine, window, facts=facts)
    return Services(
        window=window,
        runs_dir=runs_dir,
        theme=theme,
        settings=settings,
        inventory=inventory,
        sampler=sampler,
        checkup=checkup,
        facts=facts,
        document=document,
        live_machine=live_machine,
        readiness=readiness,
        resuming=Resuming(document, readiness, window),
        live_watch=LiveWatch(runs_dir, window),
        actions=ActionSet(window, theme, ACTIONS),
        notice=Notice(),
        status_line=StatusLine(theme),
    )


PageName = Literal["devices", "plan", "train", "runs", "lab"]
PAGES: tuple[PageName, ...] = ("devices", "plan", "train", "runs", "lab")


class Pages(QStackedWidget):
    """All pages, of which one is shown.

    All but the Plan page are made when they are first needed.

    `devices_made(DevicesPage)`, `train_made(TrainPage)` and so on fire then,
    `turned(name)` whenever a page was turned to, and `run_shown` when the Train page shows another
    run.
    """

    devices_made = Signal(object)
    train_made = Signal(object)
    runs_made = Signal(object)
    lab_made = Signal(object)
    turned = Signal(str)
    run_shown = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.setObjectName("pages")
        self._services = services
        self._devices: DevicesPage | None = None
        self._train: TrainPage | None = None
        self._runs: RunsPage | None = None
        self._lab: LabPage | None = None
        self._benchmarks: BenchmarksSection | None = None
        self._left_at: dict[PageName, QWidget] = {}
        self._places = {name: _place() for name in PAGES}
        for place in self._places.values():
            self.addWidget(place)
        self.plan = PlanPage(
            services.theme,
            services.document,
            services.readiness,
            services.facts,
            services.checkup,
            services.actions,
            runs=services.runs_dir,
        )
        self._places["plan"].addWidget(self.plan)

    @property
    def devices(self) -> DevicesPage:
        """The Devices page."""
        if self._devices is None:
            from gpu_studio.ui.devices.devices_page import DeviceActions, DevicesPage

            services, actions = self._services, self._services.actions
            self._devices = DevicesPage(
                services.theme,
                services.inventory,
                services.sampler,
                services.checkup,
                DeviceActions(
                    actions["doctor"],
                    actions["copy_devices"],
                    actions["practise"],
                    actions["stop_practising"],
                ),
            )
            self._places["devices"].addWidget(self._devices)
            self.devices_made.emit(self._devices)
        return self._devices

    @property
    def train(self) -> TrainPage:
        """The Train page. Its plots take longer to import than all else."""
        if self._train is None:
            from gpu_studio.ui.train.train_page import TrainPage

            self._train = TrainPage(self._services.theme, self._services.settings)
            self._places["train"].addWidget(self._train)
            self.train_made.emit(self._train)
        return self._train

    @property
    def runs(self) -> RunsPage:
        """The Runs page."""
        if self._runs is None:
            from gpu_studio.ui.runs.runs_page import RunsPage

            services = self._services
            self._runs = RunsPage(
                services.theme, services.settings, services.runs_dir, services.actions
            )
            self._places["runs"].addWidget(self._runs)
            self.runs_made.emit(self._runs)
        return self._runs

    @property
    def lab(self) -> LabPage:
        """The Lab page."""
        if self._lab is None:
            from gpu_studio.ui.lab.lab_page import LabPage
            from gpu_studio.ui.lab.studies_section import StudiesSection

            services = self._services
            studies = StudiesSection(
                services.theme, services.notice, services.runs_dir, services.actions
            )
            self._benchmarks = make_benchmarks(services)
            self._lab = LabPage(services.theme, services.settings, (studies, self._benchmarks))
            self._places["lab"].addWidget(self._lab)
            self.lab_made.emit(self._lab)
        return self._lab

    @property
    def benchmarks(self) -> BenchmarksSection:
        """The benchmarks half of the Lab page."""
        _ = self.lab
        assert self._benchmarks is not None
        return self._benchmarks

    def is_made(self, name: PageName) -> bool:
        """Whether this page is there already."""
        return self._places[name].count() > 0

    @property
    def shown_run(self) -> LiveRun | None:
        """The run that the Train page shows, if it shows one."""
        return self._train.live_run if self._train is not None else None

    @property
    def checkpoint_jobs(self) -> CheckpointJobs | None:
        """What is being done with checkpoints; None while nothing can have been asked."""
        return self._train.checkpoint_jobs if self._train is not None else None

    @property
    def current(self) -> PageName:
        """The page that is shown."""
        return PAGES[self.currentIndex()]

    def turn_to(self, name: PageName) -> None:
        """Show a page, with the focus in the field that had it there last.

        Left to itself, Qt would go on from the field that is gone to the first one of the page.
        """
        self.make(name)
        window, before = self._services.window, self._places[self.current]
        focused = window.focusWidget()
        if focused is not None and name != self.current and before.isAncestorOf(focused):
            self._left_at[self.current] = focused
            window.setFocus(Qt.FocusReason.OtherFocusReason)
        self.setCurrentIndex(PAGES.index(name))
        back = self._left_at.get(name)
        if window.hasFocus() and back is not None and isValid(back) and back.isVisible():
            back.setFocus(Qt.FocusReason.OtherFocusReason)
        self.turned.emit(name)

    def show_run(self, run: RunDirectory) -> None:
        """Show a run on the Train page, and turn to it."""
        self.train.show_run(run)
        self.turn_to("train")
        self.run_shown.emit()

    def hold_run(self, run: RunDirectory) -> None:
        """Show a run on the Train page, for when somebody turns to it."""
        self.train.show_run(run)
        self.run_shown.emit()

    def close_parts(self) -> None:
        """Let go of what the pages watch, and leave what is asked of checkpoints."""
        if self._devices is not None:
            self._devices.close_parts()
        if self._runs is not None:
            self._runs.close_parts()
        if self._lab is not None:
            self._lab.close_parts()
        if self._train is not None:
            self._train.close_run()

    def make(self, name: PageName) -> None:
        """Make this page, unless it is there already."""
        if name == "devices":
            _ = self.devices
        elif name == "train":
            _ = self.train
        elif name == "runs":
            _ = self.runs
        elif name == "lab":
            _ = self.lab


def make_benchmarks(services: Services) -> BenchmarksSection:
    """The benchmarks half of the Lab page."""
    from gpu_studio.ui.lab.benchmarks_section import Around, BenchmarksSection

    around = Around(
        machine=lambda: services.live_machine.machine,
        plan=lambda: services.document.absolute,
        training=lambda: bool(services.live_watch.live),
        topology=lambda: services.checkup.topology,
    )
    made = BenchmarksSection(
        services.theme, services.settings, services.actions, services.notice, around
    )
    for teller in (services.live_machine, services.document, services.live_watch):
        teller.changed.connect(made.look_again)
    return made


def _place() -> QStackedWidget:
    """An empty place for a page, which may be made later."""
    place = QStackedWidget()
    place.setObjectName("page")
    return place
