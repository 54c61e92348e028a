"""Changes of a plan's distribution."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything

from gpu_studio.plan import (
    RUNNABLE_STRATEGIES,
    Distribution,
    Machine,
    Placed,
    logical_devices,
    replicas,
    validate,
)
from gpu_studio.plan.edits import distribution as edits
from gpu_studio.ui.plan.distribution_card import in_brief
from gpu_studio.ui.plan.strategy_sections import (
    LEFT_OPEN,
    one_device_rows,
    parameter_rows,
    replica_rows,
)

MACHINES = pytest.mark.parametrize("machine", [WITHOUT_CARDS, TWO_CARDS], ids=["CPU", "cards"])


@MACHINES
@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
@pytest.mark.parametrize("before", RUNNABLE_STRATEGIES)
def test_that_every_strategy_that_runs_can_follow_every_other(before, strategy, machine):
    plan = edits.set_strategy(on_everything(machine), before)
    changed = edits.set_strategy(
        edits.use_one_device(plan, "CPU:0") if before == "one_device" else plan, strategy
    )
    assert changed.distribution.strategy == strategy
    assert validate(changed, machine) == validate(
        edits.set_strategy(on_everything(machine), strategy), machine
    )


def test_that_what_only_the_strategy_before_had_a_use_for_is_left_out():
    full = Distribution(
        "central_storage", ("GPU:0", "GPU:1"), parameter_device="CPU:0", placed=Placed(4)
    )
    plan = replace(on_everything(TWO_CARDS), distribution=full)
    assert edits.set_strategy(plan, "one_device").distribution == Distribution(
        "one_device", ("GPU:0",)
    )
    assert edits.set_strategy(plan, "none").distribution == Distribution("none")
    assert edits.set_strategy(plan, "mirrored").distribution == Distribution(
        "mirrored", ("GPU:0", "GPU:1")
    )
    assert edits.set_strategy(plan, "placed").distribution.placed == Placed(4)
    assert edits.set_strategy(plan, "placed").distribution.devices == ("GPU:0", "GPU:1")


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_that_devices_are_named_in_order_or_not_at_all_and_one_always_stays(steps):
    plan = edits.set_strategy(on_everything(WITHOUT_CARDS), "mirrored")
    every = [device.name for device in logical_devices(plan, WITHOUT_CARDS)]
    wanted = set(every)
    for place, used in steps:
        plan = edits.use_device(plan, every[place], WITHOUT_CARDS, used=used)
        wanted = (wanted | {every[place]} if used else wanted - {every[place]}) or wanted
        assert replicas(plan, WITHOUT_CARDS) == tuple(name for name in every if name in wanted)
        assert (plan.distribution.devices == ()) == (len(wanted) == len(every))
        assert validate(plan, WITHOUT_CARDS) == []


def test_that_a_device_that_is_not_there_can_be_taken_out():
    plan = replace(
        on_everything(TWO_CARDS), distribution=Distribution("mirrored", ("GPU:0", "GPU:9"))
    )
    rows = {row.device: row for row in replica_rows(plan, TWO_CARDS)}
    assert rows["GPU:9"].checked
    assert "not among" in rows["GPU:9"].note
    plan = edits.use_device(plan, "GPU:9", TWO_CARDS, used=False)
    assert plan.distribution.devices == ("GPU:0",)


def test_that_the_small_edits_set_what_they_say():
    plan = edits.set_strategy(on_everything(TWO_CARDS), "central_storage")
    assert edits.set_parameter_device(plan, "GPU:1").distribution.parameter_device == "GPU:1"
    assert edits.set_parameter_device(plan, None).distribution.parameter_device is None
    assert edits.set_all_reduce(plan, "ring").distribution.all_reduce == "ring"
    assert edits.set_micro_batches(plan, 8).distribution.placed == Placed(8)
    assert edits.set_recompute(
        edits.set_micro_batches(plan, 8), True
    ).distribution.placed == Placed(8, recompute=True)
    assert edits.use_one_device(plan, None).distribution.devices == ()


@pytest.mark.parametrize("named", [None, "GPU:1", "GPU:7"])
def test_that_one_row_is_checked_where_one_is_chosen(named):
    plan = edits.use_one_device(edits.set_strategy(on_everything(TWO_CARDS), "one_device"), named)
    chosen = [row.device for row in one_device_rows(plan, TWO_CARDS) if row.checked]
    assert chosen == [named or LEFT_OPEN]
    plan = edits.set_parameter_device(
        edits.set_strategy(on_everything(TWO_CARDS), "central_storage"), named
    )
    chosen = [row.device for row in parameter_rows(plan, TWO_CARDS) if row.checked]
    assert chosen == [named or LEFT_OPEN]


@MACHINES
def test_that_a_row_left_open_says_what_comes_of_it(machine: Machine):
    plan = edits.set_strategy(on_everything(machine), "one_device")
    assert replicas(plan, machine)[0] in one_device_rows(plan, machine)[0].note
    assert "CPU:0" in parameter_rows(edits.set_strategy(plan, "central_storage"), machine)[0].note


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ("none", "one replica · on GPU:0"),
        ("one_device", "one replica · on GPU:0"),
        ("mirrored", "synchronous · 2 replicas · gradients by nccl"),
        ("central_storage", "synchronous · 2 replicas · variables on CPU:0"),
        ("placed", "synchronous · 0 layers placed · whole batches"),
        ("tpu", ""),
        ("mirored", ""),
    ],
)
def test_that_the_spread_is_said_in_brief(strategy, words):
    assert in_brief(edits.set_strategy(on_everything(TWO_CARDS), strategy), TWO_CARDS) == words
