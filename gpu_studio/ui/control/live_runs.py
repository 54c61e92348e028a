"""What the window does about the runs that are alive: each is in sight, one click away, and told of when it begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gpu_studio.runs.directory import RunDirectory
from gpu_studio.runs.naming import title_of
from gpu_studio.runs.numbers import number_of

if TYPE_CHECKING:
    from gpu_studio.ui.main_window import MainWindow
    from gpu_studio.ui.widgets.live_button import LiveButton


class LiveRuns(QObject):
    """Keeps the live runs in the status line and beside the title of the Train page.

    A run that somebody else starts, as the queue does, is told of with a way to it. It takes the place of the run that
    is shown only where that has ended and nobody is looking at it.
    """

    def __init__(self, window: MainWindow, runs: Path) -> None:
        super().__init__(window)
        self._window = window
        self._runs = runs
        self._said: dict[str, str] = {}
        watch = window.run_ends.watch
        watch.changed.connect(self.show)
        watch.began.connect(self._tell_begun)
        watch.ended.connect(self._withdraw)
        self.add_button(window.status_line.live)

    def add_button(self, button: LiveButton) -> None:
        """Let this button, too, show the run that is chosen."""
        button.chosen.connect(lambda run: self._window.show_run(RunDirectory(self._runs / run)))

    def show(self) -> None:
        """Show which runs are alive, and which of them is shown."""
        window, shown = self._window, self._window.shown_run
        if shown is not None and window.page == "train":
            self._withdraw(shown.run)
        titles = self._titles()
        buttons = [window.status_line.live]
        if shown is not None:
            buttons.append(window.train_page.header.live)
        for button in buttons:
            button.show_runs(titles, shown.run.id if shown is not None else "")

    def _titles(self) -> dict[str, str]:
        """What the live runs are called, by their ids."""
        live = self._window.run_ends.watch.live
        if any(number_of(run) is None for run in live):
            # Whoever starts one is about to number it. Imported when it is first needed: it brings numpy.
            from gpu_studio.runs.catalogue import numbered

            numbered(self._runs)
        return {run.id: title_of(run) for run in live}

    def tell_beside(self, other: RunDirectory) -> None:
        """Say that another run trains beside the one that was just started."""
        self._say(other, f"{title_of(other)} is still training too: both runs share this machine.")

    def _tell_begun(self, run: RunDirectory) -> None:
        window, shown = self._window, self._window.shown_run
        if window.page != "train" and (shown is None or not shown.live):
            window.train_page.show_run(run)
            window.state.follow_run()
            self.show()
        self._say(run, f"{title_of(run)} has started.")

    def _say(self, run: RunDirectory, text: str) -> None:
        self._said[run.id] = text
        self._window.notice.say(text, label="Show", deed=lambda: self._window.show_run(run))

    def _withdraw(self, run: RunDirectory) -> None:
        """Take back what was said of a run that is shown now, or has ended."""
        text = self._said.pop(run.id, "")
        if text and text == self._window.notice.text:
            self._window.notice.hide()
