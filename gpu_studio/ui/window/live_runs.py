"""The runs that are alive in the window.

Each is visible, one click away, and announced when it begins.
"""

from __future__ import annotations

from PySide6.QtCore import QObject

from gpu_studio.contract.directory import RunDirectory
from gpu_studio.runs.naming import number_of, title_of
from gpu_studio.ui.kit.live_button import LiveButton
from gpu_studio.ui.window.pages import Pages
from gpu_studio.ui.window.services import Services


class LiveRuns(QObject):
    """Keeps the live runs in the status line and beside the title of the Train page.

    A run that somebody else starts, as the queue does, is told of with a way to it. It takes the
    place of the run that is shown only where that has ended and nobody is looking at it.
    """

    def __init__(self, services: Services, pages: Pages) -> None:
        super().__init__(services.window)
        self._pages, self._watch, self._notice = pages, services.live_watch, services.notice
        self._runs = services.runs_dir
        self._said: dict[str, str] = {}
        self._buttons: list[LiveButton] = []
        watch = self._watch
        watch.changed.connect(self.show)
        watch.began.connect(self._tell_begun)
        watch.ended.connect(self._withdraw)
        self.add_button(services.status_line.live)
        pages.run_shown.connect(self.show)

    def add_button(self, button: LiveButton) -> None:
        """Let this button, too, show the run that is chosen."""
        self._buttons.append(button)
        button.chosen.connect(lambda run: self._pages.show_run(RunDirectory(self._runs / run)))

    def read_names(self) -> None:
        """Call the runs as they are called now."""
        if (shown := self._pages.shown_run) is not None:
            shown.read_name()
        self.show()

    def show(self) -> None:
        """Show which runs are alive, and which of them is shown."""
        shown = self._pages.shown_run
        if shown is not None and self._pages.current == "train":
            self._withdraw(shown.run)
        titles = self._titles()
        for button in self._buttons:
            button.show_runs(titles, shown.run.id if shown is not None else "")

    def _titles(self) -> dict[str, str]:
        """What the live runs are called, by their ids."""
        live = self._watch.live
        if any(number_of(run) is None for run in live):
            # Whoever starts one is about to number it. Imported when it is first needed: it brings
            # numpy.
            from gpu_studio.runs.catalogue import numbered

            numbered(self._runs)
        return {run.id: title_of(run) for run in live}

    def tell_beside(self, other: RunDirectory) -> None:
        """Say that another run trains beside the one that was just started."""
        self._say(other, f"{title_of(other)} is still training too: both runs share this machine.")

    def _tell_begun(self, run: RunDirectory) -> None:
        shown = self._pages.shown_run
        if self._pages.current != "train" and (shown is None or not shown.live):
            self._pages.hold_run(run)
        self._say(run, f"{title_of(run)} has started.")

    def _say(self, run: RunDirectory, text: str) -> None:
        self._said[run.id] = text
        self._notice.say(text, label="Show", action=lambda: self._pages.show_run(run))

    def _withdraw(self, run: RunDirectory) -> None:
        """Take back what was said of a run that is shown now, or has ended."""
        text = self._said.pop(run.id, "")
        if text and text == self._notice.text:
            self._notice.hide()
