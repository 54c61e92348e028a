from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS
from made_plans import on_everything

from gpu_studio.plan import (
    RUNNABLE_STRATEGIES,
    Card,
    DeviceSettings,
    Distribution,
    Machine,
    logical_devices,
    shares_of,
    validate,
)
from gpu_studio.plan.carving import set_slices, slices_of
from gpu_studio.plan.edits.distribution import set_strategy
from gpu_studio.plan.edits.training import set_training
from gpu_studio.ui.plan.carving.strips import strips_of
from gpu_studio.ui.plan.outlook import facts, prospects

counts = st.integers(1, 8)


@given(counts)
def test_that_the_cpu_cut_into_slices_is_a_valid_plan_with_as_many_logical_cpus(count: int) -> None:
    plan = set_slices(on_everything(WITHOUT_CARDS), "CPU:0", count, WITHOUT_CARDS)
    assert validate(plan, WITHOUT_CARDS) == []
    assert len(logical_devices(plan, WITHOUT_CARDS)) == count


@given(counts)
def test_that_the_slices_of_a_card_share_what_is_free_and_are_valid(count: int) -> None:
    plan = set_slices(on_everything(TWO_CARDS), "GPU:1", count, TWO_CARDS)
    assert validate(plan, TWO_CARDS) == []
    slices = slices_of(plan, "GPU:1", TWO_CARDS)
    assert len(slices) == (count if count > 1 else 0)
    assert sum(slices) <= (TWO_CARDS.cards[1].free_mib or 0)


def test_that_a_card_without_room_is_refused_by_the_rules_and_not_by_a_crash() -> None:
    full = Machine(cards=(Card(0, "GPU-0", "Full", total_mib=1024, used_mib=1024),), cpu_cores=2)
    plan = set_slices(on_everything(full), "GPU:0", 8, full)
    assert any("slices_mib" in problem.field for problem in validate(plan, full))


def test_that_a_carve_ends_growth_and_names_that_would_mean_others() -> None:
    before = replace(
        on_everything(TWO_CARDS),
        devices=DeviceSettings(memory_growth=True),
        distribution=Distribution("mirrored", devices=("GPU:0", "GPU:1")),
    )
    after = set_slices(before, "GPU:0", 2, TWO_CARDS)
    assert not after.devices.memory_growth
    assert after.distribution.devices == ()
    assert validate(after, TWO_CARDS) == []


def test_that_a_card_named_by_uuid_is_the_same_card() -> None:
    by_uuid = set_slices(on_everything(TWO_CARDS), "GPU:0", 2, TWO_CARDS)
    carve = replace(by_uuid.devices.carve[0], device="GPU-0")
    renamed = replace(by_uuid, devices=replace(by_uuid.devices, carve=(carve,)))
    assert len(set_slices(renamed, "GPU:0", 3, TWO_CARDS).devices.carve) == 1


@pytest.mark.parametrize("strategy", RUNNABLE_STRATEGIES)
@pytest.mark.parametrize("machine", [WITHOUT_CARDS, TWO_CARDS], ids=["CPU", "cards"])
def test_that_every_strategy_can_follow_every_other(strategy: str, machine: Machine) -> None:
    names = tuple(device.name for device in logical_devices(on_everything(machine), machine)[:2])
    before = replace(
        on_everything(machine),
        distribution=Distribution("central_storage", names, parameter_device="CPU:0"),
    )
    assert validate(set_strategy(before, strategy), machine) == []


@given(batch=st.integers(1, 10_000), count=st.integers(1, 64))
def test_that_the_shares_of_a_global_batch_are_even_and_lose_nothing(
    batch: int, count: int
) -> None:
    shares = shares_of(set_training(on_everything(WITHOUT_CARDS), batch_size=batch), count)
    assert sum(shares) == batch
    assert len(shares) == count
    assert max(shares) - min(shares) <= 1
    assert list(shares) == sorted(shares, reverse=True)


def test_that_a_batch_for_each_replica_adds_up() -> None:
    plan = set_training(on_everything(WITHOUT_CARDS), batch_size=32, batch_scope="replica")
    assert dict(facts(plan, WITHOUT_CARDS))["global batch"] == "128 samples"
    assert dict(facts(plan, WITHOUT_CARDS))["each replica"] == "32"


def test_that_the_outlook_names_every_logical_device_with_its_limit_and_share() -> None:
    plan = set_slices(on_everything(TWO_CARDS), "GPU:0", 2, TWO_CARDS)
    seen = prospects(plan, TWO_CARDS)
    assert [each.name for each in seen] == ["GPU:0", "GPU:1", "GPU:2", "CPU:0"]
    assert [each.share for each in seen] == ["22 samples", "21 samples", "21 samples", "no replica"]
    assert seen[0].limit == "up to 11.2 GiB"
    assert seen[2].limit == "the whole card"
    assert [each.replica for each in seen] == [True, True, True, False]


def test_that_a_strip_is_to_scale_with_what_is_used_now() -> None:
    plan = set_slices(on_everything(TWO_CARDS), "GPU:1", 2, TWO_CARDS)
    strip = strips_of(plan, TWO_CARDS)[1]
    assert sum(segment.size for segment in strip.segments) == TWO_CARDS.cards[1].total_mib
    assert strip.segments[0].hatched
    assert strip.segments[0].size == 1024 + 300
    assert [segment.place for segment in strip.segments] == [None, 1, 2, None]
    assert strip.slices == 2


def test_that_a_card_hidden_by_the_plan_says_so() -> None:
    plan = replace(on_everything(TWO_CARDS), devices=DeviceSettings(visible=("GPU:1",)))
    hidden, shown = strips_of(plan, TWO_CARDS)
    assert not hidden.visible
    assert "hidden" in hidden.segments[0].title
    assert shown.segments[-1].title == "GPU:0"


def test_that_the_cpu_stands_among_the_strips_only_if_it_is_carved_or_alone() -> None:
    assert [strip.device for strip in strips_of(on_everything(TWO_CARDS), TWO_CARDS)] == [
        "GPU:0",
        "GPU:1",
    ]
    carved = set_slices(on_everything(TWO_CARDS), "CPU:0", 2, TWO_CARDS)
    assert [strip.device for strip in strips_of(carved, TWO_CARDS)] == ["GPU:0", "GPU:1", "CPU:0"]
    assert [strip.device for strip in strips_of(on_everything(WITHOUT_CARDS), WITHOUT_CARDS)] == [
        "CPU:0"
    ]
