"""Starter plans, made for each machine there may be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS
from plan_strategies import machines
from simulated_machines import simulated_machine

from gpu_studio.hardware.simulated.profiles import NAMES
from gpu_studio.plan import (
    RUNNABLE_STRATEGIES,
    Card,
    CardUser,
    Carve,
    Machine,
    Named,
    loads,
    logical_devices,
    replicas,
    starter,
    validate,
    visible_cards,
)
from gpu_studio.plan.cautions import cautions
from gpu_studio.plan.files import dumps
from gpu_studio.plan.starter import spread, template

FREE_CARDS = replace(TWO_CARDS, cards=tuple(replace(card, used_mib=0) for card in TWO_CARDS.cards))


@given(machines())
def test_that_a_starter_plan_can_run_on_its_machine(machine):
    assert validate(starter(machine), machine) == []


@given(machines())
def test_that_a_starter_plan_is_not_warned_of(machine):
    assert cautions(starter(machine), machine) == ()


@given(machines())
def test_that_a_starter_plan_takes_one_card_that_answers_and_a_free_one_if_there_is_any(machine):
    plan = starter(machine)
    taken = visible_cards(plan.devices, machine)

    assert len(taken) <= 1
    assert all(card.answers or not any(each.answers for each in machine.cards) for card in taken)
    assert all(card.is_free for card in taken) or not any(card.is_free for card in machine.cards)
    assert bool(taken) == any(not card.lost for card in machine.cards)
    assert plan.devices.memory_growth == bool(taken)


@given(machines())
def test_that_a_plan_with_several_replicas_uses_all_that_it_makes_and_nothing_that_is_lost_or_busy(
    machine,
):
    plan = spread(machine)
    taken = visible_cards(plan.devices, machine)
    kind = "GPU" if taken else "CPU"

    assert validate(plan, machine) == []
    assert replicas(plan, machine) == tuple(
        device.name for device in logical_devices(plan, machine) if device.name.startswith(kind)
    )
    assert len(taken) < 2 or all(card.is_free for card in taken)


@pytest.mark.parametrize(("cores", "slices"), [(1, 2), (2, 2), (3, 3), (4, 4), (64, 4)])
def test_that_without_cards_the_cpu_is_carved_by_its_cores(cores, slices):
    plan = starter(Machine(cpu_cores=cores))

    assert plan.devices.carve == (Carve("CPU:0", (0,) * slices),)


def test_that_the_name_says_what_the_plan_is_made_for():
    assert starter(NO_CARDS).name == "digits on four logical CPUs"
    assert starter(ONE_CARD).name == "digits on one card"
    assert spread(FREE_CARDS).name == "digits on two cards"
    assert spread(ONE_CARD).name == "digits on four slices of a card"


def test_that_the_learning_rate_falls_so_that_the_end_is_steady():
    assert starter(NO_CARDS).training.schedule == Named("cosine")


def test_that_several_cards_are_mirrored_over_and_not_carved():
    plan = spread(FREE_CARDS)

    assert plan.devices.carve == ()
    assert replicas(plan, FREE_CARDS) == ("GPU:0", "GPU:1")


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

    assert spread(machine).devices.carve == (Carve("GPU:0", slices),)


@pytest.mark.parametrize(
    "card", [Card(0, "GPU-1", "full", total_mib=8192, used_mib=7000), Card(0, "GPU-1", "unknown")]
)
def test_that_a_card_with_too_little_to_share_out_grows_instead(card):
    plan = starter(Machine((card,)))

    assert plan.devices.carve == ()
    assert plan.devices.memory_growth


def test_that_a_card_asleep_is_left_alone_while_another_is_awake():
    machine = Machine(
        (Card(0, "", "asleep", asleep=True), Card(1, "GPU-1", "awake", total_mib=8192, used_mib=0))
    )
    plan = spread(machine)

    assert starter(machine).devices.visible == ("GPU:1",)
    assert plan.devices.visible == ("GPU:1",)
    assert plan.devices.carve == (Carve("GPU:1", (1792,) * 4),)
    assert validate(plan, machine) == []


def test_that_many_cards_get_a_batch_with_some_samples_for_each():
    machine = Machine(tuple(Card(index, f"GPU-{index}", "card") for index in range(16)))

    assert spread(machine).training.batch_size == 128


BUSY = (
    Card(0, "GPU-0", "held", total_mib=80_000, used_mib=30_000),
    Card(
        1,
        "GPU-1",
        "of grace",
        total_mib=80_000,
        used_mib=10,
        users=(CardUser(7, 10, "python", "grace"),),
    ),
    Card(2, "GPU-2", "at work", total_mib=80_000, used_mib=10, utilisation_percent=96),
    Card(3, "", "lost", lost=True, why_unknown="lost"),
)


def test_that_a_free_card_is_taken_before_all_others():
    free = Card(4, "GPU-4", "free", total_mib=8192, used_mib=700, users=(CardUser(8, 700, "Xorg"),))
    plan = starter(Machine((*BUSY, free)))

    assert plan.devices.visible == ("GPU-4",)


def test_that_without_a_free_card_the_emptiest_is_taken_and_its_memory_grows():
    plan = starter(Machine(BUSY[:2]))

    assert plan.devices.visible == ("GPU:1",)
    assert plan.devices.memory_growth
    assert spread(Machine(BUSY[:2])).devices.carve == (Carve("GPU:1", (19_712,) * 4),)


def test_that_cards_that_are_all_lost_are_not_tried():
    machine = Machine(BUSY[3:], cpu_cores=2)

    assert starter(machine).devices.visible == ("CPU:0",)
    assert validate(starter(machine), machine) == []


@pytest.mark.parametrize("name", [*NAMES, "2xL4", "8xH100", "8xRTX4090", "2xMIG"])
def test_that_the_starter_plan_of_each_simulated_machine_takes_nothing_of_others(name):
    machine = simulated_machine(name)
    plan = starter(machine)
    (card,) = visible_cards(plan.devices, machine)

    assert card.answers
    assert card.is_free or not any(each.is_free for each in machine.cards)
    assert validate(plan, machine) == []
    assert cautions(plan, machine) == ()


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
@settings(max_examples=30, deadline=None)
@given(machine=machines())
def test_that_each_template_can_run_on_the_machine_it_is_made_for(
    strategy: str, machine: Machine
) -> None:
    plan = template(strategy, machine)
    assert plan.distribution.strategy == strategy
    assert validate(plan, machine) == []
    assert loads(dumps(plan)) == plan


def test_that_layers_are_dealt_to_the_devices_in_their_order() -> None:
    placed = template("placed", Machine(cpu_cores=2)).distribution.placed
    assert placed is not None
    assert placed.layers == {
        "dense": ("CPU:0",),
        "dense_1": ("CPU:0",),
        "dense_2": ("CPU:1",),
        "outputs": ("CPU:1",),
    }
