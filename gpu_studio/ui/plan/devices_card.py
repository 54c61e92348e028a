"""The Devices card: each physical device to scale, and the number of its slices."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan.carving import MOST_SLICES, Carved, change_of, equal_change
from gpu_studio.ui.kit import GRID, CardFrame, Elided, Label, ThemeManager, tab_after
from gpu_studio.ui.kit.fields import Choice
from gpu_studio.ui.plan.carving.carve_bar import CarveBar
from gpu_studio.ui.plan.carving.slice_bar import HEIGHT
from gpu_studio.ui.plan.carving.strips import WHOLE, Strip, said_of_all, strips_of
from gpu_studio.ui.plan.plan_view import PlanView, ProblemLine

LOW, MIDDLE = 28, 40
FEW = 3
"""Up to so many devices that stand in a line each, their bars are higher."""


class StripList(QWidget):
    """The devices, one below the other.

    `slices_chosen` and `carved` are requests for one of them.
    """

    slices_chosen = Signal(str, int)
    carved = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plain")
        self._theme = theme
        self.views: dict[str, StripView] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID)
        self._column.addStretch(1)

    def show_strips(self, strips: Sequence[Strip]) -> None:
        """Show these devices; the views of those already shown stay, and so does the focus."""
        changed = [strip.device for strip in strips] != list(self.views)
        if changed:
            self._rebuild(strips)
        for strip in strips:
            self.views[strip.device].show_strip(strip)
        if changed:
            tab_after(
                self, [part for view in self.views.values() for part in (view.bar, view.choice)]
            )
        self.updateGeometry()

    def _rebuild(self, strips: Sequence[Strip]) -> None:
        for view in self.views.values():
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()
        bar = 0 if len(strips) == 1 else MIDDLE if len(strips) <= FEW else LOW
        self.views = {strip.device: StripView(self._theme, strip, bar=bar) for strip in strips}
        for place, view in enumerate(self.views.values()):
            view.slices_chosen.connect(self.slices_chosen)
            view.carved.connect(self.carved)
            self._column.insertWidget(place, view)
            view.show()  # a hidden view has no height, and Qt would show it late


HIGHEST = 168


class DevicesCard(CardFrame):
    """Shows the devices under the plan, and takes drags; `edited(Change)` is the user's change.

    Devices that do not fit are reached by scrolling.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("1 · Devices", parent)
        self._view: PlanView | None = None
        self.list = StripList(theme)
        self.list.carved.connect(self._carve)
        self.list.slices_chosen.connect(self._cut)
        self.problem = ProblemLine(theme, one_line=True)
        self._waiting = Label("looking at the machine…", "muted")
        self.area = _Area(self.list)
        self.body.addWidget(self._waiting)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.area, 1)

    def show_view(self, view: PlanView) -> None:
        """Show the devices of the machine under the plan."""
        self._view = view
        self._waiting.hide()
        self.list.show_strips(strips_of(view.plan, view.machine, view.problems))
        self.problem.say(said_of_all(view.problems))
        self.area.updateGeometry()

    def _carve(self, carved: Carved) -> None:
        if self._view is not None:
            self.edited.emit(change_of(carved, self._view.machine))

    def _cut(self, device: str, count: int) -> None:
        if self._view is not None:
            self.edited.emit(equal_change(device, count, self._view.machine))


class _Area(QScrollArea):
    """As high as its contents, up to a height that leaves space for the rest of the page."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(inside)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The height of the devices."""
        inside = self._inside.sizeHint()
        return QSize(inside.width(), min(inside.height(), HIGHEST))


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
        self._detail.shorter = (strip.shorter_detail,)
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
