"""The part of the Runs page below the table, and the movable edge between the two.

The part shows one run's figures beside its curve, or the curves of several runs together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QSplitterHandle, QStackedWidget, QWidget

from gpu_studio.runs.lineage import LOSS, NO_CURVE
from gpu_studio.runs.results.comparison import Comparison, compare
from gpu_studio.runs.results.run_figures import RunFigures
from gpu_studio.ui.kit import GAP, ActionSet, CardFrame, Paragraph, ThemeManager
from gpu_studio.ui.kit.settings import RUNS_SHARE, Settings
from gpu_studio.ui.runs.curves_card import CurvesCard, RunCurve
from gpu_studio.ui.runs.differs_card import DiffersCard
from gpu_studio.ui.runs.readers import FiguresReader
from gpu_studio.ui.runs.run_permissions import MOST_COMPARED
from gpu_studio.ui.runs.run_rows import RunRow, names_apart
from gpu_studio.ui.runs.summary_card import SummaryCard
from gpu_studio.ui.runs.table_card import TableCard


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
    f"More than {MOST_COMPARED} runs cannot be distinguished: select at most "
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
        """The curves that any of the runs has: each step's loss, and each epoch's figures."""
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


_MOST_UPPER: Final = 0.44
_LEAST_UPPER: Final = 130
_LEAST_LOWER: Final = 190
_EDGE_STEP: Final = 28
"""Pixels by which an arrow key moves the edge: a row of the table."""
_GRIP: Final = QSize(40, 4)
_EDGE_NAME: Final = "Edge between the runs and what came of them"
_EDGE_TIP: Final = (
    "Drag to give the table more or less space, or press Up and Down; "
    "double-click for the usual part"
)


class PageSplit(QSplitter):
    """The table is as high as its rows, but takes no more than its part.

    Once a person has moved the edge, that part is remembered. While nothing is selected, a table
    that needs the height has it.
    """

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        card: TableCard,
        lower: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._theme, self._settings = theme, settings
        self._card, self._lower = card, lower
        self._share = _remembered_share(settings.get(RUNS_SHARE))
        self._large = self._wanted = False
        self.addWidget(card)
        self.addWidget(lower)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(GAP)
        # Otherwise the message for an empty table decides, which is higher than a few rows.
        card.setMinimumHeight(_LEAST_UPPER)
        lower.setMinimumHeight(_LEAST_LOWER)
        self.splitterMoved.connect(self._keep)

    @property
    def large(self) -> bool:
        """Whether the results have all the height."""
        return self._large

    def enlarge(self, large: bool) -> None:
        """Give the results all the height, or as much as before."""
        self._large = large
        self._card.setVisible(not large)
        self.fit()

    def show_lower(self, shown: bool) -> None:
        """Show the results of the selected runs, or give the table the height that it needs."""
        self._wanted = shown
        self.fit()

    def fit(self) -> None:
        """Divide the height as intended."""
        shown = self._wanted or self._has_space
        if self._lower.isHidden() is shown:
            self._lower.setVisible(shown)
            self.refresh()  # otherwise the edge has no height of its own yet
        if self._large or self._lower.isHidden():
            return
        space = self.height() - self.handleWidth()
        upper = self._upper(space)
        self.setSizes([upper, space - upper])

    def _upper(self, space: int) -> int:
        """Pixels of the table: its part, and all its rows where nothing else needs the space."""
        usual = self._card.height_within(round(space * _MOST_UPPER))
        chosen = usual if self._share is None else round(space * self._share)
        return chosen if self._wanted else max(chosen, self._card.height_within(space))

    @property
    def _has_space(self) -> bool:
        """Whether the rows of the table leave space for what belongs below them."""
        space = self.height() - self.handleWidth() - _LEAST_LOWER
        return self._card.height_within(self.height()) <= space

    def forget(self) -> None:
        """Divide the height as if nobody had moved the edge."""
        self._share = None
        self._settings.set(RUNS_SHARE, "")
        self.fit()

    def createHandle(self) -> QSplitterHandle:  # noqa: N802 - Qt's name
        """An edge that shows where it can be gripped."""
        return _Edge(self._theme, self)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the new height."""
        super().resizeEvent(event)
        self.fit()

    def _keep(self) -> None:
        upper, lower = self.sizes()
        self._share = upper / max(upper + lower, 1)
        self._settings.set(RUNS_SHARE, f"{self._share:.3f}")


class _Edge(QSplitterHandle):
    """A short bar in the middle of the edge, in the accent if pointed at or focused."""

    def __init__(self, theme: ThemeManager, split: PageSplit) -> None:
        super().__init__(Qt.Orientation.Vertical, split)
        self._theme, self._split = theme, split
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(_EDGE_NAME)
        self.setToolTip(_EDGE_TIP)
        theme.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Move the edge with the arrow keys, by a row."""
        by = {Qt.Key.Key_Up: -_EDGE_STEP, Qt.Key.Key_Down: _EDGE_STEP}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.moveSplitter(self._split.sizes()[0] + by)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Restore the initial division."""
        del event
        self._split.forget()

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Light up under the pointer."""
        super().enterEvent(event)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Light up with the focus."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Go out without it."""
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the grip."""
        del event
        tokens = self._theme.tokens
        grip = QRectF(0, 0, _GRIP.width(), _GRIP.height())
        grip.moveCenter(QRectF(self.rect()).center())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(
            QColor(tokens.accent if self.hasFocus() or self.underMouse() else tokens.muted)
        )
        painter.drawRoundedRect(grip, grip.height() / 2, grip.height() / 2)


def _remembered_share(text: str) -> float | None:
    """Return the share of the height that the user gave the table; None if none is remembered."""
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 < share < 1 else None
