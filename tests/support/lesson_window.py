"""GPU Studio's window as `gpu-studio` opens it, for lessons that are done with pointer and keys.

It reports what a lesson shows, and where everything is that its steps speak of. `LESSON_ASKER` in
the environment is the command, in JSON, that answers its questions to TensorFlow.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import runs_window
from PySide6.QtWidgets import QAbstractButton, QTabBar, QWidget
from runs_window import on_screen, whole

from gpu_studio.cli import main
from gpu_studio.ui.plan.carving.carve_bar import CarveBar
from gpu_studio.ui.plan.layers.lane_view import LaneView
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window import app

FIELDS = ("micro-batches", "slices of CPU")


class Window(runs_window.Window):
    """Tells which step is shown and whether it was done, and where its parts are."""

    def __init__(self, *given: Any, **named: Any) -> None:
        asker = json.loads(os.environ["LESSON_ASKER"])
        super().__init__(*given, **named, facts=FactsReader(asker))
        self.show_page("plan")

    def seen(self) -> dict[str, Any]:
        lessons, plan = self.lessons, self.document.plan
        shown = lessons.lesson is not None
        around = lessons.ring.around if shown and lessons.ring is not None else None
        return super().seen() | {
            "page": self.page,
            "lesson": lessons.lesson.number if lessons.lesson is not None else 0,
            "step": lessons.index,
            "done": lessons.done,
            "ringed": around.accessibleName() or type(around).__name__ if around else "",
            "slices": sum(len(carve.slices_mib) for carve in plan.devices.carve) if plan else 0,
            "strategy": plan.distribution.strategy if plan else "",
            "over": next((view.mark.text for view in self.lanes() if view.mark.isVisible()), ""),
        }

    def parts(self) -> dict[str, list[int]]:
        found = super().parts()
        for widget in self.all_seen():
            name = widget.accessibleName()
            if isinstance(widget, QAbstractButton) and widget.isEnabled():
                found[name or widget.text()] = whole(widget)
            elif isinstance(widget, CarveBar) or name in FIELDS:
                found[name] = whole(widget)
            elif isinstance(widget, QTabBar):
                for index in range(widget.count()):
                    found[f"tab {widget.tabText(index)}"] = on_screen(widget, widget.tabRect(index))
        for view in self.lanes():
            for row, item in enumerate(view.lane.items):
                spot = view.list.visualRect(view.list.rows.index(row))
                if view.list.viewport().rect().contains(spot.center()):
                    found[f"layer {item.layer}"] = on_screen(view.list.viewport(), spot)
            found[f"lane {view.lane.device}"] = whole(view)
        return found

    def all_seen(self) -> list[QWidget]:
        """What can be seen of the window and its dialogs."""
        return [
            each
            for each in self.findChildren(QWidget)
            if each.isVisible() and not each.visibleRegion().isEmpty()
        ]

    def lanes(self) -> list[LaneView]:
        """The lanes of the Layers tab while they are seen."""
        return [each for each in self.findChildren(LaneView) if each.isVisible()]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
