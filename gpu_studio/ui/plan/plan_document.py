"""The open plan: its value, its file, and its undo history, which includes opening other plans.

`PlanOnDisk` watches whether the file still holds what the window last read or wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from gpu_studio import plan as plans
from gpu_studio.common.paths import is_file, is_folder, is_missing
from gpu_studio.plan import AbsolutePlan, Plan, PlanError
from gpu_studio.plan.files import read_text


@dataclass(frozen=True)
class Opened:
    """A plan and its file; None is a plan without a file yet."""

    plan: Plan
    path: Path | None

    @property
    def folder(self) -> Path:
        """The folder that relative files start from: the plan file's, or home without a file."""
        return self.path.parent if self.path else Path.home()

    @cached_property
    def absolute(self) -> AbsolutePlan:
        """The plan with its files named absolutely, for all who open them."""
        return plans.with_absolute_files(self.plan, self.folder)


class PlanDocument(QObject):
    """Holds the open plan.

    `changed` fires after every change of the plan, its file, or whether it is saved.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = QUndoStack(self)
        self._now: Opened | None = None
        self._half_typed: str | None = None
        self._stored: dict[Path | None, Plan] = {}
        self._written: dict[Path | None, str] = {}
        self._on_disk: dict[Path, str] = {}
        self._saves = 0

    @property
    def plan(self) -> Plan | None:
        """The open plan; None before there is one."""
        return self._now.plan if self._now else None

    @property
    def path(self) -> Path | None:
        """The plan's file; None if it has none yet."""
        return self._now.path if self._now else None

    @property
    def absolute(self) -> AbsolutePlan | None:
        """The open plan with its files named absolutely, for all who open them."""
        return self._now.absolute if self._now else None

    @property
    def folder(self) -> Path:
        """The folder that relative files in the plan start from."""
        return self._now.folder if self._now else Path.home()

    @property
    def stored(self) -> Plan | None:
        """What the plan's file holds or, without a file, what the plan began as."""
        return self._stored.get(self._now.path) if self._now else None

    @property
    def dirty(self) -> bool:
        """Whether the plan differs from its file, or without a file from what it began as.

        Also while what was typed is no plan yet, and so in no file.
        """
        if self._now is None:
            return False
        return self._half_typed is not None or self._stored.get(self._now.path) != self._now.plan

    @property
    def half_typed(self) -> str | None:
        """The plan's text as it was typed since, if that is no plan yet; else None."""
        return self._half_typed

    @property
    def base_text(self) -> str:
        """What the plan's file held when last read or written.

        Without a file, the plan's first text.
        """
        if self.path is not None:
            return self._on_disk.get(self.path, "")
        return plans.dumps(self.stored) if self.stored else ""

    @property
    def origin(self) -> object | None:
        """The undo step that opened the plan; None if it is the first one."""
        place = self._origin_place()
        return self.undo_stack.command(place) if place is not None else None

    def go_before_origin(self) -> bool:
        """Undo everything back to before the plan was opened.

        Returns whether there was a plan before it.
        """
        place = self._origin_place()
        if place is not None:
            self.undo_stack.setIndex(place)
        return place is not None

    def _origin_place(self) -> int | None:
        steps = range(self.undo_stack.index() - 1, -1, -1)
        return next(
            (step for step in steps if isinstance(self.undo_stack.command(step), SwitchPlan)), None
        )

    @property
    def text(self) -> str:
        """The plan as the text of its file, with the user's comments and order."""
        # Imported when it is first needed, so that it does not delay the window's start.
        from gpu_studio.plan.rewriting import rewritten

        if self._now is None:
            return ""
        return rewritten(self._written.get(self._now.path, ""), self._now.plan)

    def begin(self, plan: Plan, path: Path | None = None, stored: Plan | None = None) -> None:
        """Set the first plan, with nothing to undo.

        `stored` is its file's content if that differs.
        """
        self.undo_stack.clear()
        self._stored[path] = stored or plan
        self._read(path)
        self.show(Opened(plan, path))

    def open(self, path: Path) -> None:
        """Open the plan in a file, as an undo step. Raises PlanError."""
        loaded = plans.load(path)
        self._stored[path] = loaded
        self._read(path)
        self.switch(loaded, path, f"open {path.name}")

    def switch(self, plan: Plan, path: Path | None, text: str) -> None:
        """Open another plan, as an undo step."""
        if self._now is None:
            self.begin(plan, path)
            return
        if path is None:
            self._stored[None] = plan
            self._written[None] = ""
        self.undo_stack.push(SwitchPlan(self, self._now, Opened(plan, path), text))

    def replace(self, plan: Plan, text: str, field: str = "") -> None:
        """Change the plan as an undo step; successive steps at one `field` merge until a save."""
        if self._now is not None and plan != self._now.plan:
            self.undo_stack.push(Edit(self, self._now.plan, plan, text, (field, self._saves)))

    def take_from_disk(self, plan: Plan, text: str) -> None:
        """Take over `text`, which the open plan's file now holds, as an undo step."""
        self.know_of_disk(plan, text)
        self.keep_text(text)
        self.replace(plan, "read the file again")
        self.changed.emit()

    def know_of_disk(self, stored: Plan | None, text: str) -> None:
        """Note the present content of the open plan's file, and keep the plan.

        `stored` is None if that is not a plan.
        """
        if self._now is None or self._now.path is None:
            return
        self._on_disk[self._now.path] = text
        if stored is None:
            self._stored.pop(self._now.path, None)
        else:
            self._stored[self._now.path] = stored
        self.changed.emit()

    def type_half(self, text: str | None) -> None:
        """Keep a text that is no plan yet as an undo step; None once a plan was typed.

        It goes when the plan is changed elsewhere, and comes back when that is undone.
        """
        if text != self._half_typed:
            self.undo_stack.push(HalfTyped(self, self._half_typed, text))

    def keep_text(self, text: str) -> None:
        """Keep the user's own text of the open plan."""
        if self._now is not None:
            self._written[self._now.path] = text

    def save(self, path: Path) -> None:
        """Write the plan to a file, which becomes its file. Raises OSError."""
        if self._now is None:
            return
        text = self.text
        plans.save(self._now.plan, path, text)
        self._saves += 1
        self._stored[path] = self._now.plan
        self._written[path] = self._on_disk[path] = text
        self._now = Opened(self._now.plan, path)  # what is half typed stays
        self.changed.emit()

    def _read(self, path: Path | None) -> None:
        self._written[path] = (text_of(path) if path else None) or ""
        if path is not None:
            self._on_disk[path] = self._written[path]

    def show(self, opened: Opened, half_typed: str | None = None) -> None:
        """Show this plan and file, and what was typed of it since.

        For undo steps only: everything else goes through them.
        """
        self._now, self._half_typed = opened, half_typed
        self.changed.emit()

    def show_typed(self, text: str | None) -> None:
        """Show this as the half-typed text. For undo steps only."""
        self._half_typed = text
        self.changed.emit()


class Edit(QUndoCommand):
    """One change of the plan's values; its file stays.

    Successive changes of one `place`, a named field, can merge.
    """

    def __init__(
        self, document: PlanDocument, before: Plan, after: Plan, text: str, place: tuple[str, int]
    ) -> None:
        super().__init__(text)
        self.before = before
        self.after = after
        self.place = place
        self._document = document
        self._half_typed = document.half_typed

    def id(self) -> int:
        """Let Qt merge steps with the same id."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        """Merge with a later step at the same place."""
        if not isinstance(other, Edit) or not self.place[0] or other.place != self.place:
            return False
        self.after = other.after
        self.setObsolete(self.after == self.before and self._half_typed is None)
        return True

    def redo(self) -> None:
        """Make the change."""
        self._document.show(Opened(self.after, self._document.path))

    def undo(self) -> None:
        """Take the change back."""
        self._document.show(Opened(self.before, self._document.path), self._half_typed)


class HalfTyped(QUndoCommand):
    """Keeps a text that is no plan yet, in place of what was half typed before.

    What is typed in one go is one step, which is none if it ends with the plan's text.
    """

    def __init__(self, document: PlanDocument, before: str | None, after: str | None) -> None:
        super().__init__("type the plan's text")
        self._document = document
        self._before = before
        self.after = after

    def id(self) -> int:
        """Let Qt merge steps with the same id."""
        return 2

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        """Merge with what was typed next."""
        if not isinstance(other, HalfTyped):
            return False
        self.after = other.after
        self.setObsolete(self.after == self._before)
        return True

    def redo(self) -> None:
        """Show what was typed."""
        self._document.show_typed(self.after)

    def undo(self) -> None:
        """Show what was there before it."""
        self._document.show_typed(self._before)


class SwitchPlan(QUndoCommand):
    """Switches from one plan and its file to another."""

    def __init__(self, document: PlanDocument, before: Opened, after: Opened, text: str) -> None:
        super().__init__(text)
        self._document = document
        self._before = before
        self._after = after
        self._half_typed = document.half_typed

    def redo(self) -> None:
        """Open the other plan."""
        self._document.show(self._after)

    def undo(self) -> None:
        """Go back to the plan before."""
        self._document.show(self._before, self._half_typed)


def plan_in(text: str) -> Plan | None:
    """Return the plan in the text of a plan file; None if it is not a plan."""
    try:
        return plans.loads(text)
    except PlanError:
        return None


def text_of(path: Path) -> str | None:
    """Return the text of a plan file; None if it is missing or unreadable as text."""
    try:
        return read_text(path)
    except PlanError:
        return None


UNREADABLE = "\0"
"""With why, in place of a text that cannot be read: no text of a plan has such a letter."""
SETTLE_MS = 100
"""An editor may empty a file before it writes it: it is read once it has come to rest."""

Standing = Literal["same", "changed", "gone"]


class PlanOnDisk(QObject):
    """Watches the open plan's file.

    `changed` fires when its content changes, or whether it exists. Network file systems report no
    changes: `look` finds them.
    """

    changed = Signal()

    def __init__(self, document: PlanDocument, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._watched: Path | None = None
        self._reported: tuple[Path | None, str | None] = (None, None)
        self._watcher = QFileSystemWatcher(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self.look)
        self._watcher.fileChanged.connect(self._timer.start)
        self._watcher.directoryChanged.connect(self._timer.start)
        document.changed.connect(self._follow)

    @property
    def text(self) -> str | None:
        """What the file holds now; None if no file is there.

        `UNREADABLE`, and why, if it is there and cannot be read as text.
        """
        path = self._document.path
        if path is None or is_missing(path) or is_folder(path):
            return None
        try:
            return read_text(path)
        except PlanError as error:
            return f"{UNREADABLE}{error}"

    @property
    def standing(self) -> Standing:
        """How the file compares with what the window knows; `same` if the plan has no file."""
        if self._document.path is None:
            return "same"
        text = self.text
        if text is None:
            return "gone"
        return "same" if text == self._document.base_text else "changed"

    def look(self) -> None:
        """Look at the file now, and report if it has changed since the last look."""
        self._watch_file()
        path = self._document.path
        found = (path, self.text)
        if found != self._reported:
            self._reported = found
            self.changed.emit()

    def _follow(self) -> None:
        if self._document.path == self._watched:
            return
        self._watched = self._document.path
        self._reported = (self._watched, self._document.base_text)
        if watched := [*self._watcher.files(), *self._watcher.directories()]:
            self._watcher.removePaths(watched)
        self._watch_file()
        self._timer.start()  # the file may have changed since its draft was written

    def _watch_file(self) -> None:
        """Watch the file and its folder, or of a folder that is gone what was around it.

        A replaced file is another one to the system, and a folder put back is another one, too.
        """
        path = self._watched
        if path is None:
            return
        there = (each for each in path.parents if not is_missing(each))
        folder = str(next(there, path.parent))
        if others := [each for each in self._watcher.directories() if each != folder]:
            self._watcher.removePaths(others)
        if folder not in self._watcher.directories():
            self._watcher.addPath(folder)
        if str(path) not in self._watcher.files() and is_file(path):
            self._watcher.addPath(str(path))
