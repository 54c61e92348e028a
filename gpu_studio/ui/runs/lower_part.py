"""The part below the table.

It shows one run's figures beside its curve, or the curves of several runs together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from gpu_studio.runs.reading.curves import LOSS, NO_CURVE
from gpu_studio.runs.results.comparison import Comparison, compare
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.card import CardFrame
from gpu_studio.ui.kit.labels import Paragraph
from gpu_studio.ui.kit.page import GAP
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.kit.theme.manager import ThemeManager
from gpu_studio.ui.runs.curves_card import CurvesCard, RunCurve
from gpu_studio.ui.runs.differs_card import DiffersCard
from gpu_studio.ui.runs.figures_reader import FiguresReader
from gpu_studio.ui.runs.run_names import names_apart
from gpu_studio.ui.runs.run_permissions import MOST_COMPARED
from gpu_studio.ui.runs.run_row import RunRow
from gpu_studio.ui.runs.summary_card import SummaryCard


class RunColours:
    """Gives numbers to runs, which the theme turns into a colour and a dash."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each run that has one, by its id."""
        return dict(self._numbers)

    def choose(self, runs: Sequence[str]) -> dict[str, int]:
        """Give a number to exactly these runs: what each had, else the lowest that is free."""
        self._numbers = {run: number for run, number in self._numbers.items() if run in runs}
        for run in runs:
            if run not in self._numbers:
                taken = set(self._numbers.values())
                self._numbers[run] = next(number for number in count() if number not in taken)
        return self.numbers


NOTHING = "Select a run to see what came of it; with Ctrl or Shift select several to compare them."
TOO_MANY = (
    f"More than {MOST_COMPARED} runs cannot be told apart: select at most "
    f"{MOST_COMPARED} to compare them."
)
_VALIDATION = "val_loss"
_SHARES = {1: (60, 40), 2: (53, 47), 3: (46, 54)}
_OF_MANY = (56, 44)


class LowerPart(QWidget):
    """Follows the selected runs. `coloured` has each one's colour number, by its id."""

    coloured = Signal(object)

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        actions: ActionSet,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._rows: list[RunRow] = []
        self._metric = ""
        self._colours = RunColours()
        self._compared: tuple[tuple[RunFigures, ...], Comparison] | None = None
        self.reader = FiguresReader(self)
        self.curves = CurvesCard(theme, settings)
        self.summary = SummaryCard(actions)
        self.differs = DiffersCard(theme)
        self.hint = _Hint()
        self._beside = QStackedWidget()
        self._beside.addWidget(self.summary)
        self._beside.addWidget(self.differs)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GAP)
        for part in (self.hint, self.curves, self._beside):
            self._row.addWidget(part)
        self.reader.changed.connect(self._refresh)
        self.curves.metric_chosen.connect(self._choose)
        self.show_runs(())

    def show_runs(self, rows: Sequence[RunRow]) -> None:
        """Show the results of these runs."""
        few = list(rows) if len(rows) <= MOST_COMPARED else []
        self._rows = few
        self.hint.words.setText(TOO_MANY if rows and not few else NOTHING)
        self.coloured.emit(self._colours.choose([row.id for row in few]))
        self.hint.setVisible(not few)
        for part in (self.curves, self._beside):
            part.setVisible(bool(few))
        self._beside.setCurrentWidget(self.differs if len(few) > 1 else self.summary)
        for place, share in enumerate(
            _SHARES.get(len(few), _OF_MANY), self._row.indexOf(self.curves)
        ):
            self._row.setStretch(place, share)
        self._refresh()

    def close_parts(self) -> None:
        """Stop reading."""
        self.reader.close()

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the runs, once the figures of all of them have been read."""
        known = tuple(
            found for row in self._rows if (found := self.reader.figures(row.id)) is not None
        )
        if not known:
            return None
        if self._compared is None or self._compared[0] != known:
            self._compared = known, compare(known)
        return self._compared[1]

    def _refresh(self) -> None:
        summaries = [row.summary for row in self._rows]
        offered = self._offered()
        chosen = self._chosen(offered)
        ready = all(self._reported(row) for row in self._rows)
        self.reader.want(summaries, chosen if ready else "")
        if not self._rows:
            return
        self.curves.offer(offered, chosen)
        self._draw(chosen)
        if len(self._rows) == 1:
            row = self._rows[0]
            self.summary.show_run(row, self.reader.figures(row.id), self.reader.why_not(row.id))
        else:
            self._compare()

    def _reported(self, row: RunRow) -> bool:
        return self.reader.figures(row.id) is not None or bool(self.reader.why_not(row.id))

    def _draw(self, metric: str) -> None:
        names, numbers = names_apart(self._rows), self._colours.numbers
        made = []
        for row in self._rows:
            known = self.reader.figures(row.id)
            per_epoch = known.model.steps_per_epoch if known and known.model else None
            curve = NO_CURVE if self.reader.why_not(row.id) else self.reader.curve(row.id, metric)
            made.append(RunCurve(names[row.id], numbers[row.id], curve, per_epoch))
        self.curves.show_runs(made)

    def _compare(self) -> None:
        known = [row for row in self._rows if self.reader.figures(row.id) is not None]
        names, numbers = names_apart(self._rows), self._colours.numbers
        self.differs.show_comparison(
            [names[row.id] for row in known], [numbers[row.id] for row in known], self.comparison
        )
        lost = [why for row in self._rows if (why := self.reader.why_not(row.id))]
        waiting = len(self._rows) - len(known) - len(lost)
        reading = f"Reading {len(known) + 1} of {len(self._rows)}…" if waiting else ""
        self.differs.show_reading(" ".join(filter(None, (reading, *lost))))

    def _offered(self) -> list[str]:
        """Return the curves that any of the runs has.

        Each step's loss, and each epoch's figures.
        """
        known = [self.reader.figures(row.id) for row in self._rows]
        reported = [figures.epochs[-1].metrics for figures in known if figures and figures.epochs]
        return list(dict.fromkeys([LOSS, *(name for metrics in reported for name in metrics)]))

    def _chosen(self, offered: Sequence[str]) -> str:
        """Return the user's choice if it exists; else the validation loss, else the loss."""
        return next((name for name in (self._metric, _VALIDATION) if name in offered), LOSS)

    def _choose(self, metric: str) -> None:
        self._metric = metric
        self._refresh()


class _Hint(CardFrame):
    def __init__(self) -> None:
        super().__init__()
        self.words = Paragraph(NOTHING, "muted")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.body.addWidget(self.words, 1)
