"""Everything about the selected run: the user's labels, its results, its plan.

The results stand in groups of names and texts, which the comparison of runs shows too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPlainTextEdit, QWidget

from gpu_studio.common import figures
from gpu_studio.common.figures import UNKNOWN, duration, plural
from gpu_studio.common.safe_files import read_text
from gpu_studio.hardware.accounting import CardTotals
from gpu_studio.plan.files import LARGEST_BYTES
from gpu_studio.runs.results.run_facts import RunFigures
from gpu_studio.runs.results.run_times import ONE_DEVICE, steps_in_words
from gpu_studio.ui.kit.action_set import ActionSet
from gpu_studio.ui.kit.basic_widgets import (
    ActionButton,
    Button,
    CardFrame,
    Elided,
    Label,
    Paragraph,
    Scrolled,
)
from gpu_studio.ui.kit.theme import GRID, font
from gpu_studio.ui.kit.words import metric_label
from gpu_studio.ui.runs.run_rows import RunRow

_NAMES = 132
# Equally thin, but without a line break: it is inside a number.
_UNBROKEN = "\u202f"
# A number and its unit stay on one line.
_BEFORE_UNIT, _UNBROKEN_SPACE = re.compile(r"(?<=\d) (?=[A-Za-zµ%°])"), "\u00a0"
_PLAN_LINES = 14


class SummaryCard(CardFrame):
    """A column that scrolls.

    `show_run` may be called repeatedly: what has not changed is left alone.
    """

    def __init__(self, actions: ActionSet, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName("summary of the run")
        self.name = Elided(role="title")
        self._tag = ActionButton(actions["tag_runs"], "quiet", text="Tags…", small=True)
        self._note = ActionButton(actions["note_runs"], "quiet", text="Note…", small=True)
        self.header.addWidget(self.name)
        self.header.addStretch(1)
        self.header.addWidget(self._tag)
        self.header.addWidget(self._note)
        self.body.addLayout(self.header)
        self._planned = ""
        self.words = Paragraph(role="muted")
        self.note = Paragraph()
        self._scrolled = Scrolled()
        self.figures = _Figures()
        self.plan = _PlanText()
        for part in (self.words, self.note, self.figures, self.plan):
            self._scrolled.column.addWidget(part)
        self._scrolled.column.addStretch(1)
        self._scrolled.column.setContentsMargins(0, 0, GRID, GRID)
        self.body.addWidget(self._scrolled, 1)

    def show_run(self, row: RunRow, figures: RunFigures | None, why_not: str = "") -> None:
        """Show a run; `figures` is None while they are read, or if that failed: `why_not`."""
        self.name.setText(row.title)
        tags = f"\ntags: {', '.join(row.labels.tags)}" if row.labels.tags else ""
        parent = f"\nresumed from {row.summary.resumed_from}" if row.summary.resumed_from else ""
        planned = f"\nplan: {row.summary.plan}" if row.labels.name else ""
        self.words.setText(f"{row.id}\n{row.state_words}{planned}{parent}{tags}")
        self.note.setText(row.labels.note or row.labels.problem)
        self.note.setVisible(bool(self.note.text()))
        if figures is not None:
            self.figures.show_groups(summary_groups(figures))
            self._show_plan(row)
        else:
            lost = Group("Cannot be read", (("why", why_not),))
            self.figures.show_groups([lost if why_not else Group("Reading the figures…", ())])
            self.plan.show_text("")
            self._planned = ""

    def _show_plan(self, row: RunRow) -> None:
        """Show the plan of a run, which is read once because it never changes."""
        if row.id != self._planned:
            self._planned = row.id
            self.plan.show_text(_plan_text(row))


class _Figures(QWidget):
    """Names at the left, what is known of them at the right, under the titles of their groups."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: tuple[Group, ...] = ()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnMinimumWidth(0, _NAMES)
        self._grid.setColumnStretch(1, 1)

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Show these."""
        if tuple(groups) == self.groups:
            return
        shape = [(group.title, [name for name, _ in group.rows]) for group in groups]
        same = shape == [(group.title, [name for name, _ in group.rows]) for group in self.groups]
        self.groups = tuple(groups)
        if not same:
            self._rebuild()
        for (name, text), value in zip(
            ((n, t) for g in groups for n, t in g.rows), self._values, strict=True
        ):
            value.setText(_BEFORE_UNIT.sub(_UNBROKEN_SPACE, text))
            value.setAccessibleName(f"{name}: {text}")

    def _rebuild(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self._values: list[Paragraph] = []
        line = 0
        for group in self.groups:
            self._grid.addWidget(_section(group.title), line, 0, 1, 2)
            for name, _ in group.rows:
                line += 1
                label = Label(name, "muted")
                label.setWordWrap(True)
                value = Paragraph()
                self._values.append(value)
                self._grid.addWidget(label, line, 0, Qt.AlignmentFlag.AlignTop)
                self._grid.addWidget(value, line, 1)
            line += 1


class _PlanText(QFrame):
    """The plan as its file has it, to be read and copied."""

    def __init__(self) -> None:
        super().__init__()
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(font("mono_caption"))
        self.text.setAccessibleName("the run's plan")
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.copy = Button("Copy", "quiet", small=True)
        self.copy.setToolTip("Put the plan's text on the clipboard")
        self.copy.setAccessibleName("Copy the run's plan")
        self.copy.clicked.connect(
            lambda: QGuiApplication.clipboard().setText(self.text.toPlainText())
        )
        grid, head = QGridLayout(self), QHBoxLayout()
        grid.setContentsMargins(0, GRID, 0, 0)
        title = _section("Plan")
        title.setAlignment(Qt.AlignmentFlag.AlignVCenter)  # on a line with the button
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(self.copy)
        grid.addLayout(head, 0, 0)
        grid.addWidget(self.text, 1, 0)

    def show_text(self, text: str) -> None:
        """Show this plan; nothing takes no room."""
        self.setVisible(bool(text))
        if text and text != self.text.toPlainText():
            self.text.setPlainText(text)
            lines = min(text.count("\n") + 2, _PLAN_LINES)
            self.text.setFixedHeight(lines * self.text.fontMetrics().lineSpacing() + 2 * GRID)


def _section(title: str) -> Label:
    label = Label(title.upper(), "section")
    label.setMinimumHeight(4 * GRID)
    label.setAlignment(Qt.AlignmentFlag.AlignBottom)
    return label


def _plan_text(row: RunRow) -> str:
    try:
        return read_text(row.summary.directory.plan_file, LARGEST_BYTES)
    except OSError:
        return ""


_FEW_CHECKPOINTS = 5
_BESIDE_TRAINING = ("starting", "paused", "stopping")
Pair = tuple[str, str]

MINUS = "\u2212"


@dataclass(frozen=True, slots=True)
class Group:
    """A title above rows of names and texts."""

    title: str
    rows: tuple[Pair, ...]


def summary_groups(run: RunFigures) -> tuple[Group, ...]:
    """Return the summary of a run; groups without rows are left out."""
    made = (
        ("Result", _result(run)),
        ("Peak memory", _memory(run)),
        ("Energy and cards", _cards(run)),
        ("Where the time went", _times(run)),
        ("Checkpoints", _checkpoints(run)),
        ("Environment", run.environment.items()),
    )
    groups = ((title, tuple(pairs)) for title, pairs in made)
    return tuple(Group(title, rows) for title, rows in groups if rows)


def _result(run: RunFigures) -> Iterator[Pair]:
    summary = run.summary
    if run.best is not None:
        when = f"in epoch {figures.grouped(run.best.epoch)}"
        yield f"best {metric_label(run.best.metric)}", f"{figures.metric(run.best.value)} {when}"
    yield from (
        (metric_words(name, run.metrics), figures.metric(value))
        for name, value in run.metrics.items()
    )
    total = f" of {figures.grouped(summary.steps_total)}" if summary.steps_total else ""
    yield "steps", f"{figures.grouped(summary.step)}{total}"
    yield "throughput", figures.throughput(run.samples_per_second)
    yield "started", figures.moment(summary.created)
    yield "took", duration(summary.seconds) if summary.seconds is not None else UNKNOWN


def metric_words(name: str, among: Iterable[str]) -> str:
    """Return a metric's name: `accuracy`, `validation accuracy`, `test loss`."""
    for mark, word in (("val_", "validation "), ("test_", "test ")):
        if name.startswith(mark):
            alike = [each.removeprefix(mark) for each in among if each.startswith(mark)]
            return word + metric_label(name.removeprefix(mark), alike)
    return metric_label(name, [each for each in among if not each.startswith(("val_", "test_"))])


def _memory(run: RunFigures) -> Iterator[Pair]:
    for device in dict.fromkeys([*run.peaks, *run.predicted]):
        peak, predicted, limit = (
            run.peaks.get(device),
            run.predicted.get(device),
            run.limits.get(device),
        )
        counted = run.counted.get(device) == "variables"
        reported = (
            UNKNOWN
            if peak is None
            else f"{figures.size(peak)}{' of variables' if counted else ''}",
            _foreseen(predicted, None if counted else peak, whole=counted)
            if predicted is not None
            else "",
            f"limit {figures.size(limit)}" if limit else "",
        )
        yield device, ", ".join(filter(None, reported))


def _foreseen(predicted: int, peak: int | None, *, whole: bool) -> str:
    """Return what was predicted.

    For a logical CPU only the variables are counted, which must not be compared with a `whole`
    step.
    """
    return (
        f"{figures.size(predicted)} "
        f"predicted{' for a whole step' if whole else ''}{_off(peak, predicted)}"
    )


def _off(peak: int | None, predicted: int) -> str:
    """Say by how much the peak was above or below the prediction."""
    return (
        f" ({peak / predicted - 1:+.0%})".replace("%", " %").replace("-", MINUS)
        if peak and predicted
        else ""
    )


def _cards(run: RunFigures) -> Iterator[Pair]:
    yield "energy", figures.energy(run.joules) if run.joules is not None else run.why_not("joules")
    if not run.card_totals:
        return
    each = run.joules_per_thousand_samples
    if each is not None:
        yield "for 1,000 samples", figures.energy(each)
    for name, what in (("throttled_seconds", "throttled"), ("idle_seconds", "idle")):
        seconds = getattr(run, name)
        yield what, figures.duration(seconds) if seconds is not None else run.why_not(name)
    for card, totals in zip(run.cards, run.card_totals, strict=True):
        yield f"{card.label} · {totals.name}", _card(totals)


def _card(totals: CardTotals) -> str:
    reported = (
        figures.energy(totals.joules) if totals.joules is not None else "",
        f"{figures.size(totals.peak_used)} at most" if totals.peak_used is not None else "",
        f"{totals.peak_celsius} °C at most" if totals.peak_celsius is not None else "",
        f"{figures.percent(totals.busy_percent)} busy" if totals.busy_percent is not None else "",
    )
    return ", ".join(filter(None, reported)) or UNKNOWN


def _times(run: RunFigures) -> Iterator[Pair]:
    times = run.times
    if times.call_seconds > 0:
        yield "waiting for data", _part(times.input_seconds, run.input_share)
        yield from _computing(run)
    if times.other_seconds > 0:
        yield "between the calls", figures.duration(times.other_seconds)
    for state, seconds in times.states.items():
        if state in _BESIDE_TRAINING and seconds > 0:
            yield state, figures.duration(seconds)


def _computing(run: RunFigures) -> Iterator[Pair]:
    """Return computing and communication separately.

    It needs profiled steps, or a single device.
    """
    parts, shares = run.training_parts, run.training_shares
    if parts is None or shares is None or run.communication is None:
        why = run.why_not("communication")
        yield (
            "compute" if why == ONE_DEVICE else "compute and transfers",
            _part(run.times.compute_seconds, run.compute_share),
        )
        yield "communication", why
        return
    for name in ("compute", "communication", "idle"):
        yield name, f"≈ {_part(getattr(parts, name), getattr(shares, name))}"
    yield (
        "profiled",
        f"{steps_in_words(run.communication)}; the others are taken to be like them (≈)",
    )


def _part(seconds: float, share: float | None) -> str:
    return f"{figures.spent(seconds)} ({figures.share(share)})"


def _checkpoints(run: RunFigures) -> Iterator[Pair]:
    newest = sorted(run.checkpoints, key=lambda saved: saved.step, reverse=True)
    for saved in newest[:_FEW_CHECKPOINTS]:
        value = (
            f", {saved.monitor} {figures.metric(saved.value)}" if saved.value is not None else ""
        )
        yield (
            saved.name,
            f"after epoch {figures.grouped(saved.epoch)}{value}{', best' if saved.best else ''}",
        )
    if len(newest) > _FEW_CHECKPOINTS:
        yield "and", plural(len(newest) - _FEW_CHECKPOINTS, "older one")
