"""The guide beside the window: contents, search, back and forward; and what F1 opens where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.guide import FIRST, Guide, guide
from gpu_studio.ui.kit import GRID, GUIDE_PLACE, Button, ThemeManager
from gpu_studio.ui.kit.settings import GUIDE_GEOMETRY, Settings
from gpu_studio.ui.window.guide_view import SEARCH, GuideView

_WIDTH, _HEIGHT, _CONTENTS = 1000, 720, 240
_LISTED = 2
"""Headings down to this level stand in the contents."""
_KEY = "plan_key"

PLACES: Final[Mapping[str, str]] = {
    "DevicesPage": "devices",
    "DevicesTable": "devices#the-table-of-devices",
    "HistoryPlot": "devices#curves",
    "ProcessesPane": "devices#processes",
    "TopologyPane": "devices#topology",
    "TopologyDrawing": "devices#topology",
    "DoctorDialog": "devices#doctor",
    "DoctorButton": "devices#doctor",
    "PracticeDialog": "devices#cards-that-are-not-there",
    "PlanPage": "plan",
    "OutlookCard": "plan#what-will-happen",
    "DevicesCard": "plan#devices-tab",
    "DevicesTab": "plan#devices-tab",
    "CardEditor": "concepts#slice",
    "CpuEditor": "concepts#slice",
    "ModelTab": "plan#model-tab",
    "DataTab": "plan#data-tab",
    "TrainingCard": "plan#training-tab",
    "TrainingTab": "plan#training-tab",
    "CallbacksForm": "options#callbacks",
    "PhasesForm": "options#phases",
    "DistributionCard": "plan#strategy-tab",
    "StrategyTab": "plan#strategy-tab",
    "ReplicaDevices": "options#distribution.devices",
    "OneDevice": "options#distribution.devices",
    "ParameterDevice": "options#distribution.parameter_device",
    "AllReduce": "options#distribution.all_reduce",
    "PlacedOptions": "options#distribution.placed.micro_batches",
    "LayersTab": "plan#layers-tab",
    "PlaceButton": "placement#place-for-me",
    "FileTab": "plan#file-tab",
    "RepairPane": "plan#file-tab",
    "ChangesTab": "plan#changes-tab",
    "ConcernView": "failures#before-a-run",
    "DiskStrip": "plan#plans-as-files",
    "ResumingStrip": "train#pause-stop-and-go-on",
    "ShellDialog": "clusters#runs-in-slurm",
    "AllowDialog": "own-code#allowing-code",
    "AllowedDialog": "own-code#allowing-code",
    "TrainPage": "train",
    "RunHeader": "train#pause-stop-and-go-on",
    "Charts": "train#plots",
    "LossPlot": "train#loss-and-metrics",
    "MetricPlot": "train#loss-and-metrics",
    "DevicePlot": "train#memory-of-devices",
    "LogPane": "train#log",
    "PlacementPane": "train#placement-tab",
    "CheckpointsPane": "train#checkpoints-tab",
    "PredictionsPane": "train#predictions-tab",
    "WarningsStrip": "train#warnings",
    "WorkersCard": "clusters#on-this-machine",
    "OutcomeBanner": "failures",
    "StopBanner": "train#pause-stop-and-go-on",
    "GoneBanner": "failures#a-run-that-is-lost",
    "QuitQuestion": "train#closing-logging-out-restarting",
    "StoppingDialog": "train#closing-logging-out-restarting",
    "RunsPage": "runs",
    "RunTable": "runs#the-table-of-runs",
    "FilterBar": "runs#the-table-of-runs",
    "CurvesCard": "runs#comparing",
    "DiffersCard": "runs#comparing",
    "QueueCard": "runs#queue",
    "LabPage": "lab",
    "StudyView": "studies#on-the-lab-page",
    "StudyDialog": "studies#making-one",
    "LargestSearch": "studies#the-largest-batch",
    "VerdictCard": "studies#the-verdict",
    "BenchmarkView": "lab#a-benchmark-on-the-page",
    "HandCard": "lab#placing-operations-by-hand",
    "ResultsSide": "lab#results",
    "RowsCard": "benchmarks#what-the-results-say",
    "CommandPalette": "shortcuts",
    "SettingsDialog": "index#settings",
    "LessonOffer": "lessons",
    "LessonPanel": "lessons",
    "LessonsDialog": "lessons",
}
"""The place in the guide of each widget, by its class; a child without one has its parent's."""


def place_about(widget: QWidget | None) -> str:
    """The place in the guide about a widget: its own, a field of the plan's, else its class's.

    Empty if neither it nor what it is in has one.
    """
    while widget is not None:
        if own := widget.property(GUIDE_PLACE):
            return str(own)
        key = widget.property(_KEY)
        if key:
            return f"options#{key}"
        if found := PLACES.get(type(widget).__name__):
            return found
        widget = widget.parentWidget()
    return ""


class GuideWindow(QDialog):
    """A window of its own, so that one reads beside what one does. Escape closes it."""

    def __init__(self, theme: ThemeManager, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Guide")
        self.setObjectName("guide")
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.guide: Guide = guide()
        self._settings = settings
        self._visited: list[str] = []
        self._at = -1
        self._items: dict[str, QTreeWidgetItem] = {}
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search the guide")
        self.search.setAccessibleName("search the guide")
        self.search.setClearButtonEnabled(True)
        self.contents = QTreeWidget()
        self.view = GuideView(self.guide, theme)
        self.back, self.forward = Button("Back", small=True), Button("Forward", small=True)
        self._lay_out()
        self._fill()
        self._connect()
        geometry = settings.get(GUIDE_GEOMETRY)
        if not geometry or not self.restoreGeometry(QByteArray(geometry)):
            self.resize(_WIDTH, _HEIGHT)

    @property
    def place(self) -> str:
        """The place that is shown, as `page#anchor`; or `search#words`."""
        return self._visited[self._at] if self._visited else ""

    def show_place(self, place: str) -> None:
        """Show a place of the guide; the first page if there is no such place."""
        found = self.guide.section(place) or self.guide.section(FIRST)
        assert found is not None
        self._visit(found.place)

    def done(self, result: int) -> None:
        """Close, and remember how large it was, and where."""
        self._settings.set(GUIDE_GEOMETRY, bytes(self.saveGeometry().data()))
        super().done(result)

    def _visit(self, place: str) -> None:
        if place != self.place:
            del self._visited[self._at + 1 :]
            self._visited.append(place)
            self._at = len(self._visited) - 1
        self._show()

    def _step(self, by: int) -> None:
        if 0 <= self._at + by < len(self._visited):
            self._at += by
            self._show()

    def _show(self) -> None:
        page, _, rest = self.place.partition("#")
        if page == SEARCH:
            self.view.show_hits(rest, self.guide.search(rest))
        else:
            self.view.show_page(page, rest)
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at + 1 < len(self._visited))
        self._mark(self.place)

    def _mark(self, place: str) -> None:
        """Show in the contents where one is, without going there again."""
        page = place.partition("#")[0]
        self.contents.blockSignals(True)
        if place in self._items:
            self.contents.setCurrentItem(self._items[place])
        else:
            self.contents.clearSelection()
        for name in self.guide.pages:
            self._items[name].setExpanded(name == page)
        self.contents.blockSignals(False)

    def _find(self) -> None:
        words = " ".join(self.search.text().split())
        if not words:
            return
        if self.place.startswith(f"{SEARCH}#"):  # each letter typed is not a step to go back by
            self._visited[self._at] = f"{SEARCH}#{words}"
            self._show()
        else:
            self._visit(f"{SEARCH}#{words}")

    def _fill(self) -> None:
        self.contents.setHeaderHidden(True)
        self.contents.setIndentation(2 * GRID)
        self.contents.setAccessibleName("contents of the guide")
        for page in self.guide.pages:
            for part in self.guide.sections(page):
                item = QTreeWidgetItem([part.title])
                item.setToolTip(0, part.title)
                item.setData(0, Qt.ItemDataRole.UserRole, part.place)
                if part.level == 1:
                    self.contents.addTopLevelItem(item)
                elif part.level == _LISTED:
                    self._items[page].addChild(item)
                self._items.setdefault(part.place, item)

    def _lay_out(self) -> None:
        side, right = QWidget(), QWidget()
        left = QVBoxLayout(side)
        left.setContentsMargins(GRID * 2, GRID * 2, GRID, GRID * 2)
        left.addWidget(self.search)
        left.addWidget(self.contents, 1)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(GRID, GRID * 2, GRID * 2, 0)
        for button in (self.back, self.forward):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, GRID, GRID)
        column.addLayout(buttons)
        column.addWidget(self.view, 1)
        split = QSplitter()
        split.setChildrenCollapsible(False)
        for each in (side, right):
            split.addWidget(each)
        split.setSizes([_CONTENTS, _WIDTH - _CONTENTS])
        split.setStretchFactor(1, 1)
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(split)
        self.setTabOrder(self.search, self.contents)

    def _connect(self) -> None:
        self.search.textEdited.connect(self._find)
        self.search.returnPressed.connect(self._find)
        self.contents.currentItemChanged.connect(self._go)
        self.view.wanted.connect(self.show_place)
        self.back.clicked.connect(lambda: self._step(-1))
        self.forward.clicked.connect(lambda: self._step(1))
        self.back.setToolTip("Back to what was shown before (Alt+Left)")
        self.forward.setToolTip("Forward again (Alt+Right)")
        for keys, do in (
            ("Ctrl+F", self._enter_search),
            ("Alt+Left", self.back.click),
            ("Alt+Right", self.forward.click),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(do)
        self.view.setFocus()  # so that the keys for scrolling scroll the page

    def _go(self, item: QTreeWidgetItem | None) -> None:
        if item is not None:
            self.show_place(item.data(0, Qt.ItemDataRole.UserRole))

    def _enter_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()
