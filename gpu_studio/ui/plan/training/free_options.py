"""The free options of a Keras object.

They are those in the plan, and a line to add another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.new_option import NewOption
from gpu_studio.ui.plan.form.option_rows import OptionRows
from gpu_studio.ui.plan.plan_view import PlanView


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

    def show_options(self, view: PlanView, suggestions: Sequence[str]) -> None:
        """Show the plan's options; hide if there are none and none to suggest."""
        self.rows.show_options(view)
        self.new.show_options(view, suggestions)
        self.setVisible(bool(suggestions or self.rows.rows))
