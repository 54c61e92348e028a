"""A step on a time axis, a row for each device; and a predicted one with a measured one under it, on the same axis."""

from __future__ import annotations

from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.ui.models.plan.lanes.step_rows import StepPicture
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.widgets.labels import Elided
from gpu_studio.ui.widgets.lanes.timeline_row import TimelineRow
from gpu_studio.ui.widgets.tab_order import tab_after

WORKING = "predicting the step…"
OWN_SCALE = "on a scale of its own"


class StepView(QWidget):
    """What is known of one step. Rows are kept from step to step."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: list[TimelineRow] = []
        self.caption = Elided("", "caption")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._column.addWidget(self.caption)

    def show_picture(self, picture: StepPicture, seconds: float, more: str = "", *, low: bool = False) -> None:
        """Show this step on an axis of so many seconds, in `low` rows; `more` is said beside its caption."""
        while len(self.rows) < len(picture.rows):
            row = TimelineRow(self._theme)
            self._column.insertWidget(self._column.count(), row)
            self.rows.append(row)
            tab_after(self, self.rows)
        for number, row in enumerate(self.rows):
            row.setVisible(number < len(picture.rows))
            if number < len(picture.rows):
                row.set_low(low)
                row.show_row(picture.rows[number], seconds)
        self.caption.setText(f"{picture.caption}{' · ' if more else ''}{more}")


class TimelineView(QWidget):
    """The predicted step, and under it a measured one. While a prediction is made it says so."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.predicted, self.measured = StepView(theme), StepView(theme)
        self._predicted: StepPicture | None = None
        self._measured: StepPicture | None = None
        self.measured.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.predicted)
        column.addWidget(self.measured)

    def show_predicted(self, picture: StepPicture) -> None:
        """Show this prediction."""
        self._predicted = picture
        self._show()

    def show_measured(self, picture: StepPicture | None) -> None:
        """Show this measured step under the predicted one, or none."""
        self._measured = picture
        self._show()

    def wait(self) -> None:
        """Say that a new step is being predicted."""
        self.predicted.caption.setText(WORKING)

    def _show(self) -> None:
        """Draw both on the longer one's axis, if the prediction is in seconds."""
        predicted, measured = self._predicted, self._measured
        together = bool(predicted and measured and predicted.to_scale)
        axis = max(each.seconds for each in (predicted, measured) if each) if together else None
        if predicted is not None:
            self.predicted.show_picture(predicted, axis or predicted.seconds, low=measured is not None)
        self.measured.setVisible(measured is not None)
        if measured is not None:
            apart = "" if together or predicted is None else OWN_SCALE
            self.measured.show_picture(measured, axis or measured.seconds, apart, low=True)
