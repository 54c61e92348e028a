"""The menu of plans opened lately."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from gpu_studio.ui.plan_files import PlanFiles


class RecentMenu(QMenu):
    """Follows the recent plans; greyed while there are none."""

    def __init__(self, files: PlanFiles, within: QMenu, before: QAction) -> None:
        super().__init__("Open recent", within)
        self._files = files
        within.insertMenu(before, self)
        files.recent_changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        self.clear()
        for path in self._files.recent:
            action = self.addAction(_shown(path))
            action.setToolTip(str(path))
            action.triggered.connect(partial(self._files.change_to, path))
        self.setEnabled(not self.isEmpty())


def _shown(path: Path) -> str:
    home = Path.home()
    text = f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
    # An ampersand would be taken for the mark of a shortcut.
    return text.replace("&", "&&")
