"""Rules of `[devices]`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan, said

from gpu_studio.plan import Card, Machine, validate
from gpu_studio.plan.remedies import mend_of
from gpu_studio.plan.rules.device_rules import allocator


def carved(device: str, slices: str) -> str:
    return f'[[devices.carve]]\ndevice = "{device}"\nslices_mib = {slices}\n'


@pytest.mark.parametrize("name", ["GPU:0", "GPU:1", "CPU:0", "GPU-5d0", "GPU-5d1e"])
def test_that_every_name_of_a_device_is_accepted(name):
    assert said(a_plan(f'[devices]\nvisible = ["{name}"]'), TWO_CARDS) == []


@pytest.mark.parametrize(
    "name", ["gpu:0", "GPU:", "GPU:01", "GPU:-1", "CPU:1", "GPU-", "TPU:0", "", "GPU:0 ", "GPU:٣"]
)
def test_that_a_name_that_no_device_has_is_refused(name):
    problems = said(a_plan(f'[devices]\nvisible = ["{name}"]'))

    assert len(problems) == 1
    assert problems[0].startswith(f'devices.visible[0] is "{name}": write "GPU:0", "CPU:0" or')


def test_that_a_device_that_is_not_there_is_refused_with_those_that_are():
    assert said(a_plan('[devices]\nvisible = ["GPU:7"]'), TWO_CARDS) == [
        (
            'devices.visible[0] is "GPU:7": there is no such device; this '
            "machine has GPU:0, GPU:1 and CPU:0."
        )
    ]


def test_that_a_machine_without_cards_says_why_it_has_none():
    assert said(a_plan('[devices]\nvisible = ["GPU:0"]'), NO_CARDS) == [
        (
            'devices.visible[0] is "GPU:0": there is no such device; '
            "this machine has no card (no NVIDIA driver is installed on this machine), only CPU:0."
        )
    ]


def test_that_the_beginning_of_two_uuids_is_refused():
    assert said(a_plan('[devices]\nvisible = ["GPU-5d"]'), TWO_CARDS) == [
        'devices.visible[0] is "GPU-5d": write more of the UUID, more than one card\'s begins so.'
    ]


@pytest.mark.parametrize("visible", ['["GPU:0", "GPU:0"]', '["GPU:0", "GPU-5d0"]'])
def test_that_a_device_named_twice_is_refused(visible):
    assert said(a_plan(f"[devices]\nvisible = {visible}"), TWO_CARDS)[0].endswith(
        "a second time: name each device once."
    )


def test_that_a_device_carved_twice_is_refused():
    problems = said(a_plan(carved("GPU:0", "[1024]") + carved("GPU-5d0f", "[1024]")), ONE_CARD)

    assert problems == [
        (
            'devices.carve[1].device is "GPU-5d0f" a second time: put '
            "all slices of a device into one "
            "[[devices.carve]]."
        )
    ]


def test_that_a_carve_of_a_device_that_is_not_there_is_refused():
    problems = said(a_plan(carved("GPU:1", "[1024]")), ONE_CARD)

    assert problems == [
        (
            'devices.carve[0].device is "GPU:1": there is no such device; '
            "this machine has GPU:0 and CPU:0."
        )
    ]


@pytest.mark.parametrize("machine", [None, TWO_CARDS])
def test_that_a_carve_of_a_hidden_card_is_refused(machine):
    plan = a_plan('[devices]\nvisible = ["GPU:0"]\n' + carved("GPU:1", "[1024]"))

    assert said(plan, machine) == [
        (
            'devices.carve[0].device is "GPU:1", which devices.visible hides: '
            "add it to devices.visible, or do not carve it."
        )
    ]


def test_that_the_cpu_can_be_carved_whatever_is_visible():
    assert (
        said(a_plan('[devices]\nvisible = ["GPU:0"]\n' + carved("CPU:0", "[0, 0]")), ONE_CARD) == []
    )


def test_that_a_card_seen_by_uuid_can_be_carved_by_its_name():
    assert (
        said(a_plan('[devices]\nvisible = ["GPU-5d0f"]\n' + carved("GPU:0", "[1024]")), ONE_CARD)
        == []
    )


def test_that_slices_that_fill_the_card_are_accepted():
    assert said(a_plan(carved("GPU:0", "[4096, 3896]")), ONE_CARD) == []


def test_that_slices_larger_than_the_card_are_refused_with_what_to_take_away():
    assert said(a_plan(carved("GPU:0", "[4096, 4096]")), ONE_CARD) == [
        (
            "devices.carve[0].slices_mib is 8,192 MiB in all: "
            "GPU 0 (Card A) has 7,992 MiB to give: take away at least 200 MiB."
        )
    ]


def test_that_a_card_of_unknown_memory_can_be_carved():
    machine = Machine((Card(0, "GPU-1", "Card", why_unknown="not supported by this card"),))

    assert said(a_plan(carved("GPU:0", "[4096]")), machine) == []


def test_that_a_limit_on_a_slice_of_the_cpu_is_refused():
    assert said(a_plan(carved("CPU:0", "[0, 512]"))) == [
        (
            "devices.carve[0].slices_mib[1] is 512: write 0, because TensorFlow "
            "cannot limit the memory of a CPU."
        )
    ]


@pytest.mark.parametrize("limit", [0, -1])
def test_that_a_slice_of_a_card_without_a_limit_is_refused(limit):
    assert said(a_plan(carved("GPU:0", f"[{limit}]"))) == [
        f"devices.carve[0].slices_mib[0] is {limit}: give the slice's memory in MiB, 1 or more."
    ]


@pytest.mark.parametrize(("device", "example"), [("CPU:0", "[0, 0]"), ("GPU:0", "[1024, 1024]")])
def test_that_a_carve_without_slices_is_refused(device, example):
    assert said(a_plan(carved(device, "[]"))) == [
        f"devices.carve[0].slices_mib is empty: give a number for each slice, such as {example}."
    ]


def test_that_a_device_is_carved_into_64_slices_and_no_more():
    assert said(a_plan(carved("CPU:0", str([0] * 64)))) == []
    assert said(a_plan(carved("CPU:0", str([0] * 65)))) == [
        "devices.carve[0].slices_mib is a list of 65: carve a device into at most 64 slices."
    ]


@pytest.mark.parametrize("carve", [carved("CPU:0", "[0, 0]"), carved("GPU:0", "[1024]")])
def test_that_growth_with_a_carve_is_refused(carve):
    problems = said(a_plan(f"[devices]\nmemory_growth = true\n{carve}"), ONE_CARD)

    assert len(problems) == 1
    assert problems[0].startswith(
        "devices.memory_growth is true together with a carve: memory cannot grow"
    )


def test_that_a_carve_of_a_card_is_refused_where_tensorflow_is_told_to_share_one_pool():
    shared = {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}

    assert [str(problem) for problem in allocator(a_plan(carved("GPU:0", "[1024]")), shared)] == [
        (
            "devices.carve is given while TF_GPU_ALLOCATOR=cuda_malloc_async is "
            "set: all slices of a card share one "
            "pool then, without limits: unset the variable, or leave out the carve."
        )
    ]
    assert list(allocator(a_plan(carved("CPU:0", "[0, 0]")), shared)) == []
    assert list(allocator(a_plan(carved("GPU:0", "[1024]")), {"TF_GPU_ALLOCATOR": "bfc"})) == []


LOST = replace(
    TWO_CARDS,
    cards=(
        TWO_CARDS.cards[0],
        Card(
            1,
            "",
            "NVIDIA card",
            "0000:02:00.0",
            lost=True,
            why_unknown="lost: the driver no longer answers for it",
        ),
        replace(TWO_CARDS.cards[1], index=2),
    ),
)


@pytest.mark.parametrize(
    ("names", "left"), [("[]", ("GPU-5d0f", "GPU-5d1e")), ('["GPU:1", "GPU:2"]', ("GPU-5d1e",))]
)
def test_that_a_lost_card_is_a_problem_and_hiding_it_leaves_the_others_by_their_uuids(names, left):
    plan = a_plan(f"[devices]\nvisible = {names}")
    [problem] = validate(plan, LOST)
    assert "GPU 1 does not answer (lost: the driver no longer answers for it): hide it" in str(
        problem
    )
    mend = mend_of(problem, plan, LOST)
    assert mend is not None
    assert mend.label == "Hide it"
    assert mend.make(plan).devices.visible == left
    assert validate(mend.make(plan), LOST) == []


def test_that_a_lost_card_that_is_hidden_is_no_problem():
    assert validate(a_plan('[devices]\nvisible = ["GPU:0"]'), LOST) == []
