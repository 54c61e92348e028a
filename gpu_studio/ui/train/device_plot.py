"""The plot of a run's devices: memory, utilisation or power, each device in its colour and dash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import grouped
from gpu_studio.hardware.picture import CardNow
from gpu_studio.hardware.sample_points import HOST, Figure
from gpu_studio.runs.reading.history import History
from gpu_studio.runs.results.run_cards import RunCard, run_cards, uses_cards
from gpu_studio.ui.kit import GRID, OptionButton, PaintedLine, SteadyTabs, ThemeManager
from gpu_studio.ui.kit.plots.axes import BYTES, PERCENT, WATTS, Scale
from gpu_studio.ui.kit.plots.backdrop import Limit, PlotSpan
from gpu_studio.ui.kit.plots.legend import LegendEntry
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.kit.plots.time_view import TimeView
from gpu_studio.ui.kit.settings import Setting, Settings
from gpu_studio.ui.train.card_record import CardRecord
from gpu_studio.ui.train.device_figures import (
    CPU_OF_HOST,
    TEXTS,
    CurveLine,
    DeviceMemoryNow,
    Drawing,
    card_entries,
    card_lines,
    edge_style_of,
    host_lines,
    joined,
    memory_now,
    not_recorded,
    places,
    style_of,
)
from gpu_studio.ui.train.plot_header import Tag, remember_hidden

MOST_VALUES: Final = 4
MOST_BANDS: Final = 4
"""Of more devices the bands would lie upon each other and hide the lines."""
_FIGURES: Final[dict[Figure, str]] = {"utilisation": "utilisation_percent", "power": "power_w"}
_CAPTIONS: Final[dict[Figure, tuple[str, str]]] = {
    "utilisation": (
        "part of the time in which the card was at work, for any program",
        "of the whole card",
    ),
    "power": ("what the card draws, for any program", "of the whole card"),
}


def figure_drawing(history: History, record: CardRecord, figure: Figure) -> Drawing:
    """Return the drawing of the plot of utilisation or power."""
    if not uses_cards(history.devices):
        return _host_drawing(record, figure)
    cards = run_cards(history.devices, record.known)
    known = places(history, record)
    lines = card_lines(record, cards, figure, known)
    return Drawing(
        lines=lines,
        entries=_entries(record, cards, figure, known) if lines else (),
        caption=_caption(record, figure) if lines else ("", ""),
        nothing=_why_nothing(record, cards, figure),
    )


def _caption(record: CardRecord, figure: Figure) -> tuple[str, str]:
    full, short = _CAPTIONS[figure]
    return joined(full, record.picture.marked), joined(short, record.picture.marked)


def _entries(
    record: CardRecord, cards: Sequence[RunCard], figure: Figure, known: Mapping[str, int]
) -> list[LegendEntry]:
    """Return the cards' names, with their newest values if these are few enough to read."""
    values = [record.figures.value_at(card.key, figure, record.figures.last) for card in cards]
    texts = [
        "lost"
        if record.known[card.key].lost
        else ""
        if value is None or len(cards) > MOST_VALUES
        else TEXTS[figure](value)
        for card, value in zip(cards, values, strict=True)
    ]
    styles = [style_of(known[card.devices[0]]) for card in cards]
    return [
        LegendEntry(card.label, style, text)
        for card, style, text in zip(cards, styles, texts, strict=True)
    ]


def _host_drawing(record: CardRecord, figure: Figure) -> Drawing:
    value = record.figures.value_at(HOST, figure, record.figures.last)
    text = "" if value is None else TEXTS[figure](value)
    lines = host_lines(record, figure)
    return Drawing(
        lines=lines,
        entries=[LegendEntry(CPU_OF_HOST, style_of(None), text)] if lines else (),
        caption=("all cores together, for any program", "all cores together")
        if lines
        else ("", ""),
        nothing=not_recorded(record, begins=True) or "no figure in view",
    )


def _why_nothing(record: CardRecord, cards: Sequence[RunCard], figure: Figure) -> str:
    """Return why there is no line.

    Nothing was recorded, the cards are unknown, or the driver does not report the figure.
    """
    if why := not_recorded(record, begins=True):
        return why
    if record.known and not cards:
        return "which of the cards these were is not known"
    found = (_now(record, card.key) for card in cards)
    reasons = {
        now.why(_FIGURES[figure]) for now in found if now is not None and now.fast is not None
    }
    return " · ".join(sorted(reasons)) or "no figure in view"


def _now(record: CardRecord, key: str) -> CardNow | None:
    return record.picture.cards.get(key) or record.picture.instances.get(key)


# Anything further above the curves than this would flatten them: it is given in words instead.
_FARTHEST: Final = 4.0
NO_SAMPLE: Final = "No sample in view"
_SOON: Final = 5.0
"""Seconds that a run may go before its recording has begun."""


def memory_drawing(history: History, record: CardRecord, wanted: bool | None = None) -> Drawing:
    """Return the drawing of the memory plot.

    The cards are drawn as `wanted`; None draws them where they do not flatten the devices' curves.
    """
    devices = memory_now(history, record)
    cards = _card_lines(history, record)
    near = not _is_far(cards, devices)
    shown = bool(cards) and (near if wanted is None else wanted)
    word = _word(history) if cards else ""
    entries = [LegendEntry(device.name, style_of(device.place)) for device in devices]
    if shown:
        entries += card_entries(cards, word)
    return Drawing(
        lines=(*(cards if shown else ()), *_device_lines(history, devices)),
        entries=entries,
        limits=limits(devices),
        caption=_both(
            caption(devices), _about_cards(history, record, cards, far=not shown and wanted is None)
        ),
        nothing=NO_SAMPLE,
        cards=word,
        cards_shown=shown,
    )


def limits(devices: list[DeviceMemoryNow]) -> list[Limit]:
    """Return the limits of the devices in use, each value once; those far above in one."""
    values = sorted({device.limit for device in devices if device.limit and device.peak})
    highest = max((device.peak for device in devices), default=0)
    near = [value for value in values if value <= _FARTHEST * highest]
    found = [Limit(value, f"limit {figures.size(value)}") for value in near]
    if far := values[len(near) :]:
        sizes = " and ".join(figures.size(value) for value in far)
        times = f", {grouped(float(far[0] / highest))} × the peak" if highest else ""
        found.append(Limit(far[0], f"limit {sizes}{times}", above=True))
    return found


def caption(devices: list[DeviceMemoryNow]) -> tuple[str, str]:
    """Return what was counted, in full and in short."""
    sources = {device.source for device in devices}
    if "host" in sources:
        return (
            "host: arena of all logical CPUs together · CPU:n: variables placed there",
            "variables · host arena",
        )
    if "allocator" not in sources:
        return "", ""
    whose = "TensorFlow's allocator"
    if all(device.least is None for device in devices):
        return f"in use by {whose}", whose
    band = " · band: down to what stays between steps" if _has_bands(devices) else ""
    return f"{whose}, the most of each half second{band}", whose


def _has_bands(devices: list[DeviceMemoryNow]) -> bool:
    return sum(device.peak > 0 for device in devices) <= MOST_BANDS


def _device_lines(history: History, devices: list[DeviceMemoryNow]) -> list[CurveLine]:
    """Return the lines, the host's first, so that the devices are drawn over it."""
    lines, bands = [], _has_bands(devices)
    for device in sorted(devices, key=lambda device: device.place is not None):
        series = history.memory[device.name]
        what, style = f"{device.name} in use", style_of(device.place)
        line = CurveLine(device.name, style, series.series, what=what)
        floor = series.floor
        if not bands or not len(floor):
            lines.append(line)
            continue
        edge = CurveLine(
            f"{device.name} between steps",
            edge_style_of(device.place),
            floor,
            belongs=(device.name,),
            what=f"{device.name} between steps",
        )
        lines += [edge, replace(line, down_to=edge.name)]
    return lines


def _card_lines(history: History, record: CardRecord) -> list[CurveLine]:
    if uses_cards(history.devices):
        cards = run_cards(history.devices, record.known)
        return card_lines(record, cards, "memory", places(history, record), faint=True)
    return host_lines(record, "memory", faint=True) if history.devices else []


def _is_far(cards: list[CurveLine], devices: list[DeviceMemoryNow]) -> bool:
    highest = max(
        [
            *(device.peak for device in devices),
            *(limit.value for limit in limits(devices) if not limit.above),
        ],
        default=0,
    )
    return bool(cards) and _highest(cards) > _FARTHEST * highest


def _highest(lines: list[CurveLine]) -> float:
    return max(float(line.series.y.max()) for line in lines)


def _word(history: History) -> str:
    return "card" if uses_cards(history.devices) else "whole host"


def _about_cards(
    history: History, record: CardRecord, cards: list[CurveLine], *, far: bool
) -> tuple[str, str]:
    """Describe the cards in words where their lines do not show them, in full and in short."""
    if not cards:
        why = _why_none(history, record)
        return why, why
    made_up = record.picture.marked if uses_cards(history.devices) else ""
    if not far:
        return made_up, made_up
    size = figures.size(int(max(line.series.y[-1] for line in cards)))
    several = f"{_word(history)}s up to" if len(cards) > 1 else _word(history)
    return joined(f"{several} {size}, above the view", made_up), joined(
        f"{_word(history)} {size}", made_up
    )


def _why_none(history: History, record: CardRecord) -> str:
    if history.devices is None:
        return ""
    begins = not history.ended and (history.seconds or 0.0) < _SOON
    if why := not_recorded(record, begins=begins):
        return why
    unknown = uses_cards(history.devices) and bool(record.known)
    return "which of the cards these were is not known" if unknown else ""


def _both(first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
    return joined(first[0], second[0]), joined(first[1], second[1])


CARDS = Setting(
    "train/cards", "auto", "Whether the memory plot shows the cards: auto, shown or hidden."
)
HIDDEN: Setting[tuple[str, ...]] = Setting(
    "train/hidden-devices", (), "Devices whose curves are hidden."
)
VIEWS: Final[dict[Figure, tuple[str, Scale]]] = {
    "memory": ("Memory", BYTES),
    "utilisation": ("Utilisation", PERCENT),
    "power": ("Power", WATTS),
}
_UNITS: Final[dict[Figure, str]] = {"memory": "bytes", "utilisation": "%", "power": "W"}
_ABOUT_CARDS = (
    "Draw all that is in use there, for any program: faintly, in the colour of the device"
)
_FEWEST: Final = 24
"""Letters of the caption: fewer would tell nothing."""
_WANTED: Final[dict[str, bool | None]] = {"shown": True, "hidden": False}


class DevicePlot(TimePlot):
    """A tab for each figure.

    In the memory's a switch for what is in use on the card beside TensorFlow's part of it.

    The switch is remembered in `settings`, where there are any. It begins with the figure `first`;
    its `name` distinguishes its parts from those of another such plot.
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
        super().__init__("Memory", theme, time, parent, nothing=NO_SAMPLE)
        self.tabs.setToolTip(self.title.toolTip())
        self._settings = settings
        self._cards = settings.get(CARDS) if settings else CARDS.default
        self._shown: tuple[History, CardRecord] | None = None
        self._views: list[Figure] = []
        self._drawing_shown: object = None
        self.cards = OptionButton.switch("card", theme, _ABOUT_CARDS)
        self.cards.clicked.connect(self._choose_cards)
        self.cards.hide()
        self.caption = PaintedLine(
            theme, "caption", side=Qt.AlignmentFlag.AlignRight, fewest=_FEWEST
        )
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

    def show_throttled(self, held: Sequence[PlotSpan]) -> None:
        """Name the newest time in which clocks were held down, and the number of such times."""
        more = f" · {len(held) - 1} more" if len(held) > 1 else ""
        self.throttled.set_text(f"{held[-1].words}{more}" if held else "")

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._shown = None
        self.throttled.set_text("")
        self.caption.set_text("")
        self.cards.hide()
        self._drawing_shown = None
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
        drawn = self.view, origin, list(drawing.lines), drawing.nothing, list(drawing.limits)
        if drawn != self._drawing_shown:  # the lines follow their series by themselves
            self._drawing_shown = drawn
            self._show_lines(drawing.lines, origin)
            self.canvas.set_nothing(drawing.nothing)
            self.canvas.set_limits(drawing.limits)
        self.set_legend(drawing.entries)
        self.caption.set_text(*drawing.caption)
        self._show_switch(drawing)

    def _show_lines(self, lines: Sequence[CurveLine], origin: float) -> None:
        self.show_curves({line.name: line.style for line in lines})
        for line in lines:
            self.belong(line.name, *(line.belongs or (line.name,)))
            self.head(line.name, f"{line.what} ({_UNITS[self.view]})")
            self.feed_series(line.name, line.series, origin, line.longest_gap)
            if line.down_to:
                self.enclose(line.name, line.down_to)

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
        """Offer these figures, and keep the current one if it is among them."""
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
    always: list[Figure] = ["memory", "utilisation"]
    return [*always, "power"] if record.figures.has("power", powered) else always


def _tabs(name: str) -> QTabBar:
    tabs = SteadyTabs(f"Figure that is plotted of the {name}")
    # As low as the titles of the plots above: these plots need the height.
    tabs.setStyleSheet("QTabBar::tab { padding: 2px 8px; margin: 0px 2px 0px 0px; }")
    return tabs
