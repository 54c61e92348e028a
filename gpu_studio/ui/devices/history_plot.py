"""The live plots of the devices: one metric at a time, one curve per device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import whole_duration
from gpu_studio.hardware.device_history import PEAKS, CurveStretch, DeviceHistory
from gpu_studio.hardware.device_rows import NOTHING_YET, DeviceRow
from gpu_studio.hardware.sample_points import HOST, Metric
from gpu_studio.ui.kit import GRID, Label, OptionButton, SteadyTabs, ThemeManager, Tokens
from gpu_studio.ui.kit.plots.axes import BYTES, BYTES_A_SECOND, CELSIUS, PERCENT, WATTS, Scale
from gpu_studio.ui.kit.plots.backdrop import PlotSpan
from gpu_studio.ui.kit.plots.curve import Style
from gpu_studio.ui.kit.plots.legend import Legend, LegendEntry
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import Extent, TimeView

_MOST = 400


class DeviceLegend(Legend):
    """Asks for little space, because the words are cut first."""

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line; a little width is enough."""
        return QSize(min(super().sizeHint().width(), _MOST), super().sizeHint().height())

    def shown(self) -> list[str]:
        """The words that stand beside the pieces of line at this width."""
        return [place.words for place in self.places()]

    @property
    def fits(self) -> bool:
        """Whether every entry is in sight."""
        return len(self.places()) == len(self.entries)


SPANS = {"2 min": 120, "10 min": 600, "1 h": 3600, "6 h": 21_600, "24 h": 86_400}
USUAL_SPAN = "10 min"
UNWATCHED = "nobody watched then"
"""A while in which no page showed the devices, and no run was recorded."""
MOST_VALUES = 4
UNCROWDED = 8
"""With more curves than this each is drawn coarser.

They hide one another, and each costs its time in every frame.
"""
_CLOSE_TABS = "QTabBar::tab { padding: 6px 8px; margin-right: 2px; }"


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric as a tab: its name, its axis, and how a value is written."""

    title: str
    scale: Scale
    text: Callable[[float], str]
    cards_only: bool = False
    brief: str = ""


METRICS: dict[Metric, Shown] = {
    "memory": Shown("Memory", BYTES, lambda value: figures.size(int(value))),
    "utilisation": Shown("Utilisation", PERCENT, figures.percent, brief="Util."),
    "power": Shown("Power", WATTS, lambda value: f"{value:.0f} W", cards_only=True),
    "temperature": Shown(
        "Temperature", CELSIUS, lambda value: f"{value:.0f} °C", cards_only=True, brief="Temp."
    ),
    "pcie": Shown(
        "PCIe", BYTES_A_SECOND, lambda value: f"{figures.size(int(value))}/s", cards_only=True
    ),
    "nvlink": Shown(
        "NVLink", BYTES_A_SECOND, lambda value: f"{figures.size(int(value))}/s", cards_only=True
    ),
}


class HistoryPlot(TimePlot):
    """A card with a tab per metric, a choice of the time span, the curves, and a legend."""

    def __init__(
        self, theme: ThemeManager, history: DeviceHistory, parent: QWidget | None = None
    ) -> None:
        self.tabs = SteadyTabs("What is plotted")
        self._theme_of_legend = theme
        self._span_name = USUAL_SPAN
        self.moment = Label("", "caption")
        self.span = OptionButton("", theme, "How far back the plot shows")
        view = TimeView()
        super().__init__("Devices", theme, view, parent, nothing="no figure yet")
        view.setParent(self)
        self.time = view
        self._history = history
        self._rows: tuple[DeviceRow, ...] = ()
        self._metrics: list[Metric] = []
        self._seconds = float(SPANS[USUAL_SPAN])
        self._brief = False
        self._given: dict[str, tuple[object, ...]] = {}
        self._spans: list[PlotSpan] = []
        self.span.set_menu(self._span_menu())
        self.set_span(USUAL_SPAN)
        self.canvas.show_times(True)
        self.tabs.currentChanged.connect(self._choose)
        view.window_followed.connect(self.draw_soon)
        view.cursor_changed.connect(self._tell)

    @property
    def shown_metric(self) -> Metric:
        """What is drawn."""
        return self._metrics[max(self.tabs.currentIndex(), 0)] if self._metrics else "memory"

    def set_span(self, name: str) -> None:
        """Show this much of the past."""
        self._seconds = float(SPANS[name])
        self._span_name = name
        self.span.set_text(self._span_text())
        self._show_span(reset=True)
        self._tell()
        self.draw_soon()

    def show_devices(self, rows: tuple[DeviceRow, ...]) -> None:
        """Draw what is new of these devices.

        The host is drawn only if there is no card to compare with.
        """
        cards = tuple(row for row in rows if row.place is not None and not row.instance)
        before, self._rows = self._rows, cards or tuple(row for row in rows if row.key == HOST)
        self._offer(
            [metric for metric in METRICS if self._is_offered(metric, [row.key for row in cards])]
        )
        if [row.key for row in before] != [row.key for row in self._rows]:
            self._make_curves()
        self._feed()
        self.refresh()

    def set_brief(self, brief: bool) -> None:
        """Use short names for the tabs if space is short, or no longer."""
        if brief != self._brief:
            self._brief = brief
            self.tabs.setStyleSheet(_CLOSE_TABS if brief else "")
            for tab, metric in enumerate(self._metrics):
                self.tabs.setTabText(tab, self._tab(metric))
            self.span.set_text(self._span_text())

    def draw_soon(self) -> None:
        """Draw at once what belongs into the present window of time."""
        self._give_curves()
        super().draw_soon()

    def _lay_out(self) -> None:
        self.legend.deleteLater()
        self.legend = DeviceLegend(self._theme_of_legend)
        self.body.setContentsMargins(2 * GRID - 4, GRID + 2, 2 * GRID - 4, GRID)
        self.body.setSpacing(GRID // 2)
        self.header.addWidget(self.title)
        self.title.hide()
        self.header.addWidget(self.tabs)
        self.header.addStretch(1)
        self.header.addWidget(self.span)
        foot = QHBoxLayout()
        foot.addWidget(self.legend, 1)
        foot.addWidget(self.moment)
        self.body.addLayout(self.header)
        self.body.addWidget(self.canvas, 1)
        self.body.addLayout(foot)

    def _is_offered(self, metric: Metric, cards: list[str]) -> bool:
        """Whether to offer a metric: NVLink if a card has it, others if any device has them."""
        if metric == "nvlink":
            return self._history.has(metric, cards)
        return bool(cards) or not METRICS[metric].cards_only

    def _tab(self, metric: Metric) -> str:
        shown = METRICS[metric]
        return shown.brief or shown.title if self._brief else shown.title

    def _span_text(self) -> str:
        return self._span_name if self._brief else f"Last {self._span_name}"

    def _offer(self, metrics: list[Metric]) -> None:
        if metrics == self._metrics:
            return
        chosen, self._metrics = self.shown_metric, metrics
        self.tabs.blockSignals(True)
        while self.tabs.count():
            self.tabs.removeTab(0)
        for metric in metrics:
            self.tabs.addTab(self._tab(metric))
            self.tabs.setAccessibleTabName(self.tabs.count() - 1, METRICS[metric].title)
        self.tabs.setCurrentIndex(metrics.index(chosen) if chosen in metrics else 0)
        self.tabs.blockSignals(False)
        self._choose()

    def _choose(self, _index: int = 0) -> None:
        shown = METRICS[self.shown_metric]
        self.set_title(shown.title)
        self.canvas.set_scale(shown.scale)
        self._feed()
        self.draw_soon()

    def _make_curves(self) -> None:
        self.clear()
        self._given.clear()
        self._spans = []
        for row in self._rows:
            self.add_curve(row.key, style_of(row.place))

    def _feed(self) -> None:
        history = self._history
        if history.first is None:
            return
        self.canvas.backdrop.clock = history.first
        self.time.set_extent(Extent(history.last - history.first))
        self._show_span()
        self._give_curves()
        self._tell()

    def _give_curves(self) -> None:
        """Hand over what is new in each curve, in as many points as the window can show."""
        for row in self._rows:
            if row.key in self.names:
                self._give(row.key)
        if (spans := self._unwatched()) != self._spans:
            self._spans = spans
            self.canvas.set_marks((), spans)

    def _unwatched(self) -> list[PlotSpan]:
        """When nobody watched the machine, so that no device has a figure."""
        found = [stretch for row in self._rows if (stretch := self._stretch(row.key)) is not None]
        if not found:
            return []
        # The others may lack figures for reasons of their own: lost, asleep, not supported.
        fullest = max(found, key=lambda stretch: len(stretch.times))
        times = fullest.times - (self._history.first or 0.0)
        gaps = np.flatnonzero(np.diff(times) > fullest.longest_gap)
        return [
            PlotSpan("unwatched", float(times[gap]), float(times[gap + 1]), UNWATCHED)
            for gap in gaps
        ]

    def _give(self, key: str) -> None:
        stretch, origin = self._stretch(key), self._history.first or 0.0
        if stretch is None:
            self._curves[key].forget()
            self._given.pop(key, None)
            return
        newest = float(stretch.times[-1]) if len(stretch.times) else None
        given = (self.shown_metric, stretch.period, len(stretch.times), newest)
        if given != self._given.get(key):
            self._given[key] = given
            self.feed(key, stretch.times, stretch.values, origin, stretch.longest_gap)

    def _stretch(self, key: str) -> CurveStretch | None:
        window, crowded = self.time.window, max(1.0, len(self._rows) / UNCROWDED)
        start = (self._history.first or 0.0) + window.start
        return self._history.stretch(key, self.shown_metric, start, window.span * crowded)

    def _show_span(self, *, reset: bool = False) -> None:
        """If there is more than the chosen span, show its end; otherwise all."""
        duration = self.time.extent.duration
        if duration > self._seconds and (reset or self.time.window.whole):
            # A window that follows leaves an eighth empty when it moves on: the span itself stays
            # in sight.
            self.time.zoom(duration - self._seconds, duration + self._seconds / 7)
        elif reset:
            self.time.show_all()

    def _tell(self) -> None:
        """Name the curves, with their values at the crosshair or else now."""
        history, cursor = self._history, self.time.cursor
        if history.first is None:
            return
        at = history.last if cursor is None else history.first + cursor
        self.moment.setText(self._beginning() if cursor is None else self._moment(at))
        self.set_legend(
            [LegendEntry(row.name, style_of(row.place), self._value(row, at)) for row in self._rows]
        )

    def _beginning(self) -> str:
        """Say since when there are figures, where the span goes back further.

        The cards are asked only while somebody looks, or a run goes on.
        """
        first = self._history.first
        if first is None or self._history.last - first >= self._seconds:
            return ""
        return f"watched since {time.strftime('%H:%M', time.localtime(first))}"

    def _moment(self, at: float) -> str:
        """Return the moment at the crosshair, and what a point there stands for."""
        clock = time.strftime("at %H:%M:%S", time.localtime(at))
        since = at - (self._history.first or 0.0)
        if any(span.start < since < span.end for span in self._spans):
            return f"{clock} · {UNWATCHED}"
        stretch = self._stretch(self._rows[0].key) if self._rows else None
        if stretch is None or not stretch.period:
            return clock
        what = "highest" if self.shown_metric in PEAKS else "mean"
        return f"{clock} · {what} of {whole_duration(stretch.period)}"

    def _value(self, row: DeviceRow, at: float) -> str:
        if row.gone:
            return "· lost" if row.gone.startswith("lost") else ""
        value = self._history.value_at(row.key, self.shown_metric, at)
        if len(self._rows) > MOST_VALUES:
            return ""
        if value is None:
            return self._why_not(row)
        return f"· {METRICS[self.shown_metric].text(value)}"

    def _why_not(self, row: DeviceRow) -> str:
        """Why a device shows no such figure at all; nothing where it did not only at one moment."""
        reported = {
            "utilisation": row.utilisation,
            "power": row.power,
            "temperature": row.temperature,
        }
        shown = reported.get(self.shown_metric)
        return f"· {shown.text}" if shown and not shown.known and shown.text != NOTHING_YET else ""

    def _span_menu(self) -> QMenu:
        menu = QMenu("How far back", self)
        group = QActionGroup(menu)
        for name in SPANS:
            action = menu.addAction(f"Last {name}")
            action.setCheckable(True)
            action.setChecked(name == USUAL_SPAN)
            action.triggered.connect(lambda _=False, name=name: self.set_span(name))
            group.addAction(action)
        return menu


@cache
def style_of(place: int | None) -> Style:
    """Return the line style of the card in this place, or of the host."""
    if place is None:
        return Style(lambda tokens: tokens.host)
    return Style(lambda tokens: tokens.device_colour(place), Tokens.device_dash(place))
