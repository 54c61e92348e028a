"""The card of strategies, by mouse and keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import click, in_window
from made_machines import TWO_CARDS
from made_plan_facts import FACTS
from made_plans import on_everything
from plan_part import OnMachine
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gpu_studio.placement.known_problems import known_problems
from gpu_studio.plan import RUNNABLE_STRATEGIES, STRATEGIES, Distribution, Placed
from gpu_studio.plan.strategies import BY_NAME, strategy_named
from gpu_studio.ui.plan.distribution_card import DistributionCard
from gpu_studio.ui.plan.outlook_card import _devices
from gpu_studio.ui.plan.plan_view import PlanView

NOT_HERE = [name for name in STRATEGIES if name not in RUNNABLE_STRATEGIES]


@pytest.fixture
def card(qtbot, theme) -> DistributionCard:
    return in_window(qtbot, DistributionCard(theme))


@pytest.fixture
def held(card) -> OnMachine:
    return OnMachine(card, on_everything(TWO_CARDS), TWO_CARDS)


def chosen(card: DistributionCard) -> list[str]:
    return [name for name, button in card.buttons.items() if button.isChecked()]


def test_that_a_click_chooses_a_strategy_and_says_what_it_does(qtbot, card, held):
    for name in RUNNABLE_STRATEGIES:
        click(qtbot, card.buttons[name])
        assert held.plan.distribution.strategy == name
        assert chosen(card) == [name]
        assert card.words.text() == BY_NAME[name].line


@pytest.mark.parametrize("name", NOT_HERE)
def test_that_what_cannot_run_here_is_not_chosen_and_says_why(qtbot, card, held, name):
    click(qtbot, card.buttons[name])
    assert held.changes == []
    assert chosen(card) == ["mirrored"]
    assert strategy_named(name).why_not.rstrip(".")[1:] in card.words.text()
    assert strategy_named(name).why_not in card.buttons[name].toolTip()
    click(qtbot, card.buttons["none"])
    assert card.words.text() == BY_NAME["none"].line


def test_that_the_arrow_keys_go_through_all_and_choose_what_runs(qtbot, card, held):
    card.buttons["mirrored"].setFocus()
    walked = [(Qt.Key.Key_Left, "one_device"), (Qt.Key.Key_Left, "none"), (Qt.Key.Key_Left, "none")]
    walked += [
        (Qt.Key.Key_Right, "one_device"),
        (Qt.Key.Key_Right, "mirrored"),
        (Qt.Key.Key_Right, "central_storage"),
    ]
    for key, name in walked:
        qtbot.keyClick(QApplication.focusWidget(), key)
        assert held.plan.distribution.strategy == name
        assert card.buttons[name].hasFocus()


@pytest.mark.parametrize("name", NOT_HERE)
def test_that_the_keys_reach_what_cannot_run_and_hear_why_without_choosing_it(
    qtbot, card, held, name
):
    place = STRATEGIES.index(name)
    above = STRATEGIES[place - 4]
    card.buttons[above].setFocus()
    qtbot.keyClick(card.buttons[above], Qt.Key.Key_Down)
    assert card.buttons[name].hasFocus()
    assert card.words.text().startswith(BY_NAME[name].title)
    qtbot.keyClick(card.buttons[name], Qt.Key.Key_Space)
    assert held.changes == []
    assert chosen(card) == ["mirrored"]


def test_that_tab_stops_once_at_the_chosen_one(card, held):
    held.show(replace(held.plan, distribution=Distribution("central_storage")))
    QApplication.focusWidget().clearFocus()
    stops = [
        name for name, each in card.buttons.items() if each.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert stops == ["central_storage"]


@pytest.mark.parametrize("name", NOT_HERE)
def test_that_a_plan_may_name_what_cannot_run_and_can_be_led_away_from_it(qtbot, card, held, name):
    held.show(replace(held.plan, distribution=Distribution(name)))
    assert chosen(card) == [name]
    assert card.words.text().startswith(BY_NAME[name].title)
    click(qtbot, card.buttons["mirrored"])
    assert chosen(card) == ["mirrored"]
    assert held.plan.distribution == Distribution("mirrored")


def test_that_a_strategy_that_nobody_knows_is_named(card, held):
    held.show(replace(held.plan, distribution=Distribution("mirored")))
    assert chosen(card) == []
    assert "mirored" in card.words.text()


def test_that_showing_a_plan_is_no_edit_and_takes_no_focus(qtbot, card, held):
    click(qtbot, card.buttons["none"])
    before = len(held.changes)
    held.show(replace(held.plan, name="another"))
    assert len(held.changes) == before
    assert card.buttons["none"].hasFocus()


def test_that_every_tile_has_a_name_and_is_painted(card, held):
    names = [button.accessibleName() for button in card.buttons.values()]
    assert names == [f"strategy {BY_NAME[name].title}" for name in STRATEGIES]
    assert all(not button.grab().toImage().isNull() for button in card.buttons.values())


def test_that_a_layer_which_the_model_lacks_is_counted_nowhere(card) -> None:
    places = {"one": ("GPU:0",), "two": ("GPU:1",), "gone": ("GPU:1",), "away": ("GPU:0",)}
    plan = on_everything(TWO_CARDS)
    plan = replace(plan, distribution=Distribution("placed", placed=Placed(1, places)))
    problems = known_problems(plan, FACTS)
    card.show_view(PlanView(plan, TWO_CARDS, problems))
    assert card.brief.text() == "synchronous · 2 layers placed · whole batches"
    shares = [each.share for each in _devices(PlanView(plan, TWO_CARDS, problems), FACTS)]
    assert shares[:2] == ["1 layer", "1 layer"]
    card.show_view(PlanView(plan, TWO_CARDS))
    assert "4 layers" in card.brief.text()
