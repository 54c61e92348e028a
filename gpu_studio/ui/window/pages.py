"""The pages of the window: which one is shown, and which run the Train page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget
from shiboken6 import isValid

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.ui.devices.devices_page import DevicesPage
from gpu_studio.ui.plan.plan_page import PlanPage
from gpu_studio.ui.window.services import Services

if TYPE_CHECKING:
    from gpu_studio.ui.runs.runs_page import RunsPage
    from gpu_studio.ui.train.checkpoint_jobs import CheckpointJobs
    from gpu_studio.ui.train.live_run import LiveRun
    from gpu_studio.ui.train.train_page import TrainPage

PageName = Literal["devices", "plan", "train", "runs"]
PAGES: tuple[PageName, ...] = ("devices", "plan", "train", "runs")


class Pages(QStackedWidget):
    """All pages, of which one is shown.

    The Train and the Runs page are made when they are first needed.

    `train_made(TrainPage)` and `runs_made(RunsPage)` fire then, `turned(name)` whenever a page was
    turned to, and `run_shown` when the Train page shows another run.
    """

    train_made = Signal(object)
    runs_made = Signal(object)
    turned = Signal(str)
    run_shown = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.setObjectName("pages")
        self._services = services
        self._train: TrainPage | None = None
        self._runs: RunsPage | None = None
        self._left_at: dict[PageName, QWidget] = {}
        self._places = {name: _place() for name in PAGES}
        for place in self._places.values():
            self.addWidget(place)
        theme, actions = services.theme, services.actions
        inventory, sampler, checkup = services.inventory, services.sampler, services.checkup
        document, readiness, facts = services.document, services.readiness, services.facts
        self.devices = DevicesPage(
            theme, inventory, sampler, checkup, actions["doctor"], actions["copy_devices"]
        )
        self.plan = PlanPage(
            theme, document, readiness, facts, checkup, actions, runs=services.runs_dir
        )
        self._places["devices"].addWidget(self.devices)
        self._places["plan"].addWidget(self.plan)

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
        self._make(name)
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
        self.devices.close_parts()
        if self._runs is not None:
            self._runs.close_parts()
        if self._train is not None:
            self._train.close_run()

    def _make(self, name: PageName) -> None:
        if name == "train":
            _ = self.train
        elif name == "runs":
            _ = self.runs


def _place() -> QStackedWidget:
    """An empty place for a page, which may be made later."""
    place = QStackedWidget()
    place.setObjectName("page")
    return place
