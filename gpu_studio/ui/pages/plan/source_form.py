"""Where the model or the data come from: built in, a file, a folder, a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.options import Entry
from gpu_studio.ui.models.plan.edits.plan_path import with_value
from gpu_studio.ui.models.plan.edits.sources import choose_source, given_sources, relative_path, set_source
from gpu_studio.ui.models.plan.plan_view import Change, PlanView
from gpu_studio.ui.pages.plan.form.field import Field
from gpu_studio.ui.pages.plan.form.form import Form
from gpu_studio.ui.pages.plan.form.new_option import NewOption
from gpu_studio.ui.pages.plan.form.option_rows import OptionRows
from gpu_studio.ui.pages.plan.form.row import Row
from gpu_studio.ui.pages.plan.python_form import PythonForm
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.fields import Choice, Segments, Typed

Ask = Callable[[QWidget, str], str]


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of source: the word on its button, what its field is called, and what to write there.

    `ask` opens a dialog that starts in a folder and gives a path, empty if none was chosen. `entry` has the options of
    a kind that has the same whatever it names.
    """

    word: str
    label: str
    help: str
    ask: Ask | None = None
    entry: Entry | None = None


class SourceForm(Form):
    """The kinds side by side, and under them a field for each that the plan names, then its options.

    A plan may name several, or options of nothing: all of it stands here, with what is wrong about it.
    `allow_wanted(Path)` fires when a person wants to be asked about a file of Python that is not allowed.
    """

    allow_wanted = Signal(object)

    def __init__(
        self, part: str, entries: Mapping[str, Entry], sources: Mapping[str, Source], parent: QWidget | None = None
    ) -> None:
        super().__init__("", parent)
        self._part, self._entries = part, entries
        self._of_kinds = {key: source.entry for key, source in sources.items() if source.entry is not None}
        self._base: Path | None = None
        self.kinds = Segments(f"source of the {part}", {key: source.word for key, source in sources.items()})
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
        # A function that can be read and takes nothing else would refuse any other option.
        self.new.setVisible("python" in given and (function is None or function.takes_more))
        if not given:
            # Told of the name, whose field is not there.
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
        self.options.show_options(view, known.options if known else function.parameters if function else ())

    def _given(self, plan: Plan) -> str | None:
        given = given_sources(plan, self._part)
        return given[0] if len(given) == 1 else None

    def _add_source(self, key: str, source: Source) -> Row:
        path = f"{self._part}.{key}"
        if key == "name":
            tips = {name: entry.help for name, entry in self._entries.items()}
            choice = Choice(f"built-in {self._part}", list(self._entries), tips=tips)
            return self.add(Field(path, source.label, write=partial(_choose_entry, part=self._part)), choice)
        if key == "python":
            self.put(self.python)
            return self.python.file
        line = Typed(f"{source.label} of the {self._part}", str, lambda value: value or "")
        line.setPlaceholderText(source.help)
        row = self.add(Field(path, source.label, source.help, write=partial(_write_path, path=path)), line, wide=True)
        if source.ask is not None:
            row.line.insertWidget(2, self._button(path, source))
        return row

    def _button(self, path: str, source: Source) -> Button:
        button = Button("Choose…", small=True)
        button.setAccessibleName(f"choose the {source.label} of the {self._part}")
        button.clicked.connect(lambda: self._choose(path, source))
        return button

    def _choose(self, path: str, source: Source) -> None:
        chosen = source.ask(self, str(self._base or "")) if source.ask else ""
        if chosen:
            name = relative_path(Path(chosen), self._base)
            self.edited.emit(Change(lambda plan: with_value(plan, path, name), f"choose {Path(name).name}"))


def ask_for_file(title: str, kinds: str) -> Ask:
    """A dialog for one file of these kinds."""
    return lambda parent, folder: QFileDialog.getOpenFileName(parent, title, folder, kinds)[0]


def ask_for_folder(title: str) -> Ask:
    """A dialog for one folder."""
    return lambda parent, folder: QFileDialog.getExistingDirectory(parent, title, folder)


def _choose_entry(plan: Plan, name: str, *, part: str) -> Plan:
    return set_source(plan, part, "name", name)


def _write_path(plan: Plan, text: str, *, path: str) -> Plan:
    return with_value(plan, path, text)
