"""The Model tab: the source, its options, and the layers as Keras builds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.placement.plan_facts import ModelGraph
from gpu_studio.plan import ModelSettings
from gpu_studio.plan.catalogue import MODELS
from gpu_studio.plan.edits.change import Change, with_value
from gpu_studio.plan.edits.sources import relative_path
from gpu_studio.plan.freezing import FROZEN, with_frozen
from gpu_studio.ui.kit import (
    HEADER,
    Button,
    CheckDelegate,
    Elided,
    Label,
    Scrolled,
    Table,
    ThemeManager,
    WhenSeen,
)
from gpu_studio.ui.kit.fields import Typed
from gpu_studio.ui.plan.facts_words import (
    LayersModel,
    Pairing,
    PairingsModel,
    frozen_in,
    made_so,
    pairings_of,
    totals,
)
from gpu_studio.ui.plan.form.form import Field, Form
from gpu_studio.ui.plan.form.source_form import SourceForm, SourceKind, ask_for_file
from gpu_studio.ui.plan.plan_facts import FactsBar, FactsReader
from gpu_studio.ui.plan.plan_view import PlanView

_WIDTHS = {0: 96, 2: 132, 3: 100, 4: 96, 5: 80, 6: 72}
_NARROW_WIDTHS = {0: 96, 2: 92, 3: 80, 4: 96, 5: 74, 6: 66}
_END_WIDTHS = {1: 140, 2: 100, 3: 136, 4: 230}
_NARROW_END_WIDTHS = {1: 112, 2: 72, 3: 112, 4: 120}
_NARROW = 600
_ROW = 28
_CHECK = Qt.ItemDataRole.CheckStateRole
_ASK_WEIGHTS = ask_for_file(
    "Choose a file of weights", "Weights of Keras (*.weights.h5 *.keras);;All files (*)"
)
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


class LayersTable(Table):
    """The table of layers: Space ticks or unticks the selected ones."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Tick the current layer; those selected with it follow."""
        place = self.currentIndex().siblingAtColumn(0)
        if event.key() != Qt.Key.Key_Space or not place.isValid():
            super().keyPressEvent(event)
        elif (state := place.data(_CHECK)) is not None:
            ticked = state == Qt.CheckState.Checked.value
            wished = Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked
            self.model().setData(place, wished.value, _CHECK)

    def meant_by(self, name: str, layers: Iterable[str]) -> list[str]:
        """Return which of these `layers` a tick at `name` concerns: all selected ones with it."""
        rows = self.selectionModel().selectedRows(1)
        selected = {row.data() for row in rows}
        wanted = selected if name in selected else {name}
        return [each for each in layers if each in wanted]


class BeginningForm(Form):
    """What the model begins with and what stays so: a file of weights, and the frozen layers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._base: Path | None = None
        line = Typed("weights of the model", lambda text: text or None, lambda value: value or "")
        line.setPlaceholderText("a file of model.save_weights to begin with, or of model.save")
        path = self.add(Field("model.weights", "weights file"), line, wide=True)
        button = Button("Choose…", small=True)
        button.setAccessibleName("choose the file of weights")
        button.clicked.connect(self._choose)
        path.line.insertWidget(2, button)
        entries = Typed("frozen layers", entries_of, ", ".join)
        entries.setPlaceholderText('none; as base/block_1*, or untick layers below; "!" thaws')
        self.add(Field(FROZEN, "frozen"), entries, wide=True)

    def show_view(self, view: PlanView) -> None:
        """Show both as the plan has them."""
        self._base = view.base if view.path is not None else None
        super().show_view(view)

    def _choose(self) -> None:
        if chosen := _ASK_WEIGHTS(self, str(self._base or "")):
            name = relative_path(Path(chosen), self._base)
            self.edited.emit(
                Change(
                    lambda plan: with_value(plan, "model.weights", name),
                    f"choose {Path(name).name}",
                )
            )


def entries_of(text: str) -> tuple[str, ...]:
    """Return the entries of frozen layers in a text that has commas between them."""
    return tuple(filter(None, (each.strip() for each in text.split(","))))


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
        self.beginning = BeginningForm()
        self.beginning.edited.connect(self.edited)
        self.layers.ticked.connect(self._tick)
        self._view: PlanView | None = None
        self._settled: ModelSettings | None = None
        self.table = LayersTable(self.layers, "layers of the model, ticked where they are trained")
        self.table.setItemDelegateForColumn(0, CheckDelegate(theme, self.table))
        self.table.set_row_height(_ROW)
        # The layers of a block differ in the ends of their names.
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.set_widths(_WIDTHS, stretch=1)
        self.pairings = PairingsModel(self)
        self.ends = Table(self.pairings, "inputs and outputs of the model")
        self.ends.set_row_height(_ROW)
        self.ends.set_widths(_END_WIDTHS, stretch=0)
        self.ends_heading = Label("IN AND OUT", "section")
        self._seen = WhenSeen(self, self._show_facts)
        self._lay_out()
        self._show_ends(())
        self._show_graph(None)

    def set_facts(self, reader: FactsReader) -> None:
        """Show what this reader knows from now on."""
        self._reader = reader
        reader.changed.connect(self._hear)
        self._hear()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's model."""
        self._view = view
        self.form.show_view(view)
        self.beginning.show_view(view)
        self._show_frozen()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give the layers' names most of the width if there is little of it."""
        super().resizeEvent(event)
        narrow = event.size().width() < _NARROW
        self.table.set_widths(_NARROW_WIDTHS if narrow else _WIDTHS, stretch=1)
        self.ends.set_widths(_NARROW_END_WIDTHS if narrow else _END_WIDTHS, stretch=0)

    def _hear(self) -> None:
        """Remember which model's layers are known, and show them."""
        facts = self._reader.facts if self._reader else None
        if facts and facts.graph:
            self._settled = self._but_for_frozen
        self._seen.want()

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
        past = self._reader.past
        data, ended = (facts.data, model) if facts and known else (past.data, past.model)
        self._show_graph(
            facts.graph if facts and known else past.graph, ended.own_steps if ended else ()
        )
        self._show_ends(pairings_of(data, ended) if data and ended else ())
        for part in (self.totals, self.ends):
            part.setEnabled(known)
        self.table.setEnabled(self._is_settled or known)

    def _want_consent(self, path: Path) -> None:
        if self._reader is not None:
            self._reader.consent_wanted.emit(path)

    def _show_graph(self, graph: ModelGraph | None, own_steps: Sequence[str] = ()) -> None:
        self._graph = graph
        self.layers.set_rows(graph.layers if graph else ())
        self._show_frozen()
        self.totals.setText(totals(graph, own_steps) if graph else "")
        self.totals.setVisible(graph is not None)
        self.table.setVisible(graph is not None)
        if graph is not None:
            self.table.setFixedHeight(HEADER + len(graph.layers) * _ROW + 2)

    @property
    def _but_for_frozen(self) -> ModelSettings | None:
        """The model that is asked about, with no layer frozen."""
        model = self._reader.model if self._reader is not None else None
        return replace(model, frozen=()) if model is not None else None

    @property
    def _is_settled(self) -> bool:
        """Whether the layers are known but for which of them are frozen: they can be ticked."""
        return self._settled is not None and self._settled == self._but_for_frozen

    def _show_frozen(self) -> None:
        if self._view is not None and self._graph is not None:
            self.layers.show_frozen(frozen_in(self._graph, self._view.plan.model.frozen))

    def _tick(self, name: str, trained: bool) -> None:
        """Freeze or thaw a layer, and if it is among the selected ones, all of these."""
        if (graph := self._graph) is None:
            return
        layers = made_so(graph)
        chosen = self.table.meant_by(name, layers)
        what = name if len(chosen) == 1 else plural(len(chosen), "layer")
        self.edited.emit(
            Change(
                lambda plan: with_frozen(plan, chosen, layers, frozen=not trained),
                f"{'train' if trained else 'freeze'} {what}",
            )
        )

    def _show_ends(self, rows: Sequence[Pairing]) -> None:
        self.pairings.set_rows(rows)
        self.ends_heading.setVisible(bool(rows))
        self.ends.setVisible(bool(rows))
        self.ends.setFixedHeight(HEADER + len(rows) * _ROW + 2)

    def _lay_out(self) -> None:
        scrolled = Scrolled()
        scrolled.column.addWidget(self.form)
        scrolled.column.addWidget(self.beginning)
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
