"""The Train page. It answers whether the run is going well."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.event_parts import Mend
from gpu_studio.ui.models.train.card_readout import device_table
from gpu_studio.ui.models.train.live_run import LiveRun
from gpu_studio.ui.models.train.memory_now import memory_now
from gpu_studio.ui.models.train.outcome import outcome
from gpu_studio.ui.models.train.readout import readout
from gpu_studio.ui.models.train.run_concerns import RunConcerns
from gpu_studio.ui.pages.train.body import Body
from gpu_studio.ui.pages.train.charts import Charts
from gpu_studio.ui.pages.train.details_card import DetailsCard
from gpu_studio.ui.pages.train.gone_banner import GoneBanner
from gpu_studio.ui.pages.train.header import RunHeader
from gpu_studio.ui.pages.train.now_panel import NowPanel
from gpu_studio.ui.pages.train.outcome_banner import OutcomeBanner
from gpu_studio.ui.pages.train.stop_banner import StopBanner
from gpu_studio.ui.pages.train.warnings_strip import WarningsStrip
from gpu_studio.ui.settings import Settings
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.empty_state import EmptyState

TICK_MS: Final = 100
# Figures that change more often than this cannot be read. They come in frames in which no plot is drawn, if there are.
TICKS_A_FIGURE: Final = 3
MOST_TICKS: Final = 5
NO_RUN: Final = "No run yet"
HOW_TO_BEGIN: Final = (
    "Train the open plan with Ctrl+Return. Its run then appears here, live; it goes on when the window is closed, and "
    "you find it again under Runs."
)


class TrainPage(QWidget):
    """Shows one run, live or ended, and asks things of its trainer.

    `state_changed` brings the state of the run shown, `status` what there is to say of it in a line, `told` a message
    and its tone. `resume_requested` brings the path of a run that a person wants to go on with, `resuming` also the
    checkpoint, `again_requested` of one whose plan shall be trained once more, `mend_requested` also a change of its
    plan; `runs_wanted` asks for the list of runs, `plan_wanted` for the plan. While the page is hidden
    nothing is drawn.
    """

    resume_requested = Signal(str)
    again_requested = Signal(str)
    resuming = Signal(str, str)
    mend_requested = Signal(str, object)
    told = Signal(str, str)
    runs_wanted = Signal()
    plan_wanted = Signal()
    state_changed = Signal(str)
    status = Signal(str)

    def __init__(self, theme: ThemeManager, settings: Settings | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._run: LiveRun | None = None
        self._ticks = 0
        self._shown_revision = self._shown_record = -1
        self.header = RunHeader(theme)
        self.outcome, self.stop_offer = OutcomeBanner(), StopBanner()
        self.charts, self.now, self.details = Charts(theme, settings), NowPanel(theme), DetailsCard(theme)
        self.warnings, self.concerns, self.gone = WarningsStrip(theme), RunConcerns(self), GoneBanner()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty := EmptyState(NO_RUN, HOW_TO_BEGIN, "Open the plan"))
        empty.pressed.connect(self.plan_wanted)
        above = (self.header, self.gone, self.warnings, self.outcome, self.stop_offer)
        self._body = Body(above, self.charts, self.now, self.details)
        self._stack.addWidget(self._body)
        self._connect()

    # What there is to see

    @property
    def current_run(self) -> RunDirectory | None:
        """The run that is shown."""
        return self._run.run if self._run else None

    @property
    def live_run(self) -> LiveRun | None:
        """The same, as it is followed."""
        return self._run

    def show_run(self, directory: RunDirectory) -> None:
        """Show this run, from its first event, in the place of the one before."""
        self._leave_run()
        self._run = run = LiveRun(directory, self)
        run.state_changed.connect(self._show_state)
        run.waiting_changed.connect(self._show_waiting)
        run.ended.connect(self._end)
        run.status.connect(self.status)
        run.record.caught_up.connect(self._draw_late)
        self._shown_revision = self._shown_record = -1
        self.charts.restart()
        self.now.restart()
        self.details.restart(run)
        self.header.restart(run.title)
        self.outcome.show_outcome(None)
        self.stop_offer.show_stopper(None)
        self.concerns.follow(run)
        self.gone.follow(run)
        self._stack.setCurrentIndex(1)
        run.start()
        if self.isVisible():
            self._timer.start()

    def close_run(self) -> None:
        """Show no run, and leave what is asked of checkpoints. Its trainer goes on as it is."""
        self._leave_run()
        self.details.desk.close()

    def _leave_run(self) -> None:
        self._timer.stop()
        self.concerns.follow(None)
        self.gone.follow(None)
        if self._run is not None:
            self._run.close()
            self._run.deleteLater()
            self._run = None
        self._stack.setCurrentIndex(0)

    # What can be asked of the run

    def toggle_pause(self) -> None:
        """Pause the run, or let a paused one go on."""
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
        """Say once more how the run ended, as when its Python has been allowed since."""
        if self._run is not None and self._run.history.ended:
            self._end()

    # Drawing

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what has come meanwhile, and go on drawing."""
        super().showEvent(event)
        self._draw()
        if self._run is not None and self._run.following:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Draw no more."""
        super().hideEvent(event)
        self._timer.stop()

    def _tick(self) -> None:
        self._ticks += 1
        if self._run is None:
            return
        drawn = self.charts.redraws
        self.charts.refresh(self._run)
        if self._ticks >= (MOST_TICKS if self.charts.redraws != drawn else TICKS_A_FIGURE):
            self._ticks = 0
            self._show_figures()
        self.details.refresh(self._run)

    def _draw_late(self) -> None:
        """Draw what was recorded of the machine after the last event, or is read after it."""
        if self._run is not None and self.isVisible() and not self._timer.isActive():
            self.charts.refresh(self._run)
            for plot in self.charts.device_plots:
                plot.draw_soon()
            self._show_figures()

    def _draw(self) -> None:
        """Bring everything up to date at once."""
        if self._run is not None and self.isVisible():
            self.charts.refresh(self._run)
            self.charts.draw()
            self._show_figures()
            self.details.refresh(self._run)

    def _show_figures(self) -> None:
        run = self._run
        if run is None:
            return
        shown = self._shown_record, self._shown_revision
        self._shown_record, self._shown_revision = run.record.revision, run.history.revision
        if run.history.revision != shown[1]:
            self.header.show_progress(run)
            self._show_line()
            self.charts.loss.name_curves(run.history)
            self.header.set_saved(bool(run.history.checkpoints))
            self.now.set_live(run.live)
        if (self._shown_record, self._shown_revision) != shown:
            self.now.set_devices(memory_now(run.history, run.record))
            self._show_readout()

    def _show_line(self) -> None:
        if self._run is not None:
            self.header.show_line(self._run)

    def _show_readout(self) -> None:
        if self._run is not None:
            run, moment, metric = self._run, self.charts.time.cursor, self.charts.metrics.chosen
            found = readout(run.history, run.calls, moment, metric, self.charts.earlier)
            table, marked = device_table(run.history, run.record, moment), tuple(self.charts.told_at_cursor())
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
        self._timer.stop()
        self.stop_offer.show_stopper(None)
        told = outcome(run.run, run.history)
        self.outcome.show_outcome(told)
        self.details.set_details(told.details if told else "")
        self._draw()

    # Making

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
        self.outcome.mend_pressed.connect(self._request_mend)
        self.details.room_wanted.connect(self._body.make_room)
        self._body.low_changed.connect(self.outcome.set_low)
        self.concerns.changed.connect(lambda: self.warnings.show_concerns(self.concerns.concerns))
        self.gone.runs_wanted.connect(self.runs_wanted)
        self.warnings.dismissed.connect(self.concerns.dismiss)
        self.details.desk.resuming.connect(self.resuming)
        self.details.desk.told.connect(self.told)
        self.charts.files.told.connect(self.told)
        self.now.told.connect(self.told)
        self.charts.copy_asked.connect(self.now.copy_figures)
        self.details.log_file.told.connect(self.told)
        self.details.desk.said.connect(self._refresh_details)
        self.charts.time.cursor_changed.connect(self._show_readout)
        self.charts.metrics.metric_changed.connect(self._show_readout)

    def _escalate(self) -> None:
        if self._run is not None:
            self._run.escalate_stop()

    def _request_mend(self, mend: Mend) -> None:
        if self._run is not None:
            self.mend_requested.emit(str(self._run.run.path), mend)

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
        """Open the details, with room to read them."""
        self.details.show_details()
        self._body.make_room()
