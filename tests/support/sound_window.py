"""GPU Studio's window as `gpu-studio` opens it.

It reports what the user reads on the Plan page and about each run.
"""

from __future__ import annotations

import sys
from typing import Any

import story_window
from runs_window import whole

from gpu_studio.cli import main
from gpu_studio.ui.plan.concerns import ConcernList
from gpu_studio.ui.window import app
from gpu_studio.ui.window.disk_changes import DiskStrip


class Window(story_window.Window):
    """Tells what stands on the Plan page, and how each run is called."""

    def seen(self) -> dict[str, Any]:
        page, rows = self.plan_page, self.run_list.page.model.rows
        strip = self.findChild(DiskStrip)
        changes: Any = (
            page.workspace.editor("Changes") if page.workspace.current == "Changes" else None
        )
        return super().seen() | {
            "heading": page.outlook.heading.text() if page.outlook.heading.isVisible() else "",
            "obstacles": said(page.outlook.obstacles),
            "cautions": said(page.outlook.warnings),
            "epochs": self.document.plan.training.epochs if self.document.plan else 0,
            "strip": strip.words.text() if strip is not None and strip.isVisible() else "",
            "changed": [row.field for row in changes.model.rows] if changes else [],
            "titles": [row.title for row in rows],
            "states": [row.state for row in rows],
        }

    def parts(self) -> dict[str, list[int]]:
        epochs = self.plan_page.training.epochs
        return super().parts() | ({"epochs": whole(epochs)} if epochs.isVisible() else {})


def said(concerns: ConcernList) -> list[str]:
    """What is read of each of them."""
    return [view.accessibleName() for view in concerns.views.values() if view.isVisible()]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
