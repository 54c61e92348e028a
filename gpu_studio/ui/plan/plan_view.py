"""What the parts of the Plan page are given to show, and how they show its problems.

A problem belongs to the tab that shows its field; beside the field stands its line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from gpu_studio.common.figures import plural
from gpu_studio.placement.known_problems import MisplacedLayers
from gpu_studio.plan import AbsolutePlan, Machine, Plan, Problem, with_absolute_files
from gpu_studio.plan.edits.distribution import places_of, take_off
from gpu_studio.plan.values import Unnamed
from gpu_studio.ui.kit import Elided, Label, Paragraph, ThemeManager, pixmap, sentence


@dataclass(frozen=True)
class PlanView:
    """The open plan on this machine, and its obstacles.

    `base` is where its relative file names start; `stored` is what its file holds or, without a
    file, what it began as; `text` returns the text of its file, and `half_typed` is what was typed
    as that since and is no plan yet. `of_script` are the fields of the training that are as in the
    script: what they are stands in `plan` once it is known. `of_data` says that the data come in
    batches of their own: `plan` has those, and what its file says of batches does not count.
    """

    plan: Plan
    machine: Machine
    problems: tuple[Problem, ...] = ()
    base: Path = Path()
    path: Path | None = None
    stored: Plan | None = None
    text: Callable[[], str] = str
    half_typed: str | None = None
    of_script: tuple[str, ...] = ()
    of_data: bool = False

    @cached_property
    def absolute(self) -> AbsolutePlan:
        """The plan with its files named absolutely, for all who open them."""
        return with_absolute_files(self.plan, self.base)

    @cached_property
    def of_known_layers(self) -> Plan:
        """The plan that places no layer which its model lacks, for all who count layers."""
        wrong = [each for each in self.problems if isinstance(each, MisplacedLayers)]
        kept = [{name for name, _ in each.mended} for each in wrong]
        lacking = [name for name in places_of(self.plan) if any(name not in some for some in kept)]
        return take_off(self.plan, lacking) if lacking else self.plan

    def problems_at(self, field: str) -> tuple[Problem, ...]:
        """Return the problems of a field and of everything in it.

        Those of `devices.carve` include `devices.carve[0].device`.
        """
        return tuple(each for each in self.problems if _is_within(each.field, field))


def _is_within(field: str, whole: str) -> bool:
    return field == whole or (field.startswith(whole) and field[len(whole)] in ".[")


AS_IN_SCRIPT, AS_DATA_COME = "as in the script", "as the data come"
"""What is said of such a field of the training, and stands in it until its value is known."""
IN_SCRIPT = "in the script"
"""The same in a narrow field."""
_PARTS = (
    ("devices", "Devices"),
    ("model", "Model"),
    ("data", "Data"),
    ("training", "Training"),
    ("distribution.placed", "Layers"),
    ("distribution", "Strategy"),
    ("cluster", "Strategy"),
)
"""Fields of a plan, and the tab that shows what is in them: the first that fits."""


def part_of(field: str) -> str:
    """Return the name of the tab that shows `field`; empty if none does."""
    found = (
        part
        for whole, part in _PARTS
        if field == whole or field.startswith((f"{whole}.", f"{whole}["))
    )
    return next(found, "")


def mistakes(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the real errors, without fields that only have to be named still."""
    return tuple(each for each in problems if not isinstance(each, Unnamed))


def problems_of_parts(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the problem of each tab that has one, or the number of its problems."""
    found: dict[str, list[Problem]] = {}
    for problem in mistakes(problems):
        found.setdefault(part_of(problem.field), []).append(problem)
    return {part: _in_words(each) for part, each in found.items()}


def _in_words(problems: Sequence[Problem]) -> str:
    return sentence(str(problems[0])) if len(problems) == 1 else plural(len(problems), "problem")


_SIGN = 14


class ProblemLine(QWidget):
    """One or more sentences; hidden if there are none.

    On a single line the text is elided, and the tooltip holds all of it.
    """

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, *, one_line: bool = False
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bad = False
        self._sign = QLabel()
        self._sign.setFixedWidth(_SIGN)
        self._text: Label = Elided(role="caption") if one_line else Paragraph(role="caption")
        preferred = QSizePolicy.Policy.Preferred
        wide = QSizePolicy.Policy.Ignored if one_line else preferred
        self._text.setSizePolicy(wide, preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        theme.changed.connect(self._draw_sign)
        self.hide()

    @property
    def text(self) -> str:
        """The text shown."""
        return self._text.text()

    def say(self, errors: tuple[str, ...], caution: str = "") -> None:
        """Show the errors or, if there are none, the caution, in another colour."""
        text = " ".join(sentence(each) for each in errors or filter(None, (caution,)))
        self.setVisible(bool(text))
        if text == self._text.text() and self._bad == bool(errors):
            return
        self._text.setText(text)
        self._text.set_tone("bad" if errors else "")
        self._bad = bool(errors)
        self._draw_sign()

    def _draw_sign(self) -> None:
        tokens = self._theme.tokens
        colour = tokens.bad if self._bad else tokens.warning
        self._sign.setPixmap(pixmap("warning", colour, self.devicePixelRatioF(), _SIGN))
