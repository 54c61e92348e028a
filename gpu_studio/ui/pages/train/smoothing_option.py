"""How much a curve is smoothed: a slider in a menu, with the usual weights to pick from below it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QMenu, QSlider, QWidget, QWidgetAction

from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.choosing.option import Option

MOST: Final = 0.99
USUAL: Final = (0.0, 0.3, 0.6, 0.9, 0.97, 0.99)
_HUNDREDTHS = 100


class SmoothingOption(Option):
    """Names the weight, from 0 (not smoothed) to 0.99. `chosen` brings another that a person has picked."""

    chosen = Signal(float)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", theme, "How much the curve of the steps is smoothed", parent)
        self.slider = _slider()
        self.slider.valueChanged.connect(lambda value: self.chosen.emit(value / _HUNDREDTHS))
        self.set_menu(self._weights())

    def show_weight(self, weight: float) -> None:
        """Name this weight; `chosen` says nothing."""
        self.slider.blockSignals(True)
        self.slider.setValue(round(weight * _HUNDREDTHS))
        self.slider.blockSignals(False)
        self.set_text(f"smooth {weight:g}" if weight else "not smoothed")

    def _weights(self) -> QMenu:
        menu = QMenu("Smoothing", self)
        sliding = QWidgetAction(menu)
        sliding.setDefaultWidget(self.slider)
        menu.addAction(sliding)
        menu.addSeparator()
        for weight in USUAL:
            action = menu.addAction(f"{weight:g}" if weight else "none")
            action.triggered.connect(lambda _=False, weight=weight: self.chosen.emit(weight))
        return menu


def _slider() -> QSlider:
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(0, round(MOST * _HUNDREDTHS))
    slider.setPageStep(10)
    slider.setAccessibleName("Smoothing, in hundredths")
    slider.setContentsMargins(GRID, 0, GRID, 0)
    slider.setMinimumSize(QSize(18 * GRID, 4 * GRID))
    return slider
