"""The dialog that makes a study, or changes one that has no runs: its axes, repeats, and file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gpu_studio.common.figures import plural, whole_duration
from gpu_studio.common.paths import expanded
from gpu_studio.lab.axis_text import text_of, typed_axis
from gpu_studio.lab.largest_batch import LargestBatch
from gpu_studio.lab.study import LARGEST_SEED, MOST_RUNS, SUFFIX, Study, StudyAxis
from gpu_studio.lab.templates import with_largest
from gpu_studio.runs.study_checks import CheckedStudy
from gpu_studio.ui.kit import GRID, BackgroundTask, Button, Dialog, Label, Paragraph, Scrolled, font
from gpu_studio.ui.kit.fields import Choice, Suggested, WholeNumber
from gpu_studio.ui.kit.fields.typed import mark
from gpu_studio.ui.lab.largest_search import LargestLook, LargestSearch

EPOCHS: Final = "training.epochs"
SETTLE_MS: Final = 150
_WIDTH, _AXES_HEIGHT, _AXES_LEAST, _SLACK = 620, 260, 60, 24
_SEARCHES: Final = {"grid": "every combination", "random": "some, drawn by the seed"}
Check = Callable[[Study], CheckedStudy]


class AxisEditor(QWidget):
    """One axis: a field and its values to type, or choices to tick. `changed` and `removed`."""

    changed = Signal()
    removed = Signal()

    def __init__(
        self, axis: StudyAxis | None, fields: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._axis = axis
        text = text_of(axis) if axis is not None else ""
        self.ticks: list[QCheckBox] = []
        self.field = Suggested("field of the plan", fields)
        self.values = QLineEdit(text or "")
        self.values.setAccessibleName("values")
        self.values.setFont(font("text"))
        self.values.setPlaceholderText("values with commas between them, as 0.001, 0.01")
        self.remove = Button("Remove", "quiet", small=True)
        self.remove.clicked.connect(self.removed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, GRID)
        row = QHBoxLayout()
        column.addLayout(row)
        if text is None and axis is not None:
            self._tick_choices(axis, row, column)
        else:
            self.field.setText(axis.name if axis is not None else "")
            row.addWidget(self.field, 2)
            row.addWidget(self.values, 3)
        row.addWidget(self.remove)
        self.field.textChanged.connect(self.changed)
        self.values.textChanged.connect(self.changed)

    def axis(self) -> StudyAxis:
        """The axis as it stands there. Raises ValueError with what is wrong."""
        if not self.ticks or self._axis is None:
            try:
                made = typed_axis(self.field.text(), self.values.text())
            except ValueError as error:
                mark(self.values, str(error))
                raise
            mark(self.values, "")
            return made
        kept = [
            choice
            for choice, tick in zip(self._axis.choices, self.ticks, strict=True)
            if tick.isChecked()
        ]
        if not kept:
            raise ValueError(f"Tick at least one of {self._axis.name.rpartition('.')[2]}.")
        return replace(self._axis, choices=tuple(kept))

    def _tick_choices(self, axis: StudyAxis, row: QHBoxLayout, column: QVBoxLayout) -> None:
        row.addWidget(Label(axis.name.rpartition(".")[2].replace("_", " "), "strong"))
        row.addStretch(1)
        for choice in axis.choices:
            tick = QCheckBox(choice.label)
            tick.setFont(font("text"))
            tick.setChecked(True)
            tick.toggled.connect(self.changed)
            self.ticks.append(tick)
            column.addWidget(tick)


class StudyDialog(Dialog):
    """Shows a draft; `saved(Study, Path, bool)` has it as it was changed, and whether to run it.

    `check` looks at it in the background. `note` says where the plan is, or will be. With `fixed`
    the file is one that is there already. With `look` the largest batch can be searched.
    """

    saved = Signal(object, object, bool)

    def __init__(
        self,
        title: str,
        study: Study,
        path: Path,
        fields: Sequence[str],
        check: Check,
        note: str,
        parent: QWidget,
        *,
        fixed: bool = False,
        look: LargestLook | None = None,
    ) -> None:
        super().__init__(title, parent)
        self.setModal(True)
        self.setAccessibleName(title)
        self._study, self._fields, self._check, self._fixed = study, fields, check, fixed
        self.editors: list[AxisEditor] = []
        self.name = QLineEdit(study.name)
        self.file = QLineEdit(str(path))
        self.choose = Button("Choose…", small=True)
        self.search = Choice("which points", list(_SEARCHES), words=_SEARCHES)
        self.budget = WholeNumber("how many are drawn", 1, MOST_RUNS)
        self.seed = WholeNumber("seed of the order", 0, LARGEST_SEED)
        self.repeats = WholeNumber("repeats of each point", 1, 1000)
        self.epochs = WholeNumber("epochs of each run", 1, 1_000_000)
        self.add_axis = Button("Add an axis", small=True)
        self.outlook, self.wrong = Paragraph("", "muted"), Paragraph("")
        self.wrong.set_tone("bad")
        self.run_button, self.save_button = Button("Save and run", "primary"), Button("Save")
        self._axes = Scrolled()
        self.largest = LargestSearch(look, study.largest) if look is not None else None
        self._task = BackgroundTask("the study that is being made", self)
        self._pause = QTimer(self)
        self._lay_out(note)
        self._show(study)
        self._connect()
        self._begin()

    def _begin(self) -> None:
        """Look at every point; nothing can be saved until that was done."""
        self.wrong.hide()
        self.outlook.setText("Looking at every point…")
        self._may_save(False)
        self._look()
        self._resize()

    @property
    def study(self) -> Study:
        """The study as it stands there. Raises ValueError with what is wrong."""
        axes = tuple(editor.axis() for editor in self.editors)
        random = self.search.currentData() == "random"
        fields = dict(self._study.fields)
        if all(axis.name != EPOCHS for axis in axes):
            fields[EPOCHS] = self.epochs.value()
        else:
            fields.pop(EPOCHS, None)
        if not self.name.text().strip():
            raise ValueError("Give the study a name: its runs are known by it.")
        return replace(
            self._study,
            name=self.name.text().strip(),
            axes=axes,
            search="random" if random else "grid",
            budget=self.budget.value() if random else 0,
            seed=self.seed.value(),
            repeats=self.repeats.value(),
            fields=fields,
        )

    @property
    def path(self) -> Path:
        """The file that is named, with the suffix of a study."""
        text = self.file.text().strip()
        named = text if text.endswith(SUFFIX) else f"{text.removesuffix('.toml')}{SUFFIX}"
        return expanded(named).absolute()

    def _show(self, study: Study) -> None:
        self.search.show_value(study.search)
        self.budget.show_value(study.budget or 20)
        self.budget.setEnabled(study.search == "random")
        self.seed.show_value(study.seed)
        self.repeats.show_value(study.repeats)
        self.epochs.show_value(study.fields.get(EPOCHS, 6))
        for axis in study.axes:
            self._add_editor(axis)

    def _lay_out(self, note: str) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setVerticalSpacing(GRID)
        rows: dict[str, tuple[QWidget, ...]] = {
            "Which points": (self.search, Label("how many", "muted"), self.budget),
            "Repeats": (
                self.repeats,
                Label("epochs", "muted"),
                self.epochs,
                Label("seed", "muted"),
                self.seed,
            ),
            "File": (self.file, self.choose),
        }
        for line, called in ((self.name, "name of the study"), (self.file, "file of the study")):
            line.setFont(font("text"))
            line.setAccessibleName(called)
        self.file.setReadOnly(self._fixed)
        self.choose.setVisible(not self._fixed)
        form.addRow(Label("Name", "muted"), self.name)
        for words, fields in rows.items():
            row = QHBoxLayout()
            row.setSpacing(GRID)
            for field in fields:
                row.addWidget(field, 0 if isinstance(field, Button | Label) else 1)
            form.addRow(Label(words, "muted"), row)
        head = QHBoxLayout()
        head.addWidget(Label("WHAT DIFFERS BETWEEN POINTS", "section"))
        head.addStretch(1)
        head.addWidget(self.add_axis)
        self.column.addLayout(head)
        self._axes.column.addStretch(1)
        self.column.addWidget(self._axes, 1)
        if self.largest is not None:
            self.column.addWidget(self.largest)
        self.column.addLayout(form)
        for part in (Paragraph(note, "caption"), self.outlook, self.wrong):
            self.column.addWidget(part)
        self.add_buttons(self.run_button, self.save_button, last="Cancel")

    def _connect(self) -> None:
        self._task.done.connect(self._tell)
        self.finished.connect(lambda _: self._task.close())
        self._pause.setSingleShot(True)
        self._pause.setInterval(SETTLE_MS)
        self._pause.timeout.connect(self._look)
        for field in (self.name, self.file):
            field.textChanged.connect(self._soon)
        for number in (self.budget, self.seed, self.repeats, self.epochs):
            number.edited.connect(self._soon)
        self.search.edited.connect(self._follow_search)
        self.search.currentIndexChanged.connect(self._follow_search)
        self.add_axis.clicked.connect(lambda: self._add_editor(None).field.setFocus())
        self.choose.clicked.connect(self._choose_file)
        self.run_button.clicked.connect(partial(self._save, True))
        self.save_button.clicked.connect(partial(self._save, False))
        self.run_button.setDefault(True)
        if self.largest is not None:
            self.largest.found.connect(self._take_largest)
            self.largest.resized.connect(self._resize)
            self.finished.connect(self.largest.close_parts)

    def _take_largest(self, found: tuple[LargestBatch, ...]) -> None:
        """Have the batches go up to the largest, whatever stood there."""
        smallest = self._study.axes[0].choices[0].x if self._study.axes else None
        plain = replace(self._study, axes=(), largest=())
        self._study = with_largest(plain, found, int(smallest or 1))
        axis = self._study.axes[0]
        kept = [each for each in self.editors if each.field.text() == axis.name]
        for editor in kept[1:]:
            self._remove(editor)
        editor = kept[0] if kept else self._add_editor(axis)
        editor.field.setText(axis.name)
        editor.values.setText(text_of(axis) or "")

    def _add_editor(self, axis: StudyAxis | None) -> AxisEditor:
        editor = AxisEditor(axis, self._fields)
        editor.changed.connect(self._soon)
        editor.removed.connect(partial(self._remove, editor))
        self._axes.column.insertWidget(len(self.editors), editor)
        self.editors.append(editor)
        self._fit_axes()
        return editor

    def _fit_axes(self) -> None:
        """As high as the axes, as far as there is space for them."""
        needed = sum(each.sizeHint().height() + GRID for each in self.editors) + 2 * GRID
        self._axes.setFixedHeight(max(_AXES_LEAST, min(needed, _AXES_HEIGHT)))
        if self.isVisible():
            self._resize()

    def _resize(self) -> None:
        self.resize(_WIDTH, self.column.totalHeightForWidth(_WIDTH) + _SLACK)

    def _remove(self, editor: AxisEditor) -> None:
        self.editors.remove(editor)
        editor.hide()
        editor.deleteLater()
        self._fit_axes()
        self._soon()

    def _follow_search(self) -> None:
        self.budget.setEnabled(self.search.currentData() == "random")
        self._soon()

    def _soon(self) -> None:
        self._may_save(False)
        self._pause.start()

    def _look(self) -> None:
        """Have the study looked at as it stands there, or say why it is none yet."""
        try:
            study = self.study
        except ValueError as error:
            self._tell(CheckedStudy(problems=(str(error),)))
        else:
            self._task.start(partial(self._check, study))

    def _tell(self, found: CheckedStudy) -> None:
        self.outlook.setText(_outlook(found))
        self.outlook.setVisible(found.runs > 0)
        self.wrong.setText("\n".join(found.problems))
        self.wrong.setVisible(bool(found.problems))
        self._may_save(not found.problems)

    def _may_save(self, may: bool) -> None:
        for button in (self.run_button, self.save_button):
            button.setEnabled(may)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, "Save study as", str(self.path.parent), f"Studies (*{SUFFIX})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # it is refused
        dialog.setDefaultSuffix(SUFFIX.lstrip("."))
        dialog.selectFile(self.path.name)
        dialog.setAccessibleName("Save study as")
        dialog.fileSelected.connect(self.file.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save(self, run: bool) -> None:
        if not self._fixed and self.path.exists():
            why = f"There is a file {self.path} already, which is kept: name another."
            self._tell(CheckedStudy(problems=(why,)))
            return
        self.saved.emit(self.study, self.path, run)


def _outlook(found: CheckedStudy) -> str:
    runs = f"{plural(found.points, 'point')}, {plural(found.runs, 'run')}"
    if found.seconds is None:
        return f"{runs}. How long that takes is known after the first run."
    return f"{runs}, about {whole_duration(found.seconds)} going by {found.like}."
