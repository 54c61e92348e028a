"""The open plan as a Python script: on the clipboard, or in a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.output_files import write_output
from gpu_studio.ui.control.plan_files import SUFFIX, file_name
from gpu_studio.ui.models.plan.plan_document import PlanDocument, folder_of
from gpu_studio.ui.models.plan.plan_facts import FactsReader
from gpu_studio.ui.models.plan.readiness import Readiness

FILTER = "Python (*.py);;All files (*)"


class Scripts(QObject):
    """Makes scripts of the document's plan. `told(text)` says what was done, `failed(text)` what could not be."""

    told = Signal(str)
    failed = Signal(str)

    def __init__(self, document: PlanDocument, readiness: Readiness, facts: FactsReader, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._facts = facts
        self._readiness = readiness
        self._window = window

    def copy(self) -> None:
        """Put the script on the clipboard."""
        script = self._script()
        if script is not None:
            QGuiApplication.clipboard().setText(script)
            beside = " and ".join(self._files_beside())
            needs = f" For another machine, Export as Python writes {beside} beside the script." if beside else ""
            self.told.emit(f"The plan is on the clipboard as a Python script.{needs}")

    def choose_and_write(self) -> None:
        """Ask for a file, and write the script to it."""
        if self._document.plan is None:
            return
        dialog = QFileDialog(self._window, "Export as Python", str(folder_of(self._document.path)), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("py")
        dialog.selectFile(file_name(self._document.plan.name).removesuffix(SUFFIX).replace("-", "_") + ".py")
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self.write(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def write(self, path: Path) -> None:
        """Write the script to a file; if that fails, say why."""
        script = self._script()
        if script is None:
            return
        try:
            for name, source in self._files_beside().items():
                write_output(path.absolute().with_name(name), [source.read_bytes()])
            write_output(path.absolute(), [script.encode()])
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(f"The script could not be written to {path}: {why}. Write it to another place.")
            return
        self.told.emit(f"The script is in {path}: run it with python {path.name}.")

    def _files_beside(self) -> dict[str, Path]:
        from gpu_studio.export import files_beside

        return files_beside(self._document.plan) if self._document.plan is not None else {}

    def _script(self) -> str | None:
        # Imported when first asked for: the window's start waits for this module.
        from gpu_studio.export import ExportError, python_script

        plan, base = self._document.plan, folder_of(self._document.path)
        if plan is None:
            return None
        told = self._facts.told_of(plan, base)
        try:
            return python_script(plan, self._readiness.machine, base, told.data if told else None)
        except ExportError as error:
            self.failed.emit(str(error))
            return None
