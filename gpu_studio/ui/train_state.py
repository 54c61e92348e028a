"""Which actions about checkpoints and log can be done now, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpu_studio.ui.actions.plot_actions import OF_PLOTS
from gpu_studio.ui.actions.train_actions import OF_CHECKPOINTS, OF_LOG

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow

NO_RUN: Final = "No run is shown: train a plan, or show a run from the Runs page"
NO_PLACEMENT: Final = "The run that is shown has told no placement: a placed run tells it at its beginning"
NOTHING_DONE: Final = "Nothing is being done with checkpoints"


def follow_train_page(window: MainWindow) -> None:
    """Allow what can be done with what stands under the plots."""
    shown = window.shown_run is not None
    for name in (*OF_LOG, *OF_PLOTS):
        window.actions_.allow(name, "" if shown else NO_RUN)
    for name, deed in OF_CHECKPOINTS.items():
        window.actions_.allow(name, window.train_page.details.table.why_not(deed) if shown else NO_RUN)
    placed = shown and window.train_page.details.placement.there
    window.actions_.allow("copy_placement", "" if placed else NO_PLACEMENT if shown else NO_RUN)
    busy = shown and bool(window.train_page.details.desk.jobs.jobs)
    window.actions_.allow("cancel_checkpoints", "" if busy else NOTHING_DONE)
