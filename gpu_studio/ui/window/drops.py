"""Files dropped on the window.

A plan is opened; another file or folder becomes the open plan's model or data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QLabel, QWidget

from gpu_studio.plan import Plan
from gpu_studio.plan.edits.python_source import with_file
from gpu_studio.plan.edits.sources import relative_path, set_source
from gpu_studio.plan.problems import printable
from gpu_studio.ui.kit.theme.tokens import GRID
from gpu_studio.ui.plan.python_functions import functions_in
from gpu_studio.ui.window.pages import Pages
from gpu_studio.ui.window.plan_files import PlanFiles
from gpu_studio.ui.window.services import Services

NOTHING = (
    "Drop a plan (.toml), a model (.keras), data (.npz), Python code (.py) or a folder of images"
)
ONE = "Drop one file or folder at a time"
_SOURCES = {".keras": ("model", "file"), ".npz": ("data", "file")}
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Drop:
    """What would be done with what is dragged: `words` say it, or why nothing is.

    `part` and `source` are the plan's.

    A plan has neither, and what cannot be used has no `path`.
    """

    words: str
    path: Path | None = None
    part: str = ""
    source: str = ""


def what_is_dropped(event: QDropEvent, part_in_sight: str) -> Drop | None:
    """What is dragged; None if it is no file.

    Code is for the data if they are in sight, else for the model.
    """
    urls = event.mimeData().urls()
    if not urls or not all(url.isLocalFile() for url in urls):
        return None
    if len(urls) > 1:
        return Drop(ONE)
    path = Path(urls[0].toLocalFile())
    shown = printable(path.name)[:_LONGEST]
    if path.suffix.lower() == ".toml":
        return Drop(f"Open {shown}", path)
    code = (part_in_sight, "python") if path.suffix.lower() == ".py" else None
    folder = ("data", "folder") if path.is_dir() else None
    found = folder or code or _SOURCES.get(path.suffix.lower())
    if found is None:
        return Drop(NOTHING)
    return Drop(f"Use {shown} as the {found[0]}", path, *found)


class Drops:
    """Takes drops for the window, always as a copy.

    Where a move is taken, the other program deletes its file.
    """

    def __init__(self, services: Services, pages: Pages, plan_files: PlanFiles) -> None:
        self._document, self._pages, self._plan_files = services.document, pages, plan_files
        self.sign = DropSign(services.window)

    def enter(self, event: QDragEnterEvent | QDragMoveEvent) -> None:
        """Show what a drop would do, or why it does nothing."""
        drop = self._dropped(event)
        if drop is None:
            event.ignore()
            return
        self.sign.tell(drop.words, good=drop.path is not None)
        if drop.path is None:
            event.ignore()
        else:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def leave(self) -> None:
        """Show nothing any more."""
        self.sign.hide()

    def drop(self, event: QDropEvent) -> None:
        """Do what was shown."""
        self.sign.hide()
        drop = self._dropped(event)
        if drop is None or drop.path is None:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if not drop.part:
            self._plan_files.change_to(drop.path)
        elif self._document.plan is not None:
            self._use(drop, drop.path, self._document.plan)

    def _dropped(self, event: QDropEvent) -> Drop | None:
        return what_is_dropped(event, "data" if self._pages.plan.part == "Data" else "model")

    def _use(self, drop: Drop, path: Path, plan: Plan) -> None:
        file = self._document.path
        name = relative_path(path, file.parent if file else None)
        changed = set_source(plan, drop.part, drop.source, name)
        if drop.source == "python":
            changed = with_file(
                changed, f"{drop.part}.python", name, [each.name for each in functions_in(path)]
            )
        self._document.replace(changed, f"use {printable(path.name)[:_LONGEST]}")
        self._pages.turn_to("plan")
        self._pages.plan.open_part(drop.part.capitalize())


class DropSign(QLabel):
    """What a drop would do, over the middle of the window while something is dragged there."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("drop_sign")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def tell(self, words: str, *, good: bool) -> None:
        """Show the words, as something that can be done or cannot."""
        self.setText(words)
        self.setProperty("tone", "accent" if good else "warning")
        self.style().unpolish(self)
        self.style().polish(self)
        self.adjustSize()
        self.resize(self.width() + 6 * GRID, self.height() + 4 * GRID)
        self.move(self._window.rect().center() - self.rect().center())
        self.show()
        self.raise_()
