"""The options of something that a plan names: its known options, and all others in the plan.

`NewOption` is the line in which the user adds an option that no table lists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from gpu_studio.plan import path_to, printable
from gpu_studio.plan.edits.change import Change, value_at, with_option
from gpu_studio.plan.options import Option
from gpu_studio.ui.kit import GRID, Button
from gpu_studio.ui.kit.fields import Suggested
from gpu_studio.ui.kit.fields.typed import mark, read_toml
from gpu_studio.ui.plan.form.form import (
    CONTROL,
    LABEL,
    FormRow,
    OptionField,
    control_for,
    parameter_field,
    toml_field,
)
from gpu_studio.ui.plan.form.tab_order import follow_layout
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.python_files import Parameter

Known = Option | Parameter
Shape = tuple[Known | str, ...]


class OptionRows(QWidget):
    """A row for every option in the table at `path` of a plan.

    A known option has a control that suits it and can be reset to its default. So does a parameter
    of a user's function, which takes any value. Unknown options are typed as TOML and can be
    removed. Rows stay as long as their option does, so that they keep the focus and the cursor.
    Problems of options are shown at `problems_path` with the option's name.
    """

    edited = Signal(object)

    def __init__(
        self,
        path: str,
        problems_path: str = "",
        parent: QWidget | None = None,
        *,
        named: str = "{}",
    ) -> None:
        """`named` has a place for the name of an unknown option."""
        super().__init__(parent)
        self.path, self._named = path, named
        self._problems_path = problems_path or path
        self._shape: Shape = ()
        self.rows: dict[str, FormRow] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GRID // 2)

    def show_options(self, view: PlanView, known: Sequence[Known] = ()) -> None:
        """Show the plan's options; `known` are those of what the plan names."""
        given: Mapping[str, Any] = value_at(view.plan, self.path) or {}
        names = {option.name for option in known}
        self._arrange((*known, *(key for key in given if key not in names)))
        for row in self.rows.values():
            row.show_view(view)
        self.setVisible(bool(self.rows))

    def suggest(self, names: Sequence[str]) -> None:
        """Offer these names wherever an option is one, or a list of them."""
        for row in self.rows.values():
            if isinstance(row, NamesRow):
                row.suggest(names)

    def _arrange(self, shape: Shape) -> None:
        if shape == self._shape:
            return
        before, self.rows = self.rows, {}
        # Not a set: an option's default may be a list.
        kept = [each for each in shape if each in self._shape]
        for place, each in enumerate(shape):
            key = each if isinstance(each, str) else each.name
            row = before.pop(key) if each in kept else self._make(each)
            self.rows[key] = row
            if self._column.indexOf(row) != place:
                self._column.insertWidget(place, row)
        for row in before.values():
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._shape = shape
        follow_layout(self)

    def _make(self, what: Known | str) -> FormRow:
        if isinstance(what, str):
            label = self._named.format(printable(what))
            field = OptionField(
                self.path, what, label, problems=(path_to(self._problems_path, what),)
            )
            row = FormRow(field, toml_field(f"option {printable(what)}"), back="Remove")
        elif isinstance(what, Parameter):
            problems = (path_to(self._problems_path, what.name),)
            field = OptionField(self.path, what.name, what.name, what.hint, what.default, problems)
            row = FormRow(field, parameter_field(what), back="Reset" if what.written else "Remove")
        else:
            label = what.name.replace("_", " ")
            problems = (path_to(self._problems_path, what.name),)
            field = OptionField(self.path, what.name, label, what.help, what.default, problems)
            named = what.kind in ("text", "texts") and not what.free
            row = NamesRow(field, what) if named else FormRow(field, control_for(what))
        row.edited.connect(self.edited)
        return row


class NamesRow(FormRow):
    """A row for one name or several, typed, or ticked in the list of those that there are."""

    def __init__(self, field: OptionField, option: Option) -> None:
        super().__init__(field, control_for(option), wide=True)
        self._several = option.kind == "texts"
        self._names: tuple[str, ...] = ()
        self._given: tuple[str, ...] = ()
        self.pick = Button("Choose…", small=True)
        self.pick.setAccessibleName(f"choose the {field.label} of the data")
        self.pick.clicked.connect(
            lambda: self.menu().popup(self.pick.mapToGlobal(QPoint(0, self.pick.height() + 2)))
        )
        self.line.insertWidget(2, self.pick)
        self.control.setPlaceholderText(field.help)
        self.suggest(())

    def suggest(self, names: Sequence[str]) -> None:
        """Offer these names."""
        self._names = tuple(names)
        self.pick.setEnabled(bool(names))
        self.pick.setToolTip("Tick the columns" if names else "No columns can be read: type them")

    def show_view(self, view: PlanView) -> None:
        """Show the names that the plan has."""
        super().show_view(view)
        value = self.field.value(view.plan)
        given = value if isinstance(value, list | tuple) else [value]
        self._given = tuple(each for each in given if each and isinstance(each, str))

    def menu(self) -> TickMenu:
        """Return the names, ticked where the plan has them."""
        menu = TickMenu(self, stays=self._several)
        for name in self._names:
            action = menu.addAction(printable(name).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(name in self._given)
            action.toggled.connect(partial(self._tick, name))
        return menu

    def _tick(self, name: str, on: bool) -> None:
        if not self._several:
            self._tell(name if on else "")
            return
        given = [each for each in self._given if each != name]
        # As the columns stand in the table; names that it lacks stay, with their error.
        place = {each: number for number, each in enumerate(self._names)}
        chosen = sorted([*given, name] if on else given, key=lambda each: place.get(each, -1))
        self._given = tuple(chosen)
        self._tell(chosen)


class TickMenu(QMenu):
    """A menu whose ticks are set by click, Space or Return; it `stays` open for the next one."""

    def __init__(self, parent: QWidget, *, stays: bool) -> None:
        super().__init__(parent)
        self._stays = stays
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Tick the one under the pointer."""
        if not self._ticked():
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Tick the one that is marked."""
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() not in keys or not self._ticked():
            super().keyPressEvent(event)

    def _ticked(self) -> bool:
        action = self.activeAction()
        if not self._stays or action is None:
            return False
        action.trigger()
        return True


class NewOption(QWidget):
    """A name, with suggestions, and a value as TOML; Return or the button adds them."""

    edited = Signal(object)

    def __init__(
        self,
        path: str,
        of: str,
        reserved: Collection[str] = (),
        parent: QWidget | None = None,
        *,
        suggested: str = "names that Keras knows are suggested",
        asked: tuple[str, str] = ("another option", 'value, as 0.9 or "text"'),
    ) -> None:
        super().__init__(parent)
        self._tip = f"Type the name of an option; {suggested}"
        self._path, self._of, self._reserved = path, of, reserved
        self._given: Collection[str] = ()
        self.key = Suggested(f"name of another option of the {of}")
        self.key.setPlaceholderText(asked[0])
        self.value = toml_field(f"value of another option of the {of}")
        self.value.setPlaceholderText(asked[1])
        self.add = Button("Add", small=True)
        self.add.setAccessibleName(f"add this option to the {of}")
        self.add.setToolTip("Give the option a name and a value first")
        self.key.setFixedWidth(LABEL)
        self.value.setFixedWidth(CONTROL)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for widget in (self.key, self.value, self.add):
            row.addWidget(widget)
        row.addStretch(1)
        self._connect()
        self._check()

    def show_options(self, view: PlanView, suggestions: Sequence[str]) -> None:
        """Suggest these names, without those that the plan already has."""
        self._given = tuple(value_at(view.plan, self._path) or {})
        self.key.suggest([name for name in suggestions if name not in self._given])
        self._check()

    def _connect(self) -> None:
        for field in (self.key, self.value):
            field.textChanged.connect(self._check)
            field.returnPressed.connect(self._tell)
        self.add.clicked.connect(self._tell)

    def _wrong_key(self) -> str:
        key = self.key.text().strip()
        if key in self._given:
            return f"{key} stands above: change it there."
        return f"An option cannot be called {key} here." if key in self._reserved else ""

    def _check(self) -> None:
        wrong = self._wrong_key()
        mark(self.key, wrong, self._tip)
        ready = (
            bool(self.key.text().strip() and self.value.text().strip())
            and not wrong
            and not self.value.wrong
        )
        self.add.setEnabled(ready)

    def _tell(self) -> None:
        key, text = self.key.text().strip(), self.value.text()
        if self._wrong_key() or not key:
            self.key.setFocus()
            return
        value = self._parsed(text)
        if value is None:
            self.value.setFocus()
            return
        # Cleared first, because the plan's answer suggests the names that are left.
        for field in (self.key, self.value):
            field.clear()
        self.key.setFocus()
        self.edited.emit(Change(_adding(self._path, key, value), f"add option {key}"))

    def _parsed(self, text: str) -> Any:
        try:
            return read_toml(text)
        except ValueError as error:
            mark(self.value, str(error))
            return None


def _adding(path: str, key: str, value: Any) -> Callable[..., Any]:
    return lambda plan: with_option(plan, path, key, value)


class FreeOptions(QWidget):
    """Options whose values are typed as TOML.

    `of` is what they belong to; names in `reserved` cannot be added.
    """

    edited = Signal(object)

    def __init__(
        self,
        path: str,
        of: str,
        problems_path: str = "",
        reserved: Collection[str] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.rows = OptionRows(path, problems_path)
        self.new = NewOption(path, of, reserved)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID // 2)
        for part in (self.rows, self.new):
            part.edited.connect(self.edited)
            column.addWidget(part)

    def show_options(
        self,
        view: PlanView,
        suggestions: Sequence[str],
        known: Sequence[Parameter] | None = None,
        *,
        more: bool = False,
    ) -> None:
        """Show the plan's options; hide if there are none and none to suggest.

        `known` are the parameters of a function of the user's own, which may take `more`.
        """
        self.rows.show_options(view, known or ())
        self.new.show_options(view, suggestions)
        self.new.setVisible(known is None or more)
        self.setVisible(bool(suggestions or self.rows.rows or more))
