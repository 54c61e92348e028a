"""The devices as a file: the same CSV as `gpu-studio devices --csv`."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.hardware.spreadsheet import csv_lines
from gpu_studio.output_files import write_output
from gpu_studio.ui.models.devices.sampler import Sampler

FILTER = "CSV (*.csv);;All files (*)"
NOTHING_YET = "There is nothing to save yet: the devices are still being asked. Try again in a moment."


class DevicesFile(QObject):
    """Writes what the sampler knows now. `told(text)` says what was done, `failed(text)` what could not be."""

    told = Signal(str)
    failed = Signal(str)

    def __init__(self, sampler: Sampler, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sampler = sampler

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
        """Write a line for each card, with a heading; if that fails, say why."""
        picture = self._sampler.picture
        if "cards" not in picture.seen:
            self.failed.emit(NOTHING_YET)
            return
        try:
            write_output(path.absolute(), ["\n".join([*csv_lines(picture), ""]).encode()])
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(f"The devices could not be written to {path}: {why}. Write them to another place.")
            return
        self.told.emit(f"The devices are in {path}.")
