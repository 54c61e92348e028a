"""GPU Studio's window on practice cards, for a test with a real pointer.

It reports the card's slices, where the ends of its slices are, where the layers stand, what the
memory plot draws, and why a run failed.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import runs_window
import story_window
from PySide6.QtWidgets import QWidget
from runs_window import on_screen, whole

from gpu_studio.cli import main
from gpu_studio.plan.carving import slices_of
from gpu_studio.ui.plan.layers.layers_tab import LayersTab
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window import app

CARD = "GPU:0"


class Window(story_window.Window):
    """Tells how the card is carved and what runs on it.

    Of the model it is told by the command in `$PRACTICE_ASKER`.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        reader = FactsReader(shlex.split(os.environ["PRACTICE_ASKER"]))
        runs_window.Window.__init__(self, *given, **named, facts=reader)
        self.show_page("plan")

    def seen(self) -> dict[str, Any]:
        seen, plan, machine = super().seen(), self.document.plan, self.inventory.machine
        if plan is None or machine is None:
            return seen | {"slices": []}
        placed = plan.distribution.placed
        return seen | {
            "marked": self.plan_page.caption.text(),
            "slices": list(slices_of(plan, CARD, machine)),
            "strategy": plan.distribution.strategy,
            "batch": plan.training.batch_size,
            "layers": {name: list(on) for name, on in placed.layers.items()} if placed else {},
            "over": self._over(),
            **self._run_seen(),
        }

    def parts(self) -> dict[str, list[int]]:
        found = super().parts()
        view = self.plan_page.devices.list.views.get(CARD)
        if view is not None and view.bar.isVisible() and view.bar.track is not None:
            left, top, width, height = whole(view.bar)
            track = view.bar.track
            for index, end in enumerate(track.ends):
                middle = left + round(width * end / track.length)
                found[f"end {index}"] = [middle, top + height // 2, 1, 1]
            found["bar"] = [left, top, width, height]
        page = self.plan_page
        named = {"batch": page.training.batch_size, **page.distribution.buttons}
        found |= {name: whole(part) for name, part in named.items() if part.isVisible()}
        return found | self._lanes()

    def _tab(self) -> LayersTab | None:
        workspace = self.plan_page.workspace
        if not self.plan_page.isVisible() or workspace.current != "Layers":
            return None
        tab = workspace.editor("Layers")
        return tab if isinstance(tab, LayersTab) else None

    def _lanes(self) -> dict[str, list[int]]:
        tab, found = self._tab(), {}
        for device, view in tab.grid.views.items() if tab is not None else ():
            found[f"lane {device}"] = _middle(view)
            for row, item in enumerate(view.lane.items):
                room = view.list.visualRect(view.list.rows.index(row))
                found[f"layer {item.layer}"] = on_screen(view.list.viewport(), room)
        return found

    def _over(self) -> str:
        tab = self._tab()
        views = tab.grid.views.values() if tab is not None else ()
        return next((view.mark.text for view in views if view.mark.isVisible()), "")

    def _run_seen(self) -> dict[str, Any]:
        run, page = self.shown_run, self.pages.train
        if run is None:
            return {}
        history = run.history
        drawn = {
            plot.accessibleName(): [entry.name for entry in plot.legend.entries]
            for plot in self.shown_plots
        }
        return {
            "drawn": drawn,
            "limits": {
                name: series.latest.limit if series.latest else None
                for name, series in history.memory.items()
            },
            "failure": page.outcome.message.text() if page.outcome.isVisible() else "",
            "proof": page.details.placement.words,
        }


def _middle(widget: QWidget) -> list[int]:
    left, top, width, height = whole(widget)
    return [left + width // 2, top + height // 2, 1, 1]


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
