"""What TensorFlow will see, and what holds replicas."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan
from plan_strategies import machines, plans

from gpu_studio.plan import PlannedDevice, logical_devices, replicas, visible_cards, with_settings

SLICES = (
    'devices.carve=[{ device = "GPU:1", slices_mib = [1024, 2048] }, { device = "CPU:0", '
    "slices_mib = [0, 0] }]"
)


def test_that_a_machine_without_a_carve_has_its_cards_and_one_cpu():
    assert logical_devices(a_plan(), TWO_CARDS) == (
        PlannedDevice("GPU:0", "GPU:0"),
        PlannedDevice("GPU:1", "GPU:1"),
        PlannedDevice("CPU:0", "CPU:0"),
    )


def test_that_slices_are_numbered_through_over_the_cards():
    assert logical_devices(with_settings(a_plan(), [SLICES]), TWO_CARDS) == (
        PlannedDevice("GPU:0", "GPU:0"),
        PlannedDevice("GPU:1", "GPU:1", 1024),
        PlannedDevice("GPU:2", "GPU:1", 2048),
        PlannedDevice("CPU:0", "CPU:0"),
        PlannedDevice("CPU:1", "CPU:0"),
    )


def test_that_a_carve_by_uuid_is_found():
    plan = a_plan('[[devices.carve]]\ndevice = "GPU-5d1"\nslices_mib = [1024, 1024]')

    assert [device.physical for device in logical_devices(plan, TWO_CARDS)] == [
        "GPU:0",
        "GPU:1",
        "GPU:1",
        "CPU:0",
    ]


def test_that_visible_cards_are_numbered_in_the_order_in_which_they_are_named():
    plan = a_plan('[devices]\nvisible = ["GPU:1", "GPU-5d0f"]')

    assert [card.device for card in visible_cards(plan.devices, TWO_CARDS)] == ["GPU:1", "GPU:0"]
    assert [(each.name, each.physical) for each in logical_devices(plan, TWO_CARDS)][:2] == [
        ("GPU:0", "GPU:1"),
        ("GPU:1", "GPU:0"),
    ]


def test_that_a_plan_that_shows_only_the_cpu_hides_the_cards():
    plan = a_plan('[devices]\nvisible = ["CPU:0"]')

    assert [device.name for device in logical_devices(plan, TWO_CARDS)] == ["CPU:0"]


def test_that_replicas_are_on_all_gpus_or_else_on_all_cpus():
    plan = with_settings(a_plan(), [SLICES, "distribution.strategy=mirrored"])

    assert replicas(plan, TWO_CARDS) == ("GPU:0", "GPU:1", "GPU:2")
    assert replicas(plan, ONE_CARD) == ("GPU:0",)
    assert replicas(plan, NO_CARDS) == ("CPU:0", "CPU:1")


def test_that_replicas_are_where_the_plan_wants_them():
    plan = with_settings(
        a_plan(), ["distribution.strategy=mirrored", 'distribution.devices=["GPU:1"]']
    )

    assert replicas(plan, TWO_CARDS) == ("GPU:1",)


def test_that_one_device_and_no_strategy_have_one_replica():
    one = with_settings(
        a_plan(), ["distribution.strategy=one_device", 'distribution.devices=["GPU:1"]']
    )

    assert replicas(a_plan(), TWO_CARDS) == ("GPU:0",)
    assert replicas(a_plan(), NO_CARDS) == ("CPU:0",)
    assert replicas(one, TWO_CARDS) == ("GPU:1",)


@pytest.mark.slow
@settings(max_examples=40)
@given(plans(), machines())
def test_that_logical_devices_are_numbered_without_gaps_on_any_machine(plan, machine):
    names = [device.name for device in logical_devices(plan, machine)]
    gpus = [name for name in names if name.startswith("GPU")]

    assert gpus == [f"GPU:{index}" for index in range(len(gpus))]
    assert names[len(gpus) :] == [f"CPU:{index}" for index in range(len(names) - len(gpus))]
    assert "CPU:0" in names
