"""The plot of a run's devices: memory, utilisation or power, each device in its colour and dash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar, QWidget

from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_cards import run_cards
from gpu_studio.ui.models.devices.sample_points import Figure
from gpu_studio.ui.models.train.card_record import CardRecord
from gpu_studio.ui.pages.train.drawing import Drawing
from gpu_studio.ui.pages.train.figure_lines import figure_drawing
from gpu_studio.ui.pages.train.hidden_curves import remember_hidden
from gpu_studio.ui.pages.train.memory_lines import memory_drawing
from gpu_studio.ui.settings import Setting, Settings
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.choosing.option import Option
from gpu_studio.ui.widgets.painted_line import PaintedLine
from gpu_studio.ui.widgets.plots.gestures import HELP
from gpu_studio.ui.widgets.plots.marks import Span
from gpu_studio.ui.widgets.plots.scale import BYTES, PERCENT, WATTS, Scale
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView
from gpu_studio.ui.widgets.tab_bar import tab_bar
from gpu_studio.ui.widgets.tag import Tag

CARDS = Setting("train/cards", "auto", "Whether the memory plot shows the cards: auto, shown or hidden.")
HIDDEN: Setting[tuple[str, ...]] = Setting("train/hidden-devices", (), "Devices whose curves are hidden.")
VIEWS: Final[dict[Figure, tuple[str, Scale]]] = {
    "memory": ("Memory", BYTES),
    "utilisation": ("Utilisation", PERCENT),
    "power": ("Power", WATTS),
}
_UNITS: Final[dict[Figure, str]] = {"memory": "bytes", "utilisation": "%", "power": "W"}
_ABOUT_CARDS = "Draw all that is in use there, for any program: faintly, in the colour of the device"
_FEWEST: Final = 24
"""Letters of the caption: fewer would tell nothing."""
_WANTED: Final[dict[str, bool | None]] = {"shown": True, "hidden": False}


class DevicePlot(TimePlot):
    """A tab for each figure; in the memory's a switch for what is in use on the card beside TensorFlow's part of it.

    The switch is remembered in `settings`, where there are any. It begins with the figure `first`; its parts are told
    from those of another such plot by its `name`.
    """

    def __init__(
        self,
        theme: ThemeManager,
        time: TimeView,
        settings: Settings | None = None,
        parent: QWidget | None = None,
        *,
        first: Figure = "memory",
        name: str = "devices",
    ) -> None:
        self.name, self._first = name, first
        self.tabs = _tabs(name)
        super().__init__("Memory", theme, time, parent, nothing="no sample in sight")
        self._settings = settings
        self._cards = settings.get(CARDS) if settings else CARDS.default
        self._shown: tuple[History, CardRecord] | None = None
        self._views: list[Figure] = []
        self.cards = Option.switch("card", theme, _ABOUT_CARDS)
        self.cards.clicked.connect(self._choose_cards)
        self.cards.hide()
        self.caption = PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight, fewest=_FEWEST)
        self.options.setSpacing(GRID)
        self.throttled = Tag(theme)
        self.options.addWidget(self.caption, 1)
        self.options.addWidget(self.throttled)
        self.options.addWidget(self.cards)
        self.canvas.set_scale(BYTES)
        remember_hidden(self, HIDDEN, settings)
        self.tabs.currentChanged.connect(self._choose_view)
        self._offer(["memory", "utilisation"])
        self._choose_view()

    @property
    def view(self) -> Figure:
        """What is shown."""
        return self._views[max(self.tabs.currentIndex(), 0)]

    def show_devices(self, history: History, record: CardRecord) -> None:
        """Draw what is known of the run's devices, soon."""
        self._shown = history, record
        if history.started is not None:
            self._offer(_views(history, record))
            self._show(self._drawing(history, record), history.started.time)

    def show_throttled(self, held: Sequence[Span]) -> None:
        """Name the newest while in which clocks were held down, and how many there were."""
        more = f" · {len(held) - 1} more" if len(held) > 1 else ""
        self.throttled.set_text(f"{held[-1].words}{more}" if held else "")

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._shown = None
        self.throttled.set_text("")
        self.caption.set_text("")
        self.cards.hide()
        self.clear()

    def _lay_out(self) -> None:
        super()._lay_out()
        self.header.insertWidget(0, self.tabs)
        self.title.hide()

    def _drawing(self, history: History, record: CardRecord) -> Drawing:
        if self.view == "memory":
            return memory_drawing(history, record, _WANTED.get(self._cards))
        return figure_drawing(history, record, self.view)

    def _show(self, drawing: Drawing, origin: float) -> None:
        self.show_curves({line.name: line.style for line in drawing.lines})
        for line in drawing.lines:
            self.belong(line.name, *(line.belongs or (line.name,)))
            self.head(line.name, f"{line.what} ({_UNITS[self.view]})")
            self.feed(line.name, line.times, line.values, origin, line.longest_gap, line.series)
        self.canvas.set_nothing(drawing.nothing)
        self.canvas.set_limits(drawing.limits)
        self.set_legend(drawing.entries)
        self.caption.set_text(*drawing.caption)
        self._show_switch(drawing)

    def _show_switch(self, drawing: Drawing) -> None:
        self.cards.setVisible(bool(drawing.cards))
        self.cards.setChecked(drawing.cards_shown)
        if drawing.cards and drawing.cards != self.cards.text():
            self.cards.set_text(drawing.cards)

    def _choose_cards(self, on: bool) -> None:
        self._cards = "shown" if on else "hidden"
        if self._settings is not None:
            self._settings.set(CARDS, self._cards)
        self._again()

    def _choose_view(self, _index: int = 0) -> None:
        title, scale = VIEWS[self.view]
        self.set_title(title)
        self.canvas.set_scale(scale)
        self._again()

    def _again(self) -> None:
        if self._shown is not None:
            self.show_devices(*self._shown)
            self.draw_soon()

    def _offer(self, views: list[Figure]) -> None:
        """Offer these figures, and keep showing the one that is shown if it is among them."""
        if views == self._views:
            return
        shown = self.view if self._views else self._first
        self.tabs.blockSignals(True)
        for view in self._views:
            if view not in views:
                self.tabs.removeTab(self._views.index(view))
        for place, view in enumerate(views):
            if view not in self._views:
                self.tabs.insertTab(place, VIEWS[view][0])
        self._views = views
        self.tabs.setCurrentIndex(views.index(shown) if shown in views else 0)
        self.tabs.blockSignals(False)
        if shown != self.view:
            self._choose_view()


def _views(history: History, record: CardRecord) -> list[Figure]:
    powered = [card.key for card in run_cards(history.devices, record.known)]
    return ["memory", "utilisation", "power"] if record.figures.has("power", powered) else ["memory", "utilisation"]


def _tabs(name: str) -> QTabBar:
    tabs = tab_bar(f"Figure that is plotted of the {name}")
    tabs.setToolTip(HELP)
    # As low as the titles of the plots above: height is what these plots are short of.
    tabs.setStyleSheet("QTabBar::tab { padding: 2px 8px; margin: 0px 2px 0px 0px; }")
    return tabs
