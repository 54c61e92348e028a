"""A program with the Layers tab of a plan in a window, for tests with a real pointer.

Writes a line of JSON when it is on the screen and after each change of the plan: `{"lanes":
{device: [x, y]}, "layers": {layer: {device: [x, y]}}, "plan": text, "steps": n}`, with the middle
of each lane and of each layer on the screen; and `{"over": words, "why_not": words}` when what a
drop would do changes. Ctrl+Z undoes, Ctrl+Y redoes, and Ctrl+Return trains the plan in the
directory that is its argument, `{"run": path}`. Ends when its standard input is closed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from carve_window import Exposed, tell
from edited_part import Reported
from lane_plans import LAYERS, MACHINE, SMALL, facts_of, placed_plan
from plan_bench import Bench
from PySide6.QtCore import QPoint, QSocketNotifier, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from gpu_studio.plan import AbsolutePlan, ModelSettings, Plan, Training, dumps
from gpu_studio.runs.launch import Launched, launch
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.layers.layers_tab import LayersTab
from gpu_studio.ui.window.app import make_application


def plan() -> Plan:
    """All layers on the first of two logical CPUs; a run of one epoch."""
    made = placed_plan(dict.fromkeys(LAYERS, ("CPU:0",)), 2, cpus=2)
    return replace(
        made,
        model=ModelSettings("mlp", options={"hidden": [16, 16, 16]}),
        training=Training(1, 256),
    )


class Window:
    """The tab in a window that tells where everything is."""

    def __init__(self, theme: ThemeManager) -> None:
        self.tab, self.reader = LayersTab(theme), Reported()
        self.tab.set_facts(self.reader)
        self.bench = Bench(plan(), MACHINE, self.tab)
        self.reader.tell(facts_of(SMALL))
        self._over = ("", "")
        self._launched: Launched | None = None
        document = self.bench.document
        QShortcut(QKeySequence("Ctrl+Z"), self.bench, document.undo_stack.undo)
        QShortcut(QKeySequence("Ctrl+Y"), self.bench, document.undo_stack.redo)
        QShortcut(QKeySequence("Ctrl+Return"), self.bench, self._train)
        # Told when Qt has nothing else to do: only then do the widgets stand where they will be.
        document.changed.connect(lambda: QTimer.singleShot(0, self.tell))
        self.bench.setGeometry(100, 100, 760, 620)
        self.bench.show()  # which fills the tab: it has no lanes before
        for view in self.tab.grid.views.values():
            view.refused.connect(self._tell_over)
        self.bench.windowHandle().installEventFilter(
            Exposed(self.bench, lambda: QTimer.singleShot(0, self.tell))
        )

    def tell(self) -> None:
        views = self.tab.grid.views
        layers: dict[str, dict[str, list[int]]] = {}
        for device, view in views.items():
            for row, item in enumerate(view.lane.items):
                spot = view.list.visualRect(view.list.rows.index(row)).center()
                layers.setdefault(item.layer, {})[device] = on_screen(view.list.viewport(), spot)
        lanes = {device: on_screen(view, view.rect().center()) for device, view in views.items()}
        steps = self.bench.document.undo_stack.index()
        tell(lanes=lanes, layers=layers, plan=dumps(self.bench.plan), steps=steps)

    def _train(self) -> None:
        self._launched = launch(AbsolutePlan(self.bench.plan), Path(sys.argv[1]), machine=MACHINE)
        tell(run=str(self._launched.directory.path))

    def _tell_over(self, why_not: str, _where: QPoint) -> None:
        over = next(
            (view.mark.text for view in self.tab.grid.views.values() if view.mark.isVisible()), ""
        )
        if (over, why_not) != self._over:
            self._over = (over, why_not)
            tell(over=over, why_not=why_not)


def on_screen(widget: QWidget, spot: QPoint) -> list[int]:
    there = widget.mapToGlobal(spot)
    return [there.x(), there.y()]


def main() -> None:
    """Show the window until the standard input ends."""
    application = make_application()
    theme = ThemeManager("light")
    theme.dress(application)
    window = Window(theme)
    ended = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read)
    ended.activated.connect(application.quit)
    application.exec()
    window.tab.close_readers()
    window.reader.close()


if __name__ == "__main__":
    main()
