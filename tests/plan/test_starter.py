"""Starter plans, made for each machine there may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS
from plan_strategies import machines

from gpu_studio.plan import Card, Carve, Machine, Named, logical_devices, replicas, starter, validate


@given(machines())
def test_that_a_starter_plan_can_run_on_its_machine(machine):
    assert validate(starter(machine), machine) == []


@given(machines())
def test_that_a_starter_plan_uses_all_that_it_makes(machine):
    plan = starter(machine)
    kind = "GPU" if machine.cards else "CPU"

    assert plan.distribution.strategy == "mirrored"
    assert replicas(plan, machine) == tuple(
        device.name for device in logical_devices(plan, machine) if device.name.startswith(kind)
    )


@pytest.mark.parametrize(("cores", "slices"), [(1, 2), (2, 2), (3, 3), (4, 4), (64, 4)])
def test_that_without_cards_the_cpu_is_carved_by_its_cores(cores, slices):
    plan = starter(Machine(cpu_cores=cores))

    assert plan.devices.carve == (Carve("CPU:0", (0,) * slices),)


def test_that_the_name_says_what_the_plan_is_made_for():
    assert starter(NO_CARDS).name == "digits on four logical CPUs"
    assert starter(TWO_CARDS).name == "digits on two cards"
    assert starter(ONE_CARD).name == "digits on four slices of a card"


def test_that_the_learning_rate_falls_so_that_the_end_is_steady():
    assert starter(NO_CARDS).training.schedule == Named("cosine")


def test_that_several_cards_are_mirrored_over_and_not_carved():
    plan = starter(TWO_CARDS)

    assert plan.devices.carve == ()
    assert replicas(plan, TWO_CARDS) == ("GPU:0", "GPU:1")


@pytest.mark.parametrize(
    ("free", "slices"),
    [
        (81_920, (20_224,) * 4),
        (6_000, (1024,) * 4),
        (4_500, (1024,) * 3),
        (3_072, (1024,) * 2),
    ],
)
def test_that_one_card_is_carved_into_equal_slices_of_what_is_free(free, slices):
    machine = Machine((Card(0, "GPU-1", "card", total_mib=100_000, used_mib=100_000 - free),))

    assert starter(machine).devices.carve == (Carve("GPU:0", slices),)


@pytest.mark.parametrize("card", [Card(0, "GPU-1", "full", total_mib=8192, used_mib=7000), Card(0, "GPU-1", "unknown")])
def test_that_a_card_with_too_little_to_share_out_grows_instead(card):
    plan = starter(Machine((card,)))

    assert plan.devices.carve == ()
    assert plan.devices.memory_growth


def test_that_a_card_asleep_is_left_alone_while_another_is_awake():
    machine = Machine((Card(0, "", "asleep", asleep=True), Card(1, "GPU-1", "awake", total_mib=8192, used_mib=0)))
    plan = starter(machine)

    assert plan.devices.visible == ("GPU:1",)
    assert plan.devices.carve == (Carve("GPU:1", (1792,) * 4),)
    assert validate(plan, machine) == []


def test_that_many_cards_get_a_batch_with_some_samples_for_each():
    machine = Machine(tuple(Card(index, f"GPU-{index}", "card") for index in range(16)))

    assert starter(machine).training.batch_size == 128
