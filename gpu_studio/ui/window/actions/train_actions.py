"""The actions on the Train page's contents: checkpoints, log, placement and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpu_studio.ui.kit import ActionSpec

if TYPE_CHECKING:
    from gpu_studio.ui.kit.plots.axes import AxisKind
    from gpu_studio.ui.train.plot_files import Kind

_CHECKPOINTS, _LOG = "Selected checkpoint", "Log of the run"
OF_CHECKPOINTS: Final = {
    "resume_checkpoint": "resume",
    "evaluate_checkpoint": "evaluate",
    "predict_checkpoint": "predict",
    "save_checkpoint": "save",
    "reveal_checkpoint": "reveal",
}
"""Action: what it asks of the table of checkpoints."""
OF_LOG: Final = ("find_log", "find_next", "find_previous", "newest_line", "copy_log", "save_log")
_PLOTS: Final = "Plots of the run"
AXES: Final[dict[AxisKind, str]] = {"time": "seconds", "step": "training steps", "epoch": "epochs"}
_WHICH: Final = "of the plot that was used last, else of the loss"
FORMATS: Final[dict[Kind, str]] = {
    "png": "as a picture of pixels",
    "svg": "as a drawing of lines",
    "csv": "as the visible numbers",
}


def _about_checkpoint(name: str, text: str, tip: str, icon: str) -> ActionSpec:
    return ActionSpec(name, "Run", text, tip, icon=icon, submenu=_CHECKPOINTS)


def _axis(kind: AxisKind, counted: str) -> ActionSpec:
    return ActionSpec(
        f"axis_{kind}",
        "View",
        f"Plots by {kind}",
        f"Count {counted} along the axis of all plots of a run",
        submenu=_PLOTS,
    )


def _saving(kind: Kind, how: str) -> ActionSpec:
    return ActionSpec(
        f"save_plot_{kind}",
        "View",
        f"Save plot as {kind.upper()}…",
        f"Write a file {_WHICH}, {how}",
        icon="save",
        submenu=_PLOTS,
    )


CHECKPOINTS: tuple[ActionSpec, ...] = (
    _about_checkpoint(
        "resume_checkpoint", "Resume from checkpoint", "Go on from it, as a new run", "play"
    ),
    _about_checkpoint(
        "evaluate_checkpoint",
        "Evaluate checkpoint",
        "Loss and metrics on data held out",
        "checkpoint",
    ),
    _about_checkpoint(
        "predict_checkpoint",
        "Predict samples with checkpoint",
        "What its model makes of some samples held out",
        "checkpoint",
    ),
    _about_checkpoint(
        "save_checkpoint",
        "Save checkpoint as .keras…",
        "Write its model to a file for Keras",
        "save",
    ),
    _about_checkpoint(
        "reveal_checkpoint", "Reveal checkpoint's folder", "Open it in the file manager", "folder"
    ),
    ActionSpec(
        "cancel_checkpoints",
        "Run",
        "Cancel evaluating and saving",
        "Cancel all work on checkpoints",
        submenu=_CHECKPOINTS,
    ),
)
LOG: tuple[ActionSpec, ...] = (
    ActionSpec(
        "find_log",
        "View",
        "Find in the log…",
        "Find words in the log of the run that is shown; on the Train page Ctrl+F does it",
        icon="search",
        submenu=_LOG,
    ),
    ActionSpec(
        "find_next",
        "View",
        "Find next in the log",
        "Go to the next place of the words that were found",
        "F3",
        submenu=_LOG,
    ),
    ActionSpec(
        "find_previous",
        "View",
        "Find previous in the log",
        "Go to the place before of the words that were found",
        "Shift+F3",
        submenu=_LOG,
    ),
    ActionSpec(
        "newest_line",
        "View",
        "Newest line of the log",
        "Go to the newest line, and keep it in view",
        submenu=_LOG,
    ),
    ActionSpec(
        "copy_log",
        "View",
        "Copy the log",
        "Put what is selected in the log on the clipboard, else all lines that are shown",
        icon="copy",
        submenu=_LOG,
    ),
    ActionSpec(
        "save_log",
        "View",
        "Save the log as text…",
        "Write the lines that are shown to a file",
        icon="save",
        submenu=_LOG,
    ),
)
PLACEMENT: tuple[ActionSpec, ...] = (
    ActionSpec(
        "copy_placement",
        "Edit",
        "Copy placement as text",
        "Put where each layer of the run ran on the clipboard; Ctrl+C in the table takes the "
        "selected rows only",
        group=1,
    ),
)
PLOTS: tuple[ActionSpec, ...] = (
    *(_axis(kind, counted) for kind, counted in AXES.items()),
    ActionSpec(
        "whole_run",
        "View",
        "Plots: show the whole run",
        "Show all of the run in its plots again, from its beginning to the newest",
        submenu=_PLOTS,
    ),
    ActionSpec(
        "copy_plot",
        "View",
        "Copy plot as picture",
        f"Put a picture {_WHICH} on the clipboard",
        icon="copy",
        submenu=_PLOTS,
    ),
    ActionSpec(
        "copy_plot_data",
        "View",
        "Copy plot's data",
        f"Put the visible numbers {_WHICH} on the clipboard",
        icon="copy",
        submenu=_PLOTS,
    ),
    ActionSpec(
        "copy_figures",
        "View",
        "Copy figures at the crosshair",
        "Put the figures at the crosshair, else the newest, on the clipboard; "
        "Ctrl+C on a plot does it too",
        icon="copy",
        submenu=_PLOTS,
    ),
    *(_saving(kind, how) for kind, how in FORMATS.items()),
)
OF_PLOTS: Final = tuple(spec.id for spec in PLOTS)
