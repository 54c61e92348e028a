"""The plot of the memory of each device, each in its colour and dash."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gpu_studio.runs.history import History
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.memory_now import DeviceMemoryNow, memory_now
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import Tokens
from gpu_studio.ui.widgets.painted_line import PaintedLine
from gpu_studio.ui.widgets.plots.backdrop import Limit
from gpu_studio.ui.widgets.plots.curve import Style
from gpu_studio.ui.widgets.plots.legend import Entry
from gpu_studio.ui.widgets.plots.scale import BYTES
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView

# A limit further above the curves than this would press them flat: it is told in words instead.
_FARTHEST_LIMIT = 4.0


class MemoryPlot(TimePlot):
    """Memory over time, with the limits as lines and a caption that says what was counted."""

    def __init__(self, theme: ThemeManager, time: TimeView, parent: QWidget | None = None) -> None:
        super().__init__("Memory", theme, time, parent, nothing="no sample in sight")
        self.canvas.set_scale(BYTES)
        self.caption = PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight)
        self.options.addWidget(self.caption, 1)

    def show_memory(self, history: History) -> None:
        """Feed the curves with what is known of the run."""
        if history.started is None:
            return
        devices = memory_now(history)
        # The host first, so that the devices are drawn over it.
        for device in sorted(devices, key=lambda device: device.place is not None):
            if device.name not in self.names:
                self.add_curve(device.name, style_of(device.place))
        for name, series in history.memory.items():
            self.feed(name, series.times, series.current, history.started.time)
        self.canvas.set_limits(limits(devices))
        self.set_legend([Entry(device.name, style_of(device.place)) for device in devices])
        self.caption.set_text(*caption(devices))


@cache
def style_of(place: int | None) -> Style:
    """The line of the logical device with this number, or of the host."""
    if place is None:
        return Style(_host)
    return Style(lambda tokens: tokens.device_colour(place), Tokens.device_dash(place))


def limits(devices: list[DeviceMemoryNow]) -> list[Limit]:
    """The devices' limits, each value once, as far as they are near enough to be drawn."""
    values = sorted({device.limit for device in devices if device.limit})
    highest = max((device.peak for device in devices), default=0)
    return [Limit(value, f"limit {figures.size(value)}") for value in values if value <= _FARTHEST_LIMIT * highest]


def caption(devices: list[DeviceMemoryNow]) -> tuple[str, str]:
    """What was counted, and the limits that are not drawn: in full, and in short."""
    sources = {device.source for device in devices}
    if "host" in sources:
        return "host: arena of all logical CPUs together · CPU:n: variables placed there", "variables · host arena"
    if "allocator" not in sources:
        return "", ""
    near = limits(devices)
    far = sorted({device.limit for device in devices if device.limit} - {limit.value for limit in near})
    drawn = " · line: limit" if near else ""
    told = f" · limit {' and '.join(figures.size(int(value)) for value in far)}, above the view" if far else ""
    return f"in use by TensorFlow's allocator{drawn}{told}", f"TensorFlow's allocator{told}"


def _host(tokens: Tokens) -> str:
    return tokens.host
