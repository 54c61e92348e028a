"""How long the user waits for the Plan page on eight simulated cards.

All of TensorFlow's facts about the plan are known.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QDeadlineTimer, QEventLoop
from PySide6.QtWidgets import QApplication

from gpu_studio.plan import Plan
from gpu_studio.plan.carving import set_slices
from gpu_studio.plan.edits import distribution
from gpu_studio.plan.edits.training import set_optimizer, set_training
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.main_window import MainWindow

PATIENCE_MS = 120_000
CARD = "GPU:0"
Edit = Callable[[Plan, int], Plan]


def edits(window: MainWindow) -> dict[str, tuple[str, Edit]]:
    """Each kind of edit, with the tab that is open meanwhile.

    The number makes each a different one.
    """
    machine = window.inventory.machine
    assert machine is not None
    ways, strategies = ("hierarchical_copy", "ring", "nccl"), ("one_device", "mirrored")
    return {
        "carve": ("Devices", lambda plan, n: set_slices(plan, CARD, 2 + n % 3, machine)),
        "model option": ("Model", _hidden),
        "data option": (
            "Data",
            lambda plan, n: replace(plan, data=replace(plan.data, test_fraction=0.1 + n / 1000)),
        ),
        "epochs": ("Training", lambda plan, n: set_training(plan, epochs=n + 1)),
        "optimizer": ("Training", lambda plan, n: set_optimizer(plan, ("sgd", "adam")[n % 2])),
        "mistake": (
            "Training",
            lambda plan, n: set_training(plan, batch_size=-n % 2 * 7, optimizer="adm"),
        ),
        "all-reduce": ("Strategy", lambda plan, n: distribution.set_all_reduce(plan, ways[n % 3])),
        "strategy": (
            "Strategy",
            lambda plan, n: distribution.set_strategy(plan, strategies[n % 2]),
        ),
        "text": ("File", lambda plan, n: replace(plan, name=f"plan {n}")),
    }


def _hidden(plan: Plan, n: int) -> Plan:
    return replace(plan, model=replace(plan.model, options={"hidden": [64 + n, 64]}))


def main(openings: int, times: int) -> None:
    """Measure."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    window = MainWindow(
        Path(os.environ["GPU_STUDIO_RUNS_DIR"]), None, theme, settings=Settings(Path("window.ini"))
    )
    window.inventory.refresh()
    window.show_page("devices")
    window.show()
    wait(lambda: window.document.plan is not None)
    opened = [_opened(window) for _ in range(openings)]
    wait(lambda: window.facts.facts is not None and not window.facts.asking)
    workspace = window.plan_page.workspace
    names = [workspace.tabs.tabText(index) for index in range(workspace.tabs.count())]
    tabs = {name: painted(partial(workspace.open, name)) for name in names}
    measured = {kind: _edited(window, *way, times) for kind, way in edits(window).items()}
    sys.stdout.write(json.dumps({"opened": opened, "tabs": tabs, "edits": measured}) + "\n")
    window.close()


def _opened(window: MainWindow) -> float:
    window.show_page("devices")
    QApplication.processEvents()
    return painted(partial(window.show_page, "plan"))


def _edited(window: MainWindow, tab: str, edit: Edit, times: int) -> list[float]:
    document = window.document
    assert document.plan is not None
    before, taken = document.plan, list[float]()
    window.plan_page.workspace.open(tab)
    QApplication.processEvents()
    for number in range(times):
        changed = edit(before, number)
        taken.append(painted(partial(document.replace, changed, "edit")))
    document.replace(before, "back")
    wait(lambda: not window.facts.asking)
    return taken


def painted(action: Callable[[], Any]) -> float:
    """Do it, and everything that follows from it until the window is painted; the ms that took."""
    began = time.perf_counter()
    action()
    QApplication.processEvents()
    return (time.perf_counter() - began) * 1000


def wait(condition: Callable[[], bool]) -> None:
    """Return as soon as the condition holds; ends the program if it never does."""
    deadline = QDeadlineTimer(PATIENCE_MS)
    while not condition():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        if deadline.hasExpired():
            sys.exit("waited in vain for the plan, or for what TensorFlow tells of it")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
