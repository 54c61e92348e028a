"""The Layers tab's buttons: Place for me, another strategy, measuring, and what is offered."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import fake_times_asker
import pytest
from edited_part import click
from lane_plans import LAYERS, facts_of, keeping, placed_plan, with_room_to_recompute
from lanes_bench import LanesBench, opening
from made_machines import TWO_CARDS
from PySide6.QtCore import Qt

from gpu_studio.plan import DeviceSettings, Distribution, Training
from gpu_studio.ui.plan.layers.step_line import TimesReader


@pytest.fixture
def opened(qtbot, theme) -> Iterator[Callable[..., LanesBench]]:
    with opening(qtbot, theme) as open_:
        yield open_


def test_that_layers_are_timed_on_demand_and_a_step_is_told_in_seconds(
    qtbot, opened, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "starts"))
    times = TimesReader([sys.executable, fake_times_asker.__file__])
    bench = opened(times=times)
    button, words = bench.tab.line.button, bench.tab.line.words
    assert "by FLOPs" in words.text()
    click(qtbot, button)
    assert (button.text(), words.text()) == ("Cancel", "Timing the layers…")
    qtbot.waitUntil(lambda: not times.measuring)
    assert words.text().startswith("timed: a step ")
    assert " ms · one device 15.5 ms · " in words.text()
    assert button.text() == "Measure"
    assert bench.tab.grid.views["CPU:1"].lane.items[0].percent == "20 %"


def test_that_timing_is_given_up_by_the_same_button_and_a_failure_is_said(
    qtbot, opened, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "starts"))
    bench = opened(times=TimesReader([sys.executable, fake_times_asker.__file__, "hang"]))
    click(qtbot, bench.tab.line.button)
    qtbot.waitUntil(lambda: bench.tab.line.words.text() == "Training steps…")
    click(qtbot, bench.tab.line.button)
    assert "by FLOPs" in bench.tab.line.words.text()
    failing = opened(times=TimesReader([sys.executable, fake_times_asker.__file__, "refuse"]))
    click(qtbot, failing.tab.line.button)
    qtbot.waitUntil(lambda: failing.tab.problem.text.startswith("The layers could not be timed"))


def test_that_place_for_me_places_all_in_one_undo_step(qtbot, opened) -> None:
    bench = opened(placed_plan({}))
    menu = bench.tab.toolbar.place.menu()
    with qtbot.waitSignal(bench.tab.edited):
        menu.actions()[2].trigger()
        assert bench.tab.remark.text == "finding a placement…"
    assert bench.wanted[-1].text == "place the layers: fewest transfers"
    assert len(bench.places) == len(LAYERS)
    assert len(set(bench.places.values())) == 1
    assert bench.tab.remark.text.startswith("Fewest transfers: on 1 device")
    bench.document.undo_stack.undo()
    assert bench.places == {}
    assert bench.tab.remark.text == ""


def test_that_place_for_me_says_which_device_lacks_how_much(qtbot, opened) -> None:
    small = tuple(replace(card, total_mib=301) for card in TWO_CARDS.cards)
    plan = replace(placed_plan({}), devices=DeviceSettings())
    bench = opened(plan, replace(TWO_CARDS, cards=small))
    with qtbot.waitSignal(bench.tab.worker.done):
        bench.tab.toolbar.place.menu().actions()[0].trigger()
    assert "The model fits in no way: " in bench.tab.problem.text
    assert "lacks" in bench.tab.problem.text
    assert bench.wanted == []


def test_that_place_for_me_offers_to_recompute_where_only_that_fits(qtbot, opened) -> None:
    plan = replace(placed_plan({}), devices=DeviceSettings(), training=Training(batch_size=100))
    graph = keeping(6)
    bench = opened(plan, with_room_to_recompute(), graph)
    with qtbot.waitSignal(bench.tab.worker.done):
        bench.tab.toolbar.place.menu().actions()[0].trigger()
    assert bench.wanted == []
    assert bench.tab.problem.text == ""
    assert bench.tab.remark.text.endswith(" It fits if they are recomputed.")
    assert bench.tab.remark.button.text() == "Place and recompute"
    click(qtbot, bench.tab.remark.button)
    assert set(bench.places) == {layer.name for layer in graph.layers}
    assert bench.plan.distribution.placed.recompute
    assert bench.tab.remark.text == ""
    bench.document.undo_stack.undo()
    assert bench.plan == plan


def test_that_another_strategy_offers_to_place_the_layers_and_one_undo_takes_it_back(
    qtbot, opened
) -> None:
    plain = replace(placed_plan(), distribution=Distribution("mirrored"))
    bench = opened(plain)
    assert not bench.tab.toolbar.isVisible()
    assert "its strategy is Mirrored" in bench.tab.start.title.text()
    with qtbot.waitSignal(bench.tab.edited):
        click(qtbot, bench.tab.start.button)
    assert bench.plan.distribution.strategy == "placed"
    assert set(bench.places) == set(LAYERS)
    assert bench.tab.toolbar.isVisible()
    assert not bench.tab.start.isVisible()
    bench.document.undo_stack.undo()
    assert bench.plan == plain


def test_that_nothing_is_offered_before_the_layers_are_known(opened) -> None:
    bench = opened(replace(placed_plan(), distribution=Distribution("mirrored")))
    bench.reader.tell(None, busy=True, waiting="building the model")
    assert not bench.tab.start.button.isEnabled()
    assert bench.tab.start.button.toolTip() == "The model's layers are not known yet"
    assert bench.tab.bar.words.text() == "Building the model…"
    bench.reader.tell(facts_of())
    assert bench.tab.start.button.isEnabled()


def test_that_an_edit_ends_the_search_for_a_placement(qtbot, opened) -> None:
    bench = opened(placed_plan({}))
    bench.tab.toolbar.place.menu().actions()[0].trigger()
    bench.document.replace(placed_plan({"dense": ("CPU:0",)}), "something else")
    assert not bench.tab.worker.busy
    assert bench.tab.remark.text == ""
    assert bench.wanted == []


def test_that_micro_batches_and_recomputation_are_set_and_predicted(qtbot, opened) -> None:
    bench = opened()
    before = bench.tab.toolbar.bubble.text()
    assert before.startswith("bubble ")
    bench.tab.toolbar.micro_batches.setFocus()
    qtbot.keyClick(bench.tab.toolbar.micro_batches, Qt.Key.Key_Up)
    assert bench.plan.distribution.placed.micro_batches == 5
    click(qtbot, bench.tab.line.recompute)
    assert bench.plan.distribution.placed.recompute is True


def test_that_a_faster_way_is_offered_and_taken(qtbot, opened) -> None:
    plan = replace(placed_plan(dict.fromkeys(LAYERS, ("GPU:0",))), devices=DeviceSettings())
    bench = opened(plan, TWO_CARDS)
    assert bench.tab.note.text.startswith("Mirrored over all devices would be faster")
    bench.tab.note.button.click()
    assert bench.plan.distribution == Distribution("mirrored", ("GPU:0", "GPU:1"))


def test_that_layers_which_the_model_does_not_have_are_taken_out(opened) -> None:
    bench = opened(placed_plan({"dens": ("CPU:0",), "dense": ("CPU:1",)}))
    assert "The layer dens is not a layer of the model" in bench.tab.remark.text
    bench.tab.remark.button.click()
    assert bench.places == {"dense": ("CPU:1",)}


def test_that_a_problem_of_the_placement_is_said_here(opened) -> None:
    bench = opened(placed_plan(micro_batches=100))
    assert "a batch of 64 samples has at most 64 parts" in bench.tab.problem.text
    assert bench.tab.toolbar.bubble.text() == ""
    assert not bench.tab.line.button.isEnabled()


def test_that_the_seconds_of_a_step_are_told_only_of_the_plan_and_the_facts_that_are_shown(
    qtbot, opened, tmp_path, monkeypatch
) -> None:
    """A run keeps them as predicted of its plan, whichever tab its person looks at."""
    monkeypatch.setenv("FAKE_ASKER_STARTS", str(tmp_path / "starts"))
    times = TimesReader([sys.executable, fake_times_asker.__file__])
    bench = opened(times=times)
    tab, plan = bench.tab, bench.plan
    assert tab.step_seconds_of(plan) is None
    click(qtbot, tab.line.button)
    qtbot.waitUntil(lambda: tab.step_seconds_of(plan) is not None)
    other = replace(plan, training=replace(plan.training, batch_size=7))
    assert tab.step_seconds_of(other) is None
    tab.hide()
    bench.reader.tell(bench.reader.facts)
    assert tab.step_seconds_of(plan) is None
    tab.show()
    qtbot.waitUntil(lambda: tab.step_seconds_of(plan) is not None)
