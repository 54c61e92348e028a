"""Everything about the selected run: the user's labels, its results, its plan.

The results stand in groups of names and texts, which the comparison of runs shows too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPlainTextEdit, QWidget

from gpu_studio.common.safe_files import read_text
from gpu_studio.plan import LARGEST_BYTES
from gpu_studio.runs.results.run_facts import (
    CARDS,
    CHECKPOINTS,
    ENVIRONMENT,
    MEMORY,
    PRACTISED,
    RESULT,
    TIMES,
    facts,
    identity,
    rows,
)
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.ui.kit import (
    GRID,
    ActionButton,
    ActionSet,
    Button,
    CardFrame,
    Elided,
    Label,
    Paragraph,
    Scrolled,
    font,
)
from gpu_studio.ui.runs.run_rows import RunRow

_NAMES = 132
# Equally thin, but without a line break: it is inside a number.
_UNBROKEN = "\u202f"
# A number and its unit stay on one line.
_BEFORE_UNIT, _UNBROKEN_SPACE = re.compile(r"(?<=\d) (?=[A-Za-zµ%°])"), "\u00a0"
_PLAN_LINES = 14
_NAMED = ("plan", "where", PRACTISED, "resumed from", "tags")
"""The facts that stand under the name of the run with their names before them."""


class SummaryCard(CardFrame):
    """A column that scrolls.

    `show_run` may be called repeatedly: what has not changed is left alone.
    """

    def __init__(self, actions: ActionSet, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("summary of the run")
        self.name = Elided(role="title")
        self._tag = ActionButton(actions["tag_runs"], "quiet", text="Tags…", small=True)
        self._note = ActionButton(actions["note_runs"], "quiet", text="Note…", small=True)
        self.header.addWidget(self.name)
        self.header.addStretch(1)
        self.header.addWidget(self._tag)
        self.header.addWidget(self._note)
        self.body.addLayout(self.header)
        self._planned = ""
        self._shown: RunFigures | None = None
        self.words = Paragraph(role="muted")
        self.note = Paragraph()
        self._scrolled = Scrolled()
        self.figures = _Figures()
        self.plan = _PlanText()
        for part in (self.words, self.note, self.figures, self.plan):
            self._scrolled.column.addWidget(part)
        self._scrolled.column.addStretch(1)
        self._scrolled.column.setContentsMargins(0, 0, GRID, GRID)
        self.body.addWidget(self._scrolled, 1)

    def show_run(self, row: RunRow, figures: RunFigures | None, why_not: str = "") -> None:
        """Show a run; `figures` is None while they are read, or if that failed: `why_not`."""
        self.name.setText(row.title)
        self.words.setText(_identity(row))
        self.note.setText(row.labels.note or row.labels.problem)
        self.note.setVisible(bool(self.note.text()))
        if figures is not None:
            if figures is not self._shown:
                self.figures.show_groups(summary_groups(figures))
            self._show_plan(row)
        else:
            lost = Group("Cannot be read", (("why", why_not),))
            self.figures.show_groups([lost if why_not else Group("Reading the figures…", ())])
            self.plan.show_text("")
            self._planned = ""
        self._shown = figures

    def _show_plan(self, row: RunRow) -> None:
        """Show the plan of a run, which is read once because it never changes."""
        if row.id != self._planned:
            self._planned = row.id
            self.plan.show_text(_plan_text(row))


class _Figures(QWidget):
    """Names at the left, what is known of them at the right, under the titles of their groups."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: tuple[Group, ...] = ()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnMinimumWidth(0, _NAMES)
        self._grid.setColumnStretch(1, 1)

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Show these."""
        if tuple(groups) == self.groups:
            return
        shape = [(group.title, [name for name, _ in group.rows]) for group in groups]
        same = shape == [(group.title, [name for name, _ in group.rows]) for group in self.groups]
        self.groups = tuple(groups)
        if not same:
            self._rebuild()
        for (name, text), value in zip(
            ((n, t) for g in groups for n, t in g.rows), self._values, strict=True
        ):
            value.setText(_BEFORE_UNIT.sub(_UNBROKEN_SPACE, text))
            value.setAccessibleName(f"{name}: {text}")

    def _rebuild(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._values: list[Paragraph] = []
        line = 0
        for group in self.groups:
            self._grid.addWidget(_section(group.title), line, 0, 1, 2)
            for name, _ in group.rows:
                line += 1
                label = Label(name, "muted")
                label.setWordWrap(True)
                value = Paragraph()
                self._values.append(value)
                self._grid.addWidget(label, line, 0, Qt.AlignmentFlag.AlignTop)
                self._grid.addWidget(value, line, 1)
            line += 1


class _PlanText(QFrame):
    """The plan as its file has it, to be read and copied."""

    def __init__(self) -> None:
        super().__init__()
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(font("mono_caption"))
        self.text.setAccessibleName("the run's plan")
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.copy = Button("Copy", "quiet", small=True)
        self.copy.setToolTip("Put the plan's text on the clipboard")
        self.copy.setAccessibleName("Copy the run's plan")
        self.copy.clicked.connect(
            lambda: QGuiApplication.clipboard().setText(self.text.toPlainText())
        )
        grid, head = QGridLayout(self), QHBoxLayout()
        grid.setContentsMargins(0, GRID, 0, 0)
        title = _section("Plan")
        title.setAlignment(Qt.AlignmentFlag.AlignVCenter)  # on a line with the button
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(self.copy)
        grid.addLayout(head, 0, 0)
        grid.addWidget(self.text, 1, 0)

    def show_text(self, text: str) -> None:
        """Show this plan; an empty text takes no space."""
        self.setVisible(bool(text))
        if text and text != self.text.toPlainText():
            self.text.setPlainText(text)
            lines = min(text.count("\n") + 2, _PLAN_LINES)
            self.text.setFixedHeight(lines * self.text.fontMetrics().lineSpacing() + 2 * GRID)


def _section(title: str) -> Label:
    label = Label(title.upper(), "section")
    label.setMinimumHeight(4 * GRID)
    label.setAlignment(Qt.AlignmentFlag.AlignBottom)
    return label


def _plan_text(row: RunRow) -> str:
    try:
        return read_text(row.summary.directory.plan_file, LARGEST_BYTES)
    except OSError:
        return ""


Pair = tuple[str, str]
_GROUPS = (RESULT, MEMORY, CARDS, TIMES, CHECKPOINTS, ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class Group:
    """A title above rows of names and texts."""

    title: str
    rows: tuple[Pair, ...]


def summary_groups(run: RunFigures) -> tuple[Group, ...]:
    """Return the summary of a run; groups without rows are left out."""
    every = facts(run)
    groups = (Group(title, rows(every, title)) for title in _GROUPS)
    return tuple(group for group in groups if group.rows)


def _identity(row: RunRow) -> str:
    """Return what the run is and how it stands; its note stands below, its folder in the list."""
    known = {fact.name: fact.words for fact in identity(row.summary, row.labels)}
    more = (f"{name}: {known[name]}" for name in _NAMED if name in known)
    return "\n".join((known["run"], known["state"], *more))
