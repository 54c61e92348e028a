"""What will happen: what stands in the way, the logical devices and what a step takes of each, and warnings."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpu_studio.hardware.topology import Topology
from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.ui.models.devices.checkup import Checkup
from gpu_studio.ui.models.plan.concerns import Concern, Obstacles, warnings
from gpu_studio.ui.models.plan.outlook import Prospect, facts, prospects
from gpu_studio.ui.models.plan.parts import mistakes
from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.pages.plan.facts_bar import FactsBar
from gpu_studio.ui.pages.plan.form.tab_order import follow_layout
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import plural, sentence
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.concern_list import ConcernList
from gpu_studio.ui.widgets.labels import Label, Paragraph
from gpu_studio.ui.widgets.memory_parts import MemoryParts
from gpu_studio.ui.widgets.memory_row import MemoryRow
from gpu_studio.ui.widgets.scrolled import Scrolled


class OutlookCard(Card):
    """`edited(Change)` is a mend that a person chose. `set_facts` and `set_checkup` bring what others know."""

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("What will happen", parent)
        self._theme = theme
        self._view: PlanView | None = None
        self._reader: FactsReader | None = None
        self._topology: Topology | None = None
        self._pointed = ""
        self._found = Obstacles()
        self._stops: tuple[tuple[str, ...], ...] = ()
        self.heading = Paragraph(role="strong")
        self.obstacles, self.warnings = ConcernList(theme, "bad"), ConcernList(theme, "warning")
        self.figures = _Figures()
        self.rows: dict[str, MemoryRow] = {}
        self.parts = MemoryParts(theme)
        self.waiting = FactsBar("what a step takes", offers_consent=False)
        for concerns in (self.obstacles, self.warnings):
            concerns.mending.connect(self._mend)
            concerns.reading.connect(self._read)
        self._lay_out()

    def set_facts(self, reader: FactsReader) -> None:
        """Follow what TensorFlow tells of the plan."""
        self._reader = reader
        reader.changed.connect(self._show)

    def set_checkup(self, checkup: Checkup) -> None:
        """Follow what the driver tells of the links between the cards."""
        checkup.changed.connect(lambda: self.set_topology(checkup.topology))
        self.set_topology(checkup.topology)

    def set_topology(self, topology: Topology | None) -> None:
        """Say how the cards are joined, as far as the driver has told."""
        if topology != self._topology:
            self._topology = topology
            self._show()

    def show_view(self, view: PlanView) -> None:
        """Show what stands in the plan's way, and what it will do on the machine."""
        self._view = view
        self._show()

    def _show(self) -> None:
        view, known = self._view, self._reader.facts if self._reader else None
        if view is None:
            return
        standing = self._found.of(view)
        self.heading.setText(_heading(len(view.problems), len(mistakes(view.problems))))
        self.heading.setVisible(bool(standing))
        self.obstacles.show_concerns(standing)
        self.warnings.show_concerns(warnings(view, known, self._topology))
        self.figures.show_rows(facts(view.plan, view.machine, known.data if known else None))
        self._show_devices(_devices(view, known))
        self._show_reader(known)
        self._order()

    def _order(self) -> None:
        """Let Tab come to what was made late where it stands."""
        ways = (f"{key} {len(view.others)}" for key, view in self.warnings.views.items())
        stops = tuple(self.rows), tuple(self.obstacles.views), tuple(ways)
        if stops != self._stops:
            self._stops = stops
            follow_layout(self.waiting)

    def _show_devices(self, devices: Sequence[Prospect]) -> None:
        if [each.name for each in devices] != list(self.rows):
            self._rebuild(devices)
        for each in devices:
            self.rows[each.name].show_prospect(each)
        fullest = max(devices, key=lambda each: (each.total, -each.place), default=None)
        self.parts.show_prospect(next((each for each in devices if each.name == self._pointed), fullest))

    def _rebuild(self, devices: Sequence[Prospect]) -> None:
        for row in self.rows.values():
            self._devices.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = {each.name: MemoryRow(self._theme, each) for each in devices}
        for name, row in self.rows.items():
            row.pointed.connect(lambda name=name: self._point(name))
            self._devices.addWidget(row)

    def _point(self, name: str) -> None:
        self._pointed = name
        self.parts.show_prospect(self.rows[name].prospect)

    def _show_reader(self, known: PlanFacts | None) -> None:
        """Say what is waited for. Why something could not be had, the obstacles say."""
        told = known is not None and (known.model is not None or bool(known.data_error))
        if self._reader is not None:
            stands = bool(self._view and self._view.problems) and not self._reader.withheld
            self.waiting.show_reader(self._reader, known=told or stands)

    def _mend(self, concern: Concern) -> None:
        if concern.mend is not None:
            label = concern.mend.label
            self.edited.emit(Change(concern.mend.make, f"{label[0].lower()}{label[1:]}"))
        elif concern.code is not None and self._reader is not None:
            self._reader.consent_wanted.emit(concern.code)
        elif concern.refused and self._reader is not None:
            self._reader.retry()

    def _read(self, concern: Concern) -> None:
        # Imported when it is first opened: the window's start waits for this module.
        from gpu_studio.ui.widgets.asking.trace_dialog import TraceDialog

        TraceDialog(sentence(concern.text), concern.details, concern.source, self.window()).show()

    def _lay_out(self) -> None:
        area = Scrolled()
        area.column.setContentsMargins(0, 0, GRID, 0)
        self._devices = QVBoxLayout()
        self._devices.setSpacing(2)
        for widget in (self.heading, self.obstacles, self.figures, self.warnings):
            area.column.addWidget(widget)
        area.column.addLayout(self._devices)
        area.column.addWidget(self.parts)
        area.column.addWidget(self.waiting)
        area.column.addStretch(1)
        self.body.addWidget(area, 1)


class _Figures(QWidget):
    """Names and values in two columns; labels are kept from plan to plan."""

    def __init__(self) -> None:
        super().__init__()
        self._labels: list[tuple[Label, Label]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(GRID // 2)

    def show_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show these."""
        while len(self._labels) < len(rows):
            pair = Label(role="muted"), Label(role="strong")
            self._grid.addWidget(pair[0], len(self._labels), 0)
            self._grid.addWidget(pair[1], len(self._labels), 1, Qt.AlignmentFlag.AlignRight)
            self._labels.append(pair)
        for place, (name, value) in enumerate(self._labels):
            for label, text in zip((name, value), rows[place] if place < len(rows) else ("", ""), strict=True):
                label.setText(text)
                label.setVisible(bool(text))


def _devices(view: PlanView, known: PlanFacts | None) -> tuple[Prospect, ...]:
    if known is None or view.problems:
        return prospects(view.plan, view.machine)
    # Imported only once something is known: it brings numpy, and the window's start waits for this module.
    from gpu_studio.placement.memory import predict

    return prospects(view.plan, view.machine, predict(view.plan, view.machine, known))


def _heading(count: int, wrong: int) -> str:
    if count and not wrong:
        return "One thing is still to be named." if count == 1 else f"{plural(count, 'thing')} are still to be named."
    if count == 0:
        return ""
    return "One thing stands in the way." if count == 1 else f"{plural(count, 'thing')} stand in the way."
