"""The Training card: the model, the data, and the duration and rate of the training."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpu_studio.plan import Data, ModelSettings, Problem, shown
from gpu_studio.plan.catalogue import MODELS, data_entry
from gpu_studio.plan.data import path_of
from gpu_studio.plan.edits.change import Change, with_value
from gpu_studio.plan.edits.training import set_optimizer
from gpu_studio.plan.keras_objects import AS_COMPILED, OPTIMIZER_CHOICES
from gpu_studio.plan.options import TRAINING_LIMITS
from gpu_studio.ui.kit import GRID, CardFrame, Elided, Label, PaintedLine, ThemeManager, sentence
from gpu_studio.ui.kit.fields import Choice, PositiveNumber, WholeNumber
from gpu_studio.ui.kit.fields.typed import bounds_of
from gpu_studio.ui.plan.facts_words import data_in_short, model_in_short, totals
from gpu_studio.ui.plan.plan_facts import FactsReader
from gpu_studio.ui.plan.plan_view import AS_DATA_COME, AS_IN_SCRIPT, IN_SCRIPT, PlanView

_LIMITS = {limit.name: limit for limit in TRAINING_LIMITS}
_FIELDS = ("epochs", "batch_size", "optimizer", "learning_rate")


class TrainingCard(CardFrame):
    """`edited(Change)` is the user's change.

    The figures are those of the real model, once they are known.
    """

    edited = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__("2 · Model and data", parent)
        self._reader: FactsReader | None = None
        self._view: PlanView | None = None
        self.model, self.model_detail = _name(), Elided(role="muted")
        self.data, self.data_detail = _name(), Elided(role="muted")
        self.figures = PaintedLine(theme, "caption")
        self.epochs = _whole("epochs")
        self.batch_size = _whole("batch_size")
        self.optimizer = Choice("optimizer", OPTIMIZER_CHOICES, words=AS_COMPILED)
        self.learning_rate = PositiveNumber("learning rate")
        self.labels = {name: Elided(role="caption") for name in _FIELDS}
        words = QVBoxLayout()
        words.setSpacing(GRID // 2)
        words.addLayout(_line(self.model, self.model_detail))
        words.addLayout(_line(self.data, self.data_detail))
        words.addWidget(self.figures)
        self.body.addLayout(words)
        self.body.addLayout(self._fields())
        self.body.addStretch(1)
        self._report()

    def set_facts(self, reader: FactsReader) -> None:
        """Show what this reader knows from now on."""
        self._reader = reader
        reader.changed.connect(self._show_words)
        self._show_words()

    def show_view(self, view: PlanView) -> None:
        """Show the plan's model, data and training."""
        self._view = view
        training = view.plan.training
        words = {
            "epochs": "epochs",
            "batch_size": "global batch" if training.batch_scope == "global" else "batch a replica",
            "optimizer": "optimizer",
            "learning_rate": f"learning rate, {training.schedule.name}"
            if training.schedule
            else "learning rate",
        }
        if view.of_data:
            words["batch_size"] += f", {AS_DATA_COME}"
        self.batch_size.setEnabled(not view.of_data)
        for name in _FIELDS:
            if name in training.as_in_script:
                getattr(self, name).show_unknown(AS_IN_SCRIPT, IN_SCRIPT)
            else:
                getattr(self, name).show_value(getattr(training, name))
            words[name] += f", {AS_IN_SCRIPT}" if name in view.of_script else ""
            self._label(name, words[name], view.problems_at(f"training.{name}"))
        self._show_words()

    def _label(self, name: str, words: str, problems: tuple[Problem, ...]) -> None:
        """Name a field.

        An error in its value is marked there and explained in the field's tooltip.
        """
        label, field = self.labels[name], getattr(self, name)
        said = " ".join(sentence(f"{each.received}: {each.advice}") for each in problems)
        plain, _, more = words.partition(", ")
        label.shorter = (f"{plain}, {IN_SCRIPT}", plain) if more == AS_IN_SCRIPT else (plain,)
        _say(label, f"✘ {words}" if said else words)
        if bool(label.property("tone")) != bool(said):
            label.set_tone("bad" if said else "")
        whose = next((each for each in (AS_IN_SCRIPT, AS_DATA_COME) if words.endswith(each)), "")
        field.set_tip(
            said
            or (f"{whose} · " if whose else "") + (_LIMITS[name].help if name in _LIMITS else "")
        )

    def _show_words(self) -> None:
        if self._view is None:
            return
        plan, facts = self._view.plan, self._reader.facts if self._reader else None
        self.model.whole = plan.model.file or plan.model.python or ""
        self.data.whole = path_of(plan.data) or ""
        name, words = model_in_words(plan.model)
        _tell(
            self.model,
            self.model_detail,
            name,
            model_in_short(facts.model) if facts and facts.model and facts.graph else words,
        )
        parts = [data_in_short(facts.data)] if facts and facts.data else data_in_words(plan.data)
        self.data_detail.shorter = (parts[0] if parts[1:] else parts[0].partition(", ")[0],)
        _tell(self.data, self.data_detail, data_name(plan.data), ", ".join(parts))
        graph = facts.graph if facts else None
        if graph:
            self.figures.set_text(totals(graph), totals(graph).rpartition(" · ")[0])
        else:
            self.figures.set_text(self._why_no_figures())

    def _why_no_figures(self) -> str:
        """Return what is being waited for, or why the model's size is unknown."""
        reader = self._reader
        facts = reader.facts if reader else None
        if reader is None:
            return ""
        if reader.asking:
            return f"{sentence(reader.waiting_for or 'reading the model').rstrip('.')}…"
        wrong = reader.error or (facts and (facts.data_error or facts.model_error)) or ""
        return f"✘ {sentence(wrong)}" if wrong else "The model's size is not known yet."

    def _fields(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(GRID + 4)
        grid.setVerticalSpacing(2)
        for place, (name, label) in enumerate(self.labels.items()):
            row, column, field = 2 * (place // 2), place % 2, getattr(self, name)
            label.setBuddy(field)
            # A label that takes no more than its text would keep its column from growing.
            label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
            grid.addWidget(label, row, column)
            grid.addWidget(field, row + 1, column)
            grid.setColumnStretch(column, 1)
        return grid

    def _report(self) -> None:
        self.epochs.edited.connect(lambda value: self._change("epochs", value))
        self.batch_size.edited.connect(lambda value: self._change("batch_size", value))
        self.learning_rate.edited.connect(lambda value: self._change("learning_rate", value))
        self.optimizer.edited.connect(
            lambda name: self.edited.emit(
                Change(lambda plan: set_optimizer(plan, name), "change optimizer")
            )
        )

    def _change(self, field: str, value: Any) -> None:
        text, path = f"change {field.replace('_', ' ')}", f"training.{field}"
        self.edited.emit(Change(lambda plan: with_value(plan, path, value), text, path))


def model_in_words(model: ModelSettings) -> tuple[str, str]:
    """Return the model's name and its options or description.

    A file is named without its folders.
    """
    name = model.name or _last(model.file or model.python) or "no model"
    options = ", ".join(f"{key} {shown(value)}" for key, value in model.options.items())
    return name, options or (MODELS[name].help if name in MODELS else "")


def data_name(data: Data) -> str:
    """Return what the data are called, a file without its folders."""
    return data.name or _last(path_of(data)) or "no data"


def data_in_words(data: Data) -> list[str]:
    """Return each of the data's options in words, or their description."""
    known = data_entry(data)
    options = [f"{key} {shown(value)}" for key, value in data.options.items()]
    return options or [known.help if known else ""]


def _last(path: str | None) -> str:
    """Return the last part of a path: the folders would leave no space for what it holds."""
    return PurePath(path).name or path if path else ""


def _whole(name: str) -> WholeNumber:
    limit = _LIMITS[name]
    return WholeNumber(name.replace("_", " "), *bounds_of(limit.least, limit.most))


def _name() -> Elided:
    return Elided(role="strong", mode=Qt.TextElideMode.ElideMiddle, letters=10)


def _line(name: Elided, detail: Elided) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(GRID + 2)
    row.addWidget(name)
    row.addWidget(detail)
    row.addStretch(1)
    return row


def _tell(name: Label, detail: Label, title: str, words: str) -> None:
    _say(name, title)
    _say(detail, words)


def _say(label: Label, text: str) -> None:
    if label.text() != text:
        label.setText(text)
