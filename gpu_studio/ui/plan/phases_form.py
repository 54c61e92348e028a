"""Phases on the Training tab: after how many epochs each begins, its rate, and what is frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.placement.plan_facts import GraphLayer, ModelGraph
from gpu_studio.plan import ModelSettings, Plan, Problem, shown
from gpu_studio.plan.edits.change import Change, value_at, with_value
from gpu_studio.plan.edits.training import add_phase, move_phase, remove_phase
from gpu_studio.plan.freezing import entries_with, unknown_entry
from gpu_studio.plan.options import TRAINING_LIMITS
from gpu_studio.ui.kit import GRID, HEADER, Button, CheckDelegate, Label, ThemeManager
from gpu_studio.ui.kit.fields import Typed, WholeNumber
from gpu_studio.ui.plan.facts_words import LayersModel, frozen_in, made_so
from gpu_studio.ui.plan.form.form import Field, Form, control_for
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.model_tab import LayersTable, entries_of
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import PlanView

_LIMITS = {limit.name: limit for limit in TRAINING_LIMITS}
_ROW = 28
_MOST_ROWS = 9
"""Layers that are seen at once; a table within a scrolled tab scrolls the rest."""
_WIDTHS = {0: 96, 2: 132, 4: 96}
_LEFT_OUT = (3, 5, 6)
"""Columns of the Model tab that say nothing of what is trained."""


class PhaseForm(Form):
    """The phase at one place of the list; `moved(by)` asks for another place."""

    moved = Signal(int)

    def __init__(self, index: int, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.index, self._path = index, f"training.phases[{index}]"
        self._graph: ModelGraph | None = None
        self._entries: tuple[str, ...] = ()
        self._problems: tuple[Problem, ...] = ()
        name = f"phase {index + 2}"
        self.setAccessibleName(name)
        self.up = self._button("↑", f"train earlier what {name} trains")
        self.down = self._button("↓", f"train later what {name} trains")
        self.remove = self._button("Remove", f"remove {name}")
        self.up.clicked.connect(lambda: self.moved.emit(-1))
        self.down.clicked.connect(lambda: self.moved.emit(1))
        self.remove.clicked.connect(self._remove)
        self._lay_out_heading(name)
        after = Field(f"{self._path}.after", "begins after", "epochs, of all of the run")
        self.after = self.add(after, WholeNumber(f"{name} begins after", 1))
        rate = Field(f"{self._path}.learning_rate", "learning rate", "constant, of a new optimizer")
        self.rate = self.add(rate, control_for(_LIMITS["learning_rate"], f"rate of {name}"))
        typed = Typed(f"frozen layers of {name}", entries_of, ", ".join)
        typed.setPlaceholderText('none but as the model was made; as base/block_1*; "!" thaws')
        self.frozen = self.add(Field(f"{self._path}.frozen", "frozen"), typed, wide=True)
        self.choose = Button("Layers…", small=True)
        self.choose.setCheckable(True)
        self.choose.setAccessibleName(f"choose the layers that {name} trains")
        self.choose.toggled.connect(lambda _on: self._show_table())
        self.frozen.line.insertWidget(2, self.choose)
        self.layers = LayersModel(self)
        self.layers.ticked.connect(self._tick)
        self.table = LayersTable(self.layers, f"layers, ticked where {name} trains them")
        self.table.setItemDelegateForColumn(0, CheckDelegate(theme, self.table))
        self.table.set_row_height(_ROW)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.set_widths(_WIDTHS, stretch=1)
        for column in _LEFT_OUT:
            self.table.setColumnHidden(column, True)
        self.table.hide()
        self.put(self.table)

    def show_view(self, view: PlanView) -> None:
        """Show the phase, which the plan must have."""
        super().show_view(view)
        self._entries = view.plan.training.phases[self.index].frozen
        self._problems = view.problems_at(f"{self._path}.frozen")
        self.up.setEnabled(self.index > 0)
        self.down.setEnabled(self.index + 1 < len(view.plan.training.phases))
        self._show_frozen()

    def show_graph(self, graph: ModelGraph | None, *, known: bool) -> None:
        """Show these layers; those that are not `known` to be the model's are greyed."""
        if graph is not self._graph:
            self._graph = graph
            self.layers.set_rows(graph.layers if graph else ())
        self.table.setEnabled(known)
        self.choose.setEnabled(graph is not None)
        self.choose.setToolTip("" if graph else "The layers are known once the model is.")
        self._show_frozen()
        self._show_table()

    def _show_frozen(self) -> None:
        problems = self._problems
        if self._graph is not None:
            self.layers.show_frozen(frozen_in(self._graph, self._entries))
            paths = [layer.name for layer in self._graph.layers]
            if not problems and (unknown := unknown_entry(self._entries, paths)) is not None:
                entry, advice = unknown
                problems = (Problem(self.frozen.field.path, shown(entry), advice),)
        self.frozen.say(problems)

    def _show_table(self) -> None:
        rows: Sequence[GraphLayer] = self._graph.layers if self._graph else ()
        self.table.setFixedHeight(HEADER + min(len(rows), _MOST_ROWS) * _ROW + 2)
        self.table.setVisible(bool(rows) and self.choose.isChecked())

    def _tick(self, name: str, trained: bool) -> None:
        """Freeze or thaw a layer, and if it is among the selected ones, all of these."""
        if self._graph is None:
            return
        layers = made_so(self._graph)
        chosen = self.table.meant_by(name, layers)
        what = name if len(chosen) == 1 else plural(len(chosen), "layer")
        words = f"{'train' if trained else 'freeze'} {what} in phase {self.index + 2}"
        path = f"{self._path}.frozen"

        def frozen(plan: Plan) -> Plan:
            before = value_at(plan, path) or ()
            return with_value(plan, path, entries_with(before, chosen, layers, frozen=not trained))

        self.edited.emit(Change(frozen, words))

    def _remove(self) -> None:
        words = f"remove phase {self.index + 2}"
        self.edited.emit(Change(partial(remove_phase, index=self.index), words))

    def _button(self, text: str, words: str) -> Button:
        button = Button(text, "quiet", small=True)
        button.setAccessibleName(words)
        button.setToolTip(f"{words[0].upper()}{words[1:]}")
        return button

    def _lay_out_heading(self, name: str) -> None:
        row = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(Label(f"{name[0].upper()}{name[1:]}", "strong"))
        row.addStretch(1)
        for button in (self.up, self.down, self.remove):
            row.addWidget(button)
        self.column.addLayout(row)


_NONE = (
    "None: the whole run trains the same layers. A phase begins after some epochs with a new "
    "optimizer, and may freeze other layers: first the head of a model, say, then all of it."
)


class PhasesForm(Form):
    """One form for each later phase of the plan, and a button that adds one."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("Phases", parent)
        self._theme = theme
        self._graph: ModelGraph | None = None
        self._model: ModelSettings | None = None
        self._known = False
        self.phases: list[PhaseForm] = []
        self.none = Label(_NONE, "caption")
        self.none.setWordWrap(True)
        self.add_button = Button("Add phase", small=True)
        self.add_button.clicked.connect(lambda: self.edited.emit(Change(add_phase, "add phase")))
        row = QHBoxLayout()
        row.addWidget(self.add_button)
        row.addStretch(1)
        self._first = self.column.count()
        self.column.addWidget(self.none)
        self.column.addLayout(row)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's phases."""
        count = len(view.plan.training.phases)
        while len(self.phases) < count:
            self._append()
        while len(self.phases) > count:
            self._drop()
        for form in self.phases:
            form.show_view(view)
        self.none.setVisible(not count)

    def show_facts(self, reader: FactsReader) -> None:
        """Show the layers that this reader knows, greyed while another model is asked about."""
        facts = reader.facts.graph if reader.facts else None
        self._graph = facts or reader.past.graph
        # What the plan freezes changes no layer: they can be ticked while they are asked about.
        now = replace(reader.model, frozen=()) if reader.model is not None else None
        if facts is not None:
            self._model = now
        self._known = self._graph is not None and now is not None and now == self._model
        for form in self.phases:
            form.show_graph(self._graph, known=self._known)

    def _move(self, form: PhaseForm, by: int) -> None:
        words = f"move phase {form.index + 2}"
        self.edited.emit(Change(partial(move_phase, index=form.index, by=by), words))
        # The focus goes along with what was moved, and stays on a button that can be pressed.
        other = self.phases[form.index + by]
        button = other.up if by < 0 else other.down
        button = button if button.isEnabled() else (other.down if by < 0 else other.up)
        button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _append(self) -> None:
        form = PhaseForm(len(self.phases), self._theme)
        form.column.setContentsMargins(0, GRID if self.phases else 0, 0, 0)
        form.show_graph(self._graph, known=self._known)
        self.forward(form)
        form.moved.connect(partial(self._move, form))
        self.column.insertWidget(self._first + len(self.phases), form)
        self.phases.append(form)
        follow_layout(self)

    def _drop(self) -> None:
        form = self.phases.pop()
        if form.isAncestorOf(form.focusWidget() or self):
            self.add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.column.removeWidget(form)
        form.hide()
        form.deleteLater()
