"""The panel beside the plots: the memory of each device now, and the numbers at the crosshair."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.ui.models.train.memory_now import DeviceMemoryNow
from gpu_studio.ui.models.train.readout import Readout
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.choosing.option import Option
from gpu_studio.ui.widgets.device_meter import FORMS, DeviceMeter
from gpu_studio.ui.widgets.labels import Label
from gpu_studio.ui.widgets.tables.value_table import ValueTable

WIDTH = 230
NOW, ENDED = "NOW", "AT THE END"
NO_FIGURES = "There are no figures to copy yet: wait for the first step."


class NowPanel(Card):
    """Meters of the devices over the figures of a moment; they scroll where there is no room for all.

    `told` brings a message and its tone.
    """

    told = Signal(str, str)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("The run now")
        self.setFixedWidth(WIDTH)
        self._theme = theme
        self._meters: dict[str, DeviceMeter] = {}
        self.figures = ValueTable(theme)
        self.figures.copy_asked.connect(self.copy_figures)
        self._holder = QWidget()
        self._holder.setObjectName("plain")
        self._column = QVBoxLayout(self._holder)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.body.setContentsMargins(2 * GRID, GRID + 4, GRID, GRID + 4)
        self.title = Label(NOW, "section")
        self.fold = Option.switch(
            "devices", theme, "Show the devices; without them there is room for the figures", on=True
        )
        self.fold.toggled.connect(self._make_way)
        self._head = self._make_head()
        self.body.addWidget(self._head)
        self._scroll = self._scroller()
        self._scroll.installEventFilter(self)
        self.body.addWidget(self._scroll, 1)

    @property
    def meters(self) -> list[DeviceMeter]:
        """The meters, from the top."""
        return list(self._meters.values())

    def restart(self) -> None:
        """Forget the run that was shown."""
        self._make_meters([])
        self.set_readout(None)

    def set_live(self, live: bool) -> None:
        """Say whether the figures are of now, or the last that came."""
        self.title.setText(NOW if live else ENDED)

    def set_devices(self, devices: list[DeviceMemoryNow]) -> None:
        """Show these devices."""
        if [device.name for device in devices] != list(self._meters):
            self._make_meters(devices)
        for device in devices:
            self._meters[device.name].set_now(device)

    def set_readout(self, readout: Readout | None) -> None:
        """Show these figures under the devices."""
        self.figures.set_readout(readout)
        self._fit()
        self._make_way()

    def copy_figures(self) -> None:
        """Put the figures of the moment on the clipboard, as a spreadsheet takes them."""
        found = self.figures.readout
        if found is None:
            self.told.emit(NO_FIGURES, "bad")
            return
        QGuiApplication.clipboard().setText("".join("\t".join(cells) + "\n" for cells in found.lines()))
        self.told.emit(f"The figures ({found.title}) are on the clipboard.", "plain")

    def _make_meters(self, devices: list[DeviceMemoryNow]) -> None:
        for meter in self._meters.values():
            self._column.removeWidget(meter)
            meter.deleteLater()
        self._meters = {device.name: DeviceMeter(self._theme, device) for device in devices}
        for number, meter in enumerate(self._meters.values()):
            self._column.insertWidget(number, meter)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Leave the captions out where they would make the devices scroll."""
        if event.type() == QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)

    def _make_way(self) -> None:
        """Where there is no room for both, the meters of now give way to the figures of the moment pointed at.

        So they do for a person who has folded them.
        """
        found, needed = self.figures.readout, sum(meter.sizeHint().height() for meter in self.meters)
        past = found is not None and found.past
        head = 0 if self._head.isVisibleTo(self) else self._head.sizeHint().height() + self.body.spacing()
        scrolls = needed + self.figures.sizeHint().height() + GRID > self._scroll.height() - head
        away = scrolls and (past or not self.fold.isChecked())
        self.fold.setVisible(scrolls and bool(self.meters))
        self._head.setVisible(not (scrolls and past))
        if away == self._holder.isVisibleTo(self):
            self._holder.setVisible(not away)

    def _fit(self) -> None:
        room = self._scroll.height() - self.figures.sizeHint().height() - GRID // 2
        forms = (form for form in FORMS if sum(meter.height_if(form) for meter in self.meters) <= room)
        form = next(forms, FORMS[-1])
        for meter in self.meters:
            meter.set_form(form)

    def _make_head(self) -> QWidget:
        head = QWidget()
        row = QHBoxLayout(head)
        row.setContentsMargins(0, 0, GRID, 0)
        row.addStrut(self.fold.sizeHint().height())
        row.addWidget(self.title, 1)
        row.addWidget(self.fold)
        self.fold.hide()
        return head

    def _scroller(self) -> QScrollArea:
        inside = QWidget()
        inside.setObjectName("plain")
        outer = QVBoxLayout(inside)
        outer.setContentsMargins(0, 0, GRID, 0)
        outer.setSpacing(GRID // 2)
        outer.addWidget(self._holder)
        outer.addWidget(self.figures)
        outer.addStretch(1)
        scroller = QScrollArea()
        scroller.setWidget(inside)
        scroller.setWidgetResizable(True)
        scroller.setFrameShape(QFrame.Shape.NoFrame)
        scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # The figures in it take the focus, and the keys that they have no use for scroll.
        scroller.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroller.setAccessibleName("Memory of each device now")
        return scroller
