"""Where the model or the data come from: built in, a file, a folder, a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.plan import Plan, reference
from gpu_studio.plan.columns import column_names
from gpu_studio.plan.data import folder_entry
from gpu_studio.plan.edits.change import Change, with_value
from gpu_studio.plan.edits.sources import (
    choose_source,
    code_path,
    file_part,
    function_part,
    given_sources,
    names_both,
    relative_path,
    set_source,
    with_file,
    with_file_part,
    with_function_part,
)
from gpu_studio.plan.options import BuiltIn
from gpu_studio.plan.references import absolute
from gpu_studio.runs.sources import ConsentProblem
from gpu_studio.ui.kit import Button, holds_focus
from gpu_studio.ui.kit.fields import Choice, Segments, Suggested, Typed
from gpu_studio.ui.plan.form.form import NAME, Field, Form, FormRow
from gpu_studio.ui.plan.form.options import NewOption, OptionRows
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.python_files import (
    GIVEN,
    PythonFunction,
    callables_in,
    choices_in,
    functions_in,
    with_chosen,
)

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
    """

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
        if given == ("folder",):
            known = folder_entry(view.plan.data)
        function = self.python.function_of(view) if given == ("python",) else None
        self.options.show_options(
            view, known.options if known else function.options_besides(GIVEN) if function else ()
        )
        if given == ("table",):
            self.options.suggest(_columns_of(view))

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


def _columns_of(view: PlanView) -> tuple[str, ...]:
    """The columns of the plan's table, as its header names them."""
    data = view.plan.data
    if not data.table or not data.table.isprintable():
        return ()
    separator = data.options.get("separator", "auto")
    return column_names(absolute(data.table, view.base), str(separator))


def ask_for_file(title: str, kinds: str) -> Ask:
    """Ask for one file of these kinds in a dialog."""
    return lambda parent, folder: QFileDialog.getOpenFileName(parent, title, folder, kinds)[0]


ask_for_python = ask_for_file("Choose a Python file", "Python (*.py);;All files (*)")


def ask_for_folder(title: str) -> Ask:
    """Ask for one folder in a dialog."""
    return lambda parent, folder: QFileDialog.getExistingDirectory(parent, title, folder)


def _choose_entry(plan: Plan, name: str, *, part: str) -> Plan:
    return set_source(plan, part, "name", name)


def _write_path(plan: Plan, text: str, *, path: str) -> Plan:
    return with_value(plan, path, text)


LONGEST_HINT = 60
NO_FUNCTIONS = "No function can be read in the file: type the name of one"


class PythonForm(Form):
    """The functions are read from the file as text: it is never imported.

    `ask` opens a dialog for a file.
    """

    def __init__(
        self,
        part: str,
        what: str,
        ask: Callable[[QWidget, str], str] | None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", parent)
        self._part, self._path, self._ask = part, f"{part}.python", ask
        self._base = Path()
        self._has_file = False
        self._not_allowed: Path | None = None
        self.functions: tuple[PythonFunction, ...] = ()
        line = Typed(f"Python file of the {part}", str, lambda value: value or "")
        line.setPlaceholderText(what)
        self.file = self.add(self._file_field(what), line, wide=True)
        self.function = self.add(self._function_field(), Suggested(f"function of the {part}"))
        self.choose, self.pick = (
            self._button("Choose…", "Python file"),
            self._button("Choose…", "function"),
        )
        self.allow = Button("Allow…", small=True)
        self.allow.setAccessibleName(f"Allow… the Python file of the {part}")
        self.allow.setToolTip("Read the file, and say whether it may run")
        self._lay_out_buttons()
        line.textEdited.connect(self._go_on)

    def show_view(self, view: PlanView) -> None:
        """Show the file and the function that the plan names."""
        self._base, self._has_file = view.base, view.path is not None
        path = code_path(view.plan, self._path, view.base)
        self.functions = choices_in(path, function_part(view.plan, self._path)) if path else ()
        super().show_view(view)
        chosen = self.function_of(view)
        self.function.control.suggest([each.name for each in self.functions])
        self._say_of_function(chosen.hint if chosen else "", known=chosen is not None)
        self.pick.setEnabled(bool(self.functions))
        self.pick.setToolTip(
            "Choose one of the functions in the file" if self.functions else NO_FUNCTIONS
        )
        refused = [
            each.path for each in view.problems_at(self._path) if isinstance(each, ConsentProblem)
        ]
        self._not_allowed = refused[0] if refused else None
        if not refused and holds_focus(self.allow):
            self.file.control.setFocus(Qt.FocusReason.OtherFocusReason)
        self.allow.setVisible(bool(refused))

    def function_of(self, view: PlanView) -> PythonFunction | None:
        """Return the function that the plan names, as far as it can be read in the file."""
        name = function_part(view.plan, self._path)
        return next((each for each in self.functions if each.name == name), None)

    def take(self, chosen: Path) -> None:
        """Name the chosen file, and its function if it has only one."""
        name = relative_path(chosen, self._base if self._has_file else None)
        found = functions_in(chosen)
        edit = partial(
            with_file, path=self._path, file=name, functions=[each.name for each in found]
        )
        self.edited.emit(Change(edit, f"choose {chosen.name}"))
        self.function.control.setFocus(Qt.FocusReason.OtherFocusReason)

    def menu(self) -> QMenu:
        """Return the functions in the file, each with the first line of its docstring."""
        return _menu_of(self, self.functions, self._take_function)

    def _say_of_function(self, hint: str, *, known: bool) -> None:
        words = hint
        if not known and self.functions:
            words = f"the file has {plural(len(self.functions), 'function')}"
        if self.function.hint.text() != words:
            self.function.hint.setText(words)
            self.function.control.set_tip(words)

    def _take_function(self, name: str) -> None:
        self.edited.emit(Change(partial(self._write_function, name=name), f"choose {name}"))
        self.function.control.setFocus(Qt.FocusReason.OtherFocusReason)

    def _go_on(self, text: str) -> None:
        """Move to the function's field if the function is typed after the file."""
        if names_both(text):
            self.function.control.setFocus(Qt.FocusReason.OtherFocusReason)
            self.function.control.setCursorPosition(len(self.function.control.text()))

    def _choose_file(self) -> None:
        folder = str(self._base) if self._has_file else ""
        chosen = self._ask(self, folder) if self._ask is not None else ""
        if chosen:
            self.take(Path(chosen))

    def _file_field(self, what: str) -> Field:
        return Field(
            self._path,
            "Python file",
            what,
            read=partial(file_part, path=self._path),
            write=self._write_file,
        )

    def _write_file(self, plan: Plan, text: str) -> Plan:
        """Return the plan with another file.

        If no function is named, the only function of the file is meant.
        """
        changed = with_file_part(plan, self._path, text)
        path = code_path(changed, self._path, self._base)
        found = functions_in(path) if path and not function_part(changed, self._path) else ()
        return (
            with_function_part(changed, self._path, found[0].name) if len(found) == 1 else changed
        )

    def _function_field(self) -> Field:
        read = partial(function_part, path=self._path)
        return Field(f"{self._path}.function", "function", read=read, write=self._write_function)

    def _write_function(self, plan: Plan, name: str) -> Plan:
        return with_chosen(plan, name, path=self._path, base=self._base)

    def _button(self, text: str, what: str) -> Button:
        button = Button(text, small=True)
        button.setAccessibleName(f"choose the {what} of the {self._part}")
        return button

    def _lay_out_buttons(self) -> None:
        self.file.line.insertWidget(2, self.choose)
        self.file.line.insertWidget(3, self.allow)
        self.function.line.insertWidget(2, self.pick)
        self.choose.clicked.connect(self._choose_file)
        self.pick.clicked.connect(
            lambda: self.menu().popup(self.pick.mapToGlobal(QPoint(0, self.pick.height() + 2)))
        )
        self.allow.clicked.connect(lambda: self.allow_wanted.emit(self._not_allowed))


def _menu_of(
    parent: QWidget, functions: Sequence[PythonFunction], take: Callable[[str], None]
) -> QMenu:
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for each in functions:
        hint = each.hint if len(each.hint) <= LONGEST_HINT else f"{each.hint[: LONGEST_HINT - 1]}…"
        action = menu.addAction(f"{each.name}\t{hint.replace('&', '&&')}")
        action.triggered.connect(partial(take, each.name))
    if actions := menu.actions():
        menu.setActiveAction(actions[0])
    return menu


def _writing(write: Callable[[Plan, str, str], Plan], path: str) -> Callable[[Plan, str], Plan]:
    return lambda plan, text: write(plan, path, text)


class NamedRow(FormRow):
    """A row for one of Keras' names, or for a function or a class in a Python file of the user's.

    What the file defines is read as text: it is never imported. `names_own` is whether the plan
    names such a one, `function` that one, as far as it can be read. `allow_wanted(Path)` fires as
    that of a form.
    """

    allow_wanted = Signal(object)

    def __init__(
        self,
        field: Field,
        choice: Choice,
        names: Sequence[str | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(field, choice, parent, width=NAME)
        self._names = tuple(names)
        self._base, self._has_file = Path(), False
        self._not_allowed: Path | None = None
        self._ask = ask_for_python
        self.names_own = False
        self.function: PythonFunction | None = None
        self.own = Button("Own…", "quiet", small=True)
        self.own.setAccessibleName(f"choose your own {field.label}")
        self.own.setToolTip(f"Choose a function or a class in a Python file as the {field.label}")
        self.allow = Button("Allow…", small=True)
        self.allow.setAccessibleName(f"Allow… the Python file of the {field.label}")
        self.allow.setToolTip("Read the file, and say whether it may run")
        self.line.insertWidget(2, self.own)
        self.line.insertWidget(3, self.allow)
        self.own.clicked.connect(self._choose)
        self.allow.clicked.connect(lambda: self.allow_wanted.emit(self._not_allowed))

    def show_view(self, view: PlanView) -> None:
        """Show what the plan names, and offer whatever else its file defines."""
        self._base, self._has_file = view.base, view.path is not None
        named = reference(self.field.value(view.plan) or "")
        self.names_own = named is not None
        found = callables_in(absolute(named.file, view.base)) if named else ()
        self.function = next(
            (each for each in found if named and each.name == named.function), None
        )
        own = [f"{named.file}:{each.name}" for each in found] if named else []
        self.control.set_names((*self._names, *own))
        super().show_view(view)
        refused = [each.path for each in self._problems(view) if isinstance(each, ConsentProblem)]
        self._not_allowed = refused[0] if refused else None
        if not refused and holds_focus(self.allow):
            self.control.setFocus(Qt.FocusReason.OtherFocusReason)
        self.allow.setVisible(bool(refused))

    def say_of_it(self, words: str) -> None:
        """Say this beside it, or the first line of the docstring of a function of the user's."""
        words = self.function.hint if self.function else words
        if self.hint.text() != words:
            self.hint.setText(words)

    def menu_of(self, chosen: Path) -> QMenu:
        """Return what the file defines, each with the first line of its docstring."""
        found = callables_in(chosen)
        menu = _menu_of(self, found, partial(self._take, chosen))
        if not found:
            said = menu.addAction(f"No function or class can be read in {chosen.name}")
            said.setEnabled(False)
        return menu

    def _choose(self) -> None:
        chosen = self._ask(self, str(self._base) if self._has_file else "")
        found = callables_in(Path(chosen)) if chosen else ()
        if len(found) == 1:
            self._take(Path(chosen), found[0].name)
        elif chosen:
            self.menu_of(Path(chosen)).popup(self.own.mapToGlobal(QPoint(0, self.own.height() + 2)))

    def _take(self, chosen: Path, name: str) -> None:
        file = relative_path(chosen, self._base if self._has_file else None)
        self._report(self.field.set(f"{file}:{name}"), "change")
        self.control.setFocus(Qt.FocusReason.OtherFocusReason)
