"""The predictions tab: some held-out samples, and what a checkpoint's model makes of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.common.shown_values import Value
from gpu_studio.contract.predictions import OutputOfSample, Predictions, SamplePrediction
from gpu_studio.ui.kit import GRID, Button, PaintedLine, ThemeManager
from gpu_studio.ui.kit.samples import SamplesTable

_SHOWN_ROWS = 4
_TABS = 60
_FIRST = 72
_STEPS = {
    -1: ("‹ Earlier", "Predict with the checkpoint before (Left)"),
    1: ("Later ›", "Predict with the checkpoint after (Right)"),
}
_SIGNS = {True: "✔ ", False: "✘ ", None: ""}


class PredictionsPane(SamplesTable):
    """A row for each sample: its inputs, then of each output the prediction and the target.

    `tools` say of which checkpoint and split, and stand elsewhere. `shown` fires when there are
    others to see; `step_wanted(by)` asks for those of the next checkpoint, 1, or the one before,
    -1: by a button, or by the arrow keys.
    """

    shown = Signal()
    step_wanted = Signal(int)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Predictions of some samples", parent)
        self.found: Predictions | None = None
        self.words = PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight)
        self.steps = {by: Button(words[0], small=True) for by, words in _STEPS.items()}
        self.tools = self._make_tools()

    @property
    def wanted_height(self) -> int:
        """The height at which the card shows the first samples below its tabs."""
        return self.height_of(_SHOWN_ROWS) + _TABS

    def show_predictions(self, found: Predictions | None) -> None:
        """Show these; None empties the table."""
        self.found = found
        samples = found.samples if found else ()
        headers = _headers(samples[0]) if samples else ()
        self.show_samples(headers, [(each.place, _cells(each)) for each in samples])
        self.words.set_text(in_words(found) if found else "")
        self.setColumnWidth(0, _FIRST)
        if found:
            self.shown.emit()

    def show_work(self, text: str) -> None:
        """Say what is under way; with an empty text, of what these predictions are."""
        self.words.set_text(text or (in_words(self.found) if self.found else ""))

    def allow_steps(self, possible: Collection[int]) -> None:
        """Offer the steps to which there is a checkpoint."""
        for by, button in self.steps.items():
            button.setEnabled(by in possible)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Left and Right step from checkpoint to checkpoint."""
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if by is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif self.steps[by].isEnabled():
            self.step_wanted.emit(by)

    def _make_tools(self) -> QWidget:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self.words, 1)
        for by, button in self.steps.items():
            button.setToolTip(_STEPS[by][1])
            button.setAccessibleName(_STEPS[by][1])
            button.clicked.connect(lambda _checked=False, by=by: self.step_wanted.emit(by))
            row.addWidget(button)
        return holder


def _headers(sample: SamplePrediction) -> list[str]:
    headers = ["Sample", *(each.name.removeprefix("x/") or "Input" for each in sample.inputs)]
    for output in sample.outputs:
        headers.append(output.predicted.name or "Prediction")
        if output.target is not None:
            headers.append(_target_called(output))
    return headers


def _cells(sample: SamplePrediction) -> tuple[Value, ...]:
    cells = [Value(grouped(sample.place)), *sample.inputs]
    for output in sample.outputs:
        text = f"{_SIGNS[output.right]}{output.predicted.text}"
        cells.append(replace(output.predicted, text=text))
        if output.target is not None:
            cells.append(output.target)
    return tuple(cells)


def _target_called(output: OutputOfSample) -> str:
    return f"{output.predicted.name} target" if output.predicted.name else "Target"


def in_words(found: Predictions) -> str:
    """Return of what these are: `step-00000192 · 12 of 200 samples of the test split`."""
    count = len(found.samples)
    of = plural(count, "sample") if found.of is None else f"{count} of {grouped(found.of)} samples"
    right = _right(found)
    said = f"{found.checkpoint} · {of} of the {found.split} split{right}"
    return f"{said} · {found.warning}" if found.warning else said


def _right(found: Predictions) -> str:
    """Return how many are right, of each output of which that can be said."""
    texts = []
    for outputs in zip(*(sample.outputs for sample in found.samples), strict=True):
        judged = [each.right for each in outputs if each.right is not None]
        if judged:
            name = outputs[0].predicted.name
            texts.append(f" · {f'{name} ' if name else ''}{sum(judged)} right")
    return "".join(texts)
