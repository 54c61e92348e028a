"""The text of a plan file that cannot be used, with what is wrong beside its lines, to be mended and opened."""

from __future__ import annotations

import math
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QTextEdit, QVBoxLayout, QWidget

from gpu_studio.plan import PlanError, Problem, loads
from gpu_studio.plan.places import line_of
from gpu_studio.ui.theme.manager import ThemeManager
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.units import plural
from gpu_studio.ui.widgets.asking.question import Question
from gpu_studio.ui.widgets.button import Button, Kind
from gpu_studio.ui.widgets.code_view import CodeView
from gpu_studio.ui.widgets.labels import Elided

BLOCK_END = "\u2029"
"""What Qt ends a line with."""
_HIGHEST_LIST = 96
_LINE = Qt.ItemDataRole.UserRole


class RepairPane(QWidget):
    """`wanted(path, read, text, opens)` asks to write `text` to the file at `path`, which held `read`, and to open it.

    As a plan it is saved only when it is one; as it is, only where a person says so. `left` fires when it was left.
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
        """What stands there, letter for letter: as plain text Qt makes blanks of rarer letters."""
        return self.text.document().toRawText().replace(BLOCK_END, "\n")

    @property
    def base(self) -> str:
        """What the file held when it was read."""
        return self._read_as

    @property
    def changed(self) -> bool:
        """Whether anything stands there that the file did not hold when it was read."""
        return self.path is not None and self.written != self._read

    def show_file(self, path: Path, text: str, edited: str | None = None) -> None:
        """Show what a file holds; over it, as what undo takes away, how the text was `edited` before."""
        self.path = path
        self.text.setPlainText(text)
        # Qt writes line ends its own way: only what is typed from here on is a change.
        self._read_as, self._read = text, self.written
        if edited is not None:
            cursor = QTextCursor(self.text.document())
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(edited)
        self._check()
        self.go_to(self.list.item(0))
        self.text.setFocus()

    def go_to(self, item: QListWidgetItem | None) -> None:
        """Bring the line of one of the problems into sight, with the cursor in it."""
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
        """Save and open, where it is a plan by now. Returns whether it is one."""
        if self.open.isEnabled():
            self._want(opens=True)
        return self.open.isEnabled()

    def close_file(self) -> None:
        """Hold no file any more."""
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
        said = (
            f"{name} cannot be used yet: {plural(len(problems), 'problem')}." if problems else f"{name} is a plan now."
        )
        self.words.setText(said)
        self.list.clear()
        found = sorted(((line_of(self.written, each), each) for each in problems), key=lambda pair: pair[0] or math.inf)
        for line, problem in found:
            item = QListWidgetItem(_told(problem, line, name), self.list)
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


def _told(problem: Problem, line: int | None, name: str) -> str:
    """`line 7: training.optimiser is not a key …`; a place that TOML told stands there once."""
    text = str(problem)
    if problem.field.startswith(name) and line is not None:
        text = text.removeprefix(problem.field).strip().removeprefix("is ")
    return f"line {line}: {text}" if line is not None else text
