"""The menu of plans opened lately, and the one beside Train."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from gpu_studio.plan.problems import printable
from gpu_studio.ui.action_set import ActionSet
from gpu_studio.ui.control.plan_files import PlanFiles
from gpu_studio.ui.models.plan.code_file import moment
from gpu_studio.ui.models.plan.drafts import Draft
from gpu_studio.ui.widgets.button import Button

MORE_WIDTH = 44
MOST_DRAFTS = 8


class RecentMenu(QMenu):
    """Follows the recent plans; greyed while there are none."""

    def __init__(self, files: PlanFiles, within: QMenu, before: QAction) -> None:
        super().__init__("Open recent", within)
        self._files = files
        within.insertMenu(before, self)
        files.recent_changed.connect(self._fill)
        self.aboutToShow.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        self.clear()
        for draft in self._files.drafts.others[:MOST_DRAFTS]:
            action = self.addAction(f"Unsaved: {_plain(draft.title)}{_of_file(draft)}")
            action.setToolTip(f"Changes that are in no file, of {moment(draft.time)}")
            action.triggered.connect(partial(self._files.change_to_draft, draft))
        if not self.isEmpty():
            self.addSeparator()
        for path in self._files.recent:
            action = self.addAction(_shown(path))
            action.setToolTip(str(path))
            action.triggered.connect(partial(self._files.change_to, path))
        self.setEnabled(not self.isEmpty())


def more_button(actions: ActionSet) -> Button:
    """What else can be done with the open plan than to train it."""
    button = Button("⋯")
    button.setAccessibleName("More ways to train")
    button.setToolTip("Other ways to train this plan")
    button.setFixedWidth(MORE_WIDTH)
    menu = QMenu(button)
    menu.setToolTipsVisible(True)
    menu.addActions([actions[name] for name in ("train", "queue_plan", "cancel_resuming")])
    button.clicked.connect(lambda: menu.popup(button.mapToGlobal(QPoint(0, button.height() + 2))))
    return button


def _shown(path: Path) -> str:
    home = Path.home()
    return _plain(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))


def _plain(text: str) -> str:
    """The text as a menu shows it: an ampersand would be taken for the mark of a shortcut."""
    return printable(text).replace("&", "&&")


def _of_file(draft: Draft) -> str:
    return f" – {_shown(Path(draft.path))}" if draft.path else ""


def restored_in_words(draft: Draft) -> str:
    """What is said when a plan was opened with changes that are in no file."""
    of = f"of “{draft.title}”, of {moment(draft.time)},"
    if draft.mending:
        return f"The unsaved text {of} is back on the File tab. Undo takes it away."
    return f"The unsaved changes {of} are back. Undo takes them away."
