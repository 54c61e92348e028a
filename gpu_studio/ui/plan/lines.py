"""Lines of a name and words, some with an icon that says whether all is well."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QWidget

from gpu_studio.ui.kit.labels import Label, Paragraph
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.form.row import LABEL

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
