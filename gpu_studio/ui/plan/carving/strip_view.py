"""A physical device in a few lines.

Its name, its slices as a control or as text, its bar to scale.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan.edits.carving import MOST_SLICES
from gpu_studio.ui.kit.fields import Choice
from gpu_studio.ui.kit.labels import Elided, Label
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.carving.carve_bar import CarveBar
from gpu_studio.ui.plan.carving.slice_bar import HEIGHT
from gpu_studio.ui.plan.carving.strips import WHOLE, Strip
from gpu_studio.ui.plan.problem_line import ProblemLine

CUTS = (WHOLE, *(plural(count, "slice") for count in range(2, MOST_SLICES + 1)))


class StripView(QWidget):
    """One device: its name, its slices, its bar; with a `bar` height, all in a single line.

    `slices_chosen(device, count)` asks for equal slices, `carved(Carved)` for others.
    """

    slices_chosen = Signal(str, int)
    carved = Signal(object)

    def __init__(
        self, theme: ThemeManager, strip: Strip, parent: QWidget | None = None, *, bar: int = 0
    ) -> None:
        super().__init__(parent)
        self._device = strip.device
        self._dense = bool(bar)
        self._strip: Strip | None = None
        self._name = Label(strip.name, "strong")
        self._detail = Elided(role="muted", parent=self)
        self.note = Elided(role="caption")
        self.problem = ProblemLine(theme, one_line=True)
        self.choice = Choice(f"slices of {strip.name}", CUTS)
        self.choice.setToolTip(f"Into how many logical devices {strip.name} is cut")
        self.choice.edited.connect(self._choose)
        self._bar = CarveBar(theme, height=bar or HEIGHT)
        self._bar.setAccessibleName(f"slices of {strip.name}, to scale")
        self._bar.carved.connect(self.carved)
        self._lay_out()

    @property
    def bar(self) -> CarveBar:
        """The bar to scale."""
        return self._bar

    def show_strip(self, strip: Strip) -> None:
        """Show the device as it is carved now."""
        if strip == self._strip:
            return
        self._strip = strip
        self._detail.setText(strip.detail)
        self._name.setToolTip("\n".join(filter(None, (strip.detail, strip.note))))
        self._bar.show_strip(strip)
        self.problem.say(strip.errors, strip.caution)
        self.note.setText(strip.note)
        self.note.setVisible(bool(strip.note) and not self.problem.text and not self._dense)
        # Keeps its space where it is unused, so that the bars of all devices have one scale.
        self.choice.setEnabled(strip.visible)
        self.choice.show_value(strip.cut if strip.visible else WHOLE)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(GRID - 2 if not self._dense else 2)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._name, 0, 0)
        grid.addWidget(self.choice, 0, 2)
        self.choice.setFixedWidth(
            self.choice.fontMetrics().horizontalAdvance("64 slices") + 5 * GRID
        )
        if self._dense:
            grid.addWidget(self._bar, 0, 1)
            self._detail.hide()
        else:
            grid.addWidget(self._detail, 0, 1, Qt.AlignmentFlag.AlignLeft)
            grid.addWidget(self._bar, 1, 0, 1, 3)
        grid.addWidget(self.note, 2, 0, 1, 3)
        grid.addWidget(self.problem, 3, 0, 1, 3)

    def _choose(self, text: str) -> None:
        self.slices_chosen.emit(self._device, 1 if text == WHOLE else int(text.split()[0]))
