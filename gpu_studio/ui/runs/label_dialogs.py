"""The dialogs in which the user edits names, tags and notes of the selected runs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QLineEdit, QPlainTextEdit, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.runs.labels import (
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_TAG,
    Labels,
    shared_note,
    shared_tags,
    split_tags,
    tidy_name,
)
from gpu_studio.ui.kit.asking.dialogs import Dialog
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.runs.run_row import RunRow

_WIDTH = 460
_NOTE_HEIGHT = 140
_RETURN = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class LabelDialog(Dialog):
    """A dialog with one field.

    `saved` fires with Save, or with Return in the field (Ctrl+Return if it has lines).
    """

    saved = Signal()

    def __init__(
        self, title: str, rows: Sequence[RunRow], hint: str, field: QWidget, parent: QWidget
    ) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self.column.addWidget(Paragraph(_of_what(rows), "muted"))
        problem = next((row.labels.problem for row in rows if row.labels.problem), "")
        if problem:
            self.column.addWidget(Paragraph(problem))
        self.column.addWidget(field)
        self.column.addWidget(Paragraph(hint, "caption"))
        self.save, cancel = Button("Save", "primary"), Button("Cancel")
        self.save.clicked.connect(self._save)
        cancel.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.save)
        row.addWidget(cancel)
        self.column.addLayout(row)
        field.installEventFilter(self)
        field.setFocus()
        self.fit(_WIDTH)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Save with Return, where that is not part of the text."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in _RETURN
        ):
            ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            if ctrl or isinstance(watched, QLineEdit):
                self._save()
                return True
        return super().eventFilter(watched, event)

    def _save(self) -> None:
        self.saved.emit()
        self.close()


class NameDialog(LabelDialog):
    """The name of one run; an empty name restores the plan's. `name` is the present text."""

    def __init__(self, row: RunRow, parent: QWidget) -> None:
        self.before = row.labels.name
        self.field = QLineEdit(row.name)
        self.field.setAccessibleName("name")
        self.field.setPlaceholderText(row.summary.plan)
        self.field.setMaxLength(LONGEST_NAME)
        self.field.setFont(font("text"))
        self.field.selectAll()
        hint = "Its number and its plan stay. Without a name it is called by its plan."
        super().__init__("Rename the run", [row], hint, self.field, parent)
        self._plan = row.summary.plan

    @property
    def name(self) -> str:
        """The name that stands there now; empty where it is the plan's."""
        written = tidy_name(self.field.text())
        return "" if written == self._plan else written


class TagDialog(LabelDialog):
    """A line of tags separated by commas: those that all the runs have.

    `tags` are the present ones.
    """

    def __init__(self, rows: Sequence[RunRow], known: Sequence[str], parent: QWidget) -> None:
        self.before = shared_tags([row.labels for row in rows])
        self.field = QLineEdit(", ".join(self.before))
        self.field.setAccessibleName("tags")
        self.field.setPlaceholderText("best, to show, baseline…")
        self.field.setFont(font("text"))
        offered = f" In use: {', '.join(known[:8])}." if known else ""
        each = " Tags that only some of them have stay as they are." if len(rows) > 1 else ""
        hint = f"Commas between them, at most {LONGEST_TAG} letters each.{each}{offered}"
        super().__init__("Tags", rows, hint, self.field, parent)
        self.field.setCompleter(_completer(known, self.field))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that stand there now."""
        return split_tags(self.field.text())


class NoteDialog(LabelDialog):
    """A few lines of text. `note` is the present text."""

    def __init__(self, rows: Sequence[RunRow], parent: QWidget) -> None:
        labels: list[Labels] = [row.labels for row in rows]
        self.before = shared_note(labels)
        self.field = QPlainTextEdit(self.before or "")
        self.field.setAccessibleName("note")
        self.field.setFont(font("text"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedHeight(_NOTE_HEIGHT)
        if self.before is None:
            self.field.setPlaceholderText(
                "These runs have different notes: what you write takes their place."
            )
        super().__init__(
            "Note",
            rows,
            "Ctrl+Return saves, Escape leaves everything as it was.",
            self.field,
            parent,
        )

    @property
    def note(self) -> str:
        """The text that stands there now, no longer than a note can be."""
        return self.field.toPlainText().strip()[:LONGEST_NOTE]


def _of_what(rows: Sequence[RunRow]) -> str:
    return rows[0].title if len(rows) == 1 else plural(len(rows), "run")


def _completer(known: Sequence[str], parent: QWidget) -> QCompleter:
    made = QCompleter(list(known), parent)
    made.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    return made
