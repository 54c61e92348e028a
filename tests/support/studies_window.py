"""GPU Studio's window for a story of a study with a real pointer: it reports what the user sees."""

from __future__ import annotations

import sys
from typing import Any

import story_window
from PySide6.QtWidgets import QApplication, QMenu
from runs_window import on_screen, whole

from gpu_studio.cli import main
from gpu_studio.ui.lab.study_dialog import StudyDialog
from gpu_studio.ui.window import app


class Window(story_window.Window):
    """Tells of the Lab page, the dialog of a study, and the open plan."""

    def seen(self) -> dict[str, Any]:
        told = {"headline": "", "done": 0, "study": "", "outlook": "", "shows": ""}
        if self.pages.is_made("lab") and (snapshot := self.studies.snapshot) is not None:
            told |= {
                "headline": self.studies.section.view.headline.text(),
                "done": snapshot.done,
                "study": snapshot.path.name,
                "shows": self.studies.section.view.progress.text(),
            }
        for dialog in self.dialogs:
            told["outlook"] = dialog.outlook.text() if dialog.run_button.isEnabled() else ""
        plan = self.document.plan
        told["devices"] = len(plan.distribution.devices) if plan is not None else -1
        told["strategy"] = plan.distribution.strategy if plan is not None else ""
        return super().seen() | told

    def parts(self) -> dict[str, list[int]]:
        found = super().parts()
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            for action in menu.actions():
                found[action.text()] = on_screen(menu, menu.actionGeometry(action))
        for dialog in self.dialogs:
            found["repeats"] = whole(dialog.repeats.lineEdit())
            found["epochs"] = whole(dialog.epochs.lineEdit())
        return found

    @property
    def dialogs(self) -> list[StudyDialog]:
        return [each for each in self.findChildren(StudyDialog) if each.isVisible()]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
