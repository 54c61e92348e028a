"""A study beside the list: its verdict, the picture that shows why, where a step's time goes.

At the right stand its facts, its points, and what can be done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QGridLayout, QHeaderView, QProgressBar, QSizePolicy, QWidget

from gpu_studio.common.figures import (
    UNKNOWN,
    duration,
    grouped,
    metric,
    plural,
    rounded,
    size,
    small_share,
    span,
    whole_duration,
)
from gpu_studio.lab.outcome import short_label
from gpu_studio.lab.study import Study, StudyAxis, called
from gpu_studio.lab.study_picture import in_figures, picture_of, spread_of, step_parts
from gpu_studio.lab.verdict import PointGroup
from gpu_studio.runs.labels import title
from gpu_studio.runs.study_view import StudySnapshot
from gpu_studio.ui.kit import (
    GRID,
    HEADER,
    ActionButton,
    Button,
    CardFrame,
    Elided,
    Label,
    Note,
    Paragraph,
    PlainTable,
    Scrolled,
    Table,
    ThemeManager,
)
from gpu_studio.ui.lab.lab_section import LabView
from gpu_studio.ui.lab.step_bars import StepBars
from gpu_studio.ui.lab.study_chart import StudyChart

_ROW: Final = 30
_FEW: Final = 3
_RATES, _LAST = 1, 2
READING: Final = "Reading the study…"
_EVERY: Final = ("point", "samples/s", "±", "a step", "loss", "memory of each device", "runs")


class FewModel(PlainTable[PointGroup]):
    """A row for each point, in short; its gain is given over the first that was measured."""

    headers: tuple[str, ...] = ("", "samples/s", "×")
    right = frozenset({1, 2})

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._base: float | None = None
        self._study: Study | None = None

    def show_groups(self, study: Study | None, groups: Sequence[PointGroup]) -> None:
        """Show these."""
        template = study.template if study is not None else "sweep"
        scales = template.startswith("scaling")
        last = "loss" if template == "sweep" else "×"
        self.headers = ("N" if scales else "at", "samples/s", last)
        self._study = study
        self._base = next((each.rate for each in groups if each.rates), None)
        self.set_rows(groups)

    def key(self, row: PointGroup) -> object:
        """Its label."""
        return row.label

    def text(self, row: PointGroup, column: int) -> str:
        """The words of a cell."""
        if column == 0:
            if self._study is None:
                return row.label
            if self._study.template.startswith("scaling") and row.x:
                return in_figures(row.x)
            return short_label(self._study, row.label)
        if not row.rates:
            return ("failed" if row.failed else UNKNOWN) if column == 1 else ""
        if column == 1:
            return rounded(row.rate)
        if self.headers[column] == "loss":
            return metric(row.loss) if row.is_sound else UNKNOWN
        return f"{row.rate / (self._base or row.rate):.2f}"


class EveryModel(PlainTable[PointGroup]):
    """A row for each point, with all that was measured there."""

    headers = _EVERY
    right = frozenset({1, 2, 3, 4, 6})

    def key(self, row: PointGroup) -> object:
        """Its label."""
        return row.label

    def text(self, row: PointGroup, column: int) -> str:
        """The words of a cell."""
        if column == 0:
            return row.label
        if not row.rates:
            return (row.failed or "not measured yet") if column == _MEMORY else UNKNOWN
        spread, steps = spread_of(row), row.step_seconds
        memory = (f"{name} {size(most)}" for name, most in row.memory.items())
        return (
            rounded(row.rate),
            UNKNOWN if spread is None else small_share(spread),
            span(sum(steps) / len(steps)) if steps else UNKNOWN,
            metric(row.loss) if row.is_sound else UNKNOWN,
            ", ".join(memory) or UNKNOWN,
            str(len(row.rates)),
        )[column - 1]


_MEMORY, _RUNS = _EVERY.index("memory of each device"), _EVERY.index("runs")
_MOST_POINT, _LEAST_RUNS = 240, 58


class FactsGrid(QWidget):
    """Names at the left, and what they are at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(GRID)
        self._grid.setColumnStretch(1, 1)
        self._shown: tuple[tuple[str, str], ...] = ()
        self._lines: list[tuple[Label, Elided]] = []

    @property
    def facts(self) -> dict[str, str]:
        """What stands there."""
        return dict(self._shown)

    def show_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Let these stand there."""
        if tuple(facts) == self._shown:
            return
        self._shown = tuple(facts)
        while len(self._lines) < len(facts):
            name, words = Label("", "muted"), Elided("", letters=2)
            words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
            words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._grid.addWidget(name, len(self._lines), 0)
            self._grid.addWidget(words, len(self._lines), 1)
            self._lines.append((name, words))
        for place, (name, words) in enumerate(self._lines):
            for label in (name, words):
                label.setVisible(place < len(facts))
            if place < len(facts):
                name.setText(facts[place][0])
                words.setText(facts[place][1])


class StudyView(LabView):
    """Shows one snapshot after another of one study; redraws what has changed.

    `anew_wanted` asks for the runs whose code or data has changed to be measured again.
    """

    anew_wanted = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        plan: QAction,
        runs: QAction,
        edit: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("This study", parent)
        self.snapshot: StudySnapshot | None = None
        self.changed_note = Note()
        self.headline, self.why = Paragraph("", "title"), Paragraph("", "muted")
        self.more = Button("More", "quiet", small=True)
        self.more.setCheckable(True)
        self.more.setAccessibleName("More of what follows")
        self.verdict = CardFrame()
        self.progress, self.bar = Label("", "muted"), QProgressBar()
        self.picture, self.steps = StudyChart(theme), StepBars(theme)
        self.facts = FactsGrid()
        self.few, self.every = FewModel(self), EveryModel(self)
        self.table = Table(self.few, "Points of the study")
        self.whole = Table(self.every, "All that was measured at each point")
        self.plan_button = ActionButton(plan, "primary")
        self.runs_button = ActionButton(runs, text="Runs of this study")
        self.edit_button = ActionButton(edit, text="Edit the study…")
        self._lay_out()

    def show_study(self, snapshot: StudySnapshot) -> None:
        """Show this."""
        if snapshot is self.snapshot:
            return
        self.snapshot = snapshot
        self._show_verdict(snapshot)
        self._show_progress(snapshot)
        self._show_changed(snapshot)
        self._show_picture(snapshot)
        self.facts.show_facts(_facts(snapshot))
        self._show_points(snapshot)
        self.plan_button.setVisible(bool(snapshot.plan_words))
        self.runs_button.setVisible(bool(snapshot.run_ids))
        self.edit_button.setVisible(not snapshot.run_ids and snapshot.opened is not None)

    def _lay_out(self) -> None:
        self.verdict.body.addWidget(self.headline)
        self.verdict.body.addWidget(self.why)
        self.verdict.body.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.more.toggled.connect(self._tell_more)
        self.verdict.body.addWidget(self.progress)
        self.verdict.body.addWidget(self.bar)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.bar.setAccessibleName("How much of the study is measured")
        picture, steps = CardFrame(), CardFrame()
        picture.body.addWidget(self.picture)
        steps.body.addWidget(self.steps)
        self._steps_card, self._whole_card = steps, CardFrame("All points")
        self._whole_card.body.addWidget(self.whole)
        for low in (self.verdict, steps, self._whole_card):
            low.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        inside = Scrolled()
        inside.column.setContentsMargins(0, 0, 0, 0)
        inside.column.setSpacing(14)
        for card in (self.changed_note, self.verdict):
            inside.column.addWidget(card)
        inside.column.addWidget(picture, 1)
        inside.column.addWidget(steps)
        inside.column.addWidget(self._whole_card)
        self.middle.addWidget(inside)
        self.side.body.addWidget(self.facts)
        self.side.body.addSpacing(GRID)
        self.side.body.addWidget(Label("POINTS", "section"))
        self.side.body.addWidget(self.table, 1)
        for button in (self.plan_button, self.runs_button, self.edit_button):
            self.side.body.addWidget(button)
        for table in (self.table, self.whole):
            table.set_row_height(_ROW)
            table.horizontalHeader().setStretchLastSection(False)
        self.table.set_widths({_RATES: 86, _LAST: 54}, stretch=0)
        self._shape_whole()

    def _show_verdict(self, snapshot: StudySnapshot) -> None:
        if snapshot.problem:
            self.headline.setText("This study cannot be read")
            self.why.setText(f"{snapshot.problem}\n{snapshot.path}")
            self.more.hide()
            return
        self.headline.setText(snapshot.verdict.headline if snapshot.opened else READING)
        self._frame_verdict(done=0 < snapshot.done == snapshot.total)
        lines = [*snapshot.verdict.more, *_failures(snapshot)]
        few = lines if self.more.isChecked() else lines[:_FEW]
        self.why.setText("\n".join(few))
        self.why.setVisible(bool(lines))
        self.more.setVisible(len(lines) > _FEW)
        self.more.setText("Less" if self.more.isChecked() else "More")

    def _tell_more(self) -> None:
        if self.snapshot is not None:
            self._show_verdict(self.snapshot)

    def _frame_verdict(self, *, done: bool) -> None:
        tone = "good" if done else ""
        if self.verdict.property("tone") != tone:
            self.verdict.setProperty("tone", tone)
            self.verdict.style().unpolish(self.verdict)
            self.verdict.style().polish(self.verdict)

    def _show_progress(self, snapshot: StudySnapshot) -> None:
        going = (snapshot.is_run or snapshot.live is not None) and snapshot.done < snapshot.total
        stands = 0 < snapshot.done < snapshot.total
        self.bar.setVisible(going or stands)
        self.progress.setVisible(going or stands)
        self.bar.setMaximum(max(1, 100 * snapshot.total))
        within = snapshot.live.share if snapshot.live else 0.0
        self.bar.setValue(round(100 * (snapshot.done + within)))
        self.progress.setText(_progress_words(snapshot, going=going))

    def _show_changed(self, snapshot: StudySnapshot) -> None:
        words = (
            f"{snapshot.changed} changed since {plural(snapshot.stale, 'run')} of this study read "
            "it. They still count."
            if snapshot.stale
            else ""
        )
        going = snapshot.is_run or snapshot.live is not None
        if not words and snapshot.failed and not going:
            words = f"{plural(len(snapshot.failed), 'run')} of this study failed."
        label = "" if going else "Measure anew"
        self.changed_note.say(words, "warning", label, self.anew_wanted.emit)

    def _shape_whole(self) -> None:
        self.whole.set_widths({0: _MOST_POINT, 1: 92, 2: 72, 3: 82, 4: 82}, stretch=_RUNS)
        # What each device held is read by scrolling where it is too long, and never cut.
        heads = self.whole.horizontalHeader()
        heads.setSectionResizeMode(_MEMORY, QHeaderView.ResizeMode.ResizeToContents)
        heads.setMinimumSectionSize(_LEAST_RUNS)

    def _show_picture(self, snapshot: StudySnapshot) -> None:
        opened = snapshot.opened
        picture = picture_of(opened.study, snapshot.groups, snapshot.verdict) if opened else None
        nothing = "" if snapshot.problem else "The picture comes with the first points."
        self.picture.show_picture(picture, nothing, snapshot.verdict.chosen)
        parts = step_parts(snapshot.groups)
        self.steps.show_parts(parts)
        self._steps_card.setVisible(bool(parts))

    def _show_points(self, snapshot: StudySnapshot) -> None:
        study = snapshot.opened.study if snapshot.opened else None
        self.few.show_groups(study, snapshot.groups)
        self.every.set_rows(snapshot.groups)
        template = study.template if study is not None else "scaling"
        scales = template.startswith("scaling")
        self.table.setColumnHidden(_RATES, template == "sweep")
        self.table.setColumnWidth(_LAST, 66 if template == "sweep" else 54)
        self.table.setColumnHidden(_LAST, template == "strategies")
        self._whole_card.setVisible(not scales and bool(snapshot.groups))
        self.whole.setColumnWidth(0, min(self.whole.sizeHintForColumn(0), _MOST_POINT))
        below = self.whole.horizontalScrollBar().sizeHint().height()
        self.whole.setFixedHeight(HEADER + _ROW * len(snapshot.groups) + 4 + below)
        for place, row in enumerate(snapshot.groups):
            if row.label == snapshot.verdict.chosen:
                self.table.choose_row(place)


def _failures(snapshot: StudySnapshot) -> list[str]:
    said = " ".join(snapshot.verdict.more)
    return [
        f"{title(each.number, each.label)} failed: {each.why}"
        for each in snapshot.failed
        if each.why not in said
    ]


def _progress_words(snapshot: StudySnapshot, *, going: bool) -> str:
    parts = [f"{snapshot.done} of {snapshot.total} runs"]
    if (live := snapshot.live) is not None:
        epochs = f", epoch {live.epoch} of {live.epochs}" if live.epochs else ""
        parts.append(f"{title(live.number, live.label)}{epochs}")
    elif going:
        parts.append("about to begin the next")
    if snapshot.ends:
        parts.append("stops after this one")
    elif going and (left := snapshot.seconds_left) is not None:
        parts.append(f"about {whole_duration(max(1.0, left))} left")
    if not going and snapshot.done < snapshot.total:
        parts.append("not being run: Go on measures the rest")
    return " · ".join(parts)


def _facts(snapshot: StudySnapshot) -> list[tuple[str, str]]:
    if snapshot.opened is None:
        return [("file", snapshot.path.name)]
    study, noise = snapshot.opened.study, snapshot.verdict.noise
    order = "order drawn" if study.repeats > 1 or snapshot.total > 1 else ""
    facts = [
        ("plan", snapshot.opened.plan.name),
        *((called(axis.name), _span_of(axis)) for axis in study.axes),
        ("largest that fits", grouped(study.largest[0].batch) if study.largest else ""),
        ("held", _held(snapshot)),
        ("repeats", ", ".join(filter(None, (str(study.repeats), order)))),
        ("noise", f"± {small_share(noise)}" if noise is not None else "not known"),
        ("took", duration(snapshot.seconds_taken) if snapshot.seconds_taken else UNKNOWN),
        ("file", snapshot.path.name),
    ]
    return [(name, words) for name, words in facts if words]


def _held(snapshot: StudySnapshot) -> str:
    assert snapshot.opened is not None
    study, points = snapshot.opened.study, snapshot.opened.points
    batch = points[0].plan.training.batch_size if points and study.held else ""
    return f"{study.held} {batch}".strip()


def _span_of(axis: StudyAxis) -> str:
    """The values of an axis in short, which the table has one by one: `1 to 4`, `5 choices`."""
    values = [each.x for each in axis.choices]
    known = [value for value in values if value is not None]
    if len(known) == len(values) and len(set(known)) > 1:
        return f"{in_figures(min(known))} to {in_figures(max(known))}"
    return axis.choices[0].label if len(axis.choices) == 1 else f"{len(axis.choices)} choices"
