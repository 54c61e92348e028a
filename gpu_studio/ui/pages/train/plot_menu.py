"""What can be done with one plot: its menu, behind three dots in its head and under the right mouse button."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

from gpu_studio.ui.pages.train.mark_key import MarkKey
from gpu_studio.ui.pages.train.plot_files import Kind, PlotFiles
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.choosing.option import Option
from gpu_studio.ui.widgets.plots.canvas import LEFT, TOP
from gpu_studio.ui.widgets.plots.time_plot import TimePlot
from gpu_studio.ui.widgets.plots.time_view import TimeView

DOTS = "•••"
_KINDS: tuple[Kind, ...] = ("png", "svg", "csv")


def add_menu(plot: TimePlot, name: str, files: PlotFiles, time: TimeView, theme: ThemeManager) -> Option:
    """Give the plot its menu; `name` is what it is called whatever it shows. Returns the dots."""
    menu = _menu(plot, files, time)
    dots = Option(DOTS, theme, f"Copy or save the plot of the {name}")
    dots.setAccessibleName(dots.toolTip())
    dots.clicked.connect(lambda: menu.popup(dots.mapToGlobal(QPoint(0, dots.height() + 2))))
    menu.setParent(dots, menu.windowFlags())
    about = menu.addAction("What the marks mean")
    about.triggered.connect(lambda: MarkKey(theme, plot).show_at(plot.mapToGlobal(QPoint(LEFT, TOP))))
    plot.options.addWidget(dots)
    plot.canvas.menu_asked.connect(menu.popup)
    return dots


def _menu(plot: TimePlot, files: PlotFiles, time: TimeView) -> QMenu:
    menu = QMenu("Plot")
    menu.addAction("Copy as picture").triggered.connect(lambda: files.copy_picture(plot))
    menu.addAction("Copy data").triggered.connect(lambda: files.copy_data(plot))
    menu.addSeparator()
    for kind in _KINDS:
        action = menu.addAction(f"Save as {kind.upper()}…")
        action.triggered.connect(lambda _=False, kind=kind: files.choose_and_save(plot, kind))
    menu.addSeparator()
    whole = menu.addAction("Show the whole run")
    whole.triggered.connect(time.show_all)
    menu.aboutToShow.connect(lambda: whole.setEnabled(not time.window.whole))
    return menu
