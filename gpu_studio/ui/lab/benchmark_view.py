"""A benchmark beside the list: what its result says, its rows, and what it was measured on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gpu_studio.lab.benchmark_figures import HEADINGS, row_words
from gpu_studio.lab.benchmarks import Benchmark, BenchmarkRow, judged
from gpu_studio.runs.benchmarks import KeptResult
from gpu_studio.ui.kit.basic_widgets import CardFrame, Label, Paragraph
from gpu_studio.ui.kit.table import PlainTable, Table
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.lab.lab_section import LabView


class RowsModel(PlainTable[BenchmarkRow]):
    """The rows of a result, in words."""

    headers = HEADINGS
    right = frozenset({3, 4, 5})

    def key(self, row: BenchmarkRow) -> object:
        """What was measured."""
        return row.key

    def text(self, row: BenchmarkRow, column: int) -> str:
        """The words of a cell."""
        return row_words(row)[column]


class BenchmarkView(LabView):
    """Shows the newest of the results that it is given."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("Measured on", parent)
        del theme
        self.title, self.words = Label("", "title"), Paragraph("", "muted")
        self.rows = RowsModel(self)
        self.table = Table(self.rows, "What was measured")
        self.machine = Paragraph("", "muted")
        verdict, rows = CardFrame(), CardFrame()
        verdict.body.addWidget(self.title)
        verdict.body.addWidget(self.words)
        rows.body.addWidget(self.table)
        self.middle.addWidget(verdict)
        self.middle.addWidget(rows, 1)
        self.side.body.addWidget(self.machine)
        self.side.body.addStretch(1)

    def show_results(self, benchmark: Benchmark, results: Sequence[KeptResult]) -> None:
        """Show what was measured by this benchmark."""
        newest = results[0] if results else None
        result = newest.result if newest is not None else None
        self.title.setText(benchmark.title)
        lines = judged(result) if result is not None else [newest.why_not] if newest else []
        self.words.setText(" ".join(lines) or benchmark.question)
        self.rows.set_rows(result.rows if result is not None else ())
        machine = result.machine if result is not None else {}
        self.machine.setText("\n".join(f"{name}: {value}" for name, value in machine.items()))
