"""Where a person reads a Python file, and says whether it may run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gpu_studio.plan.problems import printable
from gpu_studio.runs.allowable_folders import why_not
from gpu_studio.runs.consent import Standing, allow_file, allow_folder
from gpu_studio.ui.models import figures
from gpu_studio.ui.models.plan.code_file import CodeFile, moment, read_code_file
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.asking.dialogs import Dialog
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.code_view import CodeView
from gpu_studio.ui.widgets.labels import Elided, Paragraph
from gpu_studio.ui.widgets.note import Note

TITLE = "Allow this Python file to run?"
WHAT_IT_MEANS = "It runs as you, and may read, change and send whatever you may."
CHANGED_MEANWHILE = "The file has changed since it was shown here. This is what it holds now: read it again."
_STANDING = {
    Standing.NEW: "nothing of it has been run yet",
    Standing.CHANGED: "it has changed since it was allowed",
    Standing.ALLOWED: "it is allowed",
}
_WIDTH, _HEIGHT = 760, 620
_LONGEST_NAME = 60


class AllowDialog(Dialog):
    """Shows the file at `path` as text. What is allowed is what is shown: if it has changed, it is shown again.

    `allowed` fires when it has been written down that the file, or its folder, may run.
    """

    allowed = Signal()

    def __init__(self, path: Path, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(TITLE, parent)
        self.setModal(True)
        self.setAccessibleName(TITLE)
        self.path = path
        self._shown: CodeFile | None = None
        self._where = Elided(str(path), "mono", mode=Qt.TextElideMode.ElideMiddle, letters=24)
        self._facts = Paragraph("", "muted")
        self.code = CodeView(theme, "text of the file")
        self.remark, self._about_folder = Note(), Paragraph("", "caption")
        self.file, self.folder = Button("Allow this file"), Button("Allow this folder")
        self._lay_out()
        self.file.clicked.connect(self._allow_file)
        self.folder.clicked.connect(self._allow_folder)
        self.cancel = self.add_buttons(self.file, self.folder, last="Cancel")
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        self.resize(_WIDTH, _HEIGHT)
        self._read()

    @property
    def text(self) -> str:
        """What is said of the file, without what it holds."""
        return " ".join(filter(None, (self._facts.text(), self.remark.text, self._about_folder.text())))

    def _allow_file(self) -> None:
        if (shown := self._unchanged()) is not None:
            self._write_down(lambda: allow_file(shown.path, shown.code))

    def _allow_folder(self) -> None:
        if (shown := self._unchanged()) is not None and not why_not(shown.real.parent):
            self._write_down(lambda: allow_folder(shown.real.parent))

    def _unchanged(self) -> CodeFile | None:
        """What was shown, if the file still holds it; else what it holds now is shown."""
        before = self._shown
        self._read()
        if before is None or self._shown is None:
            return None
        if self._shown.code == before.code and self._shown.real == before.real:
            return self._shown
        self.remark.say(" ".join(filter(None, (CHANGED_MEANWHILE, self._shown.cut))), "warning")
        self.cancel.setFocus()
        return None

    def _write_down(self, allow: Callable[[], None]) -> None:
        try:
            allow()
        except OSError as error:
            why = sentence(f"it could not be written down that this may run: {error.strerror or error}")
            self.remark.say(why, "bad")
            return
        self.close()
        self.allowed.emit()

    def _read(self) -> None:
        """Show what the file holds now, or why it cannot be read."""
        try:
            self._show(read_code_file(self.path))
        except OSError as error:
            self._shown = None
            self._facts.setText("")
            self.code.setPlainText("")
            self.remark.say(sentence(f"the file cannot be read: {error.strerror or error}"), "bad")
        readable = self._shown is not None
        self.file.setEnabled(readable)
        self.folder.setEnabled(readable)

    def _show(self, shown: CodeFile) -> None:
        if self._shown is None or shown.code != self._shown.code:
            self.code.setPlainText(shown.text)
        self._shown = shown
        linked = shown.real != self.path.absolute()
        self._where.setText(f"{self.path} → {shown.real}" if linked else str(self.path))
        size, changed = figures.size(len(shown.code)), moment(shown.changed)
        self._facts.setText(f"{size} · changed {changed} · {_STANDING[shown.standing]}")
        self.remark.say(shown.cut, "warning")
        folder = shown.real.parent
        offered = not why_not(folder)
        words = (
            f"Allow this folder: all Python in and below “{_short(folder.name)}” may run, also after it has changed."
        )
        self._about_folder.setText(words if offered else "")
        self._about_folder.setVisible(offered)
        self.folder.setVisible(offered)

    def _lay_out(self) -> None:
        frame = QFrame()
        frame.setObjectName("card")
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(2, GRID // 2, 2, GRID // 2)
        inside.addWidget(self.code)
        self.column.addWidget(self._where)
        self.column.addWidget(self._facts)
        self.column.addWidget(Paragraph(WHAT_IT_MEANS))
        self.column.addWidget(frame, 1)
        self.column.addWidget(self.remark)
        self.column.addWidget(self._about_folder)


def _short(name: str) -> str:
    """A name that leaves the dialog as wide as it is."""
    name = printable(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
