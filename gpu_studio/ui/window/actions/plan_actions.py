"""The actions on plans and on the window itself.

Of plans: their files, their changes and parts, and the Python that they name. Of the window:
its pages and colours, what is shown, and help.
"""

from __future__ import annotations

from typing import Final

from gpu_studio.plan import RUNNABLE_STRATEGIES, strategy_named
from gpu_studio.ui.kit import ActionSpec

PARTS: Final = ("Devices", "Model", "Data", "Training", "Strategy", "Layers", "File", "Changes")
_SUBMENU: Final = "Parts of the plan"


def _template(strategy: str) -> ActionSpec:
    title = strategy_named(strategy).title
    return ActionSpec(
        f"new_{strategy}",
        "File",
        f"New plan: {title}",
        f"Make a plan that trains the digits with the strategy {title} on this machine",
        submenu="New from template",
    )


def _tab(number: int, part: str) -> ActionSpec:
    return ActionSpec(
        f"tab_{part.lower()}",
        "View",
        f"Plan: {part}",
        f"Open the tab {part} of the Plan page, at its first field",
        f"Alt+{number}",
        submenu=_SUBMENU,
    )


FILE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "new_starter",
        "File",
        "New starter plan",
        "Make a plan that suits this machine, ready to train",
        "Ctrl+N",
        "plus",
    ),
    *(_template(strategy) for strategy in RUNNABLE_STRATEGIES),
    ActionSpec(
        "open_plan",
        "File",
        "Open plan…",
        "Open a *.plan.toml file; you can also drop one on the window",
        "Ctrl+O",
        "open",
    ),
    ActionSpec(
        "save_plan",
        "File",
        "Save plan",
        "Write the plan to its file",
        "Ctrl+S",
        "save",
        1,
    ),
    ActionSpec(
        "save_plan_as",
        "File",
        "Save plan as…",
        "Write the plan to another file",
        "Ctrl+Shift+S",
        group=1,
    ),
    ActionSpec(
        "compare_plan",
        "File",
        "Compare plan with…",
        "Show the fields in which the plan differs from that of another file",
        group=1,
    ),
    ActionSpec(
        "export_python",
        "File",
        "Export as Python…",
        "Write a script in plain TensorFlow and Keras that trains the plan without GPU Studio",
        "Ctrl+E",
        group=1,
    ),
    ActionSpec(
        "save_devices",
        "File",
        "Save devices as CSV…",
        "Write the cards and their figures to a file, as gpu-studio devices --csv has them",
        group=2,
    ),
    ActionSpec(
        "quit",
        "File",
        "Quit",
        "Close the window; runs that are alive can go on",
        "Ctrl+Q",
        group=3,
    ),
)

EDIT: tuple[ActionSpec, ...] = (
    ActionSpec(
        "undo",
        "Edit",
        "Undo",
        "Take back the last change of the plan",
        "Ctrl+Z",
        "undo",
    ),
    ActionSpec(
        "redo",
        "Edit",
        "Redo",
        "Make the change again that was taken back",
        "Ctrl+Shift+Z",
        "redo",
    ),
    ActionSpec(
        "copy_plan",
        "Edit",
        "Copy plan as TOML",
        "Put the plan's text on the clipboard",
        "Ctrl+Shift+C",
        "copy",
        1,
    ),
    ActionSpec(
        "copy_python",
        "Edit",
        "Copy as Python",
        "Put a script on the clipboard that trains the plan in plain TensorFlow "
        "and Keras, without GPU Studio",
        "Ctrl+Shift+P",
        "copy",
        1,
    ),
    ActionSpec(
        "copy_devices",
        "Edit",
        "Copy devices as text",
        "Put the devices and their figures on the clipboard as text",
        group=1,
    ),
)

CODE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "allow_code",
        "Edit",
        "Allow plan's Python…",
        "Read the Python files of the open plan that are not allowed "
        "yet, and say whether they may run",
        group=2,
    ),
    ActionSpec(
        "allowed_code",
        "Edit",
        "Allowed Python…",
        "List the Python files and folders that may run, and forbid them again",
        group=2,
    ),
    ActionSpec(
        "settings",
        "Edit",
        "Settings…",
        "Preferences of GPU Studio: colours, numbers, the folder of runs, how often it looks at "
        "the cards, notifications, quitting",
        "Ctrl+,",
        group=3,
    ),
)

PLAN_PARTS: tuple[ActionSpec, ...] = (
    *(_tab(number, part) for number, part in enumerate(PARTS, start=1)),
    ActionSpec(
        "next_tab",
        "View",
        "Plan: next part",
        "Open the next tab of the Plan page",
        "Ctrl+PgDown",
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "previous_tab",
        "View",
        "Plan: previous part",
        "Open the tab before this one of the Plan page",
        "Ctrl+PgUp",
        submenu=_SUBMENU,
    ),
)


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
        "page_lab",
        "View",
        "Lab page",
        "What this machine can do, and what is worth it for a plan",
        "Ctrl+5",
        "lab",
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

DEVICES: tuple[ActionSpec, ...] = (
    ActionSpec(
        "practise",
        "Devices",
        "Practise with cards that are not there…",
        "Carve cards of your choice and train on them: with this machine's memory, on its CPU",
    ),
    ActionSpec(
        "stop_practising",
        "Devices",
        "Stop practising",
        "Show this machine's own cards again",
    ),
)

HELP: tuple[ActionSpec, ...] = (
    ActionSpec(
        "guide",
        "Help",
        "Guide",
        "The page of the guide about what has the focus",
        "F1",
    ),
    ActionSpec(
        "lessons",
        "Help",
        "Lessons…",
        "Learn by doing: eight lessons of ten minutes, each with a plan of its own",
    ),
    ActionSpec(
        "shortcuts",
        "Help",
        "Keyboard shortcuts",
        "All shortcuts in one list",
        "Ctrl+?",
    ),
    ActionSpec(
        "about",
        "Help",
        "About GPU Studio",
        "Version, licence, and what it runs on",
    ),
)
