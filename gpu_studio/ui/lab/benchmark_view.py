"""A benchmark beside the list: the verdict, the picture that shows why, the rows, the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gpu_studio.common.figures import moment, plural
from gpu_studio.lab.benchmark_figures import headline
from gpu_studio.lab.benchmark_pictures import pictures, with_links
from gpu_studio.lab.benchmarks import (
    Benchmark,
    BenchmarkResult,
    BenchmarkRow,
    changes,
    judged,
    other_machine,
)
from gpu_studio.runs.benchmarks import BY_HAND, KeptResult
from gpu_studio.ui.kit import (
    GAP,
    GRID,
    ActionSet,
    CardFrame,
    Label,
    Notice,
    Paragraph,
    ThemeManager,
)
from gpu_studio.ui.kit.settings import Settings
from gpu_studio.ui.lab.hand_card import HandCard
from gpu_studio.ui.lab.lab_section import LabView
from gpu_studio.ui.lab.picture_card import PictureCard
from gpu_studio.ui.lab.results_side import ResultsSide
from gpu_studio.ui.lab.rows_card import RowsCard
from gpu_studio.ui.lab.verdict_card import Tone, VerdictCard, headline_of

HOW_IT_MEASURES = (
    "It takes a minute or two, in a process of its own, and uses the devices as much as it can: "
    "let no run train meanwhile. What was measured is kept."
)
_SHARES, _OF_PICTURE = (3, 3, 2), 0.62
_WORDS_WIDTH = 420


@dataclass(frozen=True, slots=True)
class ShownBenchmark:
    """What is shown of a benchmark: one of its kept `results`, or the `rows` measured until now.

    While it is measured `words` say what is being measured. `links` are what joins its devices.
    """

    benchmark: Benchmark
    results: Sequence[KeptResult] = ()
    kept: KeptResult | None = None
    measuring: bool = False
    words: str = ""
    rows: Sequence[BenchmarkRow] = ()
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @property
    def result(self) -> BenchmarkResult | None:
        """What the picture and the rows are of; None if there is nothing that can be shown."""
        if self.measuring:
            return BenchmarkResult(self.benchmark.name, 0.0, {}, tuple(self.rows))
        return self.kept.result if self.kept is not None else None


class BenchmarkView(LabView):
    """Shows what it is given; what is pressed in it are actions, or signals of its parts."""

    def __init__(
        self,
        theme: ThemeManager,
        settings: Settings,
        notice: Notice,
        actions: ActionSet,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", parent)
        self.by_hand = HandCard(theme, settings, notice)
        self.verdict, self.picture, self.rows = VerdictCard(), PictureCard(theme), RowsCard()
        self.right = ResultsSide(theme, actions)
        self.nothing = Nothing()
        self._dragged = False
        self._wanted: dict[str, str] = {}
        self._benchmark = ""
        self._same: tuple[str, bool, KeptResult | None] = ("", False, None)
        self.picture.chosen.connect(self._want_picture)
        self._lay_out()

    def show_benchmark(self, shown: ShownBenchmark) -> None:
        """Show this."""
        result = shown.result
        same = (shown.benchmark.name, shown.measuring, shown.kept) == self._same
        if not same:
            self.rows.end_comparison()
        self._same = shown.benchmark.name, shown.measuring, shown.kept
        self._benchmark = shown.benchmark.name
        self._say(shown)
        made = pictures(result) if result is not None else ()
        if shown.links:
            made = tuple(with_links(each, shown.links) for each in made)
        self.picture.show_pictures(made, self._wanted.get(self._benchmark, ""))
        self.picture.setVisible(bool(made))
        self.rows.show_rows(result.rows if result is not None else ())
        by_hand = self._benchmark == BY_HAND
        self.by_hand.setVisible(by_hand)
        if by_hand:
            self.by_hand.show_executed(_executed(result))
        self.rows.setVisible(result is not None and bool(result.rows))
        some = by_hand or (result is not None and bool(result.rows))
        self._below.setCurrentWidget(self._split if some else self.nothing)
        self._share()
        self.nothing.say(*_nothing(shown))
        machine: Mapping[str, str] = result.machine if result is not None else {}
        self.right.show_results(shown.results, None if shown.measuring else shown.kept, machine)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share the height anew."""
        super().resizeEvent(event)
        self._share()

    def _share(self) -> None:
        """Give the picture what it needs, up to a part of the height, unless a person chose."""
        if self._dragged:
            return
        total = self._split.height() - self._split.handleWidth()
        most = round(total * _OF_PICTURE)
        upper = [min(part.maximumHeight(), most) for part in (self.by_hand, self.picture)]
        shown = upper[0] if not self.by_hand.isHidden() else upper[1]
        self._split.setSizes([*upper, max(total - shown, 0)])

    def _drag(self) -> None:
        self._dragged = True

    def compare(self, shown: KeptResult, other: KeptResult) -> None:
        """Show what has changed from the earlier of the two to the later.

        Raises BenchmarkError if they have nothing in common.
        """
        assert shown.result is not None
        assert other.result is not None
        before, after = sorted((shown.result, other.result), key=lambda each: each.begun)
        words = f"{moment(before.begun)} → {moment(after.begun)}"
        self.rows.show_changes(words, changes(before, after), other_machine(before, after))

    def _say(self, shown: ShownBenchmark) -> None:
        if shown.measuring:
            many = plural(len(shown.rows), "measurement")
            self.verdict.say(f"Measuring: {shown.words}", f"{many} until now.")
            return
        if shown.kept is None:
            self.verdict.say(shown.benchmark.title, shown.benchmark.question)
            return
        if shown.kept.result is None:
            self.verdict.say("This result cannot be read.", shown.kept.why_not, "bad")
            return
        self.verdict.say(*verdict(shown.benchmark, shown.kept.result))

    def _want_picture(self, title: str) -> None:
        self._wanted[self._benchmark] = title

    def _lay_out(self) -> None:
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setChildrenCollapsible(False)
        self._split.setHandleWidth(GAP)
        self._split.splitterMoved.connect(self._drag)
        parts = (self.by_hand, self.picture, self.rows)
        for part, share in zip(parts, _SHARES, strict=True):
            self._split.addWidget(part)
            self._split.setStretchFactor(self._split.count() - 1, share)
        self._below = QStackedWidget()
        self._below.addWidget(self._split)
        self._below.addWidget(self.nothing)
        self.middle.addWidget(self.verdict)
        self.middle.addWidget(self._below, 1)
        self.side.body.setContentsMargins(2 * GRID - 2, GRID + 2, 2 * GRID - 2, GRID + 6)
        self.side.body.addWidget(self.right)
        self.side.setAccessibleName("Results")


def _executed(result: BenchmarkResult | None) -> dict[tuple[str, str, str], str]:
    """The device that executed each operation, by its name, its kind and the device asked for."""
    rows = result.rows if result is not None else ()
    return {
        (row.name, row.what, row.asked): row.devices[0] for row in rows if row.name and row.devices
    }


def verdict(benchmark: Benchmark, result: BenchmarkResult) -> tuple[str, str, Tone]:
    """What a result says: a sentence, what more there is to say, and how good the news are."""
    sentences, found = judged(result), headline(result)
    words = headline_of(sentences, f"{benchmark.title}: {found.figure} ({found.of})")
    wrong = any(each.startswith("WRONG RESULT") for each in sentences)
    refused = any(row.name and not row.devices for row in result.rows)
    return *words, "bad" if wrong else "warning" if refused or not result.complete else "good"


def _nothing(shown: ShownBenchmark) -> tuple[str, str]:
    if shown.measuring:
        return "Measuring…", "The first figures come when TensorFlow is there, and has warmed up."
    if shown.kept is not None and shown.kept.result is None:
        return "Nothing to show", "Measure again, and delete this result."
    if shown.kept is not None:
        return "Nothing was measured", "The result has no rows: measure again."
    return "Not measured yet", HOW_IT_MEASURES


class Nothing(CardFrame):
    """Says in the middle why there is nothing to see."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        inside = QWidget()
        inside.setMaximumWidth(_WORDS_WIDTH)
        column = QVBoxLayout(inside)
        self.title, self.words = Label("", "heading"), Paragraph("", "muted")
        for label in (self.title, self.words):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            column.addWidget(label)
        self.body.addStretch(2)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(inside, 100)
        row.addStretch(1)
        self.body.addLayout(row)
        self.body.addStretch(3)

    def say(self, title: str, words: str) -> None:
        """Show these words."""
        self.title.setText(title)
        self.words.setText(words)
