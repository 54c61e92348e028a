"""The text of a broken plan file, with the errors beside its lines, to be mended and opened."""

from __future__ import annotations

import math
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.figures import plural
from gpu_studio.plan import PlanError, Problem, loads
from gpu_studio.plan.files import line_of
from gpu_studio.ui.kit import GRID, Button, CodeView, Elided, Question, ThemeManager
from gpu_studio.ui.kit.basic_widgets import Kind

BLOCK_END = "\u2029"
"""What Qt ends a line with."""
_HIGHEST_LIST = 96
_LINE = Qt.ItemDataRole.UserRole


class RepairPane(QWidget):
    """`wanted(path, read, text, opens)` asks to write and open a file.

    `text` is to be written to the file at `path`, which held `read`. A plan is saved only once it
    is valid; broken text only if the user says so. `left` fires when the pane was left.
    """

    wanted = Signal(object, str, str, bool)
    left = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.path: Path | None = None
        self._read = self._read_as = ""
        self.words = Elided(role="strong")
        self.text = CodeView(theme, "the text of the plan that cannot be used")
        self.text.setReadOnly(False)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextEditorInteraction)
        self.text.setUndoRedoEnabled(True)
        self.list = QListWidget()
        self.list.setAccessibleName("what is wrong with the text, line by line")
        self.list.setWordWrap(True)
        self.open, self.save, self.leave = (
            _button("Save and open", "primary"),
            _button("Save as it is"),
            _button("Leave"),
        )
        self.open.setToolTip("Write the file and open the plan in it (Ctrl+S)")
        self.save.setToolTip("Write the file although it is no plan yet")
        self.leave.setToolTip("Leave the file as it is, and go back to the open plan")
        self._lay_out()
        self._connect()

    @property
    def written(self) -> str:
        """The exact text: Qt's plain text would change rare blanks."""
        return self.text.document().toRawText().replace(BLOCK_END, "\n")

    @property
    def base(self) -> str:
        """What the file held when it was read."""
        return self._read_as

    @property
    def changed(self) -> bool:
        """Whether the text differs from what the file held when it was read."""
        return self.path is not None and self.written != self._read

    def show_file(self, path: Path, text: str, edited: str | None = None) -> None:
        """Show a file's text, with the `edited` text on top as an undo step."""
        self.path = path
        self.text.setPlainText(text)
        # Qt converts line ends: only what is typed from now on is a change.
        self._read_as, self._read = text, self.written
        if edited is not None:
            cursor = QTextCursor(self.text.document())
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(edited)
        self._check()
        self.go_to(self.list.item(0))
        self.text.setFocus()

    def go_to(self, item: QListWidgetItem | None) -> None:
        """Scroll to the line of a problem, and put the cursor there."""
        line = item.data(_LINE) if item is not None else None
        if line is not None:
            cursor = QTextCursor(self.text.document().findBlockByNumber(line - 1))
            self.text.setTextCursor(cursor)
            self.text.centerCursor()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Escape leaves."""
        if event.key() == Qt.Key.Key_Escape:
            self._leave()
        else:
            super().keyPressEvent(event)

    def save_now(self) -> bool:
        """Save and open the text if it is a plan by now. Returns whether it is."""
        if self.open.isEnabled():
            self._want(opens=True)
        return self.open.isEnabled()

    def close_file(self) -> None:
        """Release the file."""
        self.path = None
        self.left.emit()

    def _problems(self) -> tuple[Problem, ...]:
        try:
            loads(self.written, self.path.name if self.path else "")
        except PlanError as error:
            return error.problems
        return ()

    def _check(self) -> None:
        problems = self._problems()
        name = self.path.name if self.path else ""
        many = plural(len(problems), "problem")
        said = f"{name} cannot be used yet: {many}." if problems else f"{name} is a plan now."
        self.words.setText(said)
        self.words.shorter = (f"{name}: {many}.", f"{many}.") if problems else ("A plan now.",)
        self.list.clear()
        found = sorted(
            ((line_of(self.written, each), each) for each in problems),
            key=lambda pair: pair[0] or math.inf,
        )
        for line, problem in found:
            item = QListWidgetItem(_reported(problem, line, name), self.list)
            item.setData(_LINE, line)
        self.list.setVisible(bool(problems))
        self._mark([line for line, _ in found if line is not None])
        self.open.setEnabled(not problems)
        self.save.setEnabled(bool(problems) and self.changed)

    def _mark(self, lines: list[int]) -> None:
        tint, marks = QColor(self._theme.tokens.bad), []
        tint.setAlpha(48)
        for line in lines:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = QTextCursor(self.text.document().findBlockByNumber(line - 1))
            mark.format.setBackground(tint)
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            marks.append(mark)
        self.text.setExtraSelections(marks)

    def _want(self, *, opens: bool) -> None:
        if self.path is not None:
            self.wanted.emit(self.path, self._read_as, self.written, opens)

    def _leave(self) -> None:
        if not self.changed or self.path is None:
            self.close_file()
            return
        text = f"What you changed in {self.path.name} has not been saved."
        answers = {"Save as it is": lambda: self._want(opens=False), "Leave it": self.close_file}
        Question("Leave the changed text?", text, answers, self.window()).show()

    def _connect(self) -> None:
        self.text.textChanged.connect(self._check)
        self.list.itemActivated.connect(self.go_to)
        self.list.itemClicked.connect(self.go_to)
        self.open.clicked.connect(lambda: self._want(opens=True))
        self.save.clicked.connect(lambda: self._want(opens=False))
        self.leave.clicked.connect(self._leave)
        self._theme.changed.connect(self._check)

    def _lay_out(self) -> None:
        row, column = QHBoxLayout(), QVBoxLayout(self)
        row.setSpacing(GRID)
        row.addWidget(self.words, 1)
        for button in (self.leave, self.save, self.open):
            row.addWidget(button)
        column.setContentsMargins(GRID // 2, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(row)
        column.addWidget(self.text, 1)
        column.addWidget(self.list)
        self.list.setMaximumHeight(_HIGHEST_LIST)
        self.list.setSizeAdjustPolicy(QListWidget.SizeAdjustPolicy.AdjustToContents)


def _button(text: str, kind: Kind = "plain") -> Button:
    return Button(text, kind, small=True)


def _reported(problem: Problem, line: int | None, name: str) -> str:
    """The problem after its line: `line 7: training.optimiser is not a key …`.

    A place that TOML gave is not repeated.
    """
    text = str(problem)
    if problem.field.startswith(name) and line is not None:
        text = text.removeprefix(problem.field).strip().removeprefix("is ")
    return f"line {line}: {text}" if line is not None else text
