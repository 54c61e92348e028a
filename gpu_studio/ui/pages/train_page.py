"""The Train page. It answers whether the run is going well."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.summary import plan_name
from gpu_studio.ui.models.card_readout import card_rows
from gpu_studio.ui.models.figures import count
from gpu_studio.ui.models.headline import headline
from gpu_studio.ui.models.live_run import LiveRun
from gpu_studio.ui.models.memory_now import memory_now
from gpu_studio.ui.models.outcome import outcome
from gpu_studio.ui.models.readout import readout
from gpu_studio.ui.pages.train.charts import Charts
from gpu_studio.ui.pages.train.details_card import DetailsCard
from gpu_studio.ui.pages.train.empty import EmptyState
from gpu_studio.ui.pages.train.header import RunHeader
from gpu_studio.ui.pages.train.now_panel import NowPanel
from gpu_studio.ui.pages.train.outcome_banner import OutcomeBanner
from gpu_studio.ui.pages.train.stop_banner import StopBanner
from gpu_studio.ui.settings import Settings
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID

TICK_MS: Final = 100
# Figures that change more often than this cannot be read.
TICKS_A_FIGURE: Final = 3
_BETWEEN = 12
_DETAILS_HEIGHT = 260


class TrainPage(QWidget):
    """Shows one run, live or ended, and asks things of its trainer.

    `state_changed` brings the state of the run shown, `status` what there is to say of it in a line, and
    `resume_requested` the path of a run that a person wants to go on with. While the page is hidden nothing is drawn.
    """

    resume_requested = Signal(str)
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
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(EmptyState())
        self._stack.addWidget(self._filled())
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
        self.close_run()
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
        self.header.restart(plan_name(directory))
        self.outcome.show_outcome(None)
        self.stop_offer.show_stopper(None)
        self._stack.setCurrentIndex(1)
        run.start()
        if self.isVisible():
            self._timer.start()

    def close_run(self) -> None:
        """Show no run. Its trainer goes on as it is."""
        self._timer.stop()
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
        self.charts.refresh(self._run)
        if self._ticks % TICKS_A_FIGURE == 0:
            self._show_figures()
        self.details.refresh(self._run)

    def _draw_late(self) -> None:
        """Draw what was recorded of the machine after the last event, or is read after it."""
        if self._run is not None and self.isVisible() and not self._timer.isActive():
            self.charts.refresh(self._run)
            self.charts.devices.draw_soon()
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
        if run.record.revision != self._shown_record:
            self._shown_record = run.record.revision
            self._show_readout()
        if run.history.revision == self._shown_revision:
            return
        self._shown_revision = run.history.revision
        self._show_line()
        self.header.set_progress(run.history.progress)
        self.charts.loss.name_curves(run.history)
        self.now.set_live(run.live)
        self.now.set_devices(memory_now(run.history))
        self._show_readout()

    def _show_line(self) -> None:
        run = self._run
        if run is None:
            return
        if run.problem:
            self.header.line.set_text(run.problem)
        elif run.state is None:
            self.header.line.set_text(f"reading the run… {count(run.history.revision)} events")
        else:
            waiting = run.waiting_for
            self.header.line.set_text(waiting or headline(run.history), waiting or headline(run.history, short=True))
        if run.history.plan:
            self.header.name.setText(run.history.plan)

    def _show_readout(self) -> None:
        if self._run is not None:
            run, moment, metric = self._run, self.charts.time.cursor, self.charts.metrics.chosen
            found = readout(run.history, run.calls, moment, metric)
            rows = card_rows(run.history, run.record, self.charts.devices.view, moment)
            self.now.set_readout(found and replace(found, rows=(*found.rows, *rows)))

    def _show_state(self, state: str) -> None:
        self.header.set_state(self._run.state if self._run else None)
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
        self.stop_offer.escalate_pressed.connect(self._escalate)
        self.outcome.resume_pressed.connect(self._request_resume)
        self.outcome.details_pressed.connect(self._show_details)
        self.charts.time.cursor_changed.connect(self._show_readout)
        self.charts.metrics.metric_changed.connect(self._show_readout)
        self.charts.devices.view_changed.connect(self._show_readout)

    def _escalate(self) -> None:
        if self._run is not None:
            self._run.escalate_stop()

    def _request_resume(self) -> None:
        if self._run is not None:
            self.resume_requested.emit(str(self._run.run.path))

    def _show_details(self) -> None:
        """Open the details, with room to read them."""
        self.details.show_details()
        room = sum(self._split.sizes())
        wanted = max(min(_DETAILS_HEIGHT, room // 2), self._split.sizes()[1])
        self._split.setSizes([room - wanted, wanted])

    def _filled(self) -> QWidget:
        beside = QWidget()
        row = QHBoxLayout(beside)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_BETWEEN)
        row.addWidget(self.charts, 1)
        row.addWidget(self.now)
        self._split = split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(_BETWEEN)
        split.addWidget(beside)
        split.addWidget(self.details)
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 0)
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(22, 2 * GRID, 22, 2 * GRID)
        column.setSpacing(_BETWEEN)
        for widget in (self.header, self.outcome, self.stop_offer):
            column.addWidget(widget)
        column.addWidget(split, 1)
        return holder
