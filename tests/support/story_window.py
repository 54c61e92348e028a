"""GPU Studio's window as `gpu-studio` opens it.

It reports what the user sees, from a plan to a report on its run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyqtgraph as pg
import runs_window
from PySide6.QtWidgets import QPushButton
from runs_window import on_screen, whole

from gpu_studio.cli import main
from gpu_studio.ui.kit.plots.time_plot import TimePlot
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window import app


class Window(runs_window.Window):
    """Tells what is on each page, from the Plan page on."""

    def __init__(self, *given: Any, **named: Any) -> None:
        # Of the model it is told without TensorFlow, which is started once already, to train.
        asker = Path(__file__).with_name("fake_plan_asker.py")
        super().__init__(*given, **named, facts=FactsReader((sys.executable, str(asker))))
        self.show_page("plan")

    def seen(self) -> dict[str, Any]:
        seen, run = super().seen(), self.shown_run
        seen["page"] = self.page
        if run is not None:
            seen["run"] = self.train_page.header.name.text()
            seen["state"] = self.train_page.header.badge.state
            seen["step"] = run.history.step
            seen["windows"] = {plot.accessibleName(): drawn(plot) for plot in self.shown_plots}
        return seen

    def parts(self) -> dict[str, list[int]]:
        pressable = [
            each for each in self.findChildren(QPushButton) if each.isEnabled() and each.isVisible()
        ]
        found = super().parts() | {
            button.text(): whole(button) for button in pressable if button.text()
        }
        for plot in self.shown_plots[:1]:
            found["loss"] = on_screen(plot.canvas, plot.canvas.backdrop.area.toRect())
        return found

    @property
    def shown_plots(self) -> list[TimePlot]:
        """The plots of the Train page that can be seen, from the top."""
        return (
            []
            if self.shown_run is None
            else [plot for plot in self.train_page.charts.plots if plot.isVisible()]
        )


def drawn(plot: TimePlot) -> list[float]:
    """From where to where its curves are drawn, in what its axis counts.

    Nothing while it has none.
    """
    if not plot.curves:
        return []
    box = next(item for item in plot.canvas.scene().items() if isinstance(item, pg.ViewBox))
    (start, end), _ = box.viewRange()
    return [round(start, 3), round(end, 3)]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
