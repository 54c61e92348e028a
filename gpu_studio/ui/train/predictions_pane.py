"""The predictions tab: some held-out samples, and what a checkpoint's model makes of them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QHeaderView, QWidget

from gpu_studio.common.figures import grouped, plural
from gpu_studio.contract.predictions import OutputOfSample, Predictions, SamplePrediction, Value
from gpu_studio.ui.kit.painting import PaintedLine
from gpu_studio.ui.kit.table import HEADER, PlainTable, Table
from gpu_studio.ui.kit.theme import ThemeManager

_ROW, _PICTURE = 56, 48
_SHOWN_ROWS = 4
_TABS = 60
_FIRST, _WIDEST = 72, 320
_FORMATS = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888}
_SIGNS = {True: "✔ ", False: "✘ ", None: ""}
_NOTHING = Predictions("", "", None, ())


class PredictionsModel(PlainTable[SamplePrediction]):
    """A row for each sample: its inputs, then of each output the prediction and the target."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found = _NOTHING

    def set_predictions(self, found: Predictions) -> None:
        """Show these."""
        self.beginResetModel()
        self.found, self.rows = found, found.samples
        first = found.samples[0] if found.samples else SamplePrediction(0, (), ())
        inputs = [value.name.removeprefix("x/") or "Input" for value in first.inputs]
        outputs = (
            (each.predicted.name or "Prediction", _target_called(each)) for each in first.outputs
        )
        self.headers = ("Sample", *inputs, *(name for pair in outputs for name in pair if name))
        self.endResetModel()

    def key(self, row: SamplePrediction) -> int:
        """Its place in its split."""
        return row.place

    def text(self, row: SamplePrediction, column: int) -> str:
        """The words of a cell, to be read and copied."""
        value, sign = self._cell(row, column)
        return f"{sign}{value.text}" if value else grouped(row.place)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = 0) -> Any:
        """The words of a cell; where it has a picture, that, with the words that judge it."""
        if index.isValid() and role in (
            Qt.ItemDataRole.DecorationRole,
            Qt.ItemDataRole.DisplayRole,
        ):
            value, _ = self._cell(self.rows[index.row()], index.column())
            if value is not None and value.pixels:
                if role == Qt.ItemDataRole.DecorationRole:
                    return pixmap_of(value)
                return value.text if value.text.endswith("right") else ""
        return super().data(index, role)

    def _cell(self, row: SamplePrediction, column: int) -> tuple[Value | None, str]:
        cells: list[tuple[Value | None, str]] = [(None, ""), *((each, "") for each in row.inputs)]
        for output in row.outputs:
            cells.append((output.predicted, _SIGNS[output.right]))
            if output.target is not None:
                cells.append((output.target, ""))
        return cells[column]


def _target_called(output: OutputOfSample) -> str:
    if output.target is None:
        return ""
    return f"{output.predicted.name} target" if output.predicted.name else "Target"


def pixmap_of(value: Value) -> QPixmap:
    """Return the picture, its pixels enlarged to be seen, or scaled to fit the row."""
    line = value.width * value.channels
    image = QImage(value.pixels, value.width, value.height, line, _FORMATS[value.channels])
    small = max(value.width, value.height) <= _PICTURE
    how = (
        Qt.TransformationMode.FastTransformation
        if small
        else Qt.TransformationMode.SmoothTransformation
    )
    scaled = image.scaled(_PICTURE, _PICTURE, Qt.AspectRatioMode.KeepAspectRatio, how)
    return QPixmap.fromImage(scaled)


class PredictionsPane(Table):
    """The table of predictions; `tools` say of which checkpoint and split, and stand elsewhere.

    `shown` fires when there are others to see.
    """

    shown = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        self.predictions = PredictionsModel()
        super().__init__(self.predictions, "Predictions of some samples", parent)
        self.predictions.setParent(self)
        self.set_row_height(_ROW)
        self.setIconSize(QSize(_PICTURE, _PICTURE))
        self.tools = PaintedLine(theme, "caption", side=Qt.AlignmentFlag.AlignRight)

    @property
    def wanted_height(self) -> int:
        """The height at which the card shows the first samples below its tabs."""
        return HEADER + _ROW * min(len(self.predictions.rows), _SHOWN_ROWS) + _TABS

    def show_predictions(self, found: Predictions | None) -> None:
        """Show these; None empties the table."""
        self.predictions.set_predictions(found or _NOTHING)
        self.tools.set_text(in_words(found) if found else "")
        header = self.horizontalHeader()
        header.setMaximumSectionSize(_WIDEST)
        self.resizeColumnsToContents()
        self.setColumnWidth(0, _FIRST)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        if found:
            self.shown.emit()


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
