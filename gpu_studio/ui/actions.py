"""Every action of the window, declared once: its name, where it stands, its shortcut, what it says, what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

MenuName = Literal["File", "Edit", "Run", "View", "Help"]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action. `group` sets it apart from its neighbours in the menu; of those with the same `one_of` one is on."""

    id: str
    menu: MenuName
    name: str
    tip: str
    handler: Callable[[MainWindow], object]
    shortcut: str = ""
    icon: str = ""
    group: int = 0
    one_of: str = ""


ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "new_starter",
        "File",
        "New starter plan",
        "Make a plan that suits this machine, ready to train",
        lambda window: window.plan_files.new_starter(),
        "Ctrl+N",
        "plus",
    ),
    ActionSpec(
        "open_plan",
        "File",
        "Open plan…",
        "Open a *.plan.toml file; you can also drop one on the window",
        lambda window: window.plan_files.choose_and_open(),
        "Ctrl+O",
        "open",
    ),
    ActionSpec(
        "save_plan",
        "File",
        "Save plan",
        "Write the plan to its file",
        lambda window: window.plan_files.save(),
        "Ctrl+S",
        "save",
        1,
    ),
    ActionSpec(
        "save_plan_as",
        "File",
        "Save plan as…",
        "Write the plan to another file",
        lambda window: window.plan_files.save_as(),
        "Ctrl+Shift+S",
        group=1,
    ),
    ActionSpec(
        "quit",
        "File",
        "Quit",
        "Close the window; runs go on",
        lambda window: window.close(),
        "Ctrl+Q",
        group=2,
    ),
    ActionSpec(
        "undo",
        "Edit",
        "Undo",
        "Take back the last change of the plan",
        lambda window: window.document.undo_stack.undo(),
        "Ctrl+Z",
        "undo",
    ),
    ActionSpec(
        "redo",
        "Edit",
        "Redo",
        "Make the change again that was taken back",
        lambda window: window.document.undo_stack.redo(),
        "Ctrl+Shift+Z",
        "redo",
    ),
    ActionSpec(
        "copy_plan",
        "Edit",
        "Copy plan as TOML",
        "Put the plan's text on the clipboard",
        lambda window: window.plan_files.copy(),
        "Ctrl+Shift+C",
        "copy",
        1,
    ),
    ActionSpec(
        "train",
        "Run",
        "Train",
        "Train the open plan in the background",
        lambda window: window.runs.train(),
        "Ctrl+Return",
        "play",
    ),
    ActionSpec(
        "pause",
        "Run",
        "Pause",
        "Pause the run that is shown, or let it go on; its memory stays",
        lambda window: window.runs.toggle_pause(),
        "Ctrl+P",
        "pause",
        1,
    ),
    ActionSpec(
        "checkpoint",
        "Run",
        "Checkpoint now",
        "Write a checkpoint of the run that is shown",
        lambda window: window.runs.checkpoint(),
        "Ctrl+Shift+K",
        "checkpoint",
        1,
    ),
    ActionSpec(
        "stop",
        "Run",
        "Stop",
        "Stop the run that is shown, with a checkpoint to go on from",
        lambda window: window.runs.stop(),
        "Ctrl+.",
        "stop",
        1,
    ),
    ActionSpec(
        "stop_now",
        "Run",
        "Stop now",
        "Stop the run that is shown without a checkpoint; steps since the last one are lost",
        lambda window: window.runs.stop_now(),
        icon="stop-now",
        group=1,
    ),
    ActionSpec(
        "open_run",
        "Run",
        "Show selected run",
        "Show the run that is selected on the Runs page",
        lambda window: window.run_list.show_selected(),
        "Ctrl+Shift+O",
        "train",
        2,
    ),
    ActionSpec(
        "open_run_plan",
        "Run",
        "Open selected run's plan",
        "Open the plan of the selected run again, as a plan without a file",
        lambda window: window.run_list.open_selected_plan(),
        icon="plan",
        group=2,
    ),
    ActionSpec(
        "resume_run",
        "Run",
        "Resume selected run",
        "Go on from the selected run's newest checkpoint, as a new run",
        lambda window: window.run_list.resume_selected(),
        icon="play",
        group=2,
    ),
    ActionSpec(
        "reveal_run",
        "Run",
        "Reveal selected run's folder",
        "Open the folder of the selected run in the file manager",
        lambda window: window.run_list.reveal_selected(),
        icon="folder",
        group=2,
    ),
    ActionSpec(
        "delete_run",
        "Run",
        "Delete selected run",
        "Delete the selected run; this can be undone",
        lambda window: window.run_list.delete_selected(),
        "Ctrl+Backspace",
        "trash",
        2,
    ),
    ActionSpec(
        "page_devices",
        "View",
        "Devices page",
        "What this machine has",
        lambda window: window.show_page("devices"),
        "Ctrl+1",
        "devices",
    ),
    ActionSpec(
        "page_plan",
        "View",
        "Plan page",
        "What TensorFlow shall see, and how it shall train",
        lambda window: window.show_page("plan"),
        "Ctrl+2",
        "plan",
    ),
    ActionSpec(
        "page_train",
        "View",
        "Train page",
        "How the run is going",
        lambda window: window.show_page("train"),
        "Ctrl+3",
        "train",
    ),
    ActionSpec(
        "page_runs",
        "View",
        "Runs page",
        "All runs, and what came of them",
        lambda window: window.show_page("runs"),
        "Ctrl+4",
        "runs",
    ),
    ActionSpec(
        "refresh",
        "View",
        "Look at the devices again",
        "Ask the machine for its devices and their memory again",
        lambda window: window.inventory.refresh(),
        "F5",
        "refresh",
        1,
    ),
    ActionSpec(
        "palette",
        "View",
        "Find an action…",
        "All actions in one list, to be found by typing",
        lambda window: window.open_palette(),
        "Ctrl+K",
        "search",
        1,
    ),
    ActionSpec(
        "theme_system",
        "View",
        "Colours as the system has them",
        "Light or dark, as the system is",
        lambda window: window.set_theme("system"),
        group=2,
        one_of="theme",
    ),
    ActionSpec(
        "theme_light",
        "View",
        "Light colours",
        "Light, whatever the system is",
        lambda window: window.set_theme("light"),
        group=2,
        one_of="theme",
    ),
    ActionSpec(
        "theme_dark",
        "View",
        "Dark colours",
        "Dark, whatever the system is",
        lambda window: window.set_theme("dark"),
        group=2,
        one_of="theme",
    ),
    ActionSpec(
        "shortcuts",
        "Help",
        "Keyboard shortcuts",
        "All shortcuts in one list",
        lambda window: window.open_shortcuts(),
        "F1",
    ),
    ActionSpec(
        "about",
        "Help",
        "About GPU Studio",
        "Version, licence, and what it runs on",
        lambda window: window.open_about(),
    ),
)
