"""The button that shows how many runs are alive and leads to each of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.ui.kit.choosing.option import OptionButton
from gpu_studio.ui.kit.theme.manager import ThemeManager

TIP = "Runs that are training now: choose the one to show"


class LiveButton(OptionButton):
    """`2 live`, with a menu of the runs.

    It is hidden while no run is alive, or only the one that is shown.
    """

    chosen = Signal(str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", theme, TIP, parent)
        self.runs = QMenu("Live runs", self)
        self.set_menu(self.runs)
        self.hide()

    def show_runs(self, titles: Mapping[str, str], shown: str) -> None:
        """Offer these runs, whose titles stand by their ids.

        The one that is `shown` has a check.
        """
        self.runs.clear()
        for run, title in titles.items():
            action = self.runs.addAction(title.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(run == shown)
            action.triggered.connect(partial(self.chosen.emit, run))
        self.set_text(f"{len(titles)} live")
        self.setVisible(bool(set(titles) - {shown}))
