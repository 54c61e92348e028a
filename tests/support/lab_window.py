"""The Lab page for tests with a real pointer and keys.

The window reports what the user sees. TensorFlow's process is the command in `$BENCHMARKS`.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import telling_window
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QWidget

from gpu_studio.cli import main
from gpu_studio.runs.questions import ask
from gpu_studio.ui.window import app


class Window(telling_window.Window):
    """Tells what is on its Lab page."""

    def seen(self) -> dict[str, Any]:
        if self.page != "lab":
            return {"page": self.page if self.document.plan is not None else "", "parts": {}}
        page, view = self.pages.lab, self.pages.benchmarks.view
        entry = page.list.line_at(page.chosen) if page.chosen else None
        return {
            "page": "lab",
            "chosen": page.chosen[1] if page.chosen else "",
            "figure": entry.figure if entry is not None else "",
            "running": self.pages.benchmarks.jobs.measuring,
            "devices": view.right.devices.currentText(),
            "verdict": view.verdict.headline.text(),
            "readout": view.picture.readout.text(),
            "results": len(view.right.results.rows),
            "parts": self.parts(),
        }

    def parts(self) -> dict[str, list[int]]:
        page, view = self.pages.lab, self.pages.benchmarks.view
        found = {}
        for row in range(page.list.model().rowCount()):
            index = page.list.model().index(row, 0)
            found[str(index.data())] = on_screen(page.list.viewport(), page.list.visualRect(index))
        for name, widget in (("measure", view.right.measure), ("devices", view.right.devices)):
            if widget.isVisible():
                found[name] = on_screen(widget, widget.rect())
        if view.picture.view.isVisible():
            for spot in view.picture.view.spots:
                found[spot.said] = on_screen(view.picture.view, spot.area.toRect())
        return found


def on_screen(widget: QWidget, room: QRect) -> list[int]:
    place = widget.mapToGlobal(QPoint(room.left(), room.top()))
    return [place.x(), place.y(), room.width(), room.height()]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    asking: Any = ask
    asking.ask_command = lambda: shlex.split(os.environ["BENCHMARKS"])
    sys.exit(main(sys.argv[1:]))
