"""The open plan as a Python script, on the clipboard or in a file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from gpu_studio.common.safe_files import write_output
from gpu_studio.ui.window.plan_files import SUFFIX, file_name
from gpu_studio.ui.window.services import Services

FILTER = "Python (*.py);;All files (*)"


class Scripts(QObject):
    """Makes scripts of the document's plan.

    `reported(text)` says what was done, `failed(text)` what could not be.
    """

    reported = Signal(str)
    failed = Signal(str)

    def __init__(self, services: Services) -> None:
        super().__init__(services.window)
        self._document, self._facts = services.document, services.facts
        self._readiness, self._window = services.readiness, services.window

    def copy(self) -> None:
        """Put the script on the clipboard."""
        script = self._script()
        if script is not None:
            QGuiApplication.clipboard().setText(script)
            beside = " and ".join(self._files_beside())
            needs = (
                f" For another machine, Export as Python writes {beside} beside the script."
                if beside
                else ""
            )
            self.reported.emit(f"The plan is on the clipboard as a Python script.{needs}")

    def choose_and_write(self) -> None:
        """Ask for a file, and write the script to it."""
        if self._document.plan is None:
            return
        dialog = QFileDialog(self._window, "Export as Python", str(self._document.folder), FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("py")
        dialog.selectFile(
            file_name(self._document.plan.name).removesuffix(SUFFIX).replace("-", "_") + ".py"
        )
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
            self.failed.emit(
                f"The script could not be written to {path}: {why}. Write it to another place."
            )
            return
        self.reported.emit(f"The script is in {path}: run it with python {path.name}.")

    def _files_beside(self) -> dict[str, Path]:
        from gpu_studio.export import files_beside

        return files_beside(self._document.plan) if self._document.plan is not None else {}

    def _script(self) -> str | None:
        # Imported when first asked for: the window's start waits for this module.
        from gpu_studio.export import ExportError, python_script

        document, plan = self._document, self._document.absolute
        if document.plan is None or plan is None:
            return None
        reported = self._facts.facts_so_far(plan)
        seen, built = (reported.data, reported.model) if reported else (None, None)
        try:
            return python_script(
                document.plan, self._readiness.machine, document.folder, seen, built
            )
        except ExportError as error:
            self.failed.emit(str(error))
            return None
