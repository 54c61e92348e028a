"""The panel beside the plots: the memory of each device now, and the numbers at the crosshair."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from gpu_studio.ui.models.memory_now import DeviceMemoryNow
from gpu_studio.ui.models.readout import Readout
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.device_meter import DeviceMeter
from gpu_studio.ui.widgets.figure_list import FigureList
from gpu_studio.ui.widgets.labels import Label

WIDTH = 230
NOW, ENDED = "NOW", "AT THE END"


class NowPanel(Card):
    """Meters of the devices over the figures of a moment; they scroll where there is no room for all."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("The run now")
        self.setFixedWidth(WIDTH)
        self._theme = theme
        self._meters: dict[str, DeviceMeter] = {}
        self.figures = FigureList(theme)
        self._column = QVBoxLayout()
        self._column.setSpacing(0)
        self.body.setContentsMargins(2 * GRID, GRID + 4, GRID, GRID + 4)
        self.title = Label(NOW, "section")
        self.body.addWidget(self.title)
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

    def _fit(self) -> None:
        room = self._scroll.height() - self.figures.sizeHint().height() - GRID // 2
        dense = sum(meter.height_if(dense=False) for meter in self.meters) > room
        for meter in self.meters:
            meter.set_dense(dense)

    def _scroller(self) -> QScrollArea:
        inside = QWidget()
        inside.setObjectName("plain")
        outer = QVBoxLayout(inside)
        outer.setContentsMargins(0, 0, GRID, 0)
        outer.setSpacing(GRID // 2)
        outer.addLayout(self._column)
        outer.addStretch(1)
        outer.addWidget(self.figures)
        scroller = QScrollArea()
        scroller.setWidget(inside)
        scroller.setWidgetResizable(True)
        scroller.setFrameShape(QFrame.Shape.NoFrame)
        scroller.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroller.setAccessibleName("Memory of each device now")
        return scroller
