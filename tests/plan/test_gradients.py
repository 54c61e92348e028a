"""The all-reduce that suits devices."""

from __future__ import annotations

import subprocess

import pytest
import warm_python
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan, said

from gpu_studio.plan import PlannedDevice, with_settings
from gpu_studio.plan.devices import effective, replica_devices, suited, why_not_nccl

CPUS = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0] }]'
SLICES = 'devices.carve=[{ device = "GPU:0", slices_mib = [1024, 1024] }]'
SUM_OF_THREE = """
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 3)
copied = tf.distribute.HierarchicalCopyAllReduce(num_packs=1)
for way in (copied, tf.distribute.ReductionToOneDevice()):
    mirrored = tf.distribute.MirroredStrategy([f"/device:CPU:{each}" for each in range(3)], way)
    @tf.function
    def total():
        def one():
            context = tf.distribute.get_replica_context()
            number = tf.cast(context.replica_id_in_sync_group, tf.float32)
            return context.all_reduce("SUM", tf.constant(2.0) ** number)
        return mirrored.run(one)
    print(float(mirrored.experimental_local_results(total())[0]))
"""
"""1 + 2 + 4, summed by halves, and on one device."""
ONE_DEVICE, NCCL = "reduction_to_one_device", "nccl"


@pytest.mark.parametrize(
    ("machine", "settings", "way"),
    [
        (NO_CARDS, [CPUS], ONE_DEVICE),
        (ONE_CARD, [], ONE_DEVICE),
        (ONE_CARD, [SLICES], ONE_DEVICE),
        (TWO_CARDS, [], NCCL),
        (TWO_CARDS, [SLICES], ONE_DEVICE),
        (TWO_CARDS, [SLICES, 'distribution.devices=["GPU:1", "GPU:2"]'], NCCL),
    ],
)
def test_that_nccl_suits_whole_cards_and_nothing_else(machine, settings, way):
    plan = with_settings(a_plan(), ["distribution.strategy=mirrored", *settings])
    assert suited(replica_devices(plan, machine)) == effective(plan, machine) == way
    asked = with_settings(plan, ["distribution.all_reduce=ring"])
    assert effective(asked, machine) == "ring"


@pytest.mark.parametrize("machine", [NO_CARDS, ONE_CARD, TWO_CARDS])
@pytest.mark.parametrize("carve", [CPUS, SLICES])
def test_that_nccl_is_called_impossible_exactly_where_the_rules_refuse_it(machine, carve):
    plan = with_settings(
        a_plan(), ["distribution.strategy=mirrored", carve, "distribution.all_reduce=nccl"]
    )
    refused = any(problem.startswith("distribution.all_reduce") for problem in said(plan, machine))
    assert bool(why_not_nccl(replica_devices(plan, machine))) == refused


@pytest.mark.parametrize(
    ("machine", "settings", "count"),
    [
        (NO_CARDS, ['devices.carve=[{ device = "CPU:0", slices_mib = [0, 0, 0] }]'], 3),
        (NO_CARDS, [CPUS], None),
        (NO_CARDS, [], None),
        (TWO_CARDS, [SLICES], 3),
        (TWO_CARDS, [], None),
        (None, ['distribution.devices=["GPU:0", "GPU:1", "GPU:2"]'], 3),
        (None, ['devices.carve=[{ device = "GPU:0", slices_mib = [9, 9, 9] }]'], None),
        (TWO_CARDS, [SLICES, "distribution.strategy=central_storage"], None),
    ],
)
def test_that_halves_of_an_odd_number_of_replicas_are_refused(machine, settings, count):
    basis = ["distribution.strategy=mirrored", "distribution.all_reduce=hierarchical_copy"]
    expected = (
        f'distribution.all_reduce is "hierarchical_copy" with {count} replicas: '
        "it sums two equal halves and would "
        'leave out the last replica: choose "auto", or use an even number.'
    )
    assert said(with_settings(a_plan(), [*basis, *settings]), machine) == (
        [expected] if count else []
    )


@pytest.mark.slow
def test_that_tensorflow_leaves_out_the_last_of_three_replicas_as_the_rule_says():
    told = subprocess.run(
        [*warm_python.command("-c"), SUM_OF_THREE], capture_output=True, text=True, check=True
    )
    assert [float(line) for line in told.stdout.split()] == [3.0, 7.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("CPU:0", "CPU:1"), ("GPU:0",), ("GPU:0", "GPU:1"), ("GPU:0", "CPU:0"), ("CPU:0",)]
)
@pytest.mark.parametrize("whole", [True, False])
def test_that_the_trainer_takes_what_is_said_to_suit(names, whole):
    from gpu_studio.trainer.errors import PlanRefused
    from gpu_studio.trainer.strategies.mirrored import all_reduce_for

    devices = [
        PlannedDevice(name, name if whole and name != "CPU:1" else f"{name[:3]}:0")
        for name in names
    ]
    assert all_reduce_for("auto", devices) == suited(devices)
    if why_not_nccl(devices):
        with pytest.raises(PlanRefused):
            all_reduce_for("nccl", devices)
    else:
        assert all_reduce_for("nccl", devices) == "nccl"
