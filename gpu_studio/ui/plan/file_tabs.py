"""The File tab and the Changes tab: the plan as the text of its file, and what differs from it.

The text can be edited; the differences are those from the plan's file or from another plan.
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

from gpu_studio.common.figures import plural
from gpu_studio.plan import Plan, PlanError, dumps, loads
from gpu_studio.plan.difference import Difference, differences
from gpu_studio.plan.edits.change import Change
from gpu_studio.ui.kit import (
    GRID,
    ActionButton,
    Button,
    Elided,
    Label,
    Paragraph,
    PlainTable,
    Table,
    ThemeManager,
    font,
)
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.repair_pane import BLOCK_END, RepairPane

FIELD = "file"
HIGHEST_PROBLEMS = 88
_NAME = "This text"
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
        self._view: PlanView | None = None
        self._half_typed: str | None = None
        self.mending = RepairPane(theme)
        self.take_back = Button("Back to the plan", "quiet", small=True)
        self.take_back.setToolTip("Leave what was typed since: show the last text that was a plan")
        self.take_back.clicked.connect(self._take_back)
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
        self._path, self._view = view.path, view
        if (view.plan, view.half_typed) != (self._plan, self._half_typed):
            self._plan, self._half_typed = view.plan, view.half_typed
            half = view.half_typed
            self._write((view.text() or dumps(view.plan)) if half is None else half)
        self._say(_wrong(view.half_typed))

    def repair(self, path: Path, text: str, edited: str | None = None) -> None:
        """Show a file that cannot be used, so that it is corrected; as last `edited`, if it was."""
        self._pages.setCurrentWidget(self.mending)
        self.mending.show_file(path, text, edited)

    def _write(self, text: str) -> None:
        place, cursor = self.text.verticalScrollBar().value(), self.text.textCursor()
        typed_at = cursor.position()
        self.text.blockSignals(True)
        self.text.setPlainText("".join(_ESCAPED.get(letter, letter) for letter in text))
        self.text.blockSignals(False)
        cursor.setPosition(min(typed_at, self.text.document().characterCount() - 1))
        self.text.setTextCursor(cursor)
        self.text.verticalScrollBar().setValue(place)

    def _read(self) -> None:
        text = self.written
        try:
            plan = loads(text, _NAME)
        except PlanError as error:
            self._say(_in_words(error))
            self._half_typed = text
            self.edited.emit(Change(lambda plan: plan, "", half_typed=text))
            return
        self._say("")
        # Set before the document answers, so that the user's own text stays.
        self._plan, self._half_typed = plan, None
        self.edited.emit(Change(lambda _: plan, "edit the plan's text", FIELD, text))

    def _take_back(self) -> None:
        """Show the last text that was a plan, as if it were typed."""
        if self._view is not None:
            self._write(self._view.text() or dumps(self._view.plan))
            self._read()

    def _say(self, wrong: str) -> None:
        self._words.setText(
            "Not a plan yet: the last one that was holds." if wrong else "Typing changes the plan."
        )
        self.take_back.setVisible(bool(wrong))
        self._words.set_tone("bad" if wrong else "")
        self.problem_text.setText(wrong)
        self.problem_text.setVisible(bool(wrong))

    def _lay_out(self, copy: QAction) -> None:
        plain = QWidget()
        row, column = QHBoxLayout(), QVBoxLayout(plain)
        row.addWidget(self._words, 1)
        row.addWidget(self.take_back)
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


def _wrong(half_typed: str | None) -> str:
    """What is wrong with a text that is no plan yet; empty if there is none."""
    try:
        if half_typed is not None:
            loads(half_typed, _NAME)
    except PlanError as error:
        return _in_words(error)
    return ""


def _in_words(error: PlanError) -> str:
    return "\n".join(str(problem) for problem in error.problems)


LEFT_OUT = "left out"


class DifferencesModel(PlainTable[Difference]):
    """A row for each field that differs: the other plan's value, and the open plan's."""

    headers = ("Field", "There", "Here")

    def key(self, row: Difference) -> str:
        """The field."""
        return row.field

    def text(self, row: Difference, column: int) -> str:
        """The field, or its value in a plan."""
        return (row.field, row.before or LEFT_OUT, row.after or LEFT_OUT)[column]


_WIDTHS = {1: 200, 2: 200}
NOTHING = (
    "Each field that is changed stands here from then on, with its value there "
    "and here, until the plan is saved."
)


class ChangesTab(QWidget):
    """A table of the fields that differ. `compare` chooses another plan to compare with."""

    edited = Signal(object)

    def __init__(self, choose: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = DifferencesModel(self)
        self.table = Table(self.model, "fields that differ")
        self.table.set_widths(_WIDTHS, stretch=0)
        self.compared_text = Elided(role="muted")
        self._nothing = Paragraph(NOTHING, "caption")
        self._view: PlanView | None = None
        self._other: tuple[str, Plan] | None = None
        self._compared: tuple[Path | None, Plan | None] = (None, None)
        row, column = QHBoxLayout(), QVBoxLayout(self)
        row.addWidget(self.compared_text)
        row.addStretch(1)
        row.addWidget(ActionButton(choose, "quiet", text="Compare with…", small=True))
        column.setContentsMargins(GRID // 2, 0, 0, 0)
        column.setSpacing(GRID // 2)
        column.addLayout(row)
        column.addWidget(self._nothing)
        column.addWidget(self.table, 1)
        column.addStretch(0)

    def compare(self, name: str, plan: Plan) -> None:
        """Compare the open plan with another of this name, until another one is opened.

        What the open plan's own file held is another plan until that is read again or replaced.
        """
        self._other = (name, plan)
        self._compared = self._open
        self._compare()

    def show_view(self, view: PlanView) -> None:
        """Show how the plan differs."""
        self._view = view
        if self._other is not None and self._open != self._compared:
            self._other = None
        self._compare()

    @property
    def _open(self) -> tuple[Path | None, Plan | None]:
        """What a comparison with the other plan lasts as long as."""
        if self._view is None or self._other is None:
            return None, None
        path = self._view.path
        own = path is None or path.name == self._other[0]
        return path, self._view.stored if own else None

    def _compare(self) -> None:
        if self._view is None:
            return
        name, plan = self._other or _stored(self._view)
        rows = differences(plan, self._view.plan)
        self.model.set_rows(rows)
        self.table.setVisible(bool(rows))
        self._nothing.setVisible(not rows)
        self.compared_text.setText(
            f"{plural(len(rows), 'field')} not as in {name}" if rows else f"The same as {name}"
        )


def _stored(view: PlanView) -> tuple[str, Plan]:
    name = f"{view.path.name}, its file" if view.path else "the plan that it began as"
    return name, view.stored or view.plan
