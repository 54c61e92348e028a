"""A form over a plan: rows, one below the other, and lines of a name and words.

A row shows a field, which has its path, its display, and the name of its undo step. An
option's kind decides its control. A line may have an icon that says whether all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.placement.known_problems import Refusal
from gpu_studio.plan import Plan, Problem, inline
from gpu_studio.plan.edits.change import Change, value_at, with_option, with_value, without_option
from gpu_studio.plan.options import Option
from gpu_studio.plan.values import Unnamed
from gpu_studio.ui.kit import GRID, Button, Elided, Label, Paragraph, sentence
from gpu_studio.ui.kit.fields import Choice, Switch, Typed, WholeNumber
from gpu_studio.ui.kit.fields.typed import (
    bounds_of,
    default_in_words,
    read_names,
    read_real,
    read_toml,
    read_whole,
    read_wholes,
    write_names,
    write_number,
    write_wholes,
)
from gpu_studio.ui.plan.plan_view import AS_IN_SCRIPT, IN_SCRIPT, PlanView
from gpu_studio.ui.plan.python_files import Parameter

LABEL = 128
CONTROL = 188
NAME = 240
"""Of a control that holds one of Keras' long names."""


class FormRow(QWidget):
    """A field: its label, its control, a hint, and its error if it has one.

    The control is one of `ui.kit.fields`. `edited(Change)` is the user's change. The button at the
    row's end restores the default; for an option without a known default, it says that it removes
    the option.
    """

    edited = Signal(object)

    def __init__(
        self,
        field: AnyField,
        control: Any,
        parent: QWidget | None = None,
        *,
        back: str = "Reset",
        wide: bool = False,
        width: int = CONTROL,
    ) -> None:
        super().__init__(parent)
        self.field = field
        self.control = control
        self.label = Elided(field.label, "muted")
        self.hint = Label(field.hint, "caption")
        self.hint.setWordWrap(True)
        self.problem = Paragraph("", "caption")
        self.problem.setProperty("tone", "bad")
        self.back = Button(back, "quiet", small=True)
        self._lay_out(width, wide=wide)
        self._name(back)
        control.edited.connect(self._tell)
        self.back.clicked.connect(self._go_back)

    def show_view(self, view: PlanView) -> None:
        """Show the field's value in the plan, and its error."""
        name = self.field.path.removeprefix("training.")
        if name in view.plan.training.as_in_script and isinstance(self.control, WholeNumber):
            self.control.show_unknown(AS_IN_SCRIPT, IN_SCRIPT)
        else:
            self.control.show_value(self.field.value(view.plan))
        self._mark(of_script=name in view.of_script)
        self.say(self._problems(view))
        self.back.setVisible(name not in view.of_script and not self.field.is_default(view.plan))

    def _mark(self, *, of_script: bool) -> None:
        mark = f"{AS_IN_SCRIPT} · "
        plain = self.hint.text().removeprefix(mark)
        if of_script != (plain != self.hint.text()):
            self.hint.setText(mark + plain if of_script else plain)

    def say(self, problems: tuple[Problem, ...]) -> None:
        """Tell what is wrong, under the control; an empty text takes no space.

        Of a field that waits for its first entry nothing is wrong: what to write there stands in
        it. What TensorFlow refused is said where its answer would stand.
        """
        wrong = (
            each for each in dict.fromkeys(problems) if not isinstance(each, Unnamed | Refusal)
        )
        text = "\n".join(f"✘ {sentence(f'{each.received}: {each.advice}')}" for each in wrong)
        if self.problem.text() != text:
            self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _problems(self, view: PlanView) -> tuple[Problem, ...]:
        if not view.problems:
            return ()
        within = [
            each
            for path in self.field.problems or (self.field.path,)
            for each in view.problems_at(path)
        ]
        exact = getattr(self.field, "exact", ())
        return (*within, *(each for each in view.problems if each.field in exact))

    def _tell(self, value: Any) -> None:
        self._report(self.field.set(value), "change", merge=self.control.merges)

    def _go_back(self) -> None:
        # The button is about to be hidden, and must not pass the focus elsewhere.
        self.control.setFocus(Qt.FocusReason.OtherFocusReason)
        self._report(self.field.reset(), self.back.text().lower())

    def _report(self, edit: Edit, verb: str, *, merge: bool = False) -> None:
        self.edited.emit(
            Change(edit, f"{verb} {self.field.label}", self.field.place if merge else "")
        )

    def _name(self, back: str) -> None:
        # By its path in the plan, because the card above has fields with the same labels.
        name = " ".join(self.field.place.replace("_", " ").split("."))
        self.control.setAccessibleName(name)
        if isinstance(self.control, QComboBox):
            self.control.setAccessibleDescription(name)
        self.setProperty("plan_key", self.field.place)  # where F1 opens the guide
        self.label.setBuddy(self.control)
        self.control.set_tip(self.field.hint)
        self.back.setAccessibleName(f"{back.lower()} {name}")
        self.back.setToolTip(
            f"Back to the {self.field.hint.rpartition(' · ')[2]}"
            if self.field.default is not None
            else back
        )
        self.back.hide()
        self.problem.hide()

    def _lay_out(self, width: int, *, wide: bool) -> None:
        self.label.setFixedWidth(LABEL)
        row = self.line = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(self.label)
        row.addWidget(self.control, 1 if wide else 0)
        row.addWidget(self.hint, 0 if wide else 1)
        self.hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if wide:
            self.hint.hide()
        else:
            self.control.setFixedWidth(width)
        row.addWidget(self.back)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self.problem)
        self.problem.setContentsMargins(LABEL + GRID, 0, 0, 2)


class Form(QWidget):
    """Rows by the path of their field, and other widgets placed between them with `put`.

    `allow_wanted(Path)` fires when the user wants to decide about a Python file that is not
    allowed.
    """

    edited = Signal(object)
    allow_wanted = Signal(object)

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, FormRow] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(GRID // 2)
        if title:
            self.setAccessibleName(title)
            self.column.addWidget(Label(title.upper(), "section"))

    def add(
        self, field: AnyField, control: Any, *, wide: bool = False, width: int = CONTROL
    ) -> FormRow:
        """Add a row for a field."""
        row = FormRow(field, control, self, wide=wide, width=width)
        self.put_row(row)
        return row

    def put_row(self, row: FormRow) -> None:
        """Add a row that is made already."""
        self.rows[row.field.path] = row
        self.put(row)

    def add_limited(self, path: str, option: Option, label: str = "") -> FormRow:
        """Add a row for a number; `option` gives its default, bounds and help."""
        field = Field(path, label or name_in_words(path), option.help, option.default)
        return self.add(field, control_for(option, field.label))

    def put(self, widget: QWidget) -> None:
        """Add another widget below the rows so far. Those of the form's signals are forwarded."""
        self.column.addWidget(widget)
        self.forward(widget)

    def forward(self, widget: QWidget) -> None:
        """Pass on what this widget asks for."""
        for name in ("edited", "allow_wanted"):
            if hasattr(widget, name):
                getattr(widget, name).connect(getattr(self, name))

    def show_view(self, view: PlanView) -> None:
        """Show the plan in every row."""
        for row in self.rows.values():
            row.show_view(view)


Edit = Callable[[Plan], Plan]


@dataclass(frozen=True, slots=True)
class Field:
    """A field at `path`. `read` and `write` access its value if that takes more than the path.

    Problems at the paths `problems` (by default the field's own), and below them, are shown with
    the field; for those at `exact`, only problems at that very path. Without a `default` the field
    cannot be reset.
    """

    path: str
    label: str
    help: str = ""
    default: Any = None
    write: Callable[[Plan, Any], Plan] | None = None
    read: Callable[[Plan], Any] | None = None
    problems: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Its path in the plan."""
        return self.path

    @property
    def hint(self) -> str:
        """Its description and its default."""
        known = "" if self.default is None else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """Its value in the plan."""
        return self.read(plan) if self.read else value_at(plan, self.path)

    def is_default(self, plan: Plan) -> bool:
        """Whether it has its default already."""
        return self.default is None or self.value(plan) == self.default

    def set(self, value: Any) -> Edit:
        """Return the edit that sets this value."""
        write = self.write
        return (
            (lambda plan: write(plan, value))
            if write
            else (lambda plan: with_value(plan, self.path, value))
        )

    def reset(self) -> Edit:
        """Return the edit that restores the default."""
        return self.set(self.default)


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option in the table at `path`; if the table lacks it, it has its default."""

    path: str
    key: str
    label: str
    help: str = ""
    default: Any = None
    problems: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Its path in the plan."""
        return f"{self.path}.{self.key}"

    @property
    def hint(self) -> str:
        """Its effect and its default."""
        known = "" if self.default in (None, "") else default_in_words(self.default)
        return " · ".join(text for text in (self.help, known) if text)

    def value(self, plan: Plan) -> Any:
        """Its value in the plan, else its default."""
        return (value_at(plan, self.path) or {}).get(self.key, self.default)

    def is_default(self, plan: Plan) -> bool:
        """Whether the plan leaves it out."""
        return self.key not in (value_at(plan, self.path) or {})

    def set(self, value: Any) -> Edit:
        """Return the edit that sets this value."""
        return lambda plan: with_option(plan, self.path, self.key, value)

    def reset(self) -> Edit:
        """Return the edit that removes it."""
        return lambda plan: without_option(plan, self.path, self.key)


AnyField = Field | OptionField


def name_in_words(path: str) -> str:
    """Return the last part of a path in words: `batch size`."""
    return path.rpartition(".")[2].replace("_", " ")


_READ: dict[str, Any] = {
    "int": read_whole,
    "float": read_real,
    "ints": read_wholes,
    "text": str,
    "texts": read_names,
}
_WRITE: dict[str, Any] = {"ints": write_wholes, "text": str, "texts": write_names}


def control_for(option: Option, name: str = "") -> Any:
    """Return a control for the option's values: a number, a switch, a choice, a list."""
    name = name or option.name.replace("_", " ")
    if option.kind == "int":
        return WholeNumber(name, *bounds_of(option.least, option.most))
    if option.kind == "bool":
        return Switch(name)
    if option.kind == "choice":
        return Choice(name, option.choices)
    return Typed(name, _reader(option), _WRITE.get(option.kind, write_number))


def number_field(name: str) -> Typed:
    """Return a line edit for any finite number."""
    return Typed(name, read_real, write_number)


def toml_field(name: str) -> Typed:
    """Return a line edit for any value of a plan file, in the notation of the file."""
    return Typed(name, read_toml, inline, role="mono")


def parameter_field(parameter: Parameter) -> Typed:
    """Return a line edit for a parameter of a user's function.

    It takes any value of a plan file; it is empty where no value is known.
    """
    line = Typed(f"option {parameter.name}", read_toml, _inline_if_known, role="mono")
    line.setPlaceholderText(parameter.written or "a value")
    return line


def _inline_if_known(value: Any) -> str:
    return "" if value is None else inline(value)


def _reader(option: Option) -> Any:
    """Return a parser of the typed text that refuses what the option would refuse."""
    read = _READ[option.kind]

    def checked(text: str) -> Any:
        value = read(text)
        problem = option.problem(option.name, value)
        if problem is not None:
            raise ValueError(sentence(problem.advice))
        return value

    return checked


Line = tuple[str, str] | tuple[str, str, bool]


class FactLines(QWidget):
    """Shows (name, words) or (name, words, whether well); the labels are reused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self._grid.setColumnMinimumWidth(0, LABEL)
        self._grid.setColumnStretch(1, 1)
        self._labels: list[tuple[Label, Paragraph]] = []

    @property
    def text(self) -> str:
        """All that is shown, one line each."""
        return "\n".join(
            f"{name.text()} {words.text()}" for name, words in self._labels if not words.isHidden()
        )

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        while len(self._labels) < len(lines):
            self._add()
        for place, (name, words) in enumerate(self._labels):
            there = place < len(lines)
            name.setVisible(there)
            words.setVisible(there)
            if there:
                _show(name, words, lines[place])
        self.setVisible(bool(lines))

    def _add(self) -> None:
        labels = Label("", "muted"), Paragraph()
        row = len(self._labels)
        for column, label in enumerate(labels):
            self._grid.addWidget(label, row, column)
        self._labels.append(labels)


def _show(name: Label, words: Paragraph, line: Line) -> None:
    well = line[2] if len(line) == 3 else None
    text = line[1] if well is None else f"{'✔' if well else '✘'} {line[1]}"
    if (name.text(), words.text()) != (line[0], text):
        name.setText(line[0])
        words.setText(text)
    tone = "bad" if well is False else ""
    if (words.property("tone") or "") != tone:
        words.set_tone("bad" if well is False else "")
