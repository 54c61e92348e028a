"""React when another program changes the open plan's file, without losing edits on either side."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Signal

from gpu_studio.plan import Plan
from gpu_studio.ui.plan.plan_document import PlanDocument, plan_in
from gpu_studio.ui.plan.plan_on_disk import PlanOnDisk

Conflict = Literal["", "changed", "broken", "gone"]


class DiskChanges(QObject):
    """Reads a changed file again where nothing was edited here, and holds a `conflict` where
    something was.

    `changed` fires when the conflict begins, changes or ends; `reported(text)` when the file was
    read again, and `compared(path, plan)` when the open plan shall be held against the one in the
    file.
    """

    changed = Signal()
    reported = Signal(str)
    compared = Signal(object, object)

    def __init__(self, document: PlanDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._disk = PlanOnDisk(document, self)
        self.conflict: Conflict = ""
        self._disk.changed.connect(self._follow)
        document.changed.connect(self._see_whether_it_is_over)

    @property
    def words(self) -> str:
        """The conflict in a sentence; empty where there is none."""
        name = self._document.path.name if self._document.path else ""
        return {
            "": "",
            "changed": f"{name} was changed by another program, and has changes here that are not saved.",
            "broken": f"{name} was changed by another program, and is no plan that can be read now.",
            "gone": f"{name} is no longer there. Saving writes it again.",
        }[self.conflict]

    def look(self) -> None:
        """Look at the file now: the window is used again, or is about to write the file."""
        self._disk.look()
        self._follow()

    @property
    def would_be_overwritten(self) -> bool:
        """Whether saving now would replace something that nobody has seen here."""
        self.look()
        return self.conflict in ("changed", "broken")

    def read_again(self) -> None:
        """Hold the plan in the file from now on; undo brings back what was edited here."""
        text, plan = self._disk.text, self._plan()
        if plan is not None and text is not None:
            self._document.take_from_disk(plan, text)
        self._set("")

    def keep_mine(self) -> None:
        """Keep what is open here: saving replaces the file."""
        text = self._disk.text
        if text is not None:
            self._document.know_of_disk(self._plan(), text)
        self._set("")

    def compare(self) -> None:
        """Hold the open plan against the one in the file."""
        plan = self._plan()
        if plan is not None and self._document.path is not None:
            self.compared.emit(self._document.path, plan)

    def _plan(self) -> Plan | None:
        text = self._disk.text
        return plan_in(text) if text is not None else None

    def _follow(self) -> None:
        standing = self._disk.standing
        if standing != "changed":
            self._set("gone" if standing == "gone" else "")
        elif self._plan() is None:
            self._set("broken")
        elif self._document.dirty:
            self._set("changed")
        else:
            self.read_again()
            self.reported.emit(
                f"{self._document.path and self._document.path.name} was changed, and read again."
            )

    def _see_whether_it_is_over(self) -> None:
        """After a save, or with another plan, there is no conflict any more."""
        if self.conflict and self._disk.standing == "same":
            self._set("")

    def _set(self, conflict: Conflict) -> None:
        if conflict != self.conflict:
            self.conflict = conflict
            self.changed.emit()
