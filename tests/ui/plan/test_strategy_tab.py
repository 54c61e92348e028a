"""The Strategy tab, by mouse and keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from edited_part import KNOWN, Reported, click, in_window
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything
from made_topologies import bridged_pairs
from plan_part import OnMachine
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel

from gpu_studio.plan import STRATEGIES, Carve, DeviceSettings, Distribution, Plan
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.strategies import BY_NAME
from gpu_studio.ui.plan.strategy_tab import StrategyTab

OPTIONS = {
    "none": [],
    "one_device": ["one"],
    "mirrored": ["replicas", "all_reduce"],
    "central_storage": ["replicas", "parameters"],
    "placed": ["placed"],
    "multi_worker": ["replicas", "all_reduce"],
    "parameter_server": [],
    "tpu": [],
}


@pytest.fixture
def tab(qtbot, theme) -> StrategyTab:
    return in_window(qtbot, StrategyTab(theme))


def hold(tab: StrategyTab, strategy: str, machine=TWO_CARDS) -> OnMachine:
    return OnMachine(tab, set_strategy(on_everything(machine), strategy), machine)


def words(tab: StrategyTab) -> str:
    return " ".join(label.text() for label in tab.findChildren(QLabel) if label.isVisible())


def test_that_a_strategy_is_explained_with_the_options_that_it_has(tab):
    held = hold(tab, "none")
    parts = {
        "one": tab.one,
        "replicas": tab.replicas,
        "parameters": tab.parameters,
        "all_reduce": tab.all_reduce,
    }
    parts["placed"] = tab.placed
    for strategy, facts in BY_NAME.items():
        held.show(set_strategy(held.plan, strategy))
        said = words(tab)
        for part in (
            facts.title,
            facts.line,
            facts.pace_words,
            facts.when,
            facts.costs,
            facts.why_not,
        ):
            assert part in said
        shown = [name for name, part in parts.items() if part.isVisible()]
        assert sorted(shown) == sorted(OPTIONS[strategy])
        assert tab.picture.isVisible()


def test_that_devices_are_checked_and_unchecked_and_one_always_stays(qtbot, tab):
    held = hold(tab, "mirrored")
    rows = tab.replicas.list.rows
    assert [name for name, row in rows.items() if row.isChecked()] == ["GPU:0", "GPU:1"]
    click(qtbot, rows["GPU:0"])
    assert held.plan.distribution.devices == ("GPU:1",)
    click(qtbot, rows["GPU:1"])
    assert held.plan.distribution.devices == ("GPU:1",)
    assert rows["GPU:1"].isChecked()
    rows["GPU:0"].setFocus()
    qtbot.keyClick(rows["GPU:0"], Qt.Key.Key_Space)
    assert held.plan.distribution.devices == ()
    assert held.texts == ["leave out GPU:0", "use GPU:0"]
    assert tab.replicas.list.rows["GPU:0"] is rows["GPU:0"]
    assert rows["GPU:0"].hasFocus()


def test_that_an_all_reduce_is_chosen_by_mouse(qtbot, tab):
    held = hold(tab, "mirrored")
    for name in ("ring", "hierarchical_copy", "reduction_to_one_device", "nccl", "auto"):
        click(qtbot, tab.all_reduce.rows[name])
        assert held.plan.distribution.all_reduce == name


def test_that_an_all_reduce_is_chosen_by_keys_past_one_that_is_refused(qtbot, tab):
    held = hold(tab, "mirrored", WITHOUT_CARDS)
    tab.all_reduce.rows["auto"].setFocus()
    qtbot.keyClick(tab.all_reduce.rows["auto"], Qt.Key.Key_Down)
    assert tab.all_reduce.rows["nccl"].hasFocus()
    assert "NVIDIA cards only" in tab.all_reduce.rows["nccl"].note
    assert held.changes == []
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
    assert held.plan.distribution.all_reduce == "ring"


def test_that_an_all_reduce_from_a_file_that_is_refused_says_so_beside_it(tab):
    held = hold(tab, "mirrored", WITHOUT_CARDS)
    held.show(replace(held.plan, distribution=Distribution("mirrored", all_reduce="nccl")))
    assert tab.all_reduce.rows["nccl"].isChecked()
    assert "NCCL joins NVIDIA cards only" in tab.all_reduce.problems.text


def test_that_the_recommended_all_reduce_is_marked_and_the_links_are_named(tab):
    hold(tab, "mirrored")
    assert tab.all_reduce.rows["auto"].tag == "recommended"
    topology = bridged_pairs()
    nodes = tuple(replace(node, uuid=f"GPU-{place}") for place, node in enumerate(topology.nodes))
    tab.set_topology(replace(topology, nodes=nodes))
    assert tab.all_reduce.caption.text() == "over NVLink"
    assert "NVLink" in tab.all_reduce.rows["nccl"].note


def test_that_what_a_step_sums_is_said_once_the_model_is_known(tab):
    hold(tab, "mirrored")
    reader = Reported()
    tab.set_facts(reader)
    assert tab.all_reduce.caption.text() == ""
    reader.tell(KNOWN)
    assert tab.all_reduce.caption.text() == "of 795.0 KiB a step"


@pytest.mark.parametrize(
    ("key", "device"), [(Qt.Key.Key_Right, "GPU:0"), (Qt.Key.Key_Down, "GPU:1")]
)
def test_that_the_one_device_is_chosen_by_keys(qtbot, tab, key, device):
    held = hold(tab, "one_device")
    first = next(iter(tab.one.list.rows.values()))
    assert first.isChecked()
    first.setFocus()
    qtbot.keyClick(first, key)
    assert held.plan.distribution.devices == (device,)
    click(qtbot, first)
    assert held.plan.distribution.devices == ()


def test_that_the_parameter_device_is_chosen_and_left_open_again(qtbot, tab):
    held = hold(tab, "central_storage")
    click(qtbot, tab.parameters.list.rows["GPU:1"])
    assert held.plan.distribution.parameter_device == "GPU:1"
    assert "GPU:1: variables" in [box.title for row in tab.picture.drawing.rows for box in row]
    click(qtbot, tab.parameters.list.rows[""])
    assert held.plan.distribution.parameter_device is None


def test_that_micro_batches_and_recomputation_are_set(qtbot, tab):
    held = hold(tab, "placed")
    tab.placed.micro_batches.setFocus()
    qtbot.keyClick(tab.placed.micro_batches, Qt.Key.Key_Up)
    assert held.plan.distribution.placed.micro_batches == 2
    tab.placed.recompute.setFocus()
    qtbot.keyClick(tab.placed.recompute, Qt.Key.Key_Space)
    assert held.plan.distribution.placed.recompute is True


def test_that_other_devices_get_other_rows_and_the_same_ones_keep_theirs(tab):
    held = hold(tab, "mirrored")
    before = tab.replicas.list.rows
    held.show(replace(held.plan, name="another"))
    assert tab.replicas.list.rows is before
    held.show(replace(held.plan, devices=DeviceSettings(carve=(Carve("GPU:0", (1024, 1024)),))))
    assert list(tab.replicas.list.rows) == ["GPU:0", "GPU:1", "GPU:2", "CPU:0"]
    assert tab.replicas.list.rows["GPU:0"].note == "1 GiB of GPU 0"


@pytest.mark.parametrize("width", [520, 725])
def test_that_nothing_is_wider_than_the_tab(tab, width):
    held = hold(tab, "none")
    tab.resize(width, 380)
    for strategy in STRATEGIES:
        held.show(set_strategy(held.plan, strategy))
        inside = tab.picture.parentWidget()
        assert inside.width() <= width
        assert inside.minimumSizeHint().width() <= width


def test_that_a_strategy_that_nobody_knows_breaks_nothing(tab):
    held = hold(tab, "mirrored")
    held.show(Plan(distribution=Distribution("mirored")))
    assert tab.title.text() == "mirored"
    assert "There is no strategy called mirored." in words(tab)
