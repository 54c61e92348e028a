"""The options of several workers on the Strategy tab."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from edited_part import in_window, type_in
from plan_part import OnMachine
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gpu_studio.plan import Machine, cluster_of, starter, strategy_named, validate
from gpu_studio.plan.cluster_values import Cluster, Slurm
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.ui.kit.theme import ThemeManager
from gpu_studio.ui.plan.plan_view import problems_of_parts
from gpu_studio.ui.plan.scheduler_form import SchedulerForm
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


def test_that_it_is_said_what_becomes_of_workers_that_others_start(held: OnMachine) -> None:
    part = held.part.cluster
    assert part.note.isHidden()
    part.start.edited.emit("kubernetes")
    assert "gpu-studio export" in part.note.text()
    part.start.edited.emit("slurm")
    assert part.note.text().startswith("Train submits a job of Slurm")
    part.with_fewer.edited.emit(True)
    assert (held.plan.cluster.start, held.plan.cluster.with_fewer) == ("slurm", True)


def form_of(held: OnMachine, scheduler: str) -> SchedulerForm:
    """The form of what this scheduler is asked for, which is then shown."""
    held.part.cluster.start.edited.emit(scheduler)
    form: SchedulerForm = held.part.cluster.forms[scheduler]
    assert form.isVisible()
    held.changes.clear()
    return form


def test_that_what_slurm_is_asked_for_is_edited_key_by_key(qtbot: QtBot, held: OnMachine) -> None:
    rows = form_of(held, "slurm").rows
    type_in(qtbot, rows["cluster.slurm.partition"].control, "a100")
    assert set(held.texts) == {"change partition"}
    assert {each.field for each in held.changes} == {"cluster.slurm.partition"}, "one step of undo"
    rows["cluster.slurm.gpus_per_worker"].control.edited.emit(2)
    qtbot.keyClicks(rows["cluster.slurm.setup"].control, "module load a, b\r\r. bin/activate\r")
    setup = ("module load a, b", ". bin/activate")
    assert held.plan.cluster.slurm == Slurm(partition="a100", gpus_per_worker=2, setup=setup)
    type_in(qtbot, rows["cluster.slurm.partition"].control, "")
    rows["cluster.slurm.gpus_per_worker"].back.click()
    type_in(qtbot, rows["cluster.slurm.setup"].control, "")
    assert held.plan.cluster == Cluster(start="slurm"), "nothing is left of it"


def test_that_lines_follow_the_plan_and_keep_what_is_typed(qtbot: QtBot, held: OnMachine) -> None:
    field = form_of(held, "slurm").rows["cluster.slurm.flags"].control
    qtbot.keyClicks(field, "--exclude=a,b\r")
    assert field.toPlainText() == "--exclude=a,b\n", "a line that is begun stays"
    assert held.plan.cluster.slurm.flags == ("--exclude=a,b",)
    held.show(replace(held.plan, cluster=Cluster("slurm", slurm=Slurm(flags=("-x", "-y")))))
    assert field.toPlainText() == "-x\n-y"


def test_that_tab_goes_from_a_scheduler_to_what_stands_below_it(
    qtbot: QtBot, held: OnMachine
) -> None:
    rows = list(form_of(held, "slurm").rows.values())
    stops = [row.control for row in rows] + list(held.part.replicas.list.rows.values())
    stops[0].setFocus()
    for before, after in pairwise(stops):
        qtbot.waitUntil(before.hasFocus)
        qtbot.keyClick(before, Qt.Key.Key_Tab)
        qtbot.waitUntil(after.hasFocus)


def test_that_a_problem_of_a_scheduler_stands_in_its_row_alone(held: OnMachine) -> None:
    section = held.part.cluster
    row = form_of(held, "kubernetes").rows["cluster.kubernetes.image"]
    assert "name the container" in row.problem.text()
    assert section.problems.text == ""
    assert "Strategy" in problems_of_parts(validate(held.plan, CPU))
    section.start.edited.emit("local")
    assert section.forms["kubernetes"].isHidden()
    wrong = Cluster(slurm=Slurm(flags=("oops",)))
    held.show(replace(held.plan, cluster=wrong))
    assert "oops" in section.problems.text, "without the form there is no row"


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


def test_that_servers_and_how_variables_are_updated_are_chosen(held: OnMachine) -> None:
    held.show(set_strategy(held.plan, "parameter_server"))
    part = held.part.cluster
    assert part.caption.text() == "4 processes in all, one of them the chief"
    shown = [name for name, line in part.lines.items() if line.isVisible()]
    assert shown == [
        "workers",
        "servers",
        "restarts",
        "lost_after",
        "start_within",
        "port",
        "updates",
        "trusted_network",
    ]
    part.numbers["servers"].edited.emit(2)
    part.updates.edited.emit("sync")
    assert cluster_of(held.plan) == Cluster(servers=2, updates="sync")
    assert held.texts == ["change servers", "change updates"]
    drawn = [box.title for row in held.part.picture.drawing.rows for box in row]
    assert drawn == [
        "chief: shares each batch out",
        "worker 0",
        "worker 1",
        "2 parameter servers: variables",
    ]


def test_that_what_servers_cannot_have_is_shown_where_the_plan_has_it(held: OnMachine) -> None:
    held.show(replace(set_strategy(held.plan, "parameter_server"), cluster=Cluster("slurm")))
    assert held.part.cluster.lines["start"].isVisible()
    assert "this machine only" in held.part.cluster.problems.text
