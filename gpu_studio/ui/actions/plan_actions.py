"""The parts of the plan, each in its tab of the Plan page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpu_studio.ui.action_spec import ActionSpec

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

PARTS = ("Devices", "Model", "Data", "Training", "Strategy", "Layers", "File", "Changes")
SUBMENU = "Parts of the plan"


def _opening(part: str) -> Callable[[MainWindow], object]:
    def opened(window: MainWindow) -> None:
        window.show_page("plan")
        window.plan_page.workspace.enter(part)

    return opened


def _stepping(by: int) -> Callable[[MainWindow], object]:
    def stepped(window: MainWindow) -> None:
        window.show_page("plan")
        window.plan_page.workspace.step(by)

    return stepped


def _tab(number: int, part: str) -> ActionSpec:
    return ActionSpec(
        f"tab_{part.lower()}",
        "View",
        f"Plan: {part}",
        f"Open the tab {part} of the Plan page, at its first field",
        _opening(part),
        f"Alt+{number}",
        submenu=SUBMENU,
    )


PLAN_PARTS: tuple[ActionSpec, ...] = (
    *(_tab(number, part) for number, part in enumerate(PARTS, start=1)),
    ActionSpec(
        "next_tab",
        "View",
        "Plan: next part",
        "Open the next tab of the Plan page",
        _stepping(1),
        "Ctrl+PgDown",
        submenu=SUBMENU,
    ),
    ActionSpec(
        "previous_tab",
        "View",
        "Plan: previous part",
        "Open the tab before this one of the Plan page",
        _stepping(-1),
        "Ctrl+PgUp",
        submenu=SUBMENU,
    ),
)
