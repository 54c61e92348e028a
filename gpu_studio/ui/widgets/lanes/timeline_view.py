"""The predicted step: a row for each device that has a layer."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.placement.schedule import Timeline
from gpu_studio.ui.models.lanes.forecast import Forecast
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.labels import Elided
from gpu_studio.ui.widgets.lanes.timeline_row import TimelineRow
from gpu_studio.ui.widgets.tab_order import tab_after

CAPTION = "predicted step: forward strong, backward faint, update faintest"
WORKING = "predicting the step…"


class TimelineView(QWidget):
    """Rows are kept from plan to plan. While a long prediction is made it says so, and shows the step before."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: list[TimelineRow] = []
        self.caption = Elided(CAPTION, "caption")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._column.addWidget(self.caption)

    def show_step(self, found: Forecast, step: Timeline) -> None:
        """Show this step."""
        used = found.used
        while len(self.rows) < len(used):
            row = TimelineRow(self._theme)
            self._column.insertWidget(len(self.rows), row)
            self.rows.append(row)
            tab_after(self, self.rows)
        for number, row in enumerate(self.rows):
            row.setVisible(number < len(used))
            if number < len(used):
                row.show_step(used[number], found, step)
        self.caption.setText(CAPTION)

    def wait(self) -> None:
        """Say that a new step is being predicted."""
        self.caption.setText(WORKING)
