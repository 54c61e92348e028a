"""What stands under the plots of the Train page: the checkpoints, the log, and the placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpu_studio.ui.action_spec import ActionSpec

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

_CHECKPOINTS, _LOG = "Selected checkpoint", "Log of the run"
OF_CHECKPOINTS: Final = {
    "resume_checkpoint": "resume",
    "evaluate_checkpoint": "evaluate",
    "save_checkpoint": "save",
    "reveal_checkpoint": "reveal",
}
"""Action: what it asks of the table of checkpoints."""
OF_LOG: Final = ("find_log", "find_next", "find_previous", "newest_line", "copy_log", "save_log")


def find(window: MainWindow) -> None:
    """Find words in the log, where the page shows one; else find runs."""
    if window.page == "train" and window.shown_run is not None:
        find_in_log(window)
    else:
        window.run_list.find()


def find_in_log(window: MainWindow) -> None:
    """Open the log's search."""
    window.show_page("train")
    window.train_page.details.tabs.open("Log")
    window.train_page.details.log.search()


def _ask(window: MainWindow, name: str) -> None:
    window.show_page("train")
    window.train_page.details.table.want(OF_CHECKPOINTS[name])


def _about_checkpoint(name: str, text: str, tip: str, icon: str) -> ActionSpec:
    return ActionSpec(name, "Run", text, tip, lambda window: _ask(window, name), icon=icon, submenu=_CHECKPOINTS)


CHECKPOINTS: tuple[ActionSpec, ...] = (
    _about_checkpoint("resume_checkpoint", "Resume from checkpoint", "Go on from it, as a new run", "play"),
    _about_checkpoint("evaluate_checkpoint", "Evaluate checkpoint", "Loss and metrics on data held out", "checkpoint"),
    _about_checkpoint("save_checkpoint", "Save checkpoint as .keras…", "Write its model to a file for Keras", "save"),
    _about_checkpoint("reveal_checkpoint", "Reveal checkpoint's folder", "Open it in the file manager", "folder"),
    ActionSpec(
        "cancel_checkpoints",
        "Run",
        "Cancel evaluating and saving",
        "Give up all that is being done with checkpoints",
        lambda window: window.train_page.details.desk.jobs.cancel(),
        submenu=_CHECKPOINTS,
    ),
)
LOG: tuple[ActionSpec, ...] = (
    ActionSpec(
        "find_log",
        "View",
        "Find in the log…",
        "Find words in the log of the run that is shown; on the Train page Ctrl+F does it",
        find_in_log,
        icon="search",
        submenu=_LOG,
    ),
    ActionSpec(
        "find_next",
        "View",
        "Find next in the log",
        "Go to the next place of the words that were found",
        lambda window: window.train_page.details.log.find_next(),
        "F3",
        submenu=_LOG,
    ),
    ActionSpec(
        "find_previous",
        "View",
        "Find previous in the log",
        "Go to the place before of the words that were found",
        lambda window: window.train_page.details.log.find_next(back=True),
        "Shift+F3",
        submenu=_LOG,
    ),
    ActionSpec(
        "newest_line",
        "View",
        "Newest line of the log",
        "Go to the newest line, and keep it in sight",
        lambda window: window.train_page.details.log.to_newest(),
        submenu=_LOG,
    ),
    ActionSpec(
        "copy_log",
        "View",
        "Copy the log",
        "Put what is selected in the log on the clipboard, else all lines that are shown",
        lambda window: window.train_page.details.log.copy(),
        icon="copy",
        submenu=_LOG,
    ),
    ActionSpec(
        "save_log",
        "View",
        "Save the log as text…",
        "Write the lines that are shown to a file",
        lambda window: window.train_page.details.log_file.choose_and_write(),
        icon="save",
        submenu=_LOG,
    ),
)
PLACEMENT: tuple[ActionSpec, ...] = (
    ActionSpec(
        "copy_placement",
        "Edit",
        "Copy placement as text",
        "Put where each layer of the run ran on the clipboard; Ctrl+C in the table takes the selected rows only",
        lambda window: window.train_page.details.placement.copy(),
        group=1,
    ),
)
