"""The Train page. It answers whether the run is going well."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from gpu_studio.contract import RunDirectory
from gpu_studio.contract.event_parts import SuggestedChange
from gpu_studio.ui.kit import EmptyState, LiveButton, ThemeManager
from gpu_studio.ui.kit.plots.axes import AxisKind
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.train.body import Body
from gpu_studio.ui.train.charts import Charts
from gpu_studio.ui.train.checkpoints_desk import CheckpointJobs, OnceAllowed
from gpu_studio.ui.train.details_card import LOG, DetailsCard
from gpu_studio.ui.train.device_figures import device_table, memory_now
from gpu_studio.ui.train.figure_turns import PROGRESS, READOUT, FigureTurns
from gpu_studio.ui.train.header import RunHeader
from gpu_studio.ui.train.left_job_watch import LeftJobWatch
from gpu_studio.ui.train.live_run import LiveRun
from gpu_studio.ui.train.now_panel import NowPanel
from gpu_studio.ui.train.outcome import Outcome, outcome
from gpu_studio.ui.train.outcome_banner import GoneBanner, OutcomeBanner, StopBanner
from gpu_studio.ui.train.plot_files import Kind
from gpu_studio.ui.train.readout import readout
from gpu_studio.ui.train.warnings_strip import RunConcerns, WarningsStrip
from gpu_studio.ui.train.workers_card import WorkersCard

NO_RUN: Final = "No run is shown"
HOW_TO_BEGIN: Final = (
    "Train the open plan with Ctrl+Return: its run appears here, live, and goes on when the window "
    "is closed. Earlier runs are shown from the Runs page."
)


class TrainPage(QWidget):
    """Shows one run, live or ended, and asks things of its trainer.

    `state_changed` brings the state of the run shown, `status` one line about it, `reported` a
    message and its tone. `resume_requested` brings the path of a run that a person wants to go on
    with, `resuming` also the checkpoint, `again_requested` of one whose plan shall be trained once
    more, `change_requested` also a change of its plan; `runs_wanted` asks for the list of runs,
    `plan_wanted` for the plan. `permissions_changed` fires when other things can be done with
    checkpoints and placement than before, `concerns_changed` when there is another warning. Hidden,
    it draws nothing.
    """

    resume_requested = Signal(str)
    again_requested = Signal(str)
    resuming = Signal(str, str)
    change_requested = Signal(str, object)
    reported = Signal(str, str)
    runs_wanted = Signal()
    plan_wanted = Signal()
    state_changed = Signal(str)
    status = Signal(str)
    permissions_changed = Signal()
    concerns_changed = Signal()

    def __init__(
        self, theme: ThemeManager, settings: Settings | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._run: LiveRun | None = None
        self.figures = FigureTurns()
        self.header = RunHeader(theme)
        self.outcome, self.stop_offer = OutcomeBanner(), StopBanner()
        self.charts, self.now, self.details = (
            Charts(theme, settings),
            NowPanel(theme),
            DetailsCard(theme),
        )
        self.warnings, self.concerns, self.gone = (
            WarningsStrip(theme),
            RunConcerns(self),
            GoneBanner(),
        )
        self.workers, self.left_job = WorkersCard(theme), LeftJobWatch(self)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty := EmptyState(NO_RUN, HOW_TO_BEGIN, "Open the plan"))
        empty.pressed.connect(self.plan_wanted)
        above = (
            self.header,
            self.gone,
            self.warnings,
            self.outcome,
            self.stop_offer,
            self.workers,
        )
        self.body = Body(above, self.charts, self.now, self.details)
        self.warnings.below = self.body.split
        self._stack.addWidget(self.body)
        self._connect()

    # What is shown

    @property
    def current_run(self) -> RunDirectory | None:
        """The run that is shown."""
        return self._run.run if self._run else None

    @property
    def live_run(self) -> LiveRun | None:
        """The same run, as a `LiveRun`."""
        return self._run

    def show_run(self, directory: RunDirectory) -> None:
        """Show this run from its first event, replacing the one before."""
        self._leave_run()
        self._run = run = LiveRun(directory, self)
        run.state_changed.connect(self._show_state)
        run.waiting_changed.connect(self._show_waiting)
        run.ended.connect(self._end)
        run.status.connect(self.status)
        run.record.caught_up.connect(self._draw_late)
        self.figures.restart()
        self.charts.restart()
        self.now.restart()
        self.details.restart(run)
        self.workers.restart(run)
        self.header.restart(run.title)
        self.outcome.show_outcome(None)
        self.stop_offer.show_stopper(None)
        self.concerns.follow(run)
        self.gone.follow(run)
        self._stack.setCurrentIndex(1)
        run.start()
        if self.isVisible():
            self.charts.follow(run)

    def close_run(self) -> None:
        """Show no run, and leave the jobs on checkpoints. Its trainer is left alone."""
        self._leave_run()
        self.left_job.close_task()
        self.details.desk.close()

    def _leave_run(self) -> None:
        self.charts.rest()
        self.left_job.rest()
        self.concerns.follow(None)
        self.gone.follow(None)
        if self._run is not None:
            self._run.close()
            self._run.deleteLater()
            self._run = None
        self._stack.setCurrentIndex(0)

    @property
    def concern_words(self) -> str:
        """The warning about the run, in a few words."""
        return self.concerns.words

    @property
    def live_button(self) -> LiveButton:
        """The button that shows which runs are alive."""
        return self.header.live

    # Requests to the run

    def toggle_pause(self) -> None:
        """Pause the run, or resume a paused one."""
        if self._run is not None:
            ask = self._run.resume if self._run.state == "paused" else self._run.pause
            ask()

    def checkpoint_now(self) -> None:
        """Ask for a checkpoint."""
        if self._run is not None:
            self._run.checkpoint()

    def stop(self) -> None:
        """Stop the run, with a checkpoint."""
        if self._run is not None:
            self._run.stop()

    def stop_now(self) -> None:
        """Stop the run, without a checkpoint."""
        if self._run is not None:
            self._run.stop_now()

    def look_again(self) -> None:
        """Show again how the run ended, as when its Python has been allowed since."""
        if self._run is not None and self._run.history.ended:
            self._end()

    # Actions on the page's contents

    @property
    def checkpoint_jobs(self) -> CheckpointJobs:
        """What is being done with checkpoints."""
        return self.details.desk.jobs

    @property
    def has_placement(self) -> bool:
        """Whether the run has reported where its layers are."""
        return self.details.placement.there

    def why_no_checkpoint(self, wanted: str) -> str:
        """Return why this action on the selected checkpoint is impossible.

        Empty if it is possible.
        """
        return self.details.table.why_not(wanted)

    def want_of_checkpoint(self, wanted: str) -> None:
        """Do this to the selected checkpoint: `resume`, `evaluate`, `save` or `reveal`."""
        self.details.table.want(wanted)

    def cancel_checkpoint_jobs(self) -> None:
        """Cancel all jobs on checkpoints."""
        self.checkpoint_jobs.cancel()

    def ask_before_code(self, once_allowed: OnceAllowed) -> None:
        """Let actions that run the user's Python wait until `once_allowed` permits them."""
        self.details.desk.once_allowed = once_allowed

    def copy_placement(self) -> None:
        """Put where each layer ran on the clipboard."""
        self.details.placement.copy()

    def find_in_log(self) -> None:
        """Open the log's search for typing."""
        self.details.tabs.open(LOG)
        self.details.log.search()

    def find_next_in_log(self, *, back: bool = False) -> None:
        """Go to the next match, or to the previous one."""
        self.details.log.find_next(back=back)

    def to_newest_line(self) -> None:
        """Go to the newest line of the log, and keep it in sight."""
        self.details.log.to_newest()

    def copy_log(self) -> None:
        """Copy the selected lines of the log, else all shown ones, to the clipboard."""
        self.details.log.copy()

    def save_log(self) -> None:
        """Ask for a file, and write the lines of the log that are shown to it."""
        self.details.log_file.choose_and_write()

    def set_axis(self, kind: AxisKind) -> None:
        """Count time, steps or epochs along the axis of all plots."""
        self.charts.set_axis(kind)

    def show_whole_run(self) -> None:
        """Show all of the run in its plots, from its beginning to the newest."""
        self.charts.time.show_all()

    def copy_plot(self) -> None:
        """Put a picture of the plot that was used last on the clipboard."""
        self.charts.files.copy_picture(self.charts.entered)

    def copy_plot_data(self) -> None:
        """Copy the visible numbers of the plot that was used last to the clipboard."""
        self.charts.files.copy_data(self.charts.entered)

    def save_plot(self, kind: Kind) -> None:
        """Ask for a file, and write the plot that was used last to it."""
        self.charts.files.choose_and_save(self.charts.entered, kind)

    def copy_figures(self) -> None:
        """Put the figures at the crosshair, else the newest, on the clipboard."""
        self.now.copy_figures()

    # Drawing

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what has come meanwhile, and go on drawing."""
        super().showEvent(event)
        self._draw()
        if self._run is not None and self._run.following:
            self.charts.follow(self._run)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Draw no more."""
        super().hideEvent(event)
        self.charts.rest()

    def _show_the_rest(self, drawn: bool) -> None:
        """Show what is new beside the plots, of which one was `drawn` just now."""
        if self._run is None:
            return
        if (part := self.figures.next(drawn=drawn)) is not None:
            self._show_part(part)
        self.details.refresh(self._run)

    def _draw_late(self) -> None:
        """Draw the machine's samples that come, or are read, after the last event."""
        if self._run is not None and self.isVisible() and not self.charts.following:
            self.charts.refresh(self._run)
            for plot in self.charts.device_plots:
                plot.draw_soon()
            self._show_figures()

    def _draw(self) -> None:
        """Bring the figures up to date at once, and the plots in the next turns."""
        if self._run is not None and self.isVisible():
            self.charts.refresh(self._run)
            self.charts.draw_in_turns()
            self._show_figures()
            self.details.refresh(self._run)

    def _show_figures(self) -> None:
        self._show_part(PROGRESS)
        self._show_part(READOUT)

    def _show_part(self, part: int) -> None:
        if (run := self._run) is None:
            return
        before, now = self.figures.shown[part], (run.record.revision, run.history.revision)
        self.figures.shown[part] = now
        if part == READOUT and now != before:
            self._show_readout()
        elif now != before:
            if now[1] != before[1]:
                self._show_progress(run)
            self.now.set_devices(memory_now(run.history, run.record))

    def _show_progress(self, run: LiveRun) -> None:
        self.header.show_progress(run)
        self._show_line()
        self.charts.loss.name_curves(run.history)
        self.header.set_saved(bool(run.history.checkpoints))
        self.now.set_live(run.live)
        self.workers.refresh(run.history.workers, live=run.live)

    def _show_line(self) -> None:
        if self._run is not None:
            self.header.show_line(self._run)

    def _show_readout(self) -> None:
        if self._run is not None:
            run, moment, metric = self._run, self.charts.time.cursor, self.charts.metrics.chosen
            found = readout(run.history, run.calls, moment, metric, self.charts.earlier)
            table, marked = (
                device_table(run.history, run.record, moment),
                tuple(self.charts.texts_at_cursor()),
            )
            self.now.set_readout(found and replace(found, devices=table, marked=marked))

    def _show_state(self, state: str) -> None:
        self.header.set_state(self._run.state if self._run else None)
        self._draw()
        self._show_line()
        self.state_changed.emit(state)

    def _show_waiting(self) -> None:
        if self._run is None:
            return
        self.stop_offer.show_stopper(self._run.stopper if self._run.live else None)
        self._show_line()
        if self._run.waiting_for:
            self.status.emit(self._run.waiting_for)

    def _end(self) -> None:
        run = self._run
        if run is None:
            return
        self.charts.rest()
        self.stop_offer.show_stopper(None)
        reported = self._show_outcome()
        self.details.set_details(reported.details if reported else "")
        self._draw()
        if run.history.state == "lost":
            self.left_job.watch(run.run)

    def _show_outcome(self) -> Outcome | None:
        run, left = self._run, self.left_job.left
        reported = outcome(run.run, run.history, left) if run is not None else None
        self.outcome.show_outcome(reported)
        return reported

    # Construction

    def _connect(self) -> None:
        self.header.pause_pressed.connect(self.toggle_pause)
        self.header.stop_pressed.connect(self.stop)
        self.header.checkpoint_pressed.connect(self.checkpoint_now)
        self.header.stop_now_pressed.connect(self.stop_now)
        self.header.again_pressed.connect(self._request_again)
        self.header.evaluate_pressed.connect(lambda: self.details.want_of_best("evaluate"))
        self.header.save_pressed.connect(lambda: self.details.want_of_best("save"))
        self.stop_offer.escalate_pressed.connect(self._escalate)
        self.outcome.resume_pressed.connect(self._request_resume)
        self.outcome.details_pressed.connect(self._show_details)
        self.outcome.change_pressed.connect(self._request_change)
        self.details.height_wanted.connect(self.body.grow_details)
        self.body.low_changed.connect(self.outcome.set_low)
        self.concerns.changed.connect(lambda: self.warnings.show_concerns(self.concerns.concerns))
        self.concerns.changed.connect(self.concerns_changed)
        self.left_job.changed.connect(self._show_outcome)
        self.gone.runs_wanted.connect(self.runs_wanted)
        self.gone.gone_changed.connect(self.header.set_gone)
        self.gone.gone_changed.connect(self.details.table.set_gone)
        self.warnings.dismissed.connect(self.concerns.dismiss)
        self.details.permissions_changed.connect(self.permissions_changed)
        self.details.desk.resuming.connect(self.resuming)
        self.details.desk.reported.connect(self.reported)
        self.charts.files.reported.connect(self.reported)
        self.now.reported.connect(self.reported)
        self.charts.copy_asked.connect(self.now.copy_figures)
        self.charts.ticked.connect(self._show_the_rest)
        self.details.log_file.reported.connect(self.reported)
        self.details.desk.said.connect(self._refresh_details)
        self.charts.time.cursor_changed.connect(self._show_readout)
        self.charts.metrics.metric_changed.connect(self._show_readout)

    def _escalate(self) -> None:
        if self._run is not None:
            self._run.escalate_stop()

    def _request_change(self, mend: SuggestedChange) -> None:
        if self._run is not None:
            self.change_requested.emit(str(self._run.run.path), mend)

    def _request_again(self) -> None:
        if self._run is not None:
            self.again_requested.emit(str(self._run.run.path))

    def _request_resume(self) -> None:
        if self._run is not None:
            self.resume_requested.emit(str(self._run.run.path))

    def _refresh_details(self) -> None:
        if self._run is not None:
            self.details.refresh(self._run)

    def _show_details(self) -> None:
        """Open the details, with space to read them."""
        self.details.show_details()
        self.body.grow_details()
