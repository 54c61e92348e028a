"""All Python that its user has allowed, where it can be forbidden again."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gpu_studio.runs.consent import withdraw
from gpu_studio.ui.models.plan.allowed_code import AllowedModel, allowed_rows
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import sentence
from gpu_studio.ui.widgets.asking.dialogs import Dialog
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph
from gpu_studio.ui.widgets.note import Note
from gpu_studio.ui.widgets.tables.table import Table

TITLE = "Allowed Python"
WORDS = (
    "These files may run when a plan names them. A file is allowed as it was when you read it, and asked about again "
    "once it has changed; a folder with all that is in and below it, whatever it holds. What is forbidden here stops "
    "no run that is alive."
)
NONE = "No Python file is allowed. Where a plan names one, Allow… shows it to you first."
_WIDTH, _HEIGHT = 760, 420


class AllowedDialog(Dialog):
    """A table of them; *Forbid*, or Delete, takes the selected ones out. `changed` fires after that."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(TITLE, parent)
        self.setAccessibleName(TITLE)
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
        """Those that Forbid is about."""
        return [self.model.rows[index.row()].path for index in self.table.selectionModel().selectedRows()]

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
        first = min((index.row() for index in self.table.selectionModel().selectedRows()), default=0)
        try:
            for path in chosen:
                withdraw(path)
        except OSError as error:
            self.remark.say(sentence(f"it could not be written down: {error.strerror or error}"), "bad")
            return
        self.read()
        if self.model.rows:
            self.table.choose_row(min(first, len(self.model.rows) - 1))
        self.changed.emit()


class _Files(Table):
    """A table that says when Delete was pressed in it."""

    delete_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete takes the selected rows out."""
        if event.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)
