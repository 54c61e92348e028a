"""What TensorFlow says about the open plan, and the line that says what it is being asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.placement.plan_facts import PlanFacts, decoded
from gpu_studio.plan import AbsolutePlan, ModelSettings
from gpu_studio.runs.questions.ask import AskError
from gpu_studio.runs.questions.plan_question import ask_about, data_question, model_question
from gpu_studio.runs.sources import (
    code_of,
    names_files,
    not_allowed,
    not_looked_into,
    trains_before,
)
from gpu_studio.ui.kit import BackgroundTask, Note, Report, Tone, sentence

if TYPE_CHECKING:
    from gpu_studio.placement.correction import MeasuredPeak


@dataclass(frozen=True, slots=True)
class InquiryProgress:
    """What is being waited for."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """There are no more answers; `error` says why, and is empty if everything was answered."""

    error: str = ""


Reported = InquiryProgress | PlanFacts | Ended


def inquire(
    plan: AbsolutePlan,
    command: Sequence[str] | None,
    report: Report,
    cancelled: threading.Event,
    *,
    trains: bool = False,
) -> Ended:
    """Ask about a plan, reporting `InquiryProgress` and `PlanFacts` as they come.

    `trains` is for what its script trains before. Return how it ended.
    """
    try:
        answer = ask_about(
            plan,
            command=command,
            reported=lambda answer: report(decoded(answer)),
            progress=lambda text: report(InquiryProgress(text)),
            cancel=cancelled,
            trains=trains,
        )
        report(decoded(answer))
    except AskError as failure:
        return Ended(sentence(str(failure)))
    except ValueError as failure:
        return Ended(f"The answer about the plan cannot be read: {failure}.")
    except OSError as failure:
        return Ended(f"The plan could not be asked about: {failure.strerror or failure}.")
    return Ended()


PATIENCE_MS = 150
"""How long an edit rests before it is asked about.

Nobody wants the answer for a number that is half typed.
"""
MOST_REMEMBERED = 64
TRAIN_AND_LOOK = "Train and look"
BEGINNING = "asking TensorFlow about the plan"


@dataclass(frozen=True, slots=True)
class _Followed:
    """A plan, and everything that its facts depend on: those of its data and of its model."""

    plan: AbsolutePlan
    of_data: str
    of_model: str
    lasts: bool
    """Whether that cannot change: the plan names no file."""

    @property
    def content(self) -> tuple[str, str]:
        """Everything that its facts depend on."""
        return self.of_data, self.of_model

    @property
    def sources(self) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
        """Where its data and its model come from, whatever their options."""
        data, model = self.plan.data, self.plan.model
        return (data.name, data.file, data.folder, data.table, data.python), (
            model.name,
            model.file,
            model.python,
        )


class FactsReader(QObject):
    """Follows the plan that is shown.

    `changed` fires when facts have come, and when a question begins or ends. `facts` are those of
    exactly the plan followed: None while nothing is known; its `data` come first, while the model
    is still being asked about. `error` says why no facts can be had (what is wrong with the plan is
    in the facts). `past` is the last answer about the same model and the same data, with other
    options perhaps: it can be shown greyed until the facts come; nothing stays from another source.
    While a source is not named yet, `unnamed`, nothing is read and nobody is asked. `withheld` are
    the plan's Python files that are not allowed: as long as there are any, nothing is asked, and
    `consent_wanted(Path)` fires when the user wants to decide about one of them. `command` is the
    command line that answers, by default the trainer's.
    """

    changed = Signal()
    consent_wanted = Signal(object)

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.facts: PlanFacts | None = None
        self.past = PlanFacts()
        self.unnamed = False
        self.waiting_for = ""
        self.error = ""
        self.withheld: tuple[Path, ...] = ()
        self._command = command
        self._trains = False
        self._followed: _Followed | None = None
        self._written: _Followed | None = None
        self._task = BackgroundTask("plan-facts", self)
        self._task.reported.connect(self._take)
        self._task.done.connect(self._take)
        self._task.failed.connect(self._take_failure)
        self._remembered: dict[tuple[str, str], PlanFacts] = {}
        self._held: dict[tuple[str, str], Mapping[str, MeasuredPeak]] = {}
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._patience.timeout.connect(self._ask)

    @property
    def asking(self) -> bool:
        """Whether an answer is being waited for."""
        return self._patience.isActive() or self._task.busy

    @property
    def model(self) -> ModelSettings | None:
        """The model that is followed; None before there is one."""
        return self._followed.plan.model if self._followed else None

    @property
    def wants_training(self) -> bool:
        """Whether the plan could be looked at if its script trained before, which it did not."""
        why, _ = (self.facts or PlanFacts()).not_looked_at
        followed = self._followed
        return bool(why and followed and trains_before(followed.plan) and not self._trains)

    @property
    def details(self) -> str:
        """The traceback of a refusal; empty if there is none."""
        facts = self.facts or PlanFacts()
        return facts.details or (facts.model.details if facts.model else "")

    @property
    def failed_code(self) -> Path | None:
        """The Python file that failed; None if it was not the user's."""
        if self._followed is None or not self.details:
            return None
        part = "data" if self.facts and self.facts.data_error else "model"
        return code_of(self._followed.plan, part)

    def follow(self, plan: AbsolutePlan) -> None:
        """Follow the facts of `plan`. Asks only if the last facts do not hold."""
        followed, withheld = self._written_out(plan), not_allowed(plan)
        same = self._followed is not None and followed.content == self._followed.content
        if same and withheld == self.withheld:
            return
        self._leave()
        self.past = PlanFacts() if withheld else self._past_of(followed)
        self.facts, self.error = None if withheld else self._known_of(followed), ""
        self._followed, self.withheld, self.unnamed = followed, withheld, _is_unnamed(plan)
        self._trains = False
        if self.facts is None or self.facts.model is None:
            self._begin()
        self.changed.emit()

    def known_of(self, plan: AbsolutePlan) -> PlanFacts | None:
        """Return the known facts of `plan`, followed or not, without asking."""
        return self._remembered.get(self._written_out(plan).content)

    def facts_so_far(self, plan: AbsolutePlan) -> PlanFacts | None:
        """Return what is known of `plan` so far, perhaps that it is refused, without asking."""
        content = self._written_out(plan).content
        if self._followed is not None and content == self._followed.content:
            return self.facts
        return self._remembered.get(content)

    def correct(self, held: Mapping[str, MeasuredPeak]) -> None:
        """Correct predictions of the model's memory by what real steps held on each device."""
        if self._followed is None or not held or self._held.get(self._followed.content) == held:
            return
        self._held[self._followed.content] = held
        if self.facts is not None:
            self.facts = self._corrected(self.facts)
            self._remember()
            self.changed.emit()

    def cancel(self) -> None:
        """Stop asking; what is known stays. `retry` asks again."""
        if self.asking:
            self._leave()
            self._trains = False
            self.changed.emit()

    def retry(self, *, trains: bool = False) -> None:
        """Ask again after a failure or a cancel, or to check whether a file exists now.

        If it `trains`, the plan's script does what it trains before the call of `fit` that is
        meant; so it does each time from then on.
        """
        if (followed := self._followed) is not None and not self.asking:
            self._remembered.pop(followed.content, None)
            if self.facts is not None and self.facts.refused:
                self.facts = None
            self.error, self.withheld = "", not_allowed(followed.plan)
            self._trains = self._trains or trains
            self._begin()
            self.changed.emit()

    def renew(self) -> None:
        """Ask anew about the plan: TensorFlow has other devices now."""
        followed, self._followed = self._followed, None
        self._remembered.clear()
        if followed is not None:
            self.follow(followed.plan)

    def close(self) -> None:
        """Stop the process and the thread."""
        self.blockSignals(True)
        self._leave()
        self._task.close()

    def _written_out(self, plan: AbsolutePlan) -> _Followed:
        """Return the plan with what its facts depend on, which is written out once for a plan.

        But a file that it names may have changed since.
        """
        if self._written is None or self._written.plan is not plan or not self._written.lasts:
            self._written = _followed(plan)
        return self._written

    def _past_of(self, followed: _Followed) -> PlanFacts:
        """Return the last answer, as far as it concerns the same sources of data and model."""
        if self._followed is None:
            return PlanFacts()
        data, model = (
            old == new for old, new in zip(self._followed.sources, followed.sources, strict=True)
        )
        reported = self.facts or PlanFacts()
        return PlanFacts(
            (reported.data or self.past.data) if data else None,
            (reported.model or self.past.model) if model else None,
        )

    def _known_of(self, followed: _Followed) -> PlanFacts | None:
        """Return what is known before asking.

        Questions about unchanged data are not repeated.
        """
        if (known := self._remembered.get(followed.content)) is not None:
            return known
        same = self._followed is not None and self._followed.of_data == followed.of_data
        return (
            PlanFacts(self.facts.data)
            if same and self.facts is not None and self.facts.data
            else None
        )

    def _begin(self) -> None:
        if not self.withheld and not self.unnamed:
            self.waiting_for = BEGINNING
            self._patience.start()

    def _leave(self) -> None:
        """Stop asking without waiting for the process to end."""
        self._patience.stop()
        self.waiting_for = ""
        self._task.forget()

    def _ask(self) -> None:
        followed = self._followed
        if followed is None:
            return
        # A file may have changed since the plan was shown.
        self.withheld = not_allowed(followed.plan)
        if self.withheld:
            self._leave()
            self.changed.emit()
        else:
            ask = partial(inquire, followed.plan, self._command, trains=self._trains)
            self._task.start_work(ask)

    def _take_failure(self, error: Exception) -> None:
        self._take(Ended(f"The plan could not be asked about: {error}."))

    def _take(self, reported: Reported) -> None:
        match reported:
            case InquiryProgress(text):
                self.waiting_for = text
            case Ended(error):
                self.error = error
                self._leave()
                self._remember()
            case facts:
                self.facts = self._corrected(facts)
        self.changed.emit()

    def _corrected(self, facts: PlanFacts) -> PlanFacts:
        held = self._held.get(self._followed.content) if self._followed else None
        if not held:
            return facts
        # Imported only once a step was measured, so that it does not delay the window's start.
        from gpu_studio.placement.correction import corrected

        return corrected(facts, held)

    def _remember(self) -> None:
        # An error may be fixed outside of the plan, by putting a file in place: such errors are
        # asked again.
        facts, followed = self.facts, self._followed
        if (
            followed
            and facts
            and facts.model
            and facts.data
            and facts.data.here
            and not (self.error or self.asking)
        ):
            self._remembered[followed.content] = facts
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))


def _followed(plan: AbsolutePlan) -> _Followed:
    """Return the plan with everything known beforehand that its facts depend on."""
    questions = data_question(plan), model_question(plan, {})
    data, model = (json.dumps(each, sort_keys=True) for each in questions)
    return _Followed(plan, data, model, lasts=not names_files(plan))


def _is_unnamed(plan: AbsolutePlan) -> bool:
    """Return whether a file, a folder or a function is still to be named."""
    return "" in (
        plan.model.file,
        plan.model.python,
        plan.data.file,
        plan.data.folder,
        plan.data.table,
        plan.data.python,
    )


class FactsBar(Note):
    """Hidden while there is nothing to say. Its button cancels the question, or asks it again.

    If the question may not be asked, the button offers to allow the Python file that prevents it;
    with `offers_consent` False, only the reason is shown.
    """

    def __init__(
        self, what: str, parent: QWidget | None = None, *, offers_consent: bool = True
    ) -> None:
        super().__init__(parent)
        self._what = what
        self._offers_consent = offers_consent
        self._reader: FactsReader | None = None
        self._error = ""
        self.more.setToolTip("Show the traceback, which can be copied")
        self.more.clicked.connect(self._read)

    def show_reader(
        self,
        reader: FactsReader,
        error: str = "",
        advice: Sequence[str] = (),
        *,
        known: bool = False,
    ) -> None:
        """Show the reader's progress, unless what was asked is `known`.

        `error` and `advice` are what it got instead of an answer.
        """
        self._reader, self._error = reader, error
        self.more.setVisible(bool(error and reader.details) and not reader.asking)
        if known:
            self.hide()
        elif reader.withheld:
            offer = "Allow…" if self._offers_consent else ""
            self._say(sentence(not_looked_into(reader.withheld)), "plain", offer)
        elif reader.unnamed:
            self._say(f"Nothing is known of {self._what} before every file is named.", "plain", "")
        elif reader.asking:
            waiting = reader.waiting_for or f"reading {self._what}"
            self._say(sentence(waiting).rstrip(".") + "…", "plain", "Cancel")
        elif reader.error:
            self._say(sentence(reader.error), "bad", "Try again")
        elif error:
            again = TRAIN_AND_LOOK if reader.wants_training else "Try again"
            self._say(" ".join(sentence(each) for each in (error, *advice)), "bad", again)
        else:
            self._say(f"Nothing is known of {self._what} yet.", "plain", "Ask TensorFlow")

    def _say(self, text: str, tone: Tone, label: str) -> None:
        self.say(text, tone, label, self._ask_or_cancel)
        self.button.setAccessibleName(f"{label}: {self._what}")

    def _ask_or_cancel(self) -> None:
        if self._reader is None:
            return
        if self._reader.withheld:
            self._reader.consent_wanted.emit(self._reader.withheld[0])
        elif self._reader.asking:
            self._reader.cancel()
        else:
            self._reader.retry(trains=self._reader.wants_training)

    def _read(self) -> None:
        # Imported when it is first opened, so that it does not delay the window's start.
        from gpu_studio.ui.kit import TraceDialog

        if self._reader is not None:
            TraceDialog(
                sentence(self._error), self._reader.details, self._reader.failed_code, self.window()
            ).show()
