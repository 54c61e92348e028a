"""The Devices page: the hardware of this machine, and its users."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QFontMetrics,
    QGuiApplication,
    QHideEvent,
    QIcon,
    QPainter,
    QPixmap,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.common.safe_files import write_output
from gpu_studio.hardware.device_rows import DeviceRow, csv_lines, rows_of, rows_of_machine
from gpu_studio.ui.devices.alerts import AlertWatch
from gpu_studio.ui.devices.devices_table import DevicesModel, DevicesTable, as_text
from gpu_studio.ui.kit import (
    GAP,
    ActionButton,
    Button,
    CardFrame,
    Label,
    Page,
    Paragraph,
    ThemeManager,
    font,
    mix,
    readable,
    sentence,
    show_if,
)
from gpu_studio.ui.machine.checkup import Checkup
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.machine.sampler import SamplerClient

if TYPE_CHECKING:
    from gpu_studio.ui.devices.history_plot import HistoryPlot
    from gpu_studio.ui.devices.side_card import SideCard

_HEIGHT, _SIDE, _BEFORE = 20, 8, 6


class DoctorButton(ActionButton):
    """Says `Doctor`, and in a pill the number of problems, if there are any."""

    def __init__(self, theme: ThemeManager, action: QAction, parent: QWidget | None = None) -> None:
        self._theme, self._problems = theme, 0
        super().__init__(action, parent=parent, text="Doctor")
        # The icon follows the word.
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        theme.changed.connect(self._follow)

    @property
    def problems(self) -> int:
        """The number of problems shown."""
        return self._problems

    def show_problems(self, problems: int) -> None:
        """Show this number of problems."""
        if problems != self._problems:
            self._problems = problems
            self.setAccessibleName(
                f"Doctor, {plural(problems, 'problem')}" if problems else "Doctor"
            )
            self._follow()

    def _follow(self) -> None:
        super()._follow()
        pill = self._pill() if self._problems else QPixmap()
        self.setIcon(QIcon(pill))
        self.setIconSize(pill.deviceIndependentSize().toSize() if self._problems else QSize(0, 0))

    def _pill(self) -> QPixmap:
        tokens, ratio, text = self._theme.tokens, self.devicePixelRatioF(), str(self._problems)
        ground = mix(tokens.bad, tokens.raised, 0.22)
        pill = QRectF(
            _BEFORE, 0, QFontMetrics(font("caption")).horizontalAdvance(text) + 2 * _SIDE, _HEIGHT
        )
        pixmap = QPixmap(QSize(round(pill.right()), _HEIGHT) * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(pill, _HEIGHT / 2, _HEIGHT / 2)
        painter.setFont(font("caption"))
        painter.setPen(QColor(readable(tokens.bad, ground, tokens.text)))
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
        return pixmap


FILTER = "CSV (*.csv);;All files (*)"
NOTHING_YET = (
    "There is nothing to save yet: the devices are still being asked. Try again in a moment."
)


class DevicesFile(QObject):
    """Writes what the sampler knows now.

    `reported(text)` reports success, `failed(text)` a failure.
    """

    reported = Signal(str)
    failed = Signal(str)

    def __init__(self, sampler: SamplerClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sampler = sampler

    def choose_and_write(self, window: QWidget) -> None:
        """Ask for a file, and write to it."""
        dialog = QFileDialog(window, "Save devices as CSV", str(Path.home()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.selectFile(time.strftime("devices-%Y%m%d-%H%M%S.csv"))
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self.write(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def write(self, path: Path) -> None:
        """Write a heading and a line for each card; if that fails, say why."""
        picture = self.sampler.picture
        if "cards" not in picture.seen:
            self.failed.emit(NOTHING_YET)
            return
        try:
            write_output(path.absolute(), ["\n".join([*csv_lines(picture), ""]).encode()])
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(
                f"The devices could not be written to {path}: {why}. Write them to another place."
            )
            return
        self.reported.emit(f"The devices are in {path}.")


CLASSES = ("fast", "slow", "processes", "pcie", "host", "host_processes")
WITHOUT_CARDS = (
    "Everything works here without one: the CPU can be carved into logical devices, which train in "
    "the same way, or you can practise with cards that are not there, which have memory limits too."
)
_WIDE = 1000


class DeviceActions(NamedTuple):
    """The window's actions that have a button on the page."""

    doctor: QAction
    copy: QAction
    practise: QAction
    stop_practising: QAction


class DevicesPage(Page):
    """A table of the physical devices, live plots, and the processes on the cards.

    It watches only while it is visible.
    """

    def __init__(
        self,
        theme: ThemeManager,
        inventory: Inventory,
        sampler: SamplerClient,
        checkup: Checkup,
        actions: DeviceActions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Devices", parent)
        self._theme = theme
        self._inventory = inventory
        self.sampler = sampler
        self.checkup = checkup
        self._live: tuple[HistoryPlot, SideCard] | None = None
        self.alerts = AlertWatch(sampler, self)
        self.file = DevicesFile(sampler, self)
        self.model = DevicesModel(self)
        self.table = DevicesTable(theme, self.model)
        self.table.retry.connect(sampler.retry)
        self.marked = Label("", "strong")
        self.header.insertWidget(2, self.marked)
        self.stop_practising = ActionButton(actions.stop_practising, small=True)
        self.header.insertWidget(3, self.stop_practising)
        self.doctor = DoctorButton(theme, actions.doctor)
        self.save = Button("Save as CSV…")
        self.save.setToolTip(
            "Write the cards and their figures to a file, as gpu-studio devices --csv has them"
        )
        self.save.clicked.connect(self.save_csv)
        for button in (self.doctor, ActionButton(actions.copy, text="Copy as text"), self.save):
            self.add_button(button)
        self._add_cards(actions.practise)
        inventory.changed.connect(self._follow)
        sampler.changed.connect(self._follow_sampler)
        checkup.changed.connect(self.follow_checkup)
        theme.changed.connect(self._wear)
        self._wear()
        self._follow()

    @property
    def text(self) -> str:
        """All devices and their figures as text."""
        return f"{self.caption.text()}\n\n{as_text(self.model.rows)}\n"

    @property
    def plot(self) -> HistoryPlot:
        """The live plots, created when the page is first shown: their imports take long."""
        return self._parts()[0]

    @property
    def side(self) -> SideCard:
        """Processes, topology and events, created in the same way."""
        return self._parts()[1]

    def copy(self) -> None:
        """Copy the devices to the clipboard as text."""
        QGuiApplication.clipboard().setText(self.text)

    def save_csv(self) -> None:
        """Ask for a file, and write the devices to it as CSV."""
        self.file.choose_and_write(self)

    def close_parts(self) -> None:
        """Release what is watched."""
        if self._live is not None:
            self._live[1].processes.close_ending()

    def _add_cards(self, practise: QAction) -> None:
        self._devices = CardFrame()
        self._devices.setAccessibleName("devices")
        self._devices.body.setContentsMargins(6, 6, 6, 6)
        self._devices.body.addWidget(self.table)
        self.absence = CardFrame("No NVIDIA card in use")
        self.why = Paragraph()
        self.absence.body.addWidget(self.why)
        self.absence.body.addWidget(Paragraph(WITHOUT_CARDS, "muted"))
        self.absence.body.addWidget(ActionButton(practise), alignment=Qt.AlignmentFlag.AlignLeft)
        self._row = QHBoxLayout()
        self._row.setSpacing(GAP)
        self.column.addWidget(self._devices)
        self.column.addWidget(self.absence)
        self.column.addLayout(self._row, 1)

    def _parts(self) -> tuple[HistoryPlot, SideCard]:
        if self._live is None:
            from gpu_studio.ui.devices.history_plot import HistoryPlot
            from gpu_studio.ui.devices.side_card import SideCard

            self._live = (
                HistoryPlot(self._theme, self.sampler.history),
                SideCard(self._theme, self.checkup, self.alerts),
            )
            self._row.addWidget(self._live[0], 3)
            self._row.addWidget(self._live[1], 2)
            self._fit()
        return self._live

    # Reports

    def _follow(self) -> None:
        picture, machine = self.sampler.picture, self._inventory.machine
        watched = "cards" in picture.seen
        self.caption.setText(self._caption())
        self.marked.setText(picture.marked)
        self.marked.setVisible(bool(picture.marked))
        show_if(self.stop_practising, bool(picture.practice))
        if watched:
            self._show(rows_of(picture, machine, self.sampler.trouble))
        elif machine is not None:
            self._show(rows_of_machine(machine))
        self._devices.setVisible(bool(self.model.rows))
        why = picture.why if watched else machine.why_no_cards if machine else ""
        none = not picture.cards if watched else machine is not None and not machine.cards
        show_if(self.absence, none and bool(self.model.rows) and not self._inventory.error)
        self.why.setText(sentence(why))
        if watched and self._live is not None and self.isVisible():
            self.plot.show_devices(self.model.rows)
            self.side.show_picture(picture)

    def _follow_sampler(self) -> None:
        """Show what is new; draw nothing while this page is hidden."""
        if self.isVisible():
            self._follow()

    def _show(self, rows: tuple[DeviceRow, ...]) -> None:
        before = len(self.model.rows)
        self.model.set_rows(rows)
        self.table.span()
        if len(rows) != before:
            self._fit_table()

    def follow_checkup(self) -> None:
        """Show what the checkup found last."""
        diagnosis = self.checkup.diagnosis
        self.doctor.show_problems(diagnosis.problems if diagnosis else 0)

    def _caption(self) -> str:
        if self._inventory.looking:
            return "looking at the machine…"
        picture = self.sampler.picture
        driver = f"driver {picture.driver}" if picture.driver else ""
        cuda = f"CUDA {picture.cuda}" if picture.cuda else ""
        return self._inventory.error or " · ".join(filter(None, (platform.node(), driver, cuda)))

    def _wear(self) -> None:
        self.marked.setStyleSheet(f"color: {self._theme.tokens.warning}")
        self.table.viewport().update()

    # Qt's events

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Watch while the page is visible."""
        super().showEvent(event)
        self._parts()
        self.sampler.look(CLASSES)
        if self.checkup.diagnosis is None:
            self.checkup.glance()
        self._follow()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Stop watching."""
        super().hideEvent(event)
        self.sampler.rest()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Fit the columns to the width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        wide = self.width() >= _WIDE
        for place, share in enumerate((3, 2) if wide else (1, 1)):
            self._row.setStretch(place, share)
        if self._live is not None:
            self.plot.set_brief(not wide)
        self._fit_table()

    def _fit_table(self) -> None:
        self.table.fit(wide=self.width() >= _WIDE, page_height=self.height())
