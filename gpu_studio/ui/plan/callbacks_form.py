"""Callbacks on the Training tab: a list in the order in which they are called.

Each is a built-in one with its options, or a function of the user's own with its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.plan import Plan, reference
from gpu_studio.plan.callbacks import CALLBACKS, callback_help, entry_of, free_options
from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.sources import code_path, file_part, function_part, relative_path
from gpu_studio.plan.edits.training import (
    add_callback,
    move_callback,
    remove_callback,
    set_callback,
)
from gpu_studio.plan.rules.training_rules import measured
from gpu_studio.runs.sources import ConsentProblem
from gpu_studio.ui.kit import GRID, Button, Label
from gpu_studio.ui.kit.fields import Suggested
from gpu_studio.ui.plan.form.form import NAME, Field, Form
from gpu_studio.ui.plan.form.options import NewOption, OptionRows
from gpu_studio.ui.plan.form.source_form import Ask, ask_for_python
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.python_files import GIVEN_TO_CALLBACKS, PythonFunction, callables_in


class CallbackForm(Form):
    """The callback at one place of the list; `moved(by)` asks for another place."""

    moved = Signal(int)

    def __init__(self, index: int, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.index, self._path = index, f"training.callbacks[{index}]"
        self._not_allowed: Path | None = None
        name = f"callback {index + 1}"
        field = Field(
            f"{self._path}.name",
            name,
            write=lambda plan, text: set_callback(plan, index, text),
            exact=(self._path, f"{self._path}.options"),
        )
        self.row = self.add(field, Suggested(name, CALLBACKS), width=NAME)
        self.allow = self._button("Allow…", f"Allow… the Python file of {name}")
        self.up = self._button("↑", f"call {name} earlier")
        self.down = self._button("↓", f"call {name} later")
        self.remove = self._button("Remove", f"remove {name}")
        self.allow.clicked.connect(lambda: self.allow_wanted.emit(self._not_allowed))
        self.up.clicked.connect(lambda: self.moved.emit(-1))
        self.down.clicked.connect(lambda: self.moved.emit(1))
        self.remove.clicked.connect(self._remove)
        self.options = OptionRows(f"{self._path}.options")
        self.new = NewOption(
            f"{self._path}.options", name, suggested="its further options are suggested"
        )
        self.put(self.options)
        self.put(self.new)

    def show_view(self, view: PlanView) -> None:
        """Show the callback, which the plan must have."""
        super().show_view(view)
        path = f"{self._path}.name"
        name = view.plan.training.callbacks[self.index].name
        found = self._functions(view)
        file = file_part(view.plan, path)
        own = [f"{file}:{each.name}" for each in found]
        self.row.control.suggest([*CALLBACKS, *own])
        entry, function = entry_of(name, measured(view.plan)), self._function(view)
        self.row.hint.setText(callback_help(name) or (function.hint if function else ""))
        given = function.options_besides(GIVEN_TO_CALLBACKS) if function else ()
        known = entry.options if entry else given
        self.options.show_options(view, known)
        self.new.show_options(view, free_options(name))
        takes_any = reference(name) and (function is None or function.takes_more)
        self.new.setVisible(bool(free_options(name) or takes_any))
        wrong = [each.path for each in view.problems_at(path) if isinstance(each, ConsentProblem)]
        self._not_allowed = wrong[0] if wrong else None
        self.allow.setVisible(bool(wrong))
        self.up.setEnabled(self.index > 0)
        self.down.setEnabled(self.index + 1 < len(view.plan.training.callbacks))

    def _functions(self, view: PlanView) -> tuple[PythonFunction, ...]:
        path = code_path(view.plan, f"{self._path}.name", view.base)
        return callables_in(path) if path is not None and path.suffix == ".py" else ()

    def _function(self, view: PlanView) -> PythonFunction | None:
        name = function_part(view.plan, f"{self._path}.name")
        return next((each for each in self._functions(view) if each.name == name), None)

    def _remove(self) -> None:
        self.edited.emit(
            Change(partial(remove_callback, index=self.index), f"remove callback {self.index + 1}")
        )

    def _button(self, text: str, words: str) -> Button:
        button = Button(text, "quiet", small=True)
        button.setAccessibleName(words)
        button.setToolTip(f"{words[0].upper()}{words[1:]}")
        self.row.line.addWidget(button)
        return button


_NONE = "None. Callbacks are called as Keras' fit calls them, in the order of this list."


class CallbacksForm(Form):
    """One form for each callback of the plan, and buttons that add one."""

    def __init__(self, ask: Ask | None = None, parent: QWidget | None = None) -> None:
        super().__init__("Callbacks", parent)
        self._ask = ask or ask_for_python
        self._base, self._has_file = Path(), False
        self.callbacks: list[CallbackForm] = []
        self.none = Label(_NONE, "caption")
        self.none.setWordWrap(True)
        self.add_button = Button("Add callback", small=True)
        self.own_button = Button("Add your own…", small=True)
        self.own_button.setToolTip("Choose a Python file that defines one, or a function for some")
        self.add_button.clicked.connect(lambda: self._edit(add_callback, "add callback"))
        self.own_button.clicked.connect(self._add_own)
        row = QHBoxLayout()
        for widget in (self.add_button, self.own_button):
            row.addWidget(widget)
        row.addStretch(1)
        self._first = self.column.count()
        self.column.addWidget(self.none)
        self.column.addLayout(row)

    def show_view(self, view: PlanView) -> None:
        """Show the plan's callbacks."""
        self._base, self._has_file = view.base, view.path is not None
        count = len(view.plan.training.callbacks)
        while len(self.callbacks) < count:
            self._append()
        while len(self.callbacks) > count:
            self._drop()
        for form in self.callbacks:
            form.show_view(view)
        self.none.setVisible(not count)

    def _edit(self, edit: Callable[[Plan], Plan], words: str) -> None:
        self.edited.emit(Change(edit, words))

    def _add_own(self) -> None:
        chosen = self._ask(self, str(self._base) if self._has_file else "")
        if not chosen:
            return
        file = relative_path(Path(chosen), self._base if self._has_file else None)
        found = callables_in(Path(chosen))
        name = f"{file}:{found[0].name if len(found) == 1 else ''}"
        self._edit(partial(add_callback, name=name), f"add {Path(chosen).name}")
        if self.callbacks:
            self.callbacks[-1].row.control.setFocus(Qt.FocusReason.OtherFocusReason)

    def _move(self, form: CallbackForm, by: int) -> None:
        place = form.index + by
        self._edit(
            partial(move_callback, index=form.index, by=by), f"move callback {form.index + 1}"
        )
        # The focus goes along with what was moved, and stays on a button that can be pressed.
        other = self.callbacks[place]
        button = other.up if by < 0 else other.down
        button = button if button.isEnabled() else (other.down if by < 0 else other.up)
        button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _append(self) -> None:
        form = CallbackForm(len(self.callbacks))
        form.column.setContentsMargins(0, GRID if self.callbacks else 0, 0, 0)
        self.forward(form)
        form.moved.connect(partial(self._move, form))
        self.column.insertWidget(self._first + len(self.callbacks), form)
        self.callbacks.append(form)
        follow_layout(self)

    def _drop(self) -> None:
        form = self.callbacks.pop()
        if form.isAncestorOf(form.focusWidget() or self):
            self.add_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.column.removeWidget(form)
        form.hide()
        form.deleteLater()
