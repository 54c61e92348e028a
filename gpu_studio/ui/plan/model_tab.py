"""The Model tab: the source, its options, and the layers as Keras builds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.placement.plan_facts import ModelGraph
from gpu_studio.plan.catalogue import MODELS
from gpu_studio.ui.kit.basic_widgets import Elided, Label, Scrolled
from gpu_studio.ui.kit.table import HEADER, Table
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.facts_words import LayersModel, Meeting, MeetingsModel, meetings_of, totals
from gpu_studio.ui.plan.form.source_form import SourceForm, SourceKind, ask_for_file
from gpu_studio.ui.plan.plan_facts import FactsBar, FactsReader
from gpu_studio.ui.plan.plan_view import PlanView

_WIDTHS = {1: 132, 2: 100, 3: 96, 4: 80, 5: 72}
_NARROW_WIDTHS = {1: 92, 2: 80, 3: 96, 4: 74, 5: 66}
_END_WIDTHS = {1: 152, 2: 96, 3: 152, 4: 244}
_NARROW_END_WIDTHS = {1: 112, 2: 72, 3: 112, 4: 120}
_NARROW = 600
_ROW = 28
SOURCES = {
    "name": SourceKind("Built-in", "model", ""),
    "file": SourceKind(
        ".keras file",
        "file",
        "a model saved by model.save, as model.keras",
        ask_for_file("Choose a Keras model", "Keras models (*.keras);;All files (*)"),
    ),
    "python": SourceKind(
        "Python function",
        "Python file",
        "a file with a function that returns the model",
        ask_for_file("Choose a Python file", "Python (*.py);;All files (*)"),
    ),
}


class ModelTab(QWidget):
    """`edited(Change)` is the user's change.

    The layers stay, greyed, while the same model is being asked about again.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._reader: FactsReader | None = None
        self.form = SourceForm("model", MODELS, SOURCES)
        self.form.edited.connect(self.edited)
        self.form.allow_wanted.connect(self._want_consent)
        self.bar = FactsBar("the model's layers", offers_consent=False)
        self.totals = Elided(role="muted")
        self.layers = LayersModel(self)
        self.table = Table(self.layers, "layers of the model")
        self.table.set_row_height(_ROW)
        # The layers of a block differ in the ends of their names.
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.set_widths(_WIDTHS, stretch=0)
        self.meetings = MeetingsModel(self)
        self.ends = Table(self.meetings, "inputs and outputs of the model")
        self.ends.set_row_height(_ROW)
        self.ends.set_widths(_END_WIDTHS, stretch=0)
        self.ends_heading = Label("IN AND OUT", "section")
        self._lay_out()
        self._show_ends(())
        self._show_graph(None)

    def set_facts(self, reader: FactsReader) -> None:
        """Show what this reader knows from now on."""
        self._reader = reader
        reader.changed.connect(self._show_facts)
        self._show_facts()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's model."""
        self.form.show_view(view)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give the layers' names most of the width if there is little of it."""
        super().resizeEvent(event)
        narrow = event.size().width() < _NARROW
        self.table.set_widths(_NARROW_WIDTHS if narrow else _WIDTHS, stretch=0)
        self.ends.set_widths(_NARROW_END_WIDTHS if narrow else _END_WIDTHS, stretch=0)

    def _show_facts(self) -> None:
        if self._reader is None:
            return
        facts = self._reader.facts
        model = facts.model if facts else None
        error = model.model_error if model else (facts.data_error if facts else "")
        advice = model.advice if model else (facts.advice if facts else ())
        there = bool(model and model.graph)
        self.bar.show_reader(self._reader, error, advice if error else (), known=there)
        known = there or bool(error)
        self._show_graph(facts.graph if facts and known else self._reader.past.graph)
        past = self._reader.past
        data, ended = (facts.data, model) if facts and known else (past.data, past.model)
        self._show_ends(meetings_of(data, ended) if data and ended else ())
        for part in (self.table, self.totals, self.ends):
            part.setEnabled(known)

    def _want_consent(self, path: Path) -> None:
        if self._reader is not None:
            self._reader.consent_wanted.emit(path)

    def _show_graph(self, graph: ModelGraph | None) -> None:
        self.layers.set_rows(graph.layers if graph else ())
        self.totals.setText(totals(graph) if graph else "")
        self.totals.setVisible(graph is not None)
        self.table.setVisible(graph is not None)
        if graph is not None:
            self.table.setFixedHeight(HEADER + len(graph.layers) * _ROW + 2)

    def _show_ends(self, rows: Sequence[Meeting]) -> None:
        self.meetings.set_rows(rows)
        self.ends_heading.setVisible(bool(rows))
        self.ends.setVisible(bool(rows))
        self.ends.setFixedHeight(HEADER + len(rows) * _ROW + 2)

    def _lay_out(self) -> None:
        scrolled = Scrolled()
        scrolled.column.addWidget(self.form)
        scrolled.column.addWidget(self.ends_heading)
        scrolled.column.addWidget(self.ends)
        scrolled.column.addWidget(Label("LAYERS", "section"))
        scrolled.column.addWidget(self.totals)
        scrolled.column.addWidget(self.bar)
        scrolled.column.addWidget(self.table)
        scrolled.column.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scrolled)
