"""The data: their source, their options, what is kept aside, what they hold, and some of them to look at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.placement.data_facts import DataFacts
from gpu_studio.plan.catalogue import ARRAYS, DATA, IMAGES
from gpu_studio.ui.models.plan.data_words import RowsModel, data_lines, meeting
from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.models.plan.plan_view import PlanView
from gpu_studio.ui.pages.plan.facts_bar import FactsBar
from gpu_studio.ui.pages.plan.kept_aside_form import KeptAsideForm
from gpu_studio.ui.pages.plan.lines import Lines
from gpu_studio.ui.pages.plan.source_form import Source, SourceForm, ask_for_file, ask_for_folder
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.sample_grid import SampleGrid
from gpu_studio.ui.widgets.scrolled import Scrolled
from gpu_studio.ui.widgets.tables.table import HEADER, Table

_ROW = 26
SOURCES = {
    "name": Source("Built-in", "data", ""),
    "file": Source(
        ".npz file",
        "file",
        "NumPy arrays x_train and y_train, or x and y",
        ask_for_file("Choose NumPy arrays", "NumPy arrays (*.npz);;All files (*)"),
        ARRAYS,
    ),
    "folder": Source(
        "Image folder",
        "folder",
        "a folder with a folder of images for each class",
        ask_for_folder("Choose a folder with a folder of images for each class"),
        IMAGES,
    ),
    "python": Source(
        "Python function",
        "Python file",
        "a file with a function that returns the arrays",
        ask_for_file("Choose a Python file", "Python (*.py);;All files (*)"),
    ),
}


class DataTab(QWidget):
    """`edited(Change)` is what the person wants. The preview stays, greyed, while the same data are asked for again."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reader: FactsReader | None = None
        self._view: PlanView | None = None
        self.form = SourceForm("data", DATA, SOURCES)
        self.fractions = KeptAsideForm()
        for form in (self.form, self.fractions):
            form.edited.connect(self.edited)
        self.form.allow_wanted.connect(self._want_consent)
        self.bar = FactsBar("the data", offers_consent=False)
        self.lines = Lines()
        self.pictures = SampleGrid(theme)
        self.rows = RowsModel(self)
        self.table = Table(self.rows, "samples of the data")
        self.table.set_row_height(_ROW)
        self.table.set_widths({0: 120}, stretch=1)
        self._lay_out()
        self._show_preview(None)

    def set_facts(self, reader: FactsReader) -> None:
        """Show what this reader knows, from now on."""
        self._reader = reader
        reader.changed.connect(self._show_facts)
        self._show_facts()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's data."""
        self._view = view
        self.form.show_view(view)
        self.fractions.show_view(view)
        self._show_facts()

    def _show_facts(self) -> None:
        if self._reader is None or self._view is None:
            return
        facts = self._reader.facts
        data = facts.data if facts else None
        error = facts.data_error if facts else ""
        self.bar.show_reader(self._reader, error, facts.advice if facts else (), known=data is not None)
        self._show_lines(data)
        known = data is not None or bool(error)
        self._show_preview(data if known else self._reader.past.data)
        for part in (self.pictures, self.table):
            part.setEnabled(known)

    def _want_consent(self, path: Path) -> None:
        if self._reader is not None:
            self._reader.consent_wanted.emit(path)

    def _show_lines(self, data: DataFacts | None) -> None:
        if self._view is None or self._reader is None or data is None:
            self.lines.set_lines(())
            return
        graph = self._reader.facts.graph if self._reader.facts else None
        lines = data_lines(self._view.plan, self._view.machine, data)
        met = meeting(data, graph) if graph is not None else ()
        self.lines.set_lines(
            (*lines, *(("" if place else "model", words, good) for place, (good, words) in enumerate(met)))
        )

    def _show_preview(self, data: DataFacts | None) -> None:
        preview = data.preview if data else ()
        self.pictures.set_samples(preview)
        self.pictures.setVisible(bool(self.pictures.samples))
        rows = tuple(enumerate(each for each in preview if each.row))
        self.rows.set_rows(rows)
        self.table.setVisible(bool(rows))
        self.table.setFixedHeight(HEADER + len(rows) * _ROW + 2)

    def _lay_out(self) -> None:
        scrolled = Scrolled()
        heading = Label("WHAT THEY HOLD", "section")
        for part in (self.form, self.fractions, heading, self.bar, self.lines, self.pictures, self.table):
            scrolled.column.addWidget(part)
        scrolled.column.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scrolled)
