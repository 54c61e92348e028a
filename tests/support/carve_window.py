"""A program with one card of a plan in a window, for tests with a real pointer.

Writes a line of JSON when its bar is visible, `{"bar": [x, y, width, height]}`, and one at each
change of the plan, `{"slices": […], "steps": n}`. Ends when its standard input is closed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from plan_bench import Bench
from PySide6.QtCore import QEvent, QObject, QPoint, QSocketNotifier
from PySide6.QtGui import QExposeEvent, QWindow
from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Card, Carve, DeviceSettings, Machine, Plan
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.devices_card import DevicesCard
from gpu_studio.ui.window.app import make_application

MACHINE = Machine((Card(0, "GPU-5d0", "NVIDIA Test", "", 81_920, 1024, 1024),), 16, 65_536)
PLAN = Plan(devices=DeviceSettings(carve=(Carve("GPU:0", (16_384,) * 4),)))


class Exposed(QObject):
    """Calls `then` when the window is on the screen."""

    def __init__(self, parent: QObject, then: Callable[[], object]) -> None:
        super().__init__(parent)
        self._then = then

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QExposeEvent) and isinstance(watched, QWindow) and watched.isExposed():
            self._then()
        return False


def main() -> None:
    """Show the window until the standard input ends."""
    application = make_application()
    theme = ThemeManager("light")
    theme.dress(application)
    bench = Bench(PLAN, MACHINE, DevicesCard(theme))
    bar = bench.parts[0].list.views["GPU:0"].bar
    bench.document.changed.connect(
        lambda: tell(
            slices=slices_of(bench.plan, "GPU:0", MACHINE), steps=bench.document.undo_stack.count()
        )
    )
    bench.setGeometry(100, 100, 900, 260)
    bench.show()
    ended = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read)
    ended.activated.connect(application.quit)
    bench.windowHandle().installEventFilter(Exposed(bench, lambda: tell(bar=where(bar))))
    application.exec()


def where(bar: QWidget) -> list[int]:
    corner = bar.mapToGlobal(QPoint(0, 0))
    return [corner.x(), corner.y(), bar.width(), bar.height()]


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
