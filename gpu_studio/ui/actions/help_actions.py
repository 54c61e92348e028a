"""What there is to know."""

from __future__ import annotations

from gpu_studio.ui import window_dialogs
from gpu_studio.ui.action_spec import ActionSpec

HELP: tuple[ActionSpec, ...] = (
    ActionSpec(
        "shortcuts",
        "Help",
        "Keyboard shortcuts",
        "All shortcuts in one list",
        window_dialogs.open_shortcuts,
        "F1",
    ),
    ActionSpec(
        "about",
        "Help",
        "About GPU Studio",
        "Version, licence, and what it runs on",
        window_dialogs.open_about,
    ),
)
