"""The plots of the run that is shown: what they count, what of them is in sight, and taking them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpu_studio.ui.action_spec import ActionSpec

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.pages.train.plot_files import Kind

_SUBMENU: Final = "Plots of the run"
_AXES: Final = {"time": "seconds", "step": "training steps", "epoch": "epochs"}
_WHICH: Final = "of the plot that was used last, else of the loss"
_FORMATS: Final[dict[Kind, str]] = {
    "png": "as a picture of pixels",
    "svg": "as a drawing of lines",
    "csv": "as the numbers in sight",
}


def _save(window: MainWindow, kind: Kind) -> None:
    window.show_page("train")
    window.train_page.charts.files.choose_and_save(window.train_page.charts.entered, kind)


def _axis(kind: str, counted: str) -> ActionSpec:
    return ActionSpec(
        f"axis_{kind}",
        "View",
        f"Plots by {kind}",
        f"Count {counted} along the axis of all plots of a run",
        lambda window: window.train_page.charts.set_axis(kind),
        submenu=_SUBMENU,
    )


def _saving(kind: Kind, how: str) -> ActionSpec:
    return ActionSpec(
        f"save_plot_{kind}",
        "View",
        f"Save plot as {kind.upper()}…",
        f"Write a file {_WHICH}, {how}",
        lambda window: _save(window, kind),
        icon="save",
        submenu=_SUBMENU,
    )


PLOTS: tuple[ActionSpec, ...] = (
    *(_axis(kind, counted) for kind, counted in _AXES.items()),
    ActionSpec(
        "whole_run",
        "View",
        "Plots: show the whole run",
        "Show all of the run in its plots again, from its beginning to the newest",
        lambda window: window.train_page.charts.time.show_all(),
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "copy_plot",
        "View",
        "Copy plot as picture",
        f"Put a picture {_WHICH} on the clipboard",
        lambda window: window.train_page.charts.files.copy_picture(window.train_page.charts.entered),
        icon="copy",
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "copy_plot_data",
        "View",
        "Copy plot's data",
        f"Put the numbers in sight {_WHICH} on the clipboard",
        lambda window: window.train_page.charts.files.copy_data(window.train_page.charts.entered),
        icon="copy",
        submenu=_SUBMENU,
    ),
    ActionSpec(
        "copy_figures",
        "View",
        "Copy figures at the crosshair",
        "Put the figures at the crosshair, else the newest, on the clipboard; Ctrl+C on a plot does it too",
        lambda window: window.train_page.now.copy_figures(),
        icon="copy",
        submenu=_SUBMENU,
    ),
    *(_saving(kind, how) for kind, how in _FORMATS.items()),
)
OF_PLOTS: Final = tuple(spec.id for spec in PLOTS)
