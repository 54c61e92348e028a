"""The Runs page: what was trained, and what came of it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QAction, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from gpu_studio.runs.summary import Summary
from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.models.runs_model import BEST, CURVE, DURATION, MEMORY, RUN, STARTED, STATE, RunsModel
from gpu_studio.ui.models.runs_reader import RunsReader
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.units import number
from gpu_studio.ui.widgets.button import ActionButton
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.labels import Elided, Label
from gpu_studio.ui.widgets.page import Page
from gpu_studio.ui.widgets.run_cells import CurveCell, RunCell
from gpu_studio.ui.widgets.table import Table

WIDTHS = {STATE: 120, STARTED: 120, DURATION: 124, BEST: 76, MEMORY: 112, CURVE: 112}


class RunTable(Table):
    """Return opens the selected run, Delete deletes it."""

    opened = Signal()
    deleted = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """The keys of a list of files."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.opened.emit()
        elif event.key() == Qt.Key.Key_Delete:
            self.deleted.emit()
        else:
            super().keyPressEvent(event)


class RunsPage(Page):
    """A table of all runs, read again while it is seen. `selected` is the run that the actions are about."""

    selection_changed = Signal()

    def __init__(self, theme: ThemeManager, runs: Path, actions: ActionSet, parent: QWidget | None = None) -> None:
        super().__init__("Runs", parent)
        self.model = RunsModel(self)
        self.reader = RunsReader(runs, self)
        self.table = self._make_table(theme, actions)
        self._empty = Card("No runs yet")
        self._empty.body.addWidget(
            Label("Train a plan, and its run will stand here, also after the window was closed.")
        )
        for name, text in (("open_run", "Show"), ("open_run_plan", "Open plan"), ("resume_run", "Resume")):
            self.add_button(ActionButton(actions[name], text=text))
        for name, text in (("reveal_run", "Folder"), ("delete_run", "Delete")):
            self.add_button(ActionButton(actions[name], text=text))
        self._lay_out(runs)
        self._connect(actions)

    @property
    def selected(self) -> Summary | None:
        """The selected run."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.rows[rows[0].row()] if rows else None

    def select(self, run: str) -> None:
        """Select the run with this id, if it is in the table."""
        row = self.model.row_of(run)
        if row is not None:
            whole = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.table.selectionModel().setCurrentIndex(self.model.index(row, RUN), whole)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Read while the page is seen."""
        super().showEvent(event)
        self.reader.watch()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Read nothing for nobody."""
        super().hideEvent(event)
        self.reader.rest()

    def _make_table(self, theme: ThemeManager, actions: ActionSet) -> RunTable:
        table = RunTable(self.model, "all runs")
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        for column in (RUN, STATE):
            table.setItemDelegateForColumn(column, RunCell(theme, table))
        table.setItemDelegateForColumn(CURVE, CurveCell(theme, table))
        table.set_widths(WIDTHS, stretch=RUN)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        table.addActions(_about_one_run(actions))
        theme.changed.connect(table.viewport().update)
        return table

    def _lay_out(self, runs: Path) -> None:
        self._card = Card()
        self._card.setAccessibleName("runs")
        self._card.body.setContentsMargins(6, 6, 6, 6)
        self._card.body.addWidget(self.table)
        where = Elided(f"Runs are kept in {runs}", "caption", mode=Qt.TextElideMode.ElideMiddle)
        self.column.addWidget(self._card, 1)
        self.column.addWidget(self._empty)
        self.column.addStretch(0)
        self.column.addWidget(where)
        self._count()

    def _connect(self, actions: ActionSet) -> None:
        self.reader.summaries.connect(self._show)
        self.reader.failed.connect(self.caption.setText)
        self.table.opened.connect(actions["open_run"].trigger)
        self.table.deleted.connect(actions["delete_run"].trigger)
        self.table.doubleClicked.connect(lambda _index: actions["open_run"].trigger())
        self.table.selectionModel().selectionChanged.connect(self.selection_changed)
        self.model.dataChanged.connect(self.selection_changed)

    def _show(self, summaries: list[Summary]) -> None:
        self.model.set_summaries(summaries)
        self._count()

    def _count(self) -> None:
        total, live = len(self.model.rows), sum(summary.live for summary in self.model.rows)
        self.caption.setText(f"{number(total)} · {live} live" if live else number(total) if total else "")
        self._card.setVisible(total > 0)
        self._empty.setVisible(total == 0)


def _about_one_run(actions: ActionSet) -> list[QAction]:
    return [actions[name] for name in ("open_run", "open_run_plan", "resume_run", "reveal_run", "delete_run")]
