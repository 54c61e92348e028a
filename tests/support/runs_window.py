"""The Runs page for tests with a real pointer and keys.

The window reports what the user sees.
"""

from __future__ import annotations

import sys
from typing import Any

import telling_window
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QDialog, QWidget

from gpu_studio.cli import main
from gpu_studio.ui.kit.basic_widgets import ActionButton
from gpu_studio.ui.runs.runs_model import RUN
from gpu_studio.ui.window import app


class Window(telling_window.Window):
    """Tells what is on its Runs page."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.show_page("runs")

    def seen(self) -> dict[str, Any]:
        page = self.run_list.page
        chosen, outcome = page.chosen, page.outcome
        # Keys go to one that is shown once it is active, which is a moment later.
        open_ones = [each for each in self.findChildren(QDialog) if each.isVisible()]
        dialogs = [each.windowTitle() for each in open_ones if each.isActiveWindow()]
        return {
            "rows": [row.name for row in page.model.rows],
            "chosen": sorted(row.name for row in chosen),
            "tags": list(chosen[0].labels.tags) if chosen else [],
            "parts": self.parts(),
            "curves": 0
            if outcome.reader.waiting or outcome.curves.isHidden()
            else len(outcome.curves.names),
            "zoomed": not outcome.curves.view.window.whole,
            "differs": [row.label for row in outcome.differs.model.rows],
            "dialog": dialogs[0] if dialogs else "",
            "notice": self.notice.text if self.notice.isVisible() else "",
            "pointer": list(QCursor.pos().toTuple()),
        }

    def parts(self) -> dict[str, list[int]]:
        page = self.run_list.page
        found = {
            button.text(): whole(button)
            for button in page.findChildren(ActionButton)
            if button.isVisible()
        }
        if page.outcome.curves.isVisible():
            found["plot"] = whole(page.outcome.curves.canvas)
        if page.table.isVisible():
            for number, row in enumerate(page.model.rows):
                found[row.name] = on_screen(
                    page.table.viewport(), page.table.visualRect(page.model.index(number, RUN))
                )
        return found


def whole(widget: QWidget) -> list[int]:
    return on_screen(widget, widget.rect())


def on_screen(widget: QWidget, room: QRect) -> list[int]:
    place = widget.mapToGlobal(QPoint(room.left(), room.top()))
    return [place.x(), place.y(), room.width(), room.height()]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
