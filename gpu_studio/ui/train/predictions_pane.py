"""The predictions tab: some held-out samples, and what a checkpoint's model makes of them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.common.shown_values import Value
from gpu_studio.contract.predictions import OutputOfSample, Predictions, SamplePrediction
from gpu_studio.ui.kit.painting import PaintedLine
from gpu_studio.ui.kit.samples import SamplesTable
from gpu_studio.ui.kit.theme import ThemeManager

_SHOWN_ROWS = 4
_TABS = 60
_FIRST = 72
_SIGNS = {True: "✔ ", False: "✘ ", None: ""}


class PredictionsPane(SamplesTable):
    """A row for each sample: its inputs, then of each output the prediction and the target.

    `tools` say of which checkpoint and split, and stand elsewhere. `shown` fires when there are
    others to see.
    """

    shown = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Predictions of some samples", parent)
        self.tools = PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight)

    @property
    def wanted_height(self) -> int:
        """The height at which the card shows the first samples below its tabs."""
        return self.height_of(_SHOWN_ROWS) + _TABS

    def show_predictions(self, found: Predictions | None) -> None:
        """Show these; None empties the table."""
        samples = found.samples if found else ()
        headers = _headers(samples[0]) if samples else ()
        self.show_samples(headers, [(each.place, _cells(each)) for each in samples])
        self.tools.set_text(in_words(found) if found else "")
        self.setColumnWidth(0, _FIRST)
        if found:
            self.shown.emit()


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
