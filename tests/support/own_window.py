"""GPU Studio's window for a test with a real pointer and a model of the user's own.

It reports how the model meets the data, which outputs the Training tab has, which metrics the Train
page offers, and what was predicted. Of the model it is told by the command in `$OWN_ASKER`, which
predicts, too.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import runs_window
import story_window
from runs_window import whole

from gpu_studio.cli import main
from gpu_studio.ui.kit.table import model_as_text
from gpu_studio.ui.plan.model_tab import ModelTab
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.training_tab import TrainingTab
from gpu_studio.ui.window import app


class Window(story_window.Window):
    """Tells of inputs and outputs, from the plan to the predictions."""

    def __init__(self, *given: Any, **named: Any) -> None:
        asker = shlex.split(os.environ["OWN_ASKER"])
        runs_window.Window.__init__(self, *given, **named, facts=FactsReader(asker))
        self.train_page.details.desk.jobs.command = asker
        self.show_page("plan")

    def seen(self) -> dict[str, Any]:
        workspace, page = self.plan_page.workspace, self.train_page
        tab = workspace.editor(workspace.current) if self.document.plan else None
        seen = super().seen() | {"ends": "", "outputs": {}, "metrics": [], "predicted": ""}
        if isinstance(tab, ModelTab) and tab.ends.isVisible() and tab.ends.isEnabled():
            seen["ends"] = model_as_text(tab.pairings, range(tab.pairings.rowCount()))
        if isinstance(tab, TrainingTab):
            seen["outputs"] = {name: each.facts.text() for name, each in tab.loss.outputs.items()}
        choice, pane = page.charts.metrics.choice, page.details.predictions
        if choice.isVisible():
            seen["metrics"] = [choice.itemText(place) for place in range(choice.count())]
        if pane.isVisible():
            seen["predicted"] = model_as_text(pane.samples, range(pane.samples.rowCount()))
        return seen

    def parts(self) -> dict[str, list[int]]:
        found, details = super().parts(), self.train_page.details
        if details.tabs.isVisible():
            for place in range(details.tabs.count()):
                left, top, _, _ = whole(details.tabs)
                room = details.tabs.tabRect(place)
                found[f"tab {details.tabs.tabText(place).split()[0]}"] = [
                    *(left + room.left(), top + room.top()),
                    *(room.width(), room.height()),
                ]
        if details.table.isVisible() and details.checkpoints.rows:
            cell = details.table.visualRect(details.checkpoints.index(0, 0))
            found["checkpoint"] = runs_window.on_screen(details.table.viewport(), cell)
        return found


if __name__ == "__main__":
    patched: Any = app
    patched.MainWindow = Window
    sys.exit(main(sys.argv[1:]))
