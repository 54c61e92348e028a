"""Where the model or the data come from: built in, a file, a folder, a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.plan_path import with_value
from gpu_studio.plan.edits.sources import choose_source, given_sources, relative_path, set_source
from gpu_studio.plan.options import BuiltIn
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.fields import Choice, Segments, Typed
from gpu_studio.ui.plan.form.field import Field
from gpu_studio.ui.plan.form.form import Form
from gpu_studio.ui.plan.form.new_option import NewOption
from gpu_studio.ui.plan.form.option_rows import OptionRows
from gpu_studio.ui.plan.form.row import FormRow
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.python_form import PythonForm

Ask = Callable[[QWidget, str], str]


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: its button's text, its field's name, and its hint.

    `ask` opens a dialog that starts in a folder and returns a path, empty if none was chosen.
    `entry` has the options of a kind whose options do not depend on what it names.
    """

    word: str
    label: str
    help: str
    ask: Ask | None = None
    entry: BuiltIn | None = None


class SourceForm(Form):
    """The kinds side by side, below them a field for each named kind, and the options.

    A plan may name several sources, or options of nothing: all of that is shown, with its errors.
    `allow_wanted(Path)` fires when the user wants to decide about a Python file that is not
    allowed.
    """

    allow_wanted = Signal(object)

    def __init__(
        self,
        part: str,
        entries: Mapping[str, BuiltIn],
        sources: Mapping[str, SourceKind],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", parent)
        self._part, self._entries = part, entries
        self._of_kinds = {
            key: source.entry for key, source in sources.items() if source.entry is not None
        }
        self._base: Path | None = None
        self.kinds = Segments(
            f"source of the {part}", {key: source.word for key, source in sources.items()}
        )
        kind = Field(
            f"{part}.source",
            "source",
            read=self._given,
            write=lambda plan, key: choose_source(plan, part, key),
            exact=(part, f"{part}.options"),
        )
        self.kind_row = self.add(kind, self.kinds, wide=True)
        self.python = PythonForm(part, sources["python"].help, sources["python"].ask)
        self.python.allow_wanted.connect(self.allow_wanted)
        self.sources = {key: self._add_source(key, source) for key, source in sources.items()}
        self.options = OptionRows(f"{part}.options")
        self.put(self.options)
        self.new = NewOption(f"{part}.options", part, suggested="the function takes any")
        self.put(self.new)

    def show_view(self, view: PlanView) -> None:
        """Show the sources that the plan names, and their options."""
        self._base = view.base if view.path is not None else None
        super().show_view(view)
        given = given_sources(view.plan, self._part)
        for key, row in self.sources.items():
            row.setVisible(key in given)
        self.python.show_view(view)
        self.python.setVisible("python" in given)
        function = self.python.function_of(view) if "python" in given else None
        self.new.show_options(view, ())
        # A function that can be read and takes nothing else refuses any other option.
        self.new.setVisible("python" in given and (function is None or function.takes_more))
        if not given:
            # The error concerns the name, whose field does not exist.
            self.kind_row.say(view.problems_at(self._part))
        self._show_options(view)

    def _show_options(self, view: PlanView) -> None:
        entry = self._entries.get(getattr(view.plan, self._part).name or "")
        hint = self.sources["name"].hint
        if hint.text() != (words := entry.help if entry else ""):
            hint.setText(words)
        given = given_sources(view.plan, self._part)
        known = entry or (self._of_kinds.get(given[0]) if len(given) == 1 else None)
        function = self.python.function_of(view) if given == ("python",) else None
        self.options.show_options(
            view, known.options if known else function.parameters if function else ()
        )

    def _given(self, plan: Plan) -> str | None:
        given = given_sources(plan, self._part)
        return given[0] if len(given) == 1 else None

    def _add_source(self, key: str, source: SourceKind) -> FormRow:
        path = f"{self._part}.{key}"
        if key == "name":
            tips = {name: entry.help for name, entry in self._entries.items()}
            choice = Choice(f"built-in {self._part}", list(self._entries), tips=tips)
            return self.add(
                Field(path, source.label, write=partial(_choose_entry, part=self._part)), choice
            )
        if key == "python":
            self.put(self.python)
            return self.python.file
        line = Typed(f"{source.label} of the {self._part}", str, lambda value: value or "")
        line.setPlaceholderText(source.help)
        row = self.add(
            Field(path, source.label, source.help, write=partial(_write_path, path=path)),
            line,
            wide=True,
        )
        if source.ask is not None:
            row.line.insertWidget(2, self._button(path, source))
        return row

    def _button(self, path: str, source: SourceKind) -> Button:
        button = Button("Choose…", small=True)
        button.setAccessibleName(f"choose the {source.label} of the {self._part}")
        button.clicked.connect(lambda: self._choose(path, source))
        return button

    def _choose(self, path: str, source: SourceKind) -> None:
        chosen = source.ask(self, str(self._base or "")) if source.ask else ""
        if chosen:
            name = relative_path(Path(chosen), self._base)
            self.edited.emit(
                Change(lambda plan: with_value(plan, path, name), f"choose {Path(name).name}")
            )


def ask_for_file(title: str, kinds: str) -> Ask:
    """Ask for one file of these kinds in a dialog."""
    return lambda parent, folder: QFileDialog.getOpenFileName(parent, title, folder, kinds)[0]


def ask_for_folder(title: str) -> Ask:
    """Ask for one folder in a dialog."""
    return lambda parent, folder: QFileDialog.getExistingDirectory(parent, title, folder)


def _choose_entry(plan: Plan, name: str, *, part: str) -> Plan:
    return set_source(plan, part, "name", name)


def _write_path(plan: Plan, text: str, *, path: str) -> Plan:
    return with_value(plan, path, text)
