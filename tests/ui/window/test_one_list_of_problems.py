"""A problem of the plan that one part of the window knows is shown by every part.

Such a plan is not trained.
"""

from __future__ import annotations

from dataclasses import replace

from edited_part import click
from PySide6.QtCore import Qt

from gpu_studio.plan import Data, Distribution, Placed
from gpu_studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier


def told(window: MainWindow, qtbot) -> None:
    qtbot.waitUntil(lambda: not window.facts.asking and window.facts.facts is not None)


def test_that_a_layer_which_the_model_does_not_have_is_known_wherever_the_plan_is_judged(
    window: MainWindow, qtbot
) -> None:
    told(window, qtbot)
    page, train = window.plan_page, window.actions_["train"]
    layers = {"one": ("CPU:0",), "gone": ("CPU:1",)}
    window.document.replace(
        replace(
            window.document.plan, distribution=Distribution("placed", placed=Placed(2, layers))
        ),
        "place",
    )
    assert page.outlook.heading.text() == "One thing stands in the way."
    assert not train.isEnabled()
    assert "gone is not a layer of the model" in train.toolTip()
    assert page.caption.text().startswith("1 problem · ")
    tabs = page.workspace.tabs
    assert {tabs.tabText(index) for index, words in tabs.marks.items() if words} == {"Layers"}
    assert "gone is not a layer" in tabs.accessibleTabName(5)
    assert "The layer gone is not a layer of the model" in page.workspace.open("Layers").remark.text

    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    assert "gone is not a layer of the model" in window.notice.text
    assert window.page == "plan"

    (obstacle,) = page.outlook.obstacles.views.values()
    assert obstacle.button.text() == "Take it out"
    click(qtbot, obstacle.button)
    assert window.document.plan.distribution.placed.layers == {"one": ("CPU:0",)}
    assert train.isEnabled()
    assert not any(tabs.marks.values())
    assert tabs.accessibleTabName(5) == "Layers"
    assert page.workspace.open("Layers").remark.text == ""


def test_that_refused_data_stand_in_the_way_until_others_are_chosen_and_can_be_asked_about_again(
    window: MainWindow, qtbot
) -> None:
    told(window, qtbot)
    good = window.document.plan
    window.document.replace(replace(good, data=Data("synthetic", options={"samples": 13})), "spoil")
    # While it is asked for, the plan is neither refused nor said to be in order.
    assert window.facts.asking
    assert window.actions_["train"].isEnabled()
    assert window.plan_page.outlook.waiting.text.endswith("…")
    qtbot.waitUntil(lambda: not window.actions_["train"].isEnabled())
    assert "There are 13 samples." in window.actions_["train"].toolTip()
    assert "There are 13 samples." in window.actions_["queue_plan"].toolTip()
    told(window, qtbot)
    (obstacle,) = window.plan_page.outlook.obstacles.views.values()
    assert obstacle.button.text() == "Try again"
    # On the tab it is said once: where the data would stand.
    assert window.plan_page.workspace.open("Data").form.kind_row.problem.isHidden()
    assert "There are 13 samples." in window.plan_page.workspace.open("Data").bar.text
    click(qtbot, obstacle.button)
    assert window.facts.asking
    window.document.undo_stack.undo()
    assert window.actions_["train"].isEnabled()
