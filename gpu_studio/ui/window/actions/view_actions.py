"""The actions on the window: its pages and colours, what is shown, and help."""

from __future__ import annotations

from gpu_studio.ui.kit.action_set import ActionSpec

VIEW: tuple[ActionSpec, ...] = (
    ActionSpec(
        "page_devices",
        "View",
        "Devices page",
        "What this machine has",
        "Ctrl+1",
        "devices",
    ),
    ActionSpec(
        "page_plan",
        "View",
        "Plan page",
        "What TensorFlow sees, and how it trains",
        "Ctrl+2",
        "plan",
    ),
    ActionSpec(
        "page_train",
        "View",
        "Train page",
        "How the run is going",
        "Ctrl+3",
        "train",
    ),
    ActionSpec(
        "page_runs",
        "View",
        "Runs page",
        "All runs, and what came of them",
        "Ctrl+4",
        "runs",
    ),
    ActionSpec(
        "notice",
        "View",
        "Go to the message",
        "Bring the focus to the message in the corner; Esc closes it",
        "F6",
    ),
    ActionSpec(
        "refresh",
        "View",
        "Look at the devices again",
        "Ask the machine for its devices and their memory again",
        "F5",
        "refresh",
        1,
    ),
    ActionSpec(
        "doctor",
        "View",
        "Doctor…",
        "Whether all holds that TensorFlow needs to use each card, and "
        "what to type where it does not",
        "Ctrl+D",
        group=1,
    ),
    ActionSpec(
        "palette",
        "View",
        "Find an action…",
        "All actions in one list, to be found by typing",
        "Ctrl+K",
        "search",
        1,
    ),
    ActionSpec(
        "theme_system",
        "View",
        "Colours as the system has them",
        "Light or dark, as the system is",
        group=2,
        one_of="theme",
    ),
    ActionSpec(
        "theme_light",
        "View",
        "Light colours",
        "Light, whatever the system is",
        group=2,
        one_of="theme",
    ),
    ActionSpec(
        "theme_dark",
        "View",
        "Dark colours",
        "Dark, whatever the system is",
        group=2,
        one_of="theme",
    ),
)

HELP: tuple[ActionSpec, ...] = (
    ActionSpec(
        "shortcuts",
        "Help",
        "Keyboard shortcuts",
        "All shortcuts in one list",
        "F1",
    ),
    ActionSpec(
        "about",
        "Help",
        "About GPU Studio",
        "Version, licence, and what it runs on",
    ),
)
