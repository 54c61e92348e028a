"""The right part of a benchmark: what it was measured on, its results, and how to measure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpu_studio.common.figures import moment
from gpu_studio.lab.benchmark_figures import headline, machine_in_words
from gpu_studio.runs.benchmarks import KeptResult
from gpu_studio.ui.kit import (
    GRID,
    PADDING,
    ActionButton,
    ActionSet,
    Label,
    Paragraph,
    PlainTable,
    PrimaryButton,
    Scrolled,
    Table,
    ThemeManager,
)
from gpu_studio.ui.kit.fields import Choice

OF_MACHINE, OF_PLAN = "All of this machine", "Of the open plan"
_ROW, _MOST_ROWS, _MOST_FIGURE, _LEAST_VALUE = 28, 6, 132, 56
_HEADS = ("measured on", "results", "devices")


class ResultsModel(PlainTable[KeptResult]):
    """The kept results of a benchmark, the newest first."""

    headers = ("When", "Figure")
    right = frozenset({1})

    def key(self, row: KeptResult) -> object:
        """Its file."""
        return row.path

    def text(self, row: KeptResult, column: int) -> str:
        """When it was measured, and its figure."""
        if row.result is None:
            return (row.name, "unreadable")[column]
        broken = "" if row.result.complete else ", part"
        return (f"{moment(row.result.begun)}{broken}", headline(row.result).figure)[column]


class ResultsTable(Table):
    """`deleted` fires with the Delete key."""

    deleted = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete asks to delete the result."""
        if event.key() == Qt.Key.Key_Delete:
            self.deleted.emit()
        else:
            super().keyPressEvent(event)


class ResultsSide(QWidget):
    """`chosen(KeptResult)` fires with another result, `devices_chosen(of_plan)` with other devices.

    `of_plan` says whether they are those of the open plan.
    """

    chosen = Signal(object)
    devices_chosen = Signal(bool)

    def __init__(
        self, theme: ThemeManager, actions: ActionSet, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.facts = FactRows()
        self.results = ResultsModel(self)
        self.table = ResultsTable(self.results, "Results, the newest first")
        self.devices = Choice("devices that are measured", (OF_MACHINE,))
        self.why_not = Paragraph("", "muted")
        self.measure = PrimaryButton(theme, actions["measure"], "play")
        self.cancel = ActionButton(actions["cancel_measuring"], text="Cancel")
        self.delete = ActionButton(actions["delete_result"], "quiet", text="Delete", small=True)
        self._heads = {name: Label(name.upper(), "section") for name in _HEADS}
        self._shown: KeptResult | None = None
        self._lay_out()
        self.devices.edited.connect(lambda name: self.devices_chosen.emit(name != OF_MACHINE))
        self.table.deleted.connect(actions["delete_result"].trigger)
        self.table.selectionModel().currentRowChanged.connect(self._follow)

    def show_results(
        self, results: Sequence[KeptResult], shown: KeptResult | None, machine: Mapping[str, str]
    ) -> None:
        """List these, with the one that is shown chosen, and what that was measured on."""
        self._shown = shown
        self.results.set_rows(results)
        self.facts.show_facts(machine_in_words(machine))
        for part in (self._heads["results"], self.table, self.delete):
            part.setVisible(bool(results))
        self._heads["measured on"].setVisible(bool(machine))
        metrics = self.table.fontMetrics()
        texts = (self.results.text(each, 1) for each in results)
        widest = max(map(metrics.horizontalAdvance, texts), default=0) + 2 * PADDING + 2
        self.table.setColumnWidth(1, min(widest, _MOST_FIGURE))
        self.table.setFixedHeight(self.table.sizeHint().height() - _over(len(results)))
        place = next((n for n, each in enumerate(results) if each is shown), -1)
        if place >= 0 and place != self.table.currentIndex().row():
            self.table.choose_row(place)

    def offer_devices(self, plan: str, *, of_plan: bool, only_plan: bool) -> None:
        """Offer the devices of the machine, and those of the open plan called so, if there is one.

        `of_plan` says which are chosen, `only_plan` that nothing but the plan can be measured.
        """
        of_the_plan = (OF_PLAN,) if plan else ()
        names = of_the_plan if only_plan else (OF_MACHINE, *of_the_plan)
        self.devices.set_tip(f"The open plan is “{plan}”" if plan else "")
        self._heads["devices"].setText("DATA" if only_plan else "DEVICES")
        self.devices.set_names(names)
        if names:
            self.devices.show_value(names[-1] if of_plan or only_plan else OF_MACHINE)

    def say_why_not(self, why_not: str, *, note: str, measuring: bool) -> None:
        """Offer to measure, or say why it cannot be; while measuring, offer to cancel."""
        self.why_not.setText(note if measuring else why_not or note)
        self.why_not.setVisible(bool(self.why_not.text()))
        self.measure.setVisible(not measuring and not why_not)
        self.cancel.setVisible(measuring)
        self.devices.setEnabled(not measuring)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID)
        area = Scrolled()
        area.column.setContentsMargins(0, 0, 0, 0)
        area.column.addWidget(self._heads["measured on"])
        area.column.addWidget(self.facts)
        area.column.addSpacing(GRID)
        area.column.addWidget(self._heads["results"])
        area.column.addWidget(self.table)
        area.column.addWidget(self.delete, 0, Qt.AlignmentFlag.AlignRight)
        area.column.addStretch(1)
        self.table.set_row_height(_ROW)
        self.table.set_widths({1: 118}, stretch=0)
        column.addWidget(area, 1)
        for part in (self._heads["devices"], self.devices, self.why_not, self.measure, self.cancel):
            column.addWidget(part)

    def _follow(self) -> None:
        row = self.table.currentIndex().row()
        if 0 <= row < len(self.results.rows) and self.results.rows[row] is not self._shown:
            self.chosen.emit(self.results.rows[row])


def _over(count: int) -> int:
    """The pixels that so many rows are too high."""
    return max(count - _MOST_ROWS, 0) * _ROW


class _Value(Paragraph):
    """A value that is cut between any of its parts, so that it takes no more than its place."""

    def __init__(self, value: str) -> None:
        super().__init__(_BREAKABLE.sub("\\g<0>\u200b", value))
        self.setAccessibleName(value)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Space for a part of it."""
        return QSize(_LEAST_VALUE, super().minimumSizeHint().height())


_BREAKABLE: Final = re.compile(r"[._/-]|\w{8}(?=\w)")


class FactRows(QWidget):
    """Names and values, side by side; long values wrap."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: dict[str, str] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self._grid.setColumnStretch(1, 1)

    @property
    def facts(self) -> dict[str, str]:
        """What is shown."""
        return dict(self._facts)

    def show_facts(self, facts: Mapping[str, str]) -> None:
        """Show these."""
        if dict(facts) == self._facts:
            return
        self._facts = dict(facts)
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for row, (name, value) in enumerate(facts.items()):
            words = _Value(value)
            words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            words.setAccessibleName(f"{name}: {value}")
            self._grid.addWidget(Label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(words, row, 1)
