"""A question with few answers, which holds up nothing else in the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.ui.widgets.asking.dialogs import Dialog
from gpu_studio.ui.widgets.button import Button
from gpu_studio.ui.widgets.labels import Paragraph

WIDTH = 440


class Question(Dialog):
    """Asks once. Each answer is a button; the first is the one that Return gives, and Escape gives none of them."""

    def __init__(self, title: str, text: str, answers: Mapping[str, Callable[[], object]], parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.column.addWidget(Paragraph(text))
        self.buttons = {name: Button(name, "plain" if place else "primary") for place, name in enumerate(answers)}
        self.buttons["Cancel"] = Button("Cancel")
        row = QHBoxLayout()
        row.addStretch(1)
        for name, button in self.buttons.items():
            button.clicked.connect(partial(self._answer, answers.get(name)))
            row.addWidget(button)
        self.column.addLayout(row)
        first = next(iter(self.buttons.values()))
        first.setDefault(True)
        first.setFocus()
        self.setFixedWidth(WIDTH)

    def _answer(self, deed: Callable[[], object] | None, _checked: bool = False) -> None:
        self.close()
        if deed is not None:
            deed()
