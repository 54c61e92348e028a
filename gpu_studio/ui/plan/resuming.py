"""A run that is about to be resumed: its plan is open, and is checked against what must stay.

The strip above the Plan page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.common.figures import grouped
from gpu_studio.plan import Machine, Plan, Problem
from gpu_studio.runs.labels import title_of
from gpu_studio.ui.kit import GRID, ActionButton, Paragraph, let_go_of_focus
from gpu_studio.ui.plan.plan_document import PlanDocument
from gpu_studio.ui.plan.readiness import Readiness

if TYPE_CHECKING:
    from gpu_studio.contract import Resume


class Resuming(QObject):
    """Which run the open plan resumes, if any. `changed` fires when that begins or ends.

    `warning_changed` fires when the plan has changed, and with it perhaps the warning before its
    start.

    It belongs to the undo step that opened the plan: undo leaves the run, redo returns to it, and
    opening another plan ends it.
    """

    changed = Signal()
    warning_changed = Signal()

    def __init__(
        self, document: PlanDocument, readiness: Readiness, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._readiness = readiness
        self._noted: tuple[Resume, Plan, object] | None = None
        self._was: Resume | None = None
        readiness.also = self._problems
        readiness.changed.connect(self.warning_changed)
        # The stack reports its index only after a step is done, the document in the middle of it.
        document.undo_stack.indexChanged.connect(self._follow)

    @property
    def target(self) -> Resume | None:
        """The run and its checkpoint; None while the open plan trains from the beginning."""
        if self._noted is None:
            return None
        target, _, origin = self._noted
        return target if origin is self._document.origin else None

    def begin(self, target: Resume, plan: Plan) -> None:
        """Resume `target`, whose `plan` has just been opened."""
        self._noted = (target, plan, self._document.origin)
        self._follow()

    def end(self) -> None:
        """Train the open plan from the beginning."""
        self._noted = None
        self._follow()

    def close(self) -> None:
        """Stop following the undo steps.

        The stack signals its own end, when it can no longer be asked.
        """
        self._document.undo_stack.indexChanged.disconnect(self._follow)

    def cancel(self) -> None:
        """Return to the plan that was open before; redo comes back."""
        if self.target is not None and not self._document.go_before_origin():
            self.end()

    @property
    def warning(self) -> str:
        """What changes with the open plan, although that is allowed: empty, or a sentence."""
        machine, plan = self._readiness.machine, self._document.plan
        if self.target is None or self._noted is None or machine is None or plan is None:
            return ""
        # Imported only once a run is resumed: the window's start waits for this module.
        from gpu_studio.runs.resume import other_draws

        return other_draws(self._noted[1], plan, machine, self.target.checkpoint)

    def _problems(self, plan: Plan, machine: Machine | None) -> Sequence[Problem]:
        if self.target is None or self._noted is None:
            return ()
        # Imported only once a run is resumed: the window's start waits for this module.
        from gpu_studio.runs.resume import problems_of

        return problems_of(self.target, self._noted[1], plan, machine)

    def _follow(self) -> None:
        if self.target is not self._was:
            self._was = self.target
            self._readiness.check()
            self.changed.emit()


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
