"""Dialogs in which the user reads Python, or lines of shell, and decides whether they may run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import UNKNOWN
from gpu_studio.contract.consent import (
    Standing,
    allow_file,
    allow_folder,
    allowances,
    standing,
    withdraw,
)
from gpu_studio.plan import printable
from gpu_studio.plan.local_modules import read_code
from gpu_studio.runs.sources import why_not
from gpu_studio.ui.kit import (
    GRID,
    Button,
    CodeView,
    Dialog,
    Elided,
    Note,
    Paragraph,
    PlainTable,
    Table,
    ThemeManager,
    sentence,
)
from gpu_studio.ui.plan.python_files import CodeFile, moment, read_code_file

ALLOWED_TITLE = "Allowed Python"
WORDS = (
    "These files may run when a plan names them. A file is allowed as it was when you read it, and "
    "asked about again once it has changed; a folder with all that is in and below it, whatever it "
    "holds. What is forbidden here stops no run that is alive."
)
NONE = "No Python file is allowed. Where a plan names one, Allow… shows it to you first."
_WIDTH, _HEIGHT = 760, 420


class AllowedDialog(Dialog):
    """A table of the allowed files and folders.

    *Forbid*, or Delete, removes the selected rows; then `changed` fires.
    """

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(ALLOWED_TITLE, parent)
        self.setAccessibleName(ALLOWED_TITLE)
        self.words, self.remark = Paragraph("", "muted"), Note()
        self.model = AllowedModel(self)
        self.table = _Files(self.model, "allowed Python")
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.set_widths({1: 230, 2: 152}, stretch=0)
        self.forbid = Button("Forbid")
        self.forbid.setToolTip("Ask again before the selected ones run (Delete)")
        for widget in (self.words, self.remark):
            self.column.addWidget(widget)
        self._frame = QFrame()
        self._frame.setObjectName("card")
        inside = QVBoxLayout(self._frame)
        inside.setContentsMargins(GRID // 2, GRID // 2, GRID // 2, GRID // 2)
        inside.addWidget(self.table)
        self.column.addWidget(self._frame, 1)
        self.column.addStretch(0)
        self.add_buttons(self.forbid)
        self.forbid.clicked.connect(self._forbid)
        self.table.delete_pressed.connect(self._forbid)
        self.table.selectionModel().selectionChanged.connect(self._follow)
        self.resize(_WIDTH, _HEIGHT)
        self.read()
        self.table.setFocus()

    @property
    def selected(self) -> list[Path]:
        """The rows that Forbid applies to."""
        return [
            self.model.rows[index.row()].path
            for index in self.table.selectionModel().selectedRows()
        ]

    def read(self) -> None:
        """Show what is allowed now."""
        rows, problem = allowed_rows()
        self.model.set_rows(rows)
        self.remark.say(problem, "bad")
        self.words.setText(WORDS if rows else NONE)
        self._frame.setVisible(bool(rows))
        self._follow()

    def _follow(self) -> None:
        self.forbid.setEnabled(bool(self.selected))

    def _forbid(self) -> None:
        chosen = self.selected
        first = min(
            (index.row() for index in self.table.selectionModel().selectedRows()), default=0
        )
        try:
            for path in chosen:
                withdraw(path)
        except OSError as error:
            self.remark.say(
                sentence(f"it could not be written down: {error.strerror or error}"), "bad"
            )
            return
        self.read()
        if self.model.rows:
            self.table.choose_row(min(first, len(self.model.rows) - 1))
        self.changed.emit()


class _Files(Table):
    """A table that reports the Delete key."""

    delete_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete removes the selected rows."""
        if event.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)


_STANDING = {
    Standing.ALLOWED: "as it is now",
    Standing.CHANGED: "as it was: it has changed since",
    Standing.NEW: "as it was: a link stands there now",
}


@dataclass(frozen=True, slots=True)
class AllowedRow:
    """One row: what is allowed, and when it was last changed, both in words."""

    path: Path
    allowed: str
    changed: str = UNKNOWN


class AllowedModel(PlainTable[AllowedRow]):
    """Columns: the path, what is allowed, when it changed."""

    headers = ("File or folder", "Allowed", "Last change")

    def key(self, row: AllowedRow) -> Path:
        """Its path."""
        return row.path

    def text(self, row: AllowedRow, column: int) -> str:
        """The words of a cell."""
        return (str(row.path), row.allowed, row.changed)[column]


def allowed_rows() -> tuple[list[AllowedRow], str]:
    """Return what is allowed, folders first, and the reason if that is unknown, else nothing."""
    known = allowances()
    folders = [_folder(Path(name)) for name in sorted(known.folders)]
    return [*folders, *(_file(Path(name)) for name in sorted(known.files))], known.problem


def _folder(path: Path) -> AllowedRow:
    return AllowedRow(
        path, "all in and below it" if path.is_dir() else "all in and below it: it is not there now"
    )


def _file(path: Path) -> AllowedRow:
    try:
        said, changed = standing(path, read_code(path)), moment(path.stat().st_mtime)
    except FileNotFoundError:
        return AllowedRow(path, "as it was: it is not there now")
    except OSError as error:
        return AllowedRow(path, f"as it was: it cannot be read ({error.strerror or error})")
    return AllowedRow(path, _STANDING[said], changed)


SHELL_TITLE = "Let these lines run?"
SHELL_WORDS = (
    "The plan gives Slurm these lines of shell, which run as you on every node. Allow them only if "
    "you have read and trust them."
)
_SHELL_HEIGHT = 360


class ShellDialog(Dialog):
    """Shows lines of shell, however many, one by one. `allowed` fires if they may run."""

    allowed = Signal()

    def __init__(self, lines: Sequence[str], theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(SHELL_TITLE, parent)
        self.setModal(True)
        self.setAccessibleName(SHELL_TITLE)
        self.setAccessibleDescription(SHELL_WORDS)
        self.code = CodeView(theme, "lines of shell")
        self.code.setPlainText("\n".join(map(printable, lines)))
        self.allow = Button("Allow these lines")
        self.column.addWidget(Paragraph(SHELL_WORDS, "muted"))
        self.column.addWidget(self.code, 1)
        self.cancel = self.add_buttons(self.allow, last="Cancel")
        self.allow.clicked.connect(self._allow)
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        self.resize(_WIDTH, _SHELL_HEIGHT)

    def _allow(self) -> None:
        self.close()
        self.allowed.emit()


ALLOW_TITLE = "Allow this Python file to run?"
WHAT_IT_MEANS = "It runs as you, and may read, change and send whatever you may."
CHANGED_MEANWHILE = (
    "The file has changed since it was shown here. This is what it holds now: read it again."
)
_WHY_ASKED = {
    Standing.NEW: "nothing of it has been run yet",
    Standing.CHANGED: "it has changed since it was allowed",
    Standing.ALLOWED: "it is allowed",
}
_ALLOW_WIDTH, _ALLOW_HEIGHT = 760, 620
_LONGEST_NAME = 60


class AllowDialog(Dialog):
    """Shows the file at `path` as text. What is shown is what is allowed.

    If the file has changed meanwhile, it is shown again. `allowed` fires once the permission for
    the file, or for its folder, has been saved.
    """

    allowed = Signal()

    def __init__(self, path: Path, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(ALLOW_TITLE, parent)
        self.setModal(True)
        self.setAccessibleName(ALLOW_TITLE)
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
        self.resize(_ALLOW_WIDTH, _ALLOW_HEIGHT)
        self._read()

    @property
    def text(self) -> str:
        """The text about the file, without its contents."""
        return " ".join(
            filter(None, (self._facts.text(), self.remark.text, self._about_folder.text()))
        )

    def _allow_file(self) -> None:
        if (shown := self._unchanged()) is not None:
            self._write_down(lambda: allow_file(shown.path, shown.code))

    def _allow_folder(self) -> None:
        if (shown := self._unchanged()) is not None and not why_not(shown.real.parent):
            self._write_down(lambda: allow_folder(shown.real.parent))

    def _unchanged(self) -> CodeFile | None:
        """Return the shown contents if the file still has them; otherwise show the new ones."""
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
            why = sentence(
                f"it could not be written down that this may run: {error.strerror or error}"
            )
            self.remark.say(why, "bad")
            return
        self.close()
        self.allowed.emit()

    def _read(self) -> None:
        """Show the file's contents, or why it cannot be read."""
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
        self._facts.setText(f"{size} · changed {changed} · {_WHY_ASKED[shown.standing]}")
        self.remark.say(shown.cut, "warning")
        folder = shown.real.parent
        offered = not why_not(folder)
        words = (
            f"Allow this folder: all Python in and below “{_short(folder.name)}” may run, also "
            "after it has changed."
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
    """Return a name that does not widen the dialog."""
    name = printable(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
