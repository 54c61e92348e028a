"""Visit everything that the window can show, and report text that is cut off at this scale.

`python shown_parts.py FOLDER`: settings and runs are in the folder. Prints `{"scale": s, "seen":
[…], "cut": {…}}`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fake_plan_asker
from cut_text import cut_text
from PySide6.QtWidgets import QApplication

from gpu_studio.plan import Machine, Plan, Training
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.machine.live_machine import Inventory
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.app import make_application
from gpu_studio.ui.window.frame import SMALLEST
from gpu_studio.ui.window.main_window import MainWindow
from gpu_studio.ui.window.services import PAGES

STRATEGIES = ("mirrored", "one_device", "central_storage", "placed", "none", "tpu")
DIALOGS = ("shortcuts", "about", "palette")
ROUNDS = 5
WRONG = Training(epochs=0, batch_size=0, optimizer="adm", learning_rate=-1.0)


def everything(window: MainWindow) -> Iterator[str]:
    """Show all of it, one after the other, and name it.

    Pages, tabs, strategies, a plan with mistakes, dialogs.
    """
    for page in PAGES:
        window.show_page(page)
        yield from settled(page)
    window.show_page("plan")
    plan = window.document.plan
    assert plan is not None
    for strategy in STRATEGIES:
        window.document.begin(set_strategy(plan, strategy))
        yield from parts(window, ("Strategy",), strategy)
    yield from parts(window, PARTS, "")
    window.document.begin(wrong(plan))
    yield from parts(window, PARTS, "mistakes")
    yield from dialogs(window)


def parts(window: MainWindow, names: tuple[str, ...], what: str) -> Iterator[str]:
    """Show the tabs of the plan."""
    for name in names:
        window.plan_page.workspace.open(name)
        yield from settled(f"{name} {what}".strip())


def dialogs(window: MainWindow) -> Iterator[str]:
    """Open the dialogs, which stand within the window's children."""
    for name in DIALOGS:
        window.actions_[name].trigger()
        yield from settled(name)
        for child in window.children():
            if hasattr(child, "reject"):
                child.reject()


def settled(name: str) -> Iterator[str]:
    """A name, once all is laid out.

    What is within may ask for another width than it was given first.
    """
    for _ in range(ROUNDS):
        QApplication.processEvents()
    for _ in range(ROUNDS):
        QApplication.sendPostedEvents()  # what came last is laid out too, and nothing new comes in
    yield name


def wrong(plan: Plan) -> Plan:
    """The plan with a mistake in each field that the cards show."""
    return replace(plan, training=WRONG)


def main(folder: Path) -> None:
    """Look at the smallest window."""
    application = make_application()
    theme = ThemeManager("dark")
    theme.dress(application)
    window = MainWindow(
        folder / "runs",
        None,
        theme,
        settings=Settings(folder / "window.ini"),
        inventory=Known(),
        facts=FactsReader(fake_plan_asker.COMMAND),
    )
    window.resize(SMALLEST)
    window.show()
    window.inventory.refresh()
    seen, cut = list[str](), dict[str, list[str]]()
    for place in everything(window):
        seen.append(place)
        if found := cut_text(window):
            cut[place] = found
    sys.stdout.write(
        json.dumps({"scale": window.devicePixelRatioF(), "seen": seen, "cut": cut}) + "\n"
    )
    window.close()


class Known(Inventory):
    """A machine that is known at once."""

    def refresh(self) -> None:
        """Answer now."""
        self.machine = Machine(
            cpu_cores=8, memory_mib=32_000, why_no_cards="no NVIDIA driver is installed"
        )
        self.changed.emit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
