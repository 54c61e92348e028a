"""Rules of `[distribution.placed]`."""

from __future__ import annotations

import pytest
from plan_samples import NO_CARDS, ONE_CARD, a_plan, said

from gpu_studio.plan import Plan, with_settings

FOUR_CPUS = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0, 0, 0] }]'
PLACED = "distribution.strategy=placed"
SPLIT = 'distribution.placed.layers={ dense = ["CPU:0", "CPU:1"] }'


def changed(*settings: str) -> Plan:
    return with_settings(a_plan(), settings)


def test_that_a_placement_is_accepted_where_its_devices_are():
    plan = changed(
        FOUR_CPUS,
        PLACED,
        SPLIT,
        "distribution.placed.micro_batches=4",
        "distribution.placed.recompute=true",
    )

    assert said(plan, NO_CARDS) == []


def test_that_a_placement_without_its_strategy_is_refused():
    plan = changed(
        "distribution.strategy=mirrored", 'distribution.placed.layers={ dense = "CPU:0" }'
    )

    assert said(plan) == [
        (
            'distribution.placed is given with strategy "mirrored": '
            'leave [distribution.placed] out, or choose strategy = "placed".'
        )
    ]


def test_that_a_placement_names_devices_that_there_are():
    plan = changed(
        PLACED,
        "distribution.placed.micro_batches=0",
        'distribution.placed.layers={ a = "CPU:0", b = ["CPU:0", "CPU:7"], c = [] }',
    )

    assert said(plan) == [
        "distribution.placed.micro_batches is 0: give a whole number from 1 to 10,000.",
        'distribution.placed.layers.b is "CPU:7": there is no such logical device: there is CPU:0.',
        (
            "distribution.placed.layers.c is empty: name the device, or the "
            "devices, that the layer runs on."
        ),
    ]


def test_that_a_card_that_is_not_there_is_refused_with_the_machine_known():
    plan = changed(PLACED, 'distribution.placed.layers={ dense = "GPU:1" }')

    assert said(plan) == []
    assert said(plan, ONE_CARD) == [
        (
            'distribution.placed.layers.dense is "GPU:1": there is no such logical '
            "device: there are GPU:0 and CPU:0."
        )
    ]


def test_that_a_device_named_twice_for_a_layer_is_refused_once():
    plan = changed(
        FOUR_CPUS, PLACED, 'distribution.placed.layers={ dense = ["CPU:1", "CPU:1", "CPU:2"] }'
    )

    assert said(plan, NO_CARDS) == [
        'distribution.placed.layers.dense is given "CPU:1" more than once: name each device once.'
    ]


@pytest.mark.parametrize(
    ("batch", "parts", "accepted"), [(4, 4, True), (4, 5, False), (1, 2, False)]
)
def test_that_a_micro_batch_without_a_sample_is_refused(batch, parts, accepted):
    plan = changed(
        PLACED, f"training.batch_size={batch}", f"distribution.placed.micro_batches={parts}"
    )
    advice = (
        f"a batch of {batch} samples has at most {batch} parts: give {batch} "
        "or less, or a larger batch_size."
    )

    assert said(plan) == (
        [] if accepted else [f"distribution.placed.micro_batches is {parts}: {advice}"]
    )


@pytest.mark.parametrize("optimizer", ["adafactor", "muon"])
def test_that_a_split_layer_is_refused_where_the_optimizer_looks_at_whole_weights(optimizer):
    assert said(changed(FOUR_CPUS, PLACED, SPLIT, f"training.optimizer={optimizer}"), NO_CARDS) == [
        (
            f'training.optimizer is "{optimizer}" with layers split over '
            "devices: it looks at whole weights: "
            'give "dense" one device, or choose "adam".'
        )
    ]


def test_that_clipping_each_weight_by_itself_is_refused_with_a_split_layer():
    assert said(changed(FOUR_CPUS, PLACED, SPLIT, "training.options.clipnorm=1.0"), NO_CARDS) == [
        (
            "training.options.clipnorm is given with layers split over "
            "devices: it looks at whole weights: "
            'give "dense" one device, or write global_clipnorm.'
        )
    ]


def test_that_an_optimizer_that_looks_at_whole_weights_is_accepted_where_nothing_is_split():
    plan = changed(
        FOUR_CPUS,
        PLACED,
        "training.optimizer=muon",
        'distribution.placed.layers={ dense = "CPU:1" }',
    )

    assert said(plan, NO_CARDS) == []
