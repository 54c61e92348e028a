"""Phases on the Training tab: added, written, ticked, moved and removed, and what is wrong told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import DIGITS, Held, Reported, click, in_window, type_in
from plan_samples import a_plan
from PySide6.QtCore import QItemSelectionModel, Qt

from gpu_studio.placement.plan_facts import GraphLayer, ModelFacts, ModelGraph, PlanFacts
from gpu_studio.plan import ModelSettings, Training
from gpu_studio.plan.values import Phase
from gpu_studio.ui.plan.phases_form import PhaseForm
from gpu_studio.ui.plan.training_tab import TrainingTab

GRAPH = ModelGraph(
    "transfer",
    (
        GraphLayer("base/one", "Dense", (), (8,), 72, 72),
        GraphLayer("base/relu", "ReLU", ("base/one",), (8,)),
        GraphLayer("base/two", "Dense", ("base/relu",), (8,), 72, frozen=True, made_frozen=True),
        GraphLayer("head", "Dense", ("base/two",), (10,), 90, 90),
    ),
)


class OfHeld(Reported):
    """Follows whatever model the held plan has."""

    held: Held

    @property
    def model(self) -> ModelSettings:
        return self.held.plan.model


@pytest.fixture
def tab(qtbot, theme) -> TrainingTab:
    tab: TrainingTab = in_window(qtbot, TrainingTab(theme))
    return tab


@pytest.fixture
def held(tab) -> Held:
    return Held(tab, replace(a_plan(), training=Training(epochs=12, learning_rate=0.01)))


@pytest.fixture
def reader(tab, held) -> OfHeld:
    reader = OfHeld()
    reader.held = held
    tab.set_facts(reader)
    reader.tell(PlanFacts(DIGITS, ModelFacts(GRAPH)))
    return reader


def phases(held: Held) -> tuple[Phase, ...]:
    return held.plan.training.phases


def ticks(form: PhaseForm) -> list[bool | None]:
    check = Qt.ItemDataRole.CheckStateRole
    found = [form.layers.index(row, 0).data(check) for row in range(len(form.layers.rows))]
    return [None if each is None else each == Qt.CheckState.Checked.value for each in found]


def test_that_phases_are_added_written_moved_and_removed(tab, held, qtbot) -> None:
    form = tab.phases
    assert not form.none.isHidden()
    click(qtbot, form.add_button)
    click(qtbot, form.add_button)
    assert phases(held) == (Phase(6, 0.001), Phase(9, 0.0001))
    first, second = form.phases
    type_in(qtbot, first.after.control, "4")
    type_in(qtbot, second.rate.control, "3e-5")
    type_in(qtbot, second.frozen.control, "base/*, !base/two")
    later = Phase(9, 3e-5, ("base/*", "!base/two"))
    assert phases(held) == (Phase(4, 0.001), later)
    assert (first.up.isEnabled(), second.down.isEnabled()) == (False, False)
    # What is trained moves; the epochs stay, for they follow one another.
    click(qtbot, second.up)
    assert phases(held) == (replace(later, after=4), Phase(9, 0.001))
    assert first.down.hasFocus()
    qtbot.keyClick(first.down, Qt.Key.Key_Space)
    assert phases(held) == (Phase(4, 0.001), later)
    click(qtbot, first.remove)
    assert phases(held) == (later,)
    assert [change.text for change in held.changes][-3:] == [
        "move phase 3",
        "move phase 2",
        "remove phase 2",
    ]
    click(qtbot, form.phases[0].remove)
    assert phases(held) == ()
    assert form.add_button.hasFocus()


def test_that_what_is_wrong_with_a_phase_stands_below_its_row(tab, held, reader, qtbot) -> None:
    held.show(replace(held.plan, training=Training(epochs=3)))
    for _ in range(3):
        click(qtbot, tab.phases.add_button)
    first, second, third = tab.phases.phases
    assert [each.after.problem.isHidden() for each in (first, second, third)] == [True, True, False]
    assert "leave the phase out, or give training.epochs more than 3" in third.after.problem.text()
    click(qtbot, third.remove)
    type_in(qtbot, second.after.control, "1")
    assert "give 2, so that epochs" in second.after.problem.text()
    type_in(qtbot, first.frozen.control, "bass")
    assert "base" in first.frozen.problem.text().partition(":")[2]
    assert not first.frozen.problem.isHidden()
    type_in(qtbot, first.frozen.control, "base")
    assert first.frozen.problem.isHidden()


def test_that_the_layers_that_a_phase_trains_are_ticked(tab, held, reader, qtbot) -> None:
    click(qtbot, tab.phases.add_button)
    [form] = tab.phases.phases
    assert form.table.isHidden()
    click(qtbot, form.choose)
    assert not form.table.isHidden()
    assert ticks(form) == [True, None, False, True]
    flag = QItemSelectionModel.SelectionFlag
    for row in (3, 0):
        place = form.layers.index(row, 1)
        form.table.selectionModel().setCurrentIndex(place, flag.Select | flag.Rows)
    qtbot.keyClick(form.table, Qt.Key.Key_Space)
    assert phases(held)[0].frozen == ("base", "head")  # the rest of the base is frozen already
    assert held.plan.model.frozen == ()
    assert held.changes[-1].text == "freeze 2 layers in phase 2"
    form.layers.setData(form.layers.index(2, 0), 2, Qt.ItemDataRole.CheckStateRole)
    assert phases(held)[0].frozen == ("base", "head", "!base/two")
    assert ticks(form) == [False, None, True, False]
    # They can be ticked while the phases are asked about, but not those of another model.
    reader.tell(busy=True)
    assert form.table.isEnabled()
    held.show(replace(held.plan, model=ModelSettings("lenet")))
    reader.tell(busy=True)
    assert not form.table.isEnabled()
