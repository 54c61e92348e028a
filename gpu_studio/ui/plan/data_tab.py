"""The Data tab: the source, its options, the samples held out, the contents, a preview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.common.shown_values import DataSample
from gpu_studio.placement.plan_facts import DataFacts
from gpu_studio.plan import Data, DataSplit, Plan
from gpu_studio.plan.catalogue import DATA
from gpu_studio.plan.columns import TABLE
from gpu_studio.plan.data import ARRAYS, GROUPS, IMAGES, SPLITS
from gpu_studio.plan.options import DATA_LIMITS
from gpu_studio.ui.kit import GRID, Label, Scrolled, ThemeManager, WhenSeen, font, sentence
from gpu_studio.ui.kit.fields import Choice, Typed
from gpu_studio.ui.kit.samples import SamplesTable
from gpu_studio.ui.plan.facts_words import data_lines, preview_headers, what_fits
from gpu_studio.ui.plan.form.form import FactLines, Field, Form
from gpu_studio.ui.plan.form.source_form import SourceForm, SourceKind, ask_for_file, ask_for_folder
from gpu_studio.ui.plan.plan_facts import FactsBar, FactsReader
from gpu_studio.ui.plan.plan_view import PlanView

PICTURE = 64
_FORMATS = {
    1: QImage.Format.Format_Grayscale8,
    3: QImage.Format.Format_RGB888,
    4: QImage.Format.Format_RGBA8888,
}


class SampleGrid(QWidget):
    """Paints images of 1, 3 or 4 channels, as many side by side as fit.

    A small image is enlarged by an integer factor, so that each pixel is seen; a large one is
    scaled to fit.
    """

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._samples: tuple[DataSample, ...] = ()
        self._images: tuple[QImage, ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFont(font("caption"))
        theme.changed.connect(self.update)

    def set_samples(self, samples: Sequence[DataSample]) -> None:
        """Show those of these samples that are images."""
        shown = tuple(
            each for each in samples if each.image is not None and each.channels in _FORMATS
        )
        if shown == self._samples:
            return
        self._samples = shown
        self._images = tuple(picture(sample) for sample in shown)
        self.setAccessibleName(
            f"{len(shown)} samples: {', '.join(sample.label for sample in shown)}"
        )
        self.setVisible(bool(shown))
        self.updateGeometry()
        self.update()

    @property
    def samples(self) -> tuple[DataSample, ...]:
        """The images shown."""
        return self._samples

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """As many rows as the pictures need."""
        rows = -(-len(self._samples) // self._columns(width)) if self._samples else 0
        return rows * self._step()

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """The width determines how many fit in a row."""
        return True

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One row as wide as there is space."""
        return QSize(PICTURE, self.heightForWidth(max(PICTURE, self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw every picture and its caption."""
        del event
        painter = QPainter(self)
        columns = self._columns(self.width())
        for place, (sample, image) in enumerate(zip(self._samples, self._images, strict=True)):
            left, top = place % columns * (PICTURE + GRID), place // columns * self._step()
            self._draw(painter, QRect(left, top, PICTURE, PICTURE), image, sample.label)

    def _draw(self, painter: QPainter, area: QRect, image: QImage, label: str) -> None:
        tokens = self._theme.tokens
        painter.fillRect(area, QColor(tokens.raised))
        place = QRect(area.topLeft(), image.size())
        place.moveCenter(area.center())
        painter.drawImage(place, image)
        painter.setPen(QColor(tokens.muted))
        line = QRect(area.left(), area.bottom() + 1, area.width(), self._step() - PICTURE - 2)
        text = self.fontMetrics().elidedText(label, Qt.TextElideMode.ElideRight, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)

    def _columns(self, width: int) -> int:
        return max(1, (width + GRID) // (PICTURE + GRID))

    def _step(self) -> int:
        return PICTURE + self.fontMetrics().height() + GRID // 2


def picture(sample: DataSample) -> QImage:
    """The image of a sample, at most 64 pixels high and wide.

    Raises KeyError for channels that make no image.
    """
    stride = sample.width * sample.channels
    image = QImage(
        sample.image or b"", sample.width, sample.height, stride, _FORMATS[sample.channels]
    ).copy()
    longest = max(sample.width, sample.height, 1)
    if longest > PICTURE:
        mode = Qt.TransformationMode.SmoothTransformation
        return image.scaled(PICTURE, PICTURE, Qt.AspectRatioMode.KeepAspectRatio, mode)
    return image.scaled(image.size() * (PICTURE // longest))


WORDS: dict[DataSplit, str] = {
    "random": "at random",
    "stratified": "by class",
    "ordered": "in order",
    "grouped": "by group",
}


class KeptAsideForm(Form):
    """The shares, how they are drawn, and the groups' array.

    The array is shown if the plan splits by groups.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Kept aside", parent)
        for option in DATA_LIMITS:
            self.add_limited(
                f"data.{option.name}", option, f"for {option.name.removesuffix('_fraction')}"
            )
        split = Field("data.split", "split", default=Data().split, write=_write_split)
        choice = Choice("how samples are kept aside", list(SPLITS), tips=SPLITS, words=WORDS)
        self.split = self.add(split, choice)
        groups = Field(
            "data.groups", "groups", "the array with the group of each sample", write=_write_groups
        )
        line = Typed("array with the groups", str, lambda value: value or "")
        line.setPlaceholderText(GROUPS)
        self.groups = self.add(groups, line)

    def show_view(self, view: PlanView) -> None:
        """Show what the plan holds out."""
        super().show_view(view)
        data = view.plan.data
        self.split.hint.setText(sentence(SPLITS[data.split]))
        self.groups.setVisible(data.split == "grouped" or data.groups is not None)


def _write_split(plan: Plan, split: DataSplit) -> Plan:
    groups = plan.data.groups if split == "grouped" else None
    return replace(plan, data=replace(plan.data, split=split, groups=groups))


def _write_groups(plan: Plan, name: str) -> Plan:
    return replace(plan, data=replace(plan.data, groups=name or None))


_EDGES = 2
SOURCES = {
    "name": SourceKind("Built-in", "data", ""),
    "file": SourceKind(
        ".npz file",
        "file",
        "NumPy arrays x_train and y_train, or x and y",
        ask_for_file("Choose NumPy arrays", "NumPy arrays (*.npz);;All files (*)"),
        ARRAYS,
    ),
    "folder": SourceKind(
        "Folder",
        "folder",
        "a folder with a folder of images, or of texts, for each class; or of images with masks",
        ask_for_folder("Choose a folder with a folder for each class, or of images with masks"),
        IMAGES,
    ),
    "table": SourceKind(
        "Table",
        "table",
        "a CSV file with a header, JSON lines, or a Parquet file: a row for each sample",
        ask_for_file("Choose a table", "Tables (*.csv *.jsonl *.ndjson *.parquet);;All files (*)"),
        TABLE,
    ),
    "python": SourceKind(
        "Python function",
        "Python file",
        "a file with a function that returns the arrays",
        ask_for_file("Choose a Python file", "Python (*.py);;All files (*)"),
    ),
}


class DataTab(QWidget):
    """`edited(Change)` is the user's change.

    The preview stays, greyed, while the same data are being asked about again.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reader: FactsReader | None = None
        self._view: PlanView | None = None
        self.form = SourceForm("data", DATA, SOURCES)
        self.fractions = KeptAsideForm()
        for form in (self.form, self.fractions):
            form.edited.connect(self.edited)
        self.form.allow_wanted.connect(self._want_consent)
        self.bar = FactsBar("the data", offers_consent=False)
        self.lines = FactLines()
        self.pictures = SampleGrid(theme)
        self.table = SamplesTable(theme, "samples of the data")
        self._seen = WhenSeen(self, self._show_facts)
        self._lay_out()
        self._show_preview(None)

    def set_facts(self, reader: FactsReader) -> None:
        """Show what this reader knows from now on."""
        self._reader = reader
        reader.changed.connect(self._seen.want)
        self._seen.want()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's data."""
        self._view = view
        self.form.show_view(view)
        self.fractions.show_view(view)
        self._seen.now()

    def _show_facts(self) -> None:
        if self._reader is None or self._view is None:
            return
        facts = self._reader.facts
        data = facts.data if facts else None
        error = facts.data_error if facts else ""
        self.bar.show_reader(
            self._reader, error, facts.advice if facts else (), known=data is not None
        )
        self._show_lines(data)
        known = data is not None or bool(error)
        self._show_preview(data if known else self._reader.past.data)
        for part in (self.pictures, self.table):
            part.setEnabled(known)

    def _want_consent(self, path: Path) -> None:
        if self._reader is not None:
            self._reader.consent_wanted.emit(path)

    def _show_lines(self, data: DataFacts | None) -> None:
        if self._view is None or self._reader is None or data is None:
            self.lines.set_lines(())
            return
        model = self._reader.facts.model if self._reader.facts else None
        lines = data_lines(self._view.plan, self._view.machine, data)
        met = what_fits(data, model)
        self.lines.set_lines(
            (
                *lines,
                *(
                    ("" if place else "model", words, good)
                    for place, (good, words) in enumerate(met)
                ),
            )
        )

    def _show_preview(self, data: DataFacts | None) -> None:
        preview = data.preview if data else ()
        self.pictures.set_samples(preview)
        self.pictures.setVisible(bool(self.pictures.samples))
        rows = [(place, each.values) for place, each in enumerate(preview) if each.values]
        self.table.show_samples(preview_headers(data) if data and rows else (), rows)
        self.table.setVisible(bool(rows))
        self.table.setFixedHeight(self.table.height_of(len(rows)) + _EDGES)

    def _lay_out(self) -> None:
        scrolled = Scrolled()
        heading = Label("WHAT THEY HOLD", "section")
        for part in (
            self.form,
            self.fractions,
            heading,
            self.bar,
            self.lines,
            self.pictures,
            self.table,
        ):
            scrolled.column.addWidget(part)
        scrolled.column.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scrolled)
