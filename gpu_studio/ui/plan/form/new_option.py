"""The line in which the user adds an option that no table lists."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.plan.edits.change import Change
from gpu_studio.plan.edits.plan_path import value_at, with_option
from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.fields import Suggested
from gpu_studio.ui.kit.fields.typed import mark, read_toml
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.controls import toml_field
from gpu_studio.ui.plan.form.row import CONTROL, LABEL
from gpu_studio.ui.plan.plan_view import PlanView


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
    ) -> None:
        super().__init__(parent)
        self._tip = f"Type the name of an option; {suggested}"
        self._path, self._of, self._reserved = path, of, reserved
        self._given: Collection[str] = ()
        self.key = Suggested(f"name of another option of the {of}")
        self.key.setPlaceholderText("another option")
        self.value = toml_field(f"value of another option of the {of}")
        self.value.setPlaceholderText('value, as 0.9 or "text"')
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
