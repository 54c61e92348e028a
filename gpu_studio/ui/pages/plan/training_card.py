"""The second card of a plan: the model, the data, and how long and how fast it learns."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from gpu_studio.plan import Data, Model, Plan
from gpu_studio.plan.catalogue import DATA, MODELS, OPTIMIZERS
from gpu_studio.plan.limits import TRAINING_LIMITS
from gpu_studio.plan.problems import shown
from gpu_studio.ui.theme.tokens import GRID
from gpu_studio.ui.widgets.card import Card
from gpu_studio.ui.widgets.fields import Choice, PositiveNumber, WholeNumber
from gpu_studio.ui.widgets.labels import Elided, Label

_LIMITS = {limit.name: limit for limit in TRAINING_LIMITS}


class TrainingCard(Card):
    """`edited(field, value)` is what the person wants: a field of the plan's training part, and its value."""

    edited = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("2 · Model and data", parent)
        self._model, self._model_detail = Label(role="strong"), Elided(role="muted")
        self._data, self._data_detail = Label(role="strong"), Elided(role="muted")
        self.epochs = _whole("epochs")
        self.batch_size = _whole("batch_size")
        self.optimizer = Choice("optimizer", OPTIMIZERS)
        self.learning_rate = PositiveNumber("learning rate")
        self._batch_label = Label("batch", "muted")
        self.body.addLayout(_line(self._model, self._model_detail))
        self.body.addLayout(_line(self._data, self._data_detail))
        self.body.addLayout(self._fields())
        self.body.addStretch(1)
        self._report()

    def show_plan(self, plan: Plan) -> None:
        """Show the plan's model, data and training."""
        training = plan.training
        _tell(self._model, self._model_detail, *model_in_words(plan.model))
        _tell(self._data, self._data_detail, *data_in_words(plan.data))
        self._batch_label.setText("global batch" if training.batch_scope == "global" else "batch a replica")
        self.epochs.show_value(training.epochs)
        self.batch_size.show_value(training.batch_size)
        self.optimizer.show_value(training.optimizer)
        self.learning_rate.show_value(training.learning_rate)

    def _fields(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID + 4)
        grid.setVerticalSpacing(GRID // 2)
        fields = (
            (Label("epochs", "muted"), self.epochs),
            (self._batch_label, self.batch_size),
            (Label("optimizer", "muted"), self.optimizer),
            (Label("learning rate", "muted"), self.learning_rate),
        )
        for place, (label, field) in enumerate(fields):
            row, column = 2 * (place // 2), place % 2
            label.setBuddy(field)
            grid.addWidget(label, row, column)
            grid.addWidget(field, row + 1, column)
            grid.setColumnStretch(column, 1)
        return grid

    def _report(self) -> None:
        self.epochs.edited.connect(lambda value: self.edited.emit("epochs", value))
        self.batch_size.edited.connect(lambda value: self.edited.emit("batch_size", value))
        self.optimizer.edited.connect(lambda value: self.edited.emit("optimizer", value))
        self.learning_rate.edited.connect(lambda value: self.edited.emit("learning_rate", value))


def model_in_words(model: Model) -> tuple[str, str]:
    """The model's name, and its options or what it is."""
    name = model.name or model.file or model.python or "no model"
    options = ", ".join(f"{key} {shown(value)}" for key, value in model.options.items())
    return name, options or (MODELS[name].help if name in MODELS else "")


def data_in_words(data: Data) -> tuple[str, str]:
    """The data's name, and its options or what they are."""
    name = data.name or data.file or data.folder or data.python or "no data"
    options = ", ".join(f"{key} {shown(value)}" for key, value in data.options.items())
    return name, options or (DATA[name].help if name in DATA else "")


def _whole(name: str) -> WholeNumber:
    limit = _LIMITS[name]
    field = WholeNumber(name.replace("_", " "), int(limit.least), int(limit.most))
    field.setToolTip(limit.help)
    return field


def _line(name: Label, detail: Elided) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(GRID + 2)
    row.addWidget(name)
    row.addWidget(detail)
    row.addStretch(1)
    return row


def _tell(name: Label, detail: Label, title: str, words: str) -> None:
    name.setText(title)
    detail.setText(words)
