"""The pages that are made when they are first needed: the window's start does not wait for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QStackedWidget

from gpu_studio.runs.directory import RunDirectory

if TYPE_CHECKING:
    from gpu_studio.ui.control.run_list import RunList
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.models.train.checkpoint_jobs import CheckpointJobs
    from gpu_studio.ui.models.train.live_run import LiveRun
    from gpu_studio.ui.pages.train_page import TrainPage


class LatePages:
    """Makes the Train and the Runs page of a window in their rooms, once, and lets them go again."""

    def __init__(self, window: MainWindow, runs_dir: Path, train: QStackedWidget, runs: QStackedWidget) -> None:
        self._window, self._runs_dir = window, runs_dir
        self._train_room, self._runs_room = train, runs
        self._train: TrainPage | None = None
        self._runs: RunList | None = None

    @property
    def train(self) -> TrainPage:
        """The Train page: its plots take longer to import than all else."""
        if self._train is None:
            from gpu_studio.ui.pages.train_page import TrainPage

            self._train = TrainPage(self._window.theme, self._window.settings)
            self._train_room.addWidget(self._train)
            self._connect_train(self._train)
            self._window.state.watch(self._train)
        return self._train

    @property
    def runs(self) -> RunList:
        """The Runs page, and what it does."""
        if self._runs is None:
            from gpu_studio.ui.control.run_list import RunList
            from gpu_studio.ui.pages.runs.queue_card import QueueCard

            self._runs = RunList(self._window, self._runs_dir)
            page = self._runs.page
            window = self._window
            page.column.insertWidget(1, QueueCard(window.queue, window.actions_, window.settings, page))
            self._runs_room.addWidget(page)
            self._window.state.watch_list(page)
        return self._runs

    @property
    def shown_run(self) -> LiveRun | None:
        """The run that the Train page shows, if it shows one."""
        return self._train.live_run if self._train is not None else None

    @property
    def jobs(self) -> CheckpointJobs | None:
        """What is being done with checkpoints; None while nothing can have been asked."""
        return self._train.details.desk.jobs if self._train is not None else None

    def close(self) -> None:
        """Read no more, and leave what is asked of checkpoints."""
        if self._runs is not None:
            self._runs.close()
        if self._train is not None:
            self._train.close_run()

    def _connect_train(self, page: TrainPage) -> None:
        window = self._window
        page.resume_requested.connect(lambda path: window.runs.resume(RunDirectory(Path(path))))
        page.again_requested.connect(lambda path: window.runs.again(RunDirectory(Path(path))))
        page.resuming.connect(lambda path, name: window.runs.resume(RunDirectory(Path(path)), name))
        page.mend_requested.connect(lambda path, mend: window.run_plans.open_mended(RunDirectory(Path(path)), mend))
        page.details.desk.once_allowed = window.consent.obtain_for_run
        page.outcome.source_pressed.connect(window.run_plans.open_part)
        page.outcome.allow_pressed.connect(lambda path: window.consent.ask(path, page.look_again))
        page.told.connect(window.notice.say)
        window.live_runs.add_button(page.header.live)
        page.runs_wanted.connect(lambda: window.show_page("runs"))
        page.plan_wanted.connect(lambda: window.show_page("plan"))
