"""The strip above the Plan page while its plan resumes a run."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.common.figures import grouped
from gpu_studio.runs.naming import title_of
from gpu_studio.ui.kit.button import ActionButton
from gpu_studio.ui.kit.focus import let_go_of_focus
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.resuming import Resuming

MAY_CHANGE = "Model, data, optimizer and global batch stay; all else may change."


class ResumingStrip(QFrame):
    """Says which run, and from which step; hidden while the plan trains from the beginning."""

    def __init__(self, resuming: Resuming, cancel: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setProperty("tone", "accent")
        self._resuming = resuming
        self.words = Paragraph(role="strong")
        self._rule = Paragraph(MAY_CHANGE, "caption")
        self.cancel = ActionButton(cancel, text="Cancel", small=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + 4, GRID - 2, GRID, GRID - 2)
        row.setSpacing(2 * GRID)
        row.addWidget(self.words)
        row.addWidget(self._rule, 1)
        row.addWidget(self.cancel)
        resuming.changed.connect(self._show)
        resuming.warning_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        target = self._resuming.target
        if target is None:
            let_go_of_focus(self)
        self.setVisible(target is not None)
        if target is not None:
            text = f"Resuming {title_of(target.run)} from step {grouped(target.checkpoint.step)}"
            self.words.setText(text)
            self.words.setMinimumWidth(self.words.fontMetrics().horizontalAdvance(text) + GRID)
            rule = self._resuming.warning or MAY_CHANGE
            self._rule.setText(rule)
            self.setAccessibleName(f"{text}. {rule}")
