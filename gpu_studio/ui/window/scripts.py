"""The open plan as a Python script, on the clipboard or in a file, and what starts its workers."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from gpu_studio.common.safe_files import read_regular, write_output
from gpu_studio.contract import plain_slug
from gpu_studio.plan import Plan, strategy_of
from gpu_studio.runs.sources import reads
from gpu_studio.ui.window.plan_files import SUFFIX, file_name
from gpu_studio.ui.window.services import Services

MOST_BYTES = 1 << 24
ALL_FILES = "All files (*)"
FILTERS = {"Python (*.py)": ".py"}
WORKER_FILTERS = {
    "Commands that start the workers here (*.sh)": ".sh",
    "Job for Slurm (*.sbatch)": ".sbatch",
    "Manifest for Kubernetes (*.yaml)": ".yaml",
    "TF_CONFIG of each worker (*.jsonl)": ".jsonl",
}
"""For a plan of several workers, what else can be written, each with its ending."""


_NEXT = {
    "tf_config": "Put the addresses of your machines in place of 127.0.0.1.",
    "launch": "It starts all workers: bash {name}",
    "sbatch": "Submit it in its folder: sbatch {name}",
    "kubernetes": "Start it: kubectl apply -f {name}",
}


def _is_another(path: Path, content: bytes) -> bool:
    """Whether there is a file that holds something else."""
    try:
        return path.exists() and read_regular(path, MOST_BYTES, follow=True) != content
    except (OSError, ValueError):  # no regular file, or larger than any script
        return True


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
        kinds = self._kinds()
        names = ";;".join((*kinds, ALL_FILES))
        dialog = QFileDialog(self._window, "Export as Python", str(self._document.folder), names)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("py")
        stem = file_name(self._document.plan.name).removesuffix(SUFFIX).replace("-", "_")
        dialog.selectFile(stem + ".py")

        def name_by_kind(chosen: str) -> None:
            if chosen in kinds:
                dialog.setDefaultSuffix(kinds[chosen])
                dialog.selectFile(stem + kinds[chosen])

        dialog.filterSelected.connect(name_by_kind)
        dialog.setAccessibleName(dialog.windowTitle())
        dialog.fileSelected.connect(lambda name: self.write(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _kinds(self) -> dict[str, str]:
        """What can be written of the plan: filters of a file dialog with their endings."""
        plan = self._document.plan
        several = plan is not None and strategy_of(plan).clusters
        return {**FILTERS, **(WORKER_FILTERS if several else {})}

    def write(self, path: Path) -> None:
        """Write the script to a file, or what starts its workers; if that fails, say why."""
        script = self._script()
        if script is None or self._document.plan is None:
            return
        kind = path.suffix if path.suffix in self._kinds().values() else ".py"
        if kind != ".py":
            self._write_job(self._document.plan, path, script)
            return
        if self._written({path: script.encode(), **self._contents_beside(path)}):
            self.reported.emit(f"The script is in {path}: run it with python {quote(path.name)}.")

    def _write_job(self, plan: Plan, path: Path, script: str) -> None:
        """Write what starts the workers, and beside it the script that it starts."""
        from gpu_studio.export import ExportError
        from gpu_studio.export.jobs import SCRIPT, SUFFIXES, job_text, starts_script

        kind = SUFFIXES[path.suffix]
        beside = {each.name: content for each, content in self._contents_beside(path).items()}
        try:
            text = job_text(kind, plan, plain_slug(plan.name), script, beside, path.name)
        except ExportError as error:
            self.failed.emit(str(error))
            return
        contents = {path: text.encode()}
        if starts_script(kind):
            contents |= {path.with_name(SCRIPT): script.encode(), **self._contents_beside(path)}
            if _is_another(path.with_name(SCRIPT), script.encode()):
                self.failed.emit(
                    f"{path.with_name(SCRIPT)} is there already and is another script, which "
                    f"{path.name} would start. Write it to a folder of its own."
                )
                return
        if self._written(contents):
            self.reported.emit(f"{path} is written. {_NEXT[kind].format(name=quote(path.name))}")

    def _contents_beside(self, path: Path) -> dict[Path, bytes]:
        files = self._files_beside().items()
        return {path.with_name(name): source.read_bytes() for name, source in files}

    def _written(self, contents: dict[Path, bytes]) -> bool:
        """Write the files; if that fails, or one is of the plan itself, say why."""
        plan, file = self._document.absolute, self._document.path
        if own := [each for each in contents if plan is not None and reads(plan, file, each)]:
            self.failed.emit(f"{own[0]} is a file of the plan itself: choose another name.")
            return False
        try:
            for path, content in contents.items():
                write_output(path.absolute(), [content])
        except OSError as error:
            why = error.strerror or str(error)
            self.failed.emit(
                f"The script could not be written to {next(iter(contents))}: {why}. Write it to "
                "another place."
            )
            return False
        return True

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
