"""The options of several workers on the Strategy tab."""

from __future__ import annotations

import pytest
from edited_part import in_window
from plan_part import OnMachine
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Machine, cluster_of, starter, strategy_named
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.strategy_tab import StrategyTab

CPU = Machine(cpu_cores=4)


@pytest.fixture
def held(qtbot: QtBot, theme: ThemeManager) -> OnMachine:
    """The tab, with a plan of several workers."""
    tab = in_window(qtbot, StrategyTab(theme))
    return OnMachine(tab, set_strategy(starter(CPU), "multi_worker"), CPU)


def test_that_workers_are_chosen_and_counted(held: OnMachine) -> None:
    part = held.part.cluster
    each = len(held.plan.devices.carve[0].slices_mib)
    assert part.caption.text() == f"{2 * each} replicas in all"
    part.numbers["workers"].edited.emit(3)
    assert cluster_of(held.plan) == Cluster(workers=3)
    assert part.caption.text() == f"{3 * each} replicas in all"
    assert held.texts == ["change workers"]


def test_that_what_another_engine_starts_is_said_to_be_exported(held: OnMachine) -> None:
    part = held.part.cluster
    assert part.note.isHidden()
    part.start.edited.emit("slurm")
    assert "gpu-studio export" in part.note.text()
    part.with_fewer.edited.emit(True)
    assert (held.plan.cluster.start, held.plan.cluster.with_fewer) == ("slurm", True)


def test_that_a_wrong_number_is_told_in_its_section(held: OnMachine) -> None:
    held.part.cluster.numbers["restarts"].edited.emit(-1)
    assert "give a whole number from 0" in held.part.cluster.problems.text


def test_that_another_strategy_has_no_workers(held: OnMachine) -> None:
    held.show(set_strategy(held.plan, "mirrored"))
    assert held.part.cluster.isHidden()
    assert held.plan.cluster is None


@pytest.mark.parametrize(
    ("devices", "workers"), [(("CPU:0", "CPU:1"), 2), (("GPU:0", "GPU:1", "GPU:2"), 3)]
)
def test_that_a_new_plan_has_a_worker_for_each_card(devices: tuple[str, ...], workers: int) -> None:
    made = strategy_named("multi_worker").template(starter(CPU), devices)
    assert cluster_of(made) == Cluster(workers=workers)
