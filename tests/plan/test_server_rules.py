"""What the rules say of a plan whose variables lie on servers."""

from __future__ import annotations

import pytest
from plan_samples import a_plan

from gpu_studio.plan import Machine, Plan, replica_count, validate, with_settings
from gpu_studio.plan.cautions import cautions
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.remedies import mend_of
from gpu_studio.plan.strategies import cluster_of, strategy_named

CPU = Machine(cpu_cores=2)
SERVED = "distribution.strategy=parameter_server"
TOGETHER = "cluster.updates=sync"


def changed(*settings: str) -> Plan:
    return with_settings(a_plan(), (SERVED, *settings))


def test_that_a_plan_of_servers_has_one_where_it_names_none_and_nothing_is_wrong_with_it():
    assert cluster_of(changed()) == Cluster(servers=1)
    assert cluster_of(changed("cluster.servers=3")) == Cluster(servers=3)
    assert validate(changed(), CPU) == []
    assert validate(changed(TOGETHER), CPU) == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["cluster.start=slurm"], "servers are started on this machine only"),
        (["cluster.with_fewer=true"], "the others go on with its work"),
        (['distribution.devices=["CPU:0"]'], "computes on the CPU of its own process"),
        (['devices.visible=["GPU:0"]'], "workers of servers compute on the CPU"),
        (["devices.carve=[{device='GPU:0', slices_mib=[9, 9]}]"], "given for GPU:0"),
        (["training.optimizer=ftrl"], "it writes weights anew, and what others add"),
        (["training.options={use_ema=true}"], "what others add meanwhile would be lost"),
        (["training.schedule=mine.py:rate"], "workers of servers cannot call Python"),
        ([TOGETHER, "cluster.workers=3", "training.batch_size=2"], "3 replicas share a batch"),
        (["cluster.port=65534"], "65535 is the last: give 65532 or less"),
    ],
)
def test_that_what_is_unsound_is_refused_in_a_sentence(settings, sentence):
    found = [str(each) for each in validate(changed(*settings))]
    assert any(sentence in each for each in found), found


@pytest.mark.parametrize(
    "settings",
    [
        ["training.optimizer=ftrl", TOGETHER],
        ["training.options={use_ema=true}", TOGETHER],
        ["training.schedule=mine.py:rate", TOGETHER],
        ["training.batch_size=1", "cluster.workers=3"],
    ],
)
def test_that_what_the_other_way_of_updating_can_do_is_let_through(settings):
    assert validate(changed(*settings)) == []


@pytest.mark.parametrize(
    "setting",
    [
        "cluster.start=slurm",
        "cluster.with_fewer=true",
        'devices.visible=["GPU:0"]',
        "training.optimizer=ftrl",
        "training.options={use_ema=true}",
    ],
)
def test_that_a_button_mends_it(setting):
    plan = changed(setting)
    (problem,) = validate(plan, CPU)[:1]
    mend = mend_of(problem, plan, CPU)
    assert mend is not None
    assert problem not in validate(mend.make(plan), CPU)


def test_that_starting_servers_here_finds_no_problem_that_was_not_told_before():
    plan = changed("cluster.start=slurm", 'devices.visible=["GPU:0"]')
    before = validate(plan, CPU)
    (start,) = [each for each in before if each.field == "cluster.start"]
    mend = mend_of(start, plan, CPU)
    assert mend is not None
    assert set(validate(mend.make(plan), CPU)) == set(before) - {start}


def test_that_updates_are_said_with_servers_only():
    plan = with_settings(a_plan(), ("distribution.strategy=multi_worker", TOGETHER))
    (problem,) = validate(plan, CPU)
    assert str(problem).startswith('cluster.updates is "sync" with strategy "multi_worker"')
    assert set_strategy(changed(TOGETHER, "cluster.servers=2"), "multi_worker").cluster == Cluster()


def test_that_a_batch_is_shared_only_where_workers_update_together():
    assert replica_count(changed("cluster.workers=3"), CPU) == 1
    assert replica_count(changed("cluster.workers=3", TOGETHER), CPU) == 3


@pytest.mark.parametrize(
    ("settings", "cautioned"),
    [
        (["training.optimizer=adam"], False),
        (["training.optimizer=sgd"], False),
        (["training.optimizer=sgd", "training.options={momentum=0.9}"], True),
        (["training.optimizer=sgd", "training.options={momentum=0.9}", TOGETHER], False),
        (["training.optimizer=rmsprop"], True),
        (["training.optimizer=rmsprop", "cluster.workers=1"], False),
    ],
)
def test_that_averages_which_workers_overwrite_are_warned_of(settings, cautioned):
    plan = changed(*settings)
    found = [each for each in cautions(plan, CPU) if each.name == "averages overwritten"]
    assert bool(found) == cautioned
    for each in found:
        assert each.mend is not None
        assert cluster_of(each.mend.make(plan)).updates == "sync"


def test_that_a_new_plan_of_servers_can_run():
    made = strategy_named("parameter_server").template(a_plan(), ("CPU:0", "CPU:1"))
    assert validate(made, CPU) == []
    assert cluster_of(made) == Cluster(servers=1)
