"""The File tab: the plan as the text of its file, which can be edited.

Whenever the text is a plan, it becomes the open plan.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.plan import Plan, PlanError, dumps, loads
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit.button import ActionButton
from gpu_studio.ui.kit.labels import Label, Paragraph
from gpu_studio.ui.kit.theme.fonts import font
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.repair_pane import BLOCK_END, RepairPane

FIELD = "file"
HIGHEST_PROBLEMS = 88
_ESCAPED = {letter: f"\\u{ord(letter):04X}" for letter in (BLOCK_END, "\ufdd0", "\ufdd1")}
"""What Qt would take for the end of a line, as TOML writes it in a text."""


class FileTab(QWidget):
    """The user's own wording and comments stay until the plan is changed elsewhere.

    A text that is no plan changes nothing, and its errors are shown below it. A file that cannot be
    opened is mended here too, in the `mending` pane, while the open plan stays as it is.
    """

    edited = Signal(object)

    def __init__(self, copy: QAction, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plan: Plan | None = None
        self._path: Path | None = None
        self.mending = RepairPane(theme)
        self._words = Label("", "muted")
        self.problem_text = Paragraph()
        self.problem_text.setMaximumHeight(HIGHEST_PROBLEMS)
        self.problem_text.setAccessibleName("what is wrong with the text")
        self.text = QPlainTextEdit()
        self.text.setTabChangesFocus(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setFont(font("mono"))
        self.text.setAccessibleName("the plan as TOML")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        # The window's undo is the plan's; a second history here would conflict with it.
        self.text.setUndoRedoEnabled(False)
        self.text.textChanged.connect(self._read)
        self._lay_out(copy)

    @property
    def written(self) -> str:
        """The exact text: Qt's plain text would change rare blanks and line ends."""
        return self.text.document().toRawText().replace(BLOCK_END, "\n")

    def show_view(self, view: PlanView) -> None:
        """Show the plan's text, unless the editor's text says the same."""
        # Another plan was opened instead of the broken one.
        if view.path != self._path and self.mending.path is not None and not self.mending.changed:
            self.mending.close_file()
        self._path = view.path
        if view.plan != self._plan:
            self._plan = view.plan
            self._write(view.text() or dumps(view.plan))
        self._say("")

    def repair(self, path: Path, text: str, edited: str | None = None) -> None:
        """Show the text of a file that cannot be used, as it was `edited` before, to be corrected."""
        self._pages.setCurrentWidget(self.mending)
        self.mending.show_file(path, text, edited)

    def _write(self, text: str) -> None:
        place = self.text.verticalScrollBar().value()
        self.text.blockSignals(True)
        self.text.setPlainText("".join(_ESCAPED.get(letter, letter) for letter in text))
        self.text.blockSignals(False)
        self.text.verticalScrollBar().setValue(place)

    def _read(self) -> None:
        try:
            text = self.written
            plan = loads(text, "This text")
        except PlanError as error:
            self._say("\n".join(str(problem) for problem in error.problems))
            return
        self._say("")
        # Set before the document answers, so that the user's own text stays.
        self._plan = plan
        self.edited.emit(Change(lambda _: plan, "edit the plan's text", FIELD, text))

    def _say(self, wrong: str) -> None:
        self._words.setText(
            "Not a plan yet: the last one that was holds." if wrong else "Typing changes the plan."
        )
        self._words.set_tone("bad" if wrong else "")
        self.problem_text.setText(wrong)
        self.problem_text.setVisible(bool(wrong))

    def _lay_out(self, copy: QAction) -> None:
        plain = QWidget()
        row, column = QHBoxLayout(), QVBoxLayout(plain)
        row.addWidget(self._words, 1)
        row.addWidget(ActionButton(copy, "quiet", text="Copy", small=True))
        column.setContentsMargins(GRID // 2, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(row)
        column.addWidget(self.text, 1)
        column.addWidget(self.problem_text)
        self._pages = QStackedWidget()
        self._pages.addWidget(plain)
        self._pages.addWidget(self.mending)
        self.mending.left.connect(lambda: self._pages.setCurrentWidget(plain))
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._pages)
