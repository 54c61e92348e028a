"""The devices' plots with 16 cards and 24 hours at 1 Hz.

Prints what each frame took in ms, by metric and span.

The figures are the worst there are: noise over the whole height, a new value each second. What
counts is the time of the thread that draws: other programs on the machine are not the plots' fault.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import psutil
from PySide6.QtWidgets import QApplication

from gpu_studio.contract.samples import Fast, FastFigures
from gpu_studio.hardware.device_history import DeviceHistory
from gpu_studio.hardware.device_rows import DeviceRow
from gpu_studio.ui.devices.history_plot import SPANS, HistoryPlot
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application

CARDS, SECONDS, FRAMES = 16, 86_400, 60
MIB = 1024 * 1024


def main() -> int:
    """Measure, and print."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    before = resident()
    history, noise = DeviceHistory(), np.random.default_rng(0)
    for second in range(SECONDS):
        history.add(figures(float(second), noise))
    grown = resident() - before
    frames = {}
    plot = HistoryPlot(theme, history)
    plot.resize(1200, 500)
    plot.show()
    for tab, metric in enumerate(("memory", "utilisation")):
        for span in SPANS:
            frames[f"{metric}, {span}"] = measured(plot, history, noise, tab, span)
    sys.stdout.write(json.dumps({"frames": frames, "mib": grown}) + "\n")
    return 0


def figures(second: float, noise: np.random.Generator) -> Fast:
    """What the cards show in this second."""
    shares = noise.random(CARDS)
    cards = [
        FastFigures(
            card=f"{card}",
            memory_used_mib=int(80_000 * share),
            utilisation_percent=int(100 * share),
        )
        for card, share in enumerate(shares)
    ]
    return Fast(time=second, cards=cards)


def measured(
    plot: HistoryPlot, history: DeviceHistory, noise: np.random.Generator, tab: int, span: str
) -> list[float]:
    """The milliseconds that each frame took from the new figures to the painted pixels."""
    rows = tuple(DeviceRow(f"{card}", f"GPU {card}", "H100", card) for card in range(CARDS))
    plot.show_devices(rows)
    plot.tabs.setCurrentIndex(tab)
    plot.set_span(span)
    QApplication.processEvents()
    took = []
    for _ in range(FRAMES):
        history.add(figures(history.last + 1, noise))
        began = time.thread_time()
        plot.show_devices(rows)
        plot.draw_soon()
        plot.canvas.viewport().repaint()
        took.append((time.thread_time() - began) * 1000)
    return took


def resident() -> float:
    """This process's memory in MiB."""
    return float(psutil.Process().memory_info().rss) / MIB


if __name__ == "__main__":
    sys.exit(main())
