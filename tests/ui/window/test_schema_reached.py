"""Every field of a plan has its control on the Plan page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import pytest
from made_machines import TWO_CARDS
from PySide6.QtWidgets import QWidget

from gpu_studio.plan import Carve, EarlyStopping, Named, Placed, Plan
from gpu_studio.plan.cluster_values import Cluster, Kubernetes, Slurm
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.values import OutputTraining
from gpu_studio.ui.plan.form.form import FormRow
from gpu_studio.ui.plan.form.options import OptionRows
from gpu_studio.ui.window.actions.plan_actions import PARTS
from gpu_studio.ui.window.main_window import MainWindow

ELSEWHERE = {
    "name": lambda page: page.name,
    "devices.visible": lambda page: page.workspace.editor("Devices").list,
    "devices.carve": lambda page: page.devices.list.views["GPU:0"].bar,
    "devices.memory_growth": lambda page: page.workspace.editor("Devices").switches.switches[
        "memory_growth"
    ],
    "devices.soft_placement": lambda page: page.workspace.editor("Devices").switches.switches[
        "soft_placement"
    ],
    "devices.log_placement": lambda page: page.workspace.editor("Devices").switches.switches[
        "log_placement"
    ],
    "distribution.strategy": lambda page: page.distribution.buttons["mirrored"],
    "distribution.devices": lambda page: page.workspace.editor("Strategy").replicas.list,
    "distribution.all_reduce": lambda page: page.workspace.editor("Strategy").all_reduce.rows[
        "nccl"
    ],
    "distribution.parameter_device": lambda page: page.workspace.editor("Strategy").parameters.list,
    "distribution.placed.micro_batches": lambda page: (
        page.workspace.editor("Strategy").placed.micro_batches
    ),
    "distribution.placed.recompute": lambda page: (
        page.workspace.editor("Strategy").placed.recompute
    ),
    "distribution.placed.layers": lambda page: page.workspace.editor("Layers"),
    "training.callbacks": lambda page: page.workspace.editor("Training").callbacks,
    "training.outputs": lambda page: page.workspace.editor("Training").loss.outputs["outputs"],
    "training.phases": lambda page: page.workspace.editor("Training").phases,
    "version": lambda page: page.workspace.editor("File").text,
}
"""What has a control of its own kind; all else is a row of a form, which names its field."""


SCHEDULERS = {"slurm": Slurm, "kubernetes": Kubernetes}


@pytest.fixture
def window(open_window, qtbot) -> MainWindow:
    """The window with a plan that uses all of the schema."""
    made: MainWindow = open_window(machine=TWO_CARDS)
    qtbot.waitUntil(lambda: made.document.plan is not None)
    plan = set_strategy(made.document.plan, "placed")
    training = replace(
        plan.training,
        schedule=Named("cosine"),
        early_stopping=EarlyStopping(),
        loss=Named("auto"),
        metrics=(Named("auto"),),
        outputs={"outputs": OutputTraining(loss_weight=0.5)},
    )
    devices = replace(plan.devices, carve=(Carve("GPU:0", (8192, 8192)),))
    made.document.begin(replace(plan, training=training, devices=devices))
    for name in PARTS:
        made.plan_page.workspace.open(name)
    return made


def leaves(part: object, path: str = "") -> Iterator[str]:
    """The fields of a plan that hold no other fields."""
    for field in fields(part):  # type: ignore[arg-type]
        value, here = getattr(part, field.name), f"{path}.{field.name}".lstrip(".")
        if is_dataclass(value):
            yield from leaves(value, here)
        else:
            yield here


def test_that_every_field_of_the_schema_has_a_control(window: MainWindow) -> None:
    plan = window.document.plan
    assert isinstance(plan, Plan)
    assert isinstance(plan.distribution.placed, Placed)
    rows = {row.field.path for row in window.plan_page.findChildren(FormRow)}
    shown = (
        rows
        | set(ELSEWHERE)
        | {path.partition("[")[0] for path in rows}
        | {f"{path}.name" for path in rows}
    )
    options = {of.path for of in window.plan_page.findChildren(OptionRows)}
    assert set(leaves(plan)) - shown - options == {"cluster"}, "which this strategy has not"


OF_SERVERS, OF_EQUALS = {"servers", "updates"}, {"start", "with_fewer"}


@pytest.mark.parametrize(
    ("strategy", "others"), [("multi_worker", OF_SERVERS), ("parameter_server", OF_EQUALS)]
)
def test_that_every_field_of_a_cluster_has_a_control(
    window: MainWindow, strategy: str, others: set[str]
) -> None:
    plan = set_strategy(window.document.plan, strategy)
    window.document.begin(replace(plan, cluster=Cluster()))
    window.plan_page.workspace.open("Strategy")
    section = window.plan_page.workspace.editor("Strategy").cluster
    assert {field.name for field in fields(Cluster)} == set(section.lines) | set(SCHEDULERS)
    for name, line in section.lines.items():
        assert line.isVisibleTo(window.plan_page) == (name not in others)
        assert any(each.focusPolicy() for each in line.findChildren(QWidget))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_that_every_field_of_a_scheduler_has_a_control(window: MainWindow, scheduler: str) -> None:
    plan = set_strategy(window.document.plan, "multi_worker")
    window.document.begin(replace(plan, cluster=Cluster(start=scheduler)))
    window.plan_page.workspace.open("Strategy")
    form = window.plan_page.workspace.editor("Strategy").cluster.forms[scheduler]
    paths = [f"cluster.{scheduler}.{field.name}" for field in fields(SCHEDULERS[scheduler])]
    assert list(form.rows) == paths
    for row in form.rows.values():
        assert row.control.isVisibleTo(window.plan_page)
        assert row.control.focusPolicy()


def test_that_a_field_with_a_control_of_its_own_kind_can_be_reached_there(
    window: MainWindow,
) -> None:
    for path, control_of in ELSEWHERE.items():
        if path in ("distribution.devices", "distribution.parameter_device"):
            window.document.begin(set_strategy(window.document.plan, "central_storage"))
            window.plan_page.workspace.open("Strategy")
        control = control_of(window.plan_page)
        assert isinstance(control, QWidget)
        assert window.plan_page.isAncestorOf(control)
        assert any(each.focusPolicy() for each in (control, *control.findChildren(QWidget))), path
