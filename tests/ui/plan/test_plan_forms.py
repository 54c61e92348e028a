"""The forms of a plan's model, data and training.

All of it is there, whatever a plan says, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from edited_part import FOUR_CORES, KNOWN, Reported, in_window
from hypothesis import HealthCheck, Phase, given, settings
from long_proofs import examples
from plan_samples import a_plan
from plan_strategies import plans
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QLineEdit, QWidget

from gpu_studio.plan import Data, EarlyStopping, ModelSettings, Named, Plan, Training, validate
from gpu_studio.plan.values import Callback
from gpu_studio.ui.plan.data_tab import DataTab
from gpu_studio.ui.plan.form.form import FormRow
from gpu_studio.ui.plan.model_tab import ModelTab
from gpu_studio.ui.plan.plan_view import PlanView
from gpu_studio.ui.plan.training_card import TrainingCard
from gpu_studio.ui.plan.training_tab import TrainingTab

PARTS = (ModelTab, DataTab, TrainingTab, TrainingCard)


@pytest.fixture
def parts(qtbot, theme) -> list[Any]:
    made = [part(theme) for part in PARTS]
    for part in made:
        qtbot.addWidget(part)
    return made


def view(plan: Plan) -> PlanView:
    return PlanView(plan, FOUR_CORES, tuple(validate(plan, FOUR_CORES)))


# Not shrunk, because each example shows a dozen plans in windows.
@settings(
    max_examples=examples(25),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@pytest.mark.slow
@given(plan=plans(), other=plans())
def test_that_any_plan_is_shown_as_it_is_and_nothing_is_reported(
    parts, plan: Plan, other: Plan
) -> None:
    told: list[object] = []
    for part in parts:
        part.edited.connect(told.append)
        for each in (plan, other, plan):
            part.show_view(view(each))
        assert told == []
        for row in part.findChildren(FormRow):
            if row.isVisibleTo(part):
                assert_shows(row, plan)
        part.edited.disconnect(told.append)


def assert_shows(row: FormRow, plan: Plan) -> None:
    """What the row's control says is what the plan says: given to the plan, it changes nothing."""
    value = row.field.value(plan)
    if isinstance(row.control, QAbstractSpinBox):
        assert row.control.value() == value
    elif isinstance(row.control, QLineEdit) and value is not None:
        assert row.control._parsed(
            row.control.text()
        ) == value or row.control.text() == row.control._write(value)
    elif isinstance(row.control, QComboBox) and isinstance(value, str):
        assert (
            row.control.itemData(row.control.currentIndex()) == value
            or row.control.currentText() == value
        )


def leaves(path: str, part: Any) -> Iterator[str]:
    for each in fields(part):
        value = getattr(part, each.name)
        inner = f"{path}.{each.name}"
        if is_dataclass(value) and not isinstance(value, Named):
            yield from leaves(inner, value)
        else:
            yield inner


def test_that_every_field_of_model_data_and_training_has_a_row(parts) -> None:
    full = replace(
        a_plan(),
        model=ModelSettings("mlp", "a.keras", "a.py:b", {"x": 1}),
        data=Data("digits", "a.npz", "images", "a.csv", "a.py:fit", {"x": 1}, split="grouped"),
        training=Training(
            options={"x": 1},
            schedule=Named("step", {"x": 1}),
            loss=Named("huber", {"x": 1}),
            metrics=(Named("auc", {"x": 1}),),
            early_stopping=EarlyStopping(),
            callbacks=(Callback("csv_logger", {"x": 1}),),
            class_weight={"0": 2.0},
        ),
    )
    for part in parts[:3]:
        part.show_view(view(full))
    rows = [
        row for part in parts[:3] for row in part.findChildren(FormRow) if row.isVisibleTo(part)
    ]
    there = {row.field.path for row in rows}
    wanted = {
        leaf for name in ("model", "data", "training") for leaf in leaves(name, getattr(full, name))
    } - {"training.loss", "training.metrics", "training.callbacks"}  # fmt: skip
    # Outputs and phases have forms of their own, with a row for each.
    wanted -= {"training.outputs", "training.phases"}
    named = {
        f"training.{each}"
        for each in ("loss.name", "loss.options", "metrics[0].name", "metrics[0].options")
    } | {"training.callbacks[0].name", "training.callbacks[0].options"}
    assert wanted | named | {"training.schedule.options"} <= there


def test_that_a_row_that_stays_keeps_its_widget_and_the_cursor_in_it(parts, qtbot) -> None:
    tab = parts[2]
    tab.show_view(
        view(replace(a_plan(), training=Training(options={"clipnorm": 1.25, "beta_1": 0.5})))
    )
    control = tab.optimizer.options.rows.rows["clipnorm"].control
    control.setCursorPosition(2)
    tab.show_view(view(replace(a_plan(), training=Training(options={"rho": 1, "clipnorm": 1.25}))))
    assert tab.optimizer.options.rows.rows["clipnorm"].control is control
    assert control.cursorPosition() == 2
    assert list(tab.optimizer.options.rows.rows) == ["rho", "clipnorm"]


def test_that_everything_focusable_has_a_name_of_its_own(parts) -> None:
    reader = Reported()
    options = {"k": 1}
    training = Training(
        options=options,
        schedule=Named("cosine"),
        loss=Named("huber", options),
        metrics=(Named("auc", options), Named("recall", options)),
        early_stopping=EarlyStopping(),
    )
    names: list[str] = []
    for part in parts:
        part.set_facts(reader)
        part.show_view(view(replace(a_plan(), training=training)))
        reader.tell(KNOWN)
        names += [spoken(each) for each in part.findChildren(QWidget) if needs_name(each, part)]
    assert "" not in names
    assert sorted(set(names)) == sorted(names)


def test_that_tab_goes_through_rows_that_came_later_as_they_are_read(parts, qtbot) -> None:
    tab = in_window(qtbot, parts[0])
    tab.set_facts(Reported())
    tab.show_view(view(a_plan()))
    tab.show_view(view(replace(a_plan(), model=ModelSettings("transformer", options={"other": 1}))))
    order = [
        tab.form.sources["name"].control,
        *(row.control for row in tab.form.options.rows.values()),
    ]
    qtbot.waitUntil(order[-1].isVisible)
    order[0].setFocus()
    seen = [order[0]]
    while len(seen) < 20 and (not seen[1:] or seen[-1] is not order[0]):
        qtbot.keyClick(tab.focusWidget(), Qt.Key.Key_Tab)
        seen.append(tab.focusWidget())
    fields = [widget for widget in seen if widget in order]
    assert fields == [*order, order[0]]


def needs_name(widget: QWidget, part: QWidget) -> bool:
    inside = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox)
    return (
        widget.focusPolicy() != Qt.FocusPolicy.NoFocus and widget.isVisibleTo(part) and not inside
    )


def spoken(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    what = QAccessible.Text.Description if isinstance(widget, QComboBox) else QAccessible.Text.Name
    return interface.text(what) if interface else ""
