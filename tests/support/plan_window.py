"""GPU Studio's window as `gpu-studio` opens it, which tells where its parts are, for tests with a real pointer.

Takes the arguments of `gpu-studio`. Writes a line of JSON when the first card's bar on the Plan page is on the screen
or has moved, `{"bar": [x, y, width, height]}`, and one at each change of the plan, `{"slices": […], "ends": […],
"unsaved": …}`, with the slices' ends as shares of the bar. Ends when its standard input is closed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QSocketNotifier, QTimer

from gpu_studio.cli import main
from gpu_studio.ui import app
from gpu_studio.ui.main_window import MainWindow
from gpu_studio.ui.models.edits.carving import slices_of

CARD = "GPU:0"


class Window(MainWindow):
    """Tells where the bar of the first card is once it is painted, and its slices whenever they change."""

    told: Any = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.document.changed.connect(self.tell_slices)
        self.ended = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self)
        self.ended.activated.connect(self.close)

    def event(self, event: QEvent) -> bool:
        """Look where the bar is after all has been painted."""
        done: bool = super().event(event)
        if event.type() in (QEvent.Type.Paint, QEvent.Type.UpdateRequest):
            QTimer.singleShot(0, self, self.tell_bar)
        return done

    def tell_bar(self) -> None:
        """Say where the bar is, if that is new."""
        view = self.plan_page.devices.list.views.get(CARD)
        if view is None or not view.bar.isVisible():
            return
        corner = view.bar.mapToGlobal(QPoint(0, 0))
        place = [corner.x(), corner.y(), view.bar.width(), view.bar.height()]
        if place != self.told:
            self.told = place
            tell(bar=place)

    def tell_slices(self) -> None:
        """Say how the first card is carved."""
        if self.document.plan is not None and self.inventory.machine is not None:
            slices = slices_of(self.document.plan, CARD, self.inventory.machine)
            track = self.plan_page.devices.list.views[CARD].bar.track
            ends = [end / track.length for end in track.ends] if track else []
            tell(slices=list(slices), ends=ends, unsaved=self.document.dirty)


def tell(**facts: object) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
