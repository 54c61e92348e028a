"""The lines of the log that are shown, saved in a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.output_files import write_output
from gpu_studio.runs.directory import slug
from gpu_studio.ui.pages.train.log_pane import LogPane

FILTER = "Text (*.txt);;All files (*)"


class LogFile(QObject):
    """Asks for a file and writes the lines to it. `told(text, tone)` says how that went."""

    told = Signal(str, str)

    def __init__(self, pane: LogPane, window: QWidget) -> None:
        super().__init__(window)
        self._pane, self._window = pane, window
        self.name = ""
        pane.save.triggered.connect(self.choose_and_write)

    def choose_and_write(self) -> None:
        """Ask for a file, and write the lines that are shown now to it."""
        text = self._pane.text
        dialog = QFileDialog(self._window, "Save the log as text", str(Path.home()), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("txt")
        dialog.selectFile(f"{slug(self.name)}-log.txt")
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self._write(Path(name), text))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _write(self, path: Path, text: str) -> None:
        try:
            write_output(path.absolute(), [text.encode("utf-8", "replace")])
        except OSError as error:
            why = error.strerror or str(error)
            self.told.emit(f"The log could not be written to {path}: {why}. Write it to another place.", "bad")
        else:
            self.told.emit(f"The lines that were shown are in {path}.", "plain")
