"""`[cluster]` of a plan: read and written strictly, and what its rules say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_samples import a_plan

from gpu_studio.plan import (
    Card,
    Machine,
    Plan,
    PlanError,
    dumps,
    loads,
    replica_count,
    shares_of,
    starter,
    validate,
    with_settings,
)
from gpu_studio.plan.cluster_values import MOST_REPLICAS, Cluster, Kubernetes, Slurm
from gpu_studio.plan.difference import differences
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.remedies import mend_of
from gpu_studio.plan.rules import cluster_rules
from gpu_studio.plan.strategies import BY_NAME, cluster_of

CPU = Machine(cpu_cores=2)
CLUSTERED = "distribution.strategy=multi_worker"
FULL = Cluster(
    "slurm",
    4,
    port=23456,
    with_fewer=True,
    trusted_network=True,
    slurm=Slurm("/shared/runs", "1-12:00:00", "gpu", 2, 8, ("module load cuda",), ("-A abc",)),
    kubernetes=Kubernetes("jobset", "registry/me/studio:1", "me", "runs", 1),
)


def changed(*settings: str) -> Plan:
    return with_settings(a_plan(), (CLUSTERED, *settings))


def said(plan: Plan) -> list[str]:
    """What the rules say of the cluster, and of nothing else."""
    return [str(each) for each in validate(plan) if each.field.startswith("cluster")]


def test_that_a_plan_of_one_process_has_no_cluster_in_its_file():
    plan = starter(CPU)
    assert plan.cluster is None
    assert cluster_of(plan) is None
    assert "cluster" not in dumps(plan)


def test_that_a_plan_of_several_processes_without_the_part_has_the_defaults():
    assert cluster_of(changed()) == Cluster()
    assert "[cluster]" not in dumps(changed())


def test_that_a_cluster_with_every_part_is_read_back_and_nothing_is_wrong_with_it():
    plan = replace(changed(), cluster=FULL)
    assert loads(dumps(plan)) == plan
    assert said(plan) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("worker = 2", "cluster.worker is not a key of [cluster]: did you mean workers?"),
        (
            'start = "ssh"',
            'cluster.start is "ssh": choose one of local, slurm or kubernetes',
        ),
        ("workers = 2.0", "cluster.workers is 2.0 (a number): give a whole number"),
        ("[cluster.slurm]\ntimes = 1", "did you mean time?"),
        ('[cluster.kubernetes]\nkind = "tfjob"', 'cluster.kubernetes.kind is "tfjob"'),
    ],
)
def test_that_what_a_cluster_cannot_be_is_refused_with_the_nearest(text, sentence):
    with pytest.raises(PlanError) as refused:
        loads(f"version = 1\n[cluster]\n{text}\n")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["cluster.workers=0"], "cluster.workers is 0: give a whole number from 1 to 1,024."),
        (
            ["cluster.workers=2048"],
            "cluster.workers is 2048: give a whole number from 1 to 1,024.",
        ),
        (["cluster.lost_after=1"], "cluster.lost_after is 1: give a whole number from 5 to"),
        (["cluster.port=80"], "cluster.port is 80: those below 1024 are the system's"),
        (
            ["cluster.port=65535", "cluster.workers=3"],
            "each process takes the next one, and 65535 is the last: give 65533 or less.",
        ),
        (["cluster.servers=1"], "cluster.servers is 1: leave it out: every worker holds all"),
        (
            ["cluster.with_fewer=true", "training.batch_scope=replica"],
            "a step would have fewer samples after a worker is lost",
        ),
        (["cluster.slurm.time=soon"], 'cluster.slurm.time is "soon": write a limit as Slurm does'),
        (['cluster.slurm.flags=["account=x"]'], 'cluster.slurm.flags[0] is "account=x"'),
        (['cluster.slurm.flags=["--a\\n#x"]'], "cluster.slurm.flags[0] is"),
        (
            ['cluster.slurm.flags=["--account=x --array=0-1"]'],
            "leave it out: a run is one job, which is submitted and then followed",
        ),
        (['cluster.slurm.flags=["-W"]'], "a run is one job"),
        (['cluster.slurm.setup=["a\\nb"]'], "give each line of shell a text of its own"),
        (["cluster.slurm.gpus_per_worker=-1"], "cluster.slurm.gpus_per_worker is -1"),
        (["cluster.start=kubernetes"], "cluster.kubernetes.image is missing"),
        (["cluster.kubernetes.image=a b"], "name an image as a registry does"),
        (["cluster.kubernetes.namespace=Me"], 'cluster.kubernetes.namespace is "Me"'),
    ],
)
def test_that_each_impossible_value_is_refused_in_a_sentence(settings, sentence):
    (only,) = said(changed(*settings))
    assert sentence in only


def test_that_a_cluster_with_a_strategy_of_one_process_is_refused_and_mended():
    plan = replace(a_plan(), cluster=Cluster())
    (problem,) = [each for each in validate(plan, CPU) if each.field == cluster_rules.PART]
    able = [name for name, each in BY_NAME.items() if each.clusters]
    assert f'leave [cluster] out, or choose strategy "{able[0]}"' in str(problem)
    mend = mend_of(problem, plan, CPU)
    assert mend is not None
    assert mend.make(plan).cluster is None


def test_that_an_all_reduce_that_does_not_cross_processes_is_refused():
    plan = changed("distribution.all_reduce=hierarchical_copy")
    assert any("which work between processes" in str(each) for each in validate(plan))


def test_that_a_batch_has_a_sample_for_each_replica_of_each_worker():
    four = "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]"
    plan = changed(four, "cluster.workers=3", "training.batch_size=5")
    machine = Machine((), cpu_cores=2)
    assert any("6 replicas share a batch" in str(each) for each in validate(plan, machine))
    assert not any("share a batch" in str(each) for each in validate(changed(), machine))


def test_that_another_strategy_leaves_the_cluster_out_and_one_of_its_kind_keeps_it():
    plan = replace(changed(), cluster=FULL)
    assert set_strategy(plan, "mirrored").cluster is None
    assert set_strategy(plan, "parameter_server").cluster == FULL


def test_that_a_comparison_tells_what_differs_in_a_cluster():
    one, other = changed("cluster.workers=3"), changed("cluster.workers=2")
    assert [str(each) for each in differences(one, other)] == ["cluster.workers = 2, was 3"]


CARDS = Machine(tuple(Card(index, f"GPU-{index}", "A card") for index in range(3)))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (["cluster.workers=2"], "cluster.workers"),
        (["cluster.workers=4"], "cluster.workers"),
        (["cluster.workers=3"], None),
        (["cluster.workers=3", "devices.carve=[{device='GPU:0', slices_mib=[9, 9]}]"], "cluster"),
        (["cluster.workers=2", 'devices.visible=["GPU:0", "GPU:2"]'], None),
        (["cluster.workers=2", 'devices.visible=["CPU:0"]'], None),
        (["cluster.workers=3", 'distribution.devices=["GPU:0"]'], "distribution.devices"),
        (["cluster.workers=2", 'distribution.devices=["CPU:0"]'], None),
    ],
)
def test_that_workers_of_a_machine_share_its_cards_evenly(settings, field):
    found = list(cluster_rules.local_cards(changed(*settings), CARDS))
    assert [each.field.startswith(field or "-") for each in found] == ([True] if field else [])


def test_that_workers_that_cannot_share_the_cards_are_mended():
    plan = changed("cluster.workers=2")
    (problem,) = cluster_rules.local_cards(plan, CARDS)
    mend = mend_of(problem, plan, CARDS)
    assert mend is not None
    assert mend.label == "Use 3 workers"
    assert cluster_of(mend.make(plan)) == replace(Cluster(), workers=3)


def test_that_replicas_are_counted_over_all_workers():
    two = "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]"
    assert replica_count(changed(two, "cluster.workers=3"), CPU) == 6
    assert replica_count(changed("cluster.workers=3"), CARDS) == 3


@pytest.mark.parametrize("workers", [1025, 2**31, 2**63 - 1])
def test_that_no_file_makes_the_window_reckon_with_more_workers_than_a_plan_may_have(workers):
    plan = changed(f"cluster.workers={workers}")
    assert len(shares_of(plan, replica_count(plan, CPU))) == 1024


def test_that_no_file_makes_the_window_reckon_with_replicas_without_bounds():
    slices = ", ".join(["0"] * 10_000)
    carved = f"devices.carve=[{{ device = 'CPU:0', slices_mib = [{slices}] }}]"
    assert replica_count(changed(carved, "cluster.workers=1024"), CPU) == MOST_REPLICAS
