"""Closing the window with live runs: the question, and the progress while they stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract import RunDirectory
from gpu_studio.hardware.doctor.facts import ends_at_logout
from gpu_studio.plan import listed
from gpu_studio.runs.labels import title_of
from gpu_studio.ui.kit import Button, Dialog, Label, Paragraph, Question, sentence
from gpu_studio.ui.kit.fields import Switch
from gpu_studio.ui.train.live_run import Stopper

MOST_NAMED = 3
WIDTH = 480
_NEVER = "Do not ask again: leave runs running"


class QuitQuestion(Question):
    """Leave the runs running, stop them, or stay.

    `never_again` says whether the first answer is to be the last.
    """

    def __init__(
        self,
        live: Sequence[RunDirectory],
        queued: int,
        answers: Mapping[str, Callable[[], object]],
        parent: QWidget,
    ) -> None:
        title = (
            "A run is still training"
            if len(live) == 1
            else f"{grouped(len(live))} runs are still training"
        )
        words = f"{_words(live, queued)}{_at_logout(live)}"
        super().__init__(title, words, answers, parent)
        self.never = Switch("do not ask again", on=_NEVER, off=_NEVER)
        self.never.show_value(False)
        self.never.set_tip("In the Run menu, Ask before leaving runs has it asked again")
        self.column.insertWidget(2, self.never)
        self.setTabOrder(list(self.buttons.values())[-1], self.never)

    @property
    def never_again(self) -> bool:
        """Whether this was the last time."""
        return self.never.isChecked()


class StoppingDialog(Dialog):
    """Stops runs, each with a checkpoint, and shows how far each is.

    `done_with` fires when the window may close.
    """

    done_with = Signal()

    def __init__(self, runs: Sequence[RunDirectory], parent: QWidget) -> None:
        super().__init__("Stopping before the window closes", parent)
        self.setModal(True)
        self._stoppers: list[Stopper] = []
        self.lines = {run: Paragraph() for run in runs}
        for run, line in self.lines.items():
            self.column.addWidget(Label(title_of(run), "strong"))
            self.column.addWidget(line)
        self.leave = Button("Leave the rest running")
        self.leave.setToolTip("Close the window now; what has been asked to stop still stops")
        self.leave.clicked.connect(self.done_with)
        self.finished.connect(self._rest)
        self.add_buttons(self.leave, last="Keep the window open").setFocus()
        self.fit(WIDTH)

    def begin(self) -> None:
        """Ask each run to stop."""
        for run in self.lines:
            self._begin(run)
        self._look()

    def _rest(self) -> None:
        """Watch no more: the runs stop without."""
        for stopper in self._stoppers:
            stopper.close()

    def _begin(self, run: RunDirectory) -> None:
        line = self.lines[run]
        try:
            stopper = Stopper(run, parent=self)
        except OSError as error:
            line.setText(f"It could not be asked: {error.strerror or error}. Look at {run.path}.")
            return
        self._stoppers.append(stopper)
        stopper.changed.connect(partial(self._tell, stopper, line))
        self._tell(stopper, line)

    def _tell(self, stopper: Stopper, line: Paragraph) -> None:
        line.setText(sentence(stopper.words) if stopper.stage != "gone" else "It has stopped.")
        self._look()

    def _look(self) -> None:
        if len(self._stoppers) == len(self.lines) and all(
            each.stage == "gone" for each in self._stoppers
        ):
            self.done_with.emit()


def _words(live: Sequence[RunDirectory], queued: int) -> str:
    names = [f"“{title_of(run)}”" for run in live[:MOST_NAMED]]
    if len(live) > MOST_NAMED:
        names.append(f"{grouped(len(live) - MOST_NAMED)} more")
    train = "trains" if len(live) == 1 else "train"
    it = "it" if len(live) == 1 else "them"
    text = (
        f"{listed(names)} {train} without this window too. Leave {it} running and see {it} again "
        "in the next window,"
    )
    text = f"{text} or stop {it}, with a checkpoint to resume from."
    start = "starts" if queued == 1 else "start"
    return f"{text} {plural(queued, 'queued plan')} {start} either way." if queued else text


def _at_logout(live: Sequence[RunDirectory]) -> str:
    if not ends_at_logout():
        return ""
    it = "it" if len(live) == 1 else "them"
    return (
        f" Logging out ends {it} too, with a checkpoint, unless you have typed once: "
        "loginctl enable-linger"
    )
