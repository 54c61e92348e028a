"""React when another program changes the open plan's file, without losing edits on either side.

`DiskStrip` stands above the Plan page while the file differs from what was edited here.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from gpu_studio.common.paths import is_folder, is_missing
from gpu_studio.plan import Plan
from gpu_studio.ui.kit import GRID, Button, Paragraph, let_go_of_focus
from gpu_studio.ui.plan.plan_document import PlanDocument, PlanOnDisk, plan_in

Conflict = Literal["", "changed", "broken", "gone"]


class DiskChanges(QObject):
    """Reads a changed file again where nothing was edited here, or else holds a `conflict`.

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
        path = self._document.path
        name = path.name if path else ""
        changed = f"{name} was changed by another program, and"
        gone = f"{name} is no longer there. Saving writes it again."
        if path is not None and is_missing(path.parent):
            gone = f"The folder of {name} is no longer there. Save the plan to another place."
        elif path is not None and is_folder(path):
            gone = f"{name} is a folder now. Save the plan to another place."
        return {
            "": "",
            "changed": f"{changed} has changes here that are not saved.",
            "broken": f"{changed} is no plan that can be read now.",
            "gone": gone,
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
        # Before a button is hidden: its focus would go to whatever comes next, such as a message.
        if not conflict:
            let_go_of_focus(self)
        self.words.setText(self._disk.words)
        self.setAccessibleName(self._disk.words)
        self.compare.setVisible(conflict == "changed")
        self.read_again.setVisible(conflict == "changed")
        self.keep.setVisible(conflict in ("changed", "broken"))
        self.setVisible(bool(conflict))
