"""The Placement tab: where each layer was put beside where it ran, what crossed, and one step as it was measured."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpu_studio.runs.events import Placement, Timeline
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.reading.placement_words import choice, headline
from gpu_studio.runs.reading.placements import Judgement, judged
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.plan.lanes.step_rows import measured_picture
from gpu_studio.ui.models.train.card_record import CardRecord
from gpu_studio.ui.models.train.memory_now import places
from gpu_studio.ui.models.train.placement_rows import (
    ASKED,
    BETWEEN,
    BYTES,
    EDGE,
    LAYER,
    PASS,
    TENSORS,
    CrossingsModel,
    PlacementModel,
)
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import number
from gpu_studio.ui.widgets.labels import Elided
from gpu_studio.ui.widgets.lanes.timeline_view import StepView
from gpu_studio.ui.widgets.note import Note
from gpu_studio.ui.widgets.tables.copy_rows import model_as_text
from gpu_studio.ui.widgets.tables.spot_cells import SignCell, SpotsCell
from gpu_studio.ui.widgets.tables.table import HEADER, Table

_ROW = 28
_MOST_ROWS, _CROSSING_ROWS = 7, 3
_AROUND = 88
"""The tabs, the headline, and the card's margins."""
_WIDE = 1000
_ASKED_WIDTH, _PASS_WIDTH, _CROSSING_WIDTHS = 138, 144, {BETWEEN: 116, PASS: 84, BYTES: 80}
_NARROW_ASKED, _NARROW_PASS, _NARROW_CROSSINGS = 108, 98, {BETWEEN: 112, BYTES: 80}


class PlacementPane(QWidget):
    """Shows the event `placement` of a run, judged; and its event `timeline` where there is one.

    `changed` fires when there is another placement to be seen, or none.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: Judgement | None = None
        self._placement: Placement | None = None
        self._devices: dict[str, int] = {}
        self._timeline: Timeline | None = None
        self.model, self.crossings_model = PlacementModel(), CrossingsModel()
        for model in (self.model, self.crossings_model):
            model.setParent(self)
        self.alarm, self.line = Note(), Elided("", "muted")
        self.table = Table(self.model, "Where each layer ran")
        self.crossings = Table(self.crossings_model, "What crosses from device to device in a step")
        self.total, self.step = Elided("", "section"), StepView(theme)
        self._shape_tables(theme)
        self._lay_out()

    @property
    def wanted_height(self) -> int:
        """A height in which most of the layers are seen, in pixels."""
        layers = HEADER + _ROW * min(_MOST_ROWS, self.model.rowCount())
        step = self.step.sizeHint().height() if self._timeline is not None else 0
        beside = step + 3 * GRID + HEADER + _ROW * min(_CROSSING_ROWS, self.crossings_model.rowCount())
        return _AROUND + max(layers, beside)

    @property
    def there(self) -> bool:
        """Whether there is a placement to be seen."""
        return self.found is not None

    @property
    def words(self) -> str:
        """Whether the layers ran where they were put, in a sentence; empty without a placement."""
        return headline(self.found) if self.found else ""

    @property
    def mark(self) -> str:
        """What the tab says of it besides its name: how much ran elsewhere."""
        if self.found is None or not self.found.wrong:
            return ""
        return f" · {number(sum(each.operations for each in self.found.wrong))} elsewhere"

    def restart(self) -> None:
        """Show no run's."""
        self.found = self._placement = self._timeline = None
        self.show_step(None, {})
        self.changed.emit()

    def copy(self) -> None:
        """Put where each layer ran, and under it what crosses, on the clipboard as a spreadsheet takes them."""
        both = (model_as_text(model, range(model.rowCount())) for model in (self.model, self.crossings_model))
        QGuiApplication.clipboard().setText("\n\n".join(both) + "\n")

    def refresh(self, history: History, record: CardRecord) -> bool:
        """Show what is new of a run and of its cards; whether its placement is."""
        devices = places(history, record)
        recoloured, self._devices = devices != self._devices, devices
        if history.timeline is not self._timeline or recoloured:
            self._timeline = history.timeline
            self.show_step(history.timeline, devices)
        if history.placement is None or (history.placement is self._placement and not recoloured):
            return False
        self._placement = history.placement
        self.show_placement(history.placement, devices)
        return True

    def show_placement(self, placement: Placement, devices: Mapping[str, int]) -> None:
        """Show where the layers ran; `devices` has the place of each logical one by its name, in order."""
        self.found = found = judged(placement)
        self.model.places = self.crossings_model.places = dict(devices)
        self.model.set_rows(found.layers)
        self.crossings_model.set_rows(found.crossings)
        said = headline(found)
        self.alarm.say(f"⚠ {said}" if found.wrong else "", "bad")
        told = "" if found.wrong else f"✓ {said}"
        self.line.setText(" ".join(filter(None, (told, choice(found)))))
        self.line.setVisible(bool(self.line.text()))
        self._show_total(found)
        self._show_first_wrong(found)
        self.changed.emit()

    def show_step(self, timeline: Timeline | None, devices: Mapping[str, int]) -> None:
        """Show a measured step, or none."""
        self.step.setVisible(timeline is not None)
        if timeline is not None:
            self.step.show_picture(measured_picture(timeline, devices), timeline.seconds, low=True)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Where room is short the pass of what crosses is said in its tooltip only, as the tensors always are."""
        super().resizeEvent(event)
        wide = self.width() >= _WIDE
        passes = range(ASKED + 1, self.model.columnCount())
        widths = dict.fromkeys(passes, _PASS_WIDTH if wide else _NARROW_PASS)
        self.table.set_widths({ASKED: _ASKED_WIDTH if wide else _NARROW_ASKED, **widths}, stretch=LAYER)
        self.crossings.set_widths(_CROSSING_WIDTHS if wide else _NARROW_CROSSINGS, stretch=EDGE)
        self.crossings.setColumnHidden(PASS, not wide)
        self.crossings.setColumnHidden(TENSORS, True)

    def _show_total(self, found: Judgement) -> None:
        self.crossings.setVisible(bool(found.crossings))
        self._rest.setVisible(not found.crossings)
        if not found.crossings:
            self.total.setText("NOTHING CROSSES DEVICES")
            return
        least = "AT LEAST " if found.crossing_is_least else ""
        self.total.setText(f"CROSSES DEVICES · {least}{figures.size(found.crossing_bytes)} A STEP")

    def _show_first_wrong(self, found: Judgement) -> None:
        first = next((row for row, layer in enumerate(found.layers) if layer.wrong), None)
        if first is not None:
            self.table.scrollTo(self.model.index(first, 0))

    def _shape_tables(self, theme: ThemeManager) -> None:
        passes = range(ASKED + 1, self.model.columnCount())
        self._signs, self._spots = SignCell(theme, self), SpotsCell(theme, self)
        self.table.setItemDelegateForColumn(LAYER, self._signs)
        for column in (ASKED, *passes):
            self.table.setItemDelegateForColumn(column, self._spots)
        self.crossings.setItemDelegateForColumn(BETWEEN, self._spots)
        for table in (self.table, self.crossings):
            table.set_row_height(_ROW)
            theme.changed.connect(table.viewport().update)

    def _lay_out(self) -> None:
        beside = QVBoxLayout()
        beside.setSpacing(GRID // 2)
        beside.addWidget(self.step)
        beside.addWidget(self.total)
        beside.addWidget(self.crossings, 1)
        # In the table's place, so that what stands above stays above.
        self._rest = QWidget()
        self._rest.hide()
        beside.addWidget(self._rest, 1)
        self.crossings.setMinimumHeight(HEADER)
        row = QHBoxLayout()
        row.setSpacing(3 * GRID)
        row.addWidget(self.table, 13)
        row.addLayout(beside, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addWidget(self.alarm)
        column.addWidget(self.line)
        column.addLayout(row, 1)
        self.step.hide()
