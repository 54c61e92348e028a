"""The menu of the actions on a slice."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QWidget

from gpu_studio.plan.edits.carving import Carved
from gpu_studio.ui.plan.carving import carve_steps
from gpu_studio.ui.plan.carving.track import Track

CarveAction = tuple[str, str, Callable[[], Carved]]
"""What it is called, why it cannot be (empty if it can), and the carve that it asks for."""


def carve_actions(track: Track, index: int) -> tuple[CarveAction, ...]:
    """Everything that can be done with a slice and its card."""
    return (
        ("Add", carve_steps.why_not_add(track), lambda: carve_steps.added(track)),
        ("Split", carve_steps.why_not_split(track, index), lambda: carve_steps.split(track, index)),
        (
            "Merge",
            carve_steps.why_not_merge(track, index),
            lambda: carve_steps.merged(track, index),
        ),
        ("Remove", carve_steps.why_not_remove(track), lambda: carve_steps.removed(track, index)),
        ("Equal", carve_steps.why_not_equalise(track), lambda: carve_steps.equalised(track)),
    )


def titles(track: Track, index: int) -> dict[str, str]:
    """Return the name of each action."""
    return {
        "Add": f"Add a slice to {track.physical}",
        "Split": f"Split {track.name(index)} in two",
        "Merge": f"Merge {track.name(index)} with the next slice",
        "Remove": f"Give {track.name(index)} back to the free room",
        "Equal": f"Make all slices of {track.physical} equal",
    }


def carve_menu(
    parent: QWidget, track: Track, index: int, wanted: Callable[[Carved], object]
) -> QMenu:
    """Return a menu that passes the user's choice to `wanted`. It is deleted when closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setToolTipsVisible(True)
    words = titles(track, index)
    for name, why_not, make in carve_actions(track, index):
        action = menu.addAction(words[name])
        action.setEnabled(not why_not)
        action.setToolTip(why_not)
        action.triggered.connect(lambda _=False, make=make: wanted(make()))
    return menu
