"""Rules of `[distribution]`."""

from __future__ import annotations

import pytest
from plan_samples import NO_CARDS, ONE_CARD, TWO_CARDS, a_plan, said

from gpu_studio.plan import (
    RUNNABLE_STRATEGIES,
    STRATEGIES,
    Plan,
    strategy_named,
    validate,
    with_settings,
)
from gpu_studio.plan.remedies import mend_of
from gpu_studio.plan.values import listed

FOUR_CPUS = 'devices.carve=[{ device = "CPU:0", slices_mib = [0, 0, 0, 0] }]'
FOUR_SLICES = 'devices.carve=[{ device = "GPU:0", slices_mib = [1024, 1024, 1024, 1024] }]'
MIRRORED = "distribution.strategy=mirrored"


def changed(*settings: str) -> Plan:
    return with_settings(a_plan(), settings)


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
@pytest.mark.parametrize("machine", [None, NO_CARDS, ONE_CARD, TWO_CARDS])
def test_that_every_strategy_that_runs_is_accepted_everywhere(strategy, machine):
    # Two workers, as many as there are by default, cannot share one card.
    alone = machine is ONE_CARD and strategy_named(strategy).clusters
    more = ["cluster.workers=1"] if alone else []
    assert said(changed(f"distribution.strategy={strategy}", *more), machine) == []


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
def test_that_xla_compiles_the_steps_of_strategies_for_one_device_and_of_no_other(strategy):
    asked = changed(f"distribution.strategy={strategy}", "training.jit_compile=true")
    problems = validate(asked)
    if strategy in ("none", "one_device"):
        assert problems == []
        return
    (problem,) = problems
    assert str(problem) == (
        f'training.jit_compile is true with strategy "{strategy}": XLA compiles for one device: '
        'write "auto", or choose the strategy "none" or "one_device".'
    )
    mend = mend_of(problem, asked, TWO_CARDS)
    assert mend is not None
    assert mend.make(asked) == changed(f"distribution.strategy={strategy}")


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - set(RUNNABLE_STRATEGIES)))
def test_that_a_strategy_that_does_not_run_is_refused_with_its_reason(strategy):
    why = strategy_named(strategy).why_not.rstrip(".")
    (sentence,) = said(changed(f"distribution.strategy={strategy}"))
    assert sentence.startswith(f'distribution.strategy is "{strategy}": {why[0].lower()}{why[1:]}:')
    assert sentence.endswith(f"choose {listed(RUNNABLE_STRATEGIES, 'or')}.")


def test_that_an_unknown_strategy_is_refused_with_the_nearest():
    assert said(changed("distribution.strategy=miror"))[0].startswith(
        'distribution.strategy is "miror": did you mean mirrored?'
    )


def test_that_an_unknown_all_reduce_is_refused_with_the_nearest():
    assert said(changed("distribution.all_reduce=rings"))[0].startswith(
        'distribution.all_reduce is "rings": did you mean ring?'
    )


@pytest.mark.parametrize(
    ("machine", "settings", "device", "there"),
    [
        (ONE_CARD, [FOUR_SLICES], "GPU:4", "are GPU:0 … GPU:3 and CPU:0"),
        (TWO_CARDS, [], "GPU:2", "are GPU:0, GPU:1 and CPU:0"),
        (TWO_CARDS, ['devices.visible=["GPU:1"]'], "GPU:1", "are GPU:0 and CPU:0"),
        (NO_CARDS, [FOUR_CPUS], "CPU:4", "are CPU:0 … CPU:3"),
        (None, [FOUR_CPUS], "CPU:4", "are CPU:0 … CPU:3"),
        (None, [], "CPU:1", "is CPU:0"),
        (None, ['devices.visible=["GPU:5"]'], "GPU:1", "are GPU:0 and CPU:0"),
    ],
)
def test_that_a_logical_device_that_there_will_not_be_is_refused_with_those_there_are(
    machine, settings, device, there
):
    plan = changed(*settings, MIRRORED, f'distribution.devices=["{device}"]')

    assert said(plan, machine) == [
        f'distribution.devices[0] is "{device}": there is no such logical device: there {there}.'
    ]


def test_that_a_gpu_on_a_machine_without_cards_is_refused_with_the_reason():
    plan = changed(MIRRORED, 'distribution.devices=["GPU:0"]')

    assert said(plan, NO_CARDS)[0].endswith(
        "there is CPU:0; this machine has no card (no NVIDIA driver is "
        "installed on this machine), only CPU:0."
    )


def test_that_a_gpu_is_not_refused_while_the_machine_is_not_known():
    assert said(changed(MIRRORED, 'distribution.devices=["GPU:3"]')) == []


@pytest.mark.parametrize("name", ["gpu:0", "GPU:00", "GPU-5d0f", "/device:GPU:0", ""])
def test_that_what_is_no_logical_name_is_refused(name):
    problems = said(changed(MIRRORED, f'distribution.devices=["{name}"]'))

    assert len(problems) == 1
    assert (
        'write the name that TensorFlow gives a logical device, "GPU:0" or "CPU:0".' in problems[0]
    )


def test_that_a_logical_device_named_twice_is_refused():
    assert said(changed(MIRRORED, 'distribution.devices=["CPU:0", "CPU:0"]')) == [
        'distribution.devices is given "CPU:0" more than once: name each device once.'
    ]


@pytest.mark.parametrize(
    ("strategy", "devices", "problem"),
    [
        (
            "none",
            ["CPU:0"],
            'distribution.devices is given with strategy "none": leave them out, or choose',
        ),
        (
            "one_device",
            ["CPU:0", "CPU:1"],
            'distribution.devices is 2 devices with strategy "one_device": name one',
        ),
    ],
)
def test_that_devices_without_use_are_refused(strategy, devices, problem):
    problems = said(
        changed(FOUR_CPUS, f"distribution.strategy={strategy}", f"distribution.devices={devices}")
    )

    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_that_a_parameter_device_is_for_central_storage():
    assert (
        said(
            changed("distribution.strategy=central_storage", "distribution.parameter_device=CPU:0")
        )
        == []
    )
    assert said(changed(MIRRORED, "distribution.parameter_device=CPU:0"))[0].startswith(
        'distribution.parameter_device is "CPU:0": leave it out; only '
        'the strategy "central_storage"'
    )


def test_that_a_parameter_device_must_be_there():
    plan = changed("distribution.strategy=central_storage", "distribution.parameter_device=CPU:3")

    assert said(plan) == [
        'distribution.parameter_device is "CPU:3": there is no such logical device: there is CPU:0.'
    ]


@pytest.mark.parametrize("machine", [None, ONE_CARD])
def test_that_nccl_over_slices_of_a_card_is_refused(machine):
    assert said(changed(FOUR_SLICES, MIRRORED, "distribution.all_reduce=nccl"), machine) == [
        (
            'distribution.all_reduce is "nccl" with several slices of a card: '
            'NCCL refuses two replicas on one card, here GPU 0: choose "auto", which takes what '
            "suits the devices."
        )
    ]


def test_that_nccl_over_one_slice_of_each_card_is_accepted():
    carve = 'devices.carve=[{ device = "GPU:0", slices_mib = [1024, 1024] }]'
    plan = changed(
        carve, MIRRORED, 'distribution.devices=["GPU:1", "GPU:2"]', "distribution.all_reduce=nccl"
    )

    assert said(plan, TWO_CARDS) == []


def test_that_nccl_over_whole_cards_is_accepted():
    assert said(changed(MIRRORED, "distribution.all_reduce=nccl"), TWO_CARDS) == []


@pytest.mark.parametrize(
    ("machine", "devices"),
    [(NO_CARDS, []), (None, ["CPU:0", "CPU:1"]), (ONE_CARD, ["CPU:0", "CPU:1"])],
)
def test_that_nccl_over_cpus_is_refused(machine, devices):
    plan = changed(
        FOUR_CPUS, MIRRORED, "distribution.all_reduce=nccl", f"distribution.devices={devices}"
    )

    assert said(plan, machine) == [
        (
            'distribution.all_reduce is "nccl" on CPUs: NCCL joins NVIDIA cards only: '
            'choose "auto", which takes what suits the devices.'
        )
    ]


@pytest.mark.parametrize("strategy", ["mirrored", "central_storage"])
@pytest.mark.parametrize(
    ("machine", "carve"), [(NO_CARDS, FOUR_CPUS), (ONE_CARD, FOUR_SLICES), (None, FOUR_SLICES)]
)
def test_that_a_global_batch_smaller_than_the_replicas_is_refused(strategy, machine, carve):
    plan = changed(carve, f"distribution.strategy={strategy}", "training.batch_size=3")

    assert said(plan, machine) == [
        (
            "training.batch_size is 3: 4 replicas share a batch: give 4 or more, "
            'or set batch_scope = "replica".'
        )
    ]


def test_that_a_small_batch_is_enough_for_each_replica_of_its_own():
    assert (
        said(
            changed(FOUR_CPUS, MIRRORED, "training.batch_size=1", "training.batch_scope=replica"),
            NO_CARDS,
        )
        == []
    )


def test_that_a_small_batch_is_enough_for_one_replica():
    assert (
        said(changed(FOUR_CPUS, "distribution.strategy=none", "training.batch_size=1"), NO_CARDS)
        == []
    )


def test_that_only_the_devices_chosen_share_the_batch():
    plan = changed(
        FOUR_CPUS, MIRRORED, 'distribution.devices=["CPU:1", "CPU:3"]', "training.batch_size=2"
    )

    assert said(plan, NO_CARDS) == []
