"""What TensorFlow tells of the open plan, asked in the background, so that no edit ever waits for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gpu_studio.placement.plan_facts import PlanFacts
from gpu_studio.plan import Plan
from gpu_studio.runs.questions.plan_question import data_question, model_question
from gpu_studio.runs.relocation import with_absolute_files
from gpu_studio.ui.models.background import Background
from gpu_studio.ui.models.plan.own_code import code_of, not_allowed
from gpu_studio.ui.models.plan.plan_inquiry import Ended, Progress, Told, inquire

if TYPE_CHECKING:
    from gpu_studio.placement.correction import Held

PATIENCE_MS = 150
"""How long an edit rests before it is asked about: nobody wants the answer for a number that is half typed."""
LOOK_MS = 50
"""How often is looked for an answer while one is awaited."""
MOST_REMEMBERED = 64
BEGINNING = "asking TensorFlow about the plan"


@dataclass(frozen=True, slots=True)
class _Followed:
    """A plan, where its relative file names start, and all that the facts of its data and of its model depend on."""

    plan: Plan
    base: Path
    of_data: str
    of_model: str

    @property
    def content(self) -> tuple[str, str]:
        """All that its facts depend on."""
        return self.of_data, self.of_model

    @property
    def sources(self) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
        """Where its data and its model come from, whatever their options."""
        plan = with_absolute_files(self.plan, self.base)
        data, model = plan.data, plan.model
        return (data.name, data.file, data.folder, data.python), (model.name, model.file, model.python)


class FactsReader(QObject):
    """Follows the plan that is shown. `changed` fires when facts have come, and when the asking begins or ends.

    `facts` are those of exactly the plan followed: None while nothing is known; its `data` come first, while the model
    is still asked for. `error` says why they cannot be had at all (what is wrong with the plan stands in the facts).
    `past` is what was last told of the same model and the same data, with other options perhaps: good enough to stand
    there greyed until the facts come; of another source nothing stays. While a source is not named yet, `unnamed`,
    nothing is read and nobody is asked.
    `withheld` are the plan's files of Python that are not allowed: as long as there are any, nothing is asked, and
    `consent_wanted(Path)` fires when a person wants to be asked about one of them. `command` is the command line that
    is asked, by default the trainer's.
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
        self._followed: _Followed | None = None
        self._inquiry: Background[Told] | None = None
        self._leaving: list[Background[Told]] = []
        self._remembered: dict[tuple[str, str], PlanFacts] = {}
        self._held: dict[tuple[str, str], Mapping[str, Held]] = {}
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._patience.timeout.connect(self._ask)
        self._looking = QTimer(self)
        self._looking.setInterval(LOOK_MS)
        self._looking.timeout.connect(self._look)

    @property
    def asking(self) -> bool:
        """Whether an answer is awaited."""
        return self._patience.isActive() or self._inquiry is not None

    @property
    def details(self) -> str:
        """The traceback of what was refused; empty where there is none."""
        facts = self.facts or PlanFacts()
        return facts.details or (facts.model.details if facts.model else "")

    @property
    def failed_code(self) -> Path | None:
        """The file of Python that failed; None where it was none of the user's own."""
        if self._followed is None or not self.details:
            return None
        part = "data" if self.facts and self.facts.data_error else "model"
        return code_of(self._followed.plan, part, self._followed.base)

    def follow(self, plan: Plan, base: Path) -> None:
        """Give the facts of `plan`, whose relative file names start at `base`; asks only if the last do not hold."""
        followed, withheld = _followed(plan, base), not_allowed(plan, base)
        same = self._followed is not None and followed.content == self._followed.content
        if same and withheld == self.withheld:
            return
        self._leave()
        self.past = PlanFacts() if withheld else self._past_of(followed)
        self.facts, self.error = None if withheld else self._known_of(followed), ""
        self._followed, self.withheld, self.unnamed = followed, withheld, _is_unnamed(plan)
        if self.facts is None or self.facts.model is None:
            self._begin()
        self.changed.emit()

    def known_of(self, plan: Plan, base: Path) -> PlanFacts | None:
        """The facts of `plan`, followed or not, if they were told before; asks nobody."""
        return self._remembered.get(_followed(plan, base).content)

    def told_of(self, plan: Plan, base: Path) -> PlanFacts | None:
        """What was told of `plan` so far, which may be that it is refused; asks nobody."""
        content = _followed(plan, base).content
        if self._followed is not None and content == self._followed.content:
            return self.facts
        return self._remembered.get(content)

    def correct(self, held: Mapping[str, Held]) -> None:
        """Take what real steps of the plan held, by device, for what is predicted of its model from now on."""
        if self._followed is None or not held or self._held.get(self._followed.content) == held:
            return
        self._held[self._followed.content] = held
        if self.facts is not None:
            self.facts = self._corrected(self.facts)
            self._remember()
            self.changed.emit()

    def cancel(self) -> None:
        """Ask no more; what is known stays. `retry` asks again."""
        if self.asking:
            self._leave()
            self.changed.emit()

    def retry(self) -> None:
        """Ask again after a failure or a cancel, or to see whether a file is there now."""
        if (followed := self._followed) is not None and not self.asking:
            self._remembered.pop(followed.content, None)
            if self.facts is not None and self.facts.refused:
                self.facts = None
            self.error, self.withheld = "", not_allowed(followed.plan, followed.base)
            self._begin()
            self.changed.emit()

    def close(self) -> None:
        """Leave no process and no thread behind."""
        self.blockSignals(True)
        self._leave()
        for inquiry in self._leaving:
            inquiry.wait()
        self._leaving.clear()

    def _past_of(self, followed: _Followed) -> PlanFacts:
        """What was told last, as far as it comes from where the data and the model come from that are followed now."""
        if self._followed is None:
            return PlanFacts()
        data, model = (old == new for old, new in zip(self._followed.sources, followed.sources, strict=True))
        told = self.facts or PlanFacts()
        return PlanFacts(
            (told.data or self.past.data) if data else None, (told.model or self.past.model) if model else None
        )

    def _known_of(self, followed: _Followed) -> PlanFacts | None:
        """What is known before anybody is asked; data that are the same are not asked for again."""
        if (known := self._remembered.get(followed.content)) is not None:
            return known
        same = self._followed is not None and self._followed.of_data == followed.of_data
        return PlanFacts(self.facts.data) if same and self.facts is not None and self.facts.data else None

    def _begin(self) -> None:
        if not self.withheld and not self.unnamed:
            self.waiting_for = BEGINNING
            self._patience.start()

    def _leave(self) -> None:
        """Stop asking without waiting for the process to be gone."""
        self._patience.stop()
        self._looking.stop()
        self.waiting_for = ""
        self._leaving = [inquiry for inquiry in self._leaving if inquiry.alive]
        if self._inquiry is not None:
            self._inquiry.cancel()
            self._leaving.append(self._inquiry)
            self._inquiry = None

    def _ask(self) -> None:
        followed = self._followed
        if followed is None:
            return
        # A file may have changed since the plan was shown.
        self.withheld = not_allowed(followed.plan, followed.base)
        if self.withheld:
            self._leave()
            self.changed.emit()
        else:
            self._inquiry = inquire(followed.plan, followed.base, self._command)
            self._looking.start()

    def _look(self) -> None:
        told = list(self._inquiry.told()) if self._inquiry else []
        for each in told:
            self._take(each)
        if told:
            self.changed.emit()

    def _take(self, told: Told) -> None:
        match told:
            case Progress(text):
                self.waiting_for = text
            case Ended(error):
                self.error = error
                self._leave()
                self._remember()
            case facts:
                self.facts = self._corrected(facts)

    def _corrected(self, facts: PlanFacts) -> PlanFacts:
        held = self._held.get(self._followed.content) if self._followed else None
        if not held:
            return facts
        # Imported only once a step was measured: the window's start waits for this module.
        from gpu_studio.placement.correction import corrected

        return corrected(facts, held)

    def _remember(self) -> None:
        # What is wrong can be mended outside of the plan, by a file that is put in its place: that is asked again.
        facts, followed = self.facts, self._followed
        if followed and facts and facts.model and facts.data and facts.data.here and not (self.error or self.asking):
            self._remembered[followed.content] = facts
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))


def _followed(plan: Plan, base: Path) -> _Followed:
    """The plan with all that its facts depend on, as far as it is known before anybody is asked."""
    questions = data_question(plan, base), model_question(plan, base, {})
    return _Followed(plan, base, *(json.dumps(each, sort_keys=True) for each in questions))


def _is_unnamed(plan: Plan) -> bool:
    """Whether a file, a folder or a function is still to be named."""
    return "" in (plan.model.file, plan.model.python, plan.data.file, plan.data.folder, plan.data.python)
