"""The strip above the Plan page while the plan's file differs from what was edited here."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.ui.kit.button import Button
from gpu_studio.ui.kit.focus import let_go_of_focus
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.window.disk_changes import DiskChanges


class DiskStrip(QFrame):
    """Says what happened to the file, with what can be done about it.

    Gone where there is nothing to decide.
    """

    def __init__(self, disk: DiskChanges, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "warning")
        self._disk = disk
        self.words = Paragraph()
        self.compare = Button("Compare", small=True)
        self.read_again = Button("Read it again", small=True)
        self.keep = Button("Keep mine", small=True)
        self.compare.setToolTip("Show the fields in which the open plan differs from the file")
        self.read_again.setToolTip(
            "Open the plan that is in the file now; undo brings back the one edited here"
        )
        self.keep.setToolTip("Keep the plan as it is here; saving replaces the file")
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID - 2, GRID, GRID - 2)
        row.setSpacing(GRID)
        row.addWidget(self.words, 1)
        for button, action in (
            (self.compare, disk.compare),
            (self.read_again, disk.read_again),
            (self.keep, disk.keep_mine),
        ):
            button.clicked.connect(action)
            row.addWidget(button)
        disk.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        conflict = self._disk.conflict
        self.words.setText(self._disk.words)
        self.setAccessibleName(self._disk.words)
        self.compare.setVisible(conflict == "changed")
        self.read_again.setVisible(conflict == "changed")
        self.keep.setVisible(conflict in ("changed", "broken"))
        if not conflict:
            let_go_of_focus(self)
        self.setVisible(bool(conflict))
