from __future__ import annotations

import brute_force
import numpy as np
import pytest

from gpu_studio.placement.search import Found, Lack, place
from gpu_studio.placement.work import Device, Work

COUNTS = (1, 2, 4, 7)


def made(seed: int, *, chain: bool) -> tuple[Work, list[Device]]:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=chain)
    return work, brute_force.random_devices(random, work)


def feasible(work: Work, devices: list[Device]) -> list[tuple[int, ...]]:
    every = brute_force.placements(len(work.names), len(devices))
    return [each for each in every if brute_force.fits(work, devices, each)]


def cases(count: int, *, chain: bool) -> list[tuple[int, bool]]:
    return [(seed, chain) for seed in range(count)]


def test_that_fastest_is_what_an_exhaustive_search_finds_on_500_chains_and_200_graphs() -> None:
    for seed, chain in cases(500, chain=True) + cases(200, chain=False):
        work, devices = made(seed, chain=chain)
        count = COUNTS[seed % len(COUNTS)]
        allowed = feasible(work, devices)
        found = place(work, devices, "fastest", [count])
        if not allowed:
            assert isinstance(found, tuple)
            continue
        assert isinstance(found, Found)
        best = min(brute_force.step_seconds(work, devices, each, count) for each in allowed)
        assert found.seconds == pytest.approx(best, rel=1e-9)
        assert found.devices in allowed
        assert brute_force.step_seconds(work, devices, found.devices, count) == pytest.approx(best, rel=1e-9)
        assert found.bound <= found.seconds * (1 + 1e-9)
        assert found.bound == pytest.approx(best, rel=1e-6)


def test_that_the_best_number_of_micro_batches_is_chosen() -> None:
    for seed in range(40):
        work, devices = made(seed, chain=True)
        allowed = feasible(work, devices)
        found = place(work, devices, "fastest", COUNTS)
        if allowed:
            assert isinstance(found, Found)
            best = min(brute_force.step_seconds(work, devices, each, count) for each in allowed for count in COUNTS)
            assert found.seconds == pytest.approx(best, rel=1e-9)


def test_that_least_memory_leaves_the_fullest_device_as_empty_as_can_be_and_is_the_fastest_of_those() -> None:
    for seed in range(120):
        work, devices = made(seed, chain=seed % 2 == 0)
        allowed = feasible(work, devices)
        found = place(work, devices, "least_memory", [4])
        if not allowed:
            continue
        assert isinstance(found, Found)
        least = min(fullest(work, devices, each) for each in allowed)
        assert fullest(work, devices, found.devices) == pytest.approx(least, rel=1e-6)
        ties = [each for each in allowed if fullest(work, devices, each) <= least * (1 + 1e-9)]
        best = min(brute_force.step_seconds(work, devices, each, 4) for each in ties)
        assert found.seconds == pytest.approx(best, rel=1e-9)


def test_that_fewest_transfers_sends_as_little_as_can_be_and_is_the_fastest_of_those() -> None:
    for seed in range(120):
        work, devices = made(seed, chain=seed % 2 == 0)
        allowed = feasible(work, devices)
        found = place(work, devices, "fewest_transfers", [4])
        if not allowed:
            continue
        assert isinstance(found, Found)
        least = min(sum(brute_force.sent_bytes(work, each)) for each in allowed)
        assert sum(brute_force.sent_bytes(work, found.devices)) == pytest.approx(least)
        ties = [each for each in allowed if sum(brute_force.sent_bytes(work, each)) <= least + 1e-6]
        best = min(brute_force.step_seconds(work, devices, each, 4) for each in ties)
        assert found.seconds == pytest.approx(best, rel=1e-6)


def fullest(work: Work, devices: list[Device], placement: tuple[int, ...]) -> float:
    """The greatest share of a limit; with no limit at all, the most bytes."""
    limited = any(device.limit is not None for device in devices)
    held = brute_force.held_bytes(work, placement)
    return max(
        each / (1.0 if not limited else np.inf if device.limit is None else max(device.limit, 1.0))
        for each, device in zip(held, devices, strict=False)
    )


def test_that_what_is_lacking_is_as_little_as_can_be_where_there_is_no_room() -> None:
    seen = 0
    for seed in range(300):
        work, devices = made(seed, chain=seed % 2 == 0)
        found = place(work, devices, "fastest", [1])
        if isinstance(found, Found):
            continue
        seen += 1
        every = brute_force.placements(len(work.names), len(devices))
        least = min(overflow(work, devices, each) for each in every)
        assert sum(lack.missing for lack in found) == pytest.approx(least)
        assert {lack.device for lack in found} <= {device.name for device in devices}
    assert seen > 20


def overflow(work: Work, devices: list[Device], placement: tuple[int, ...]) -> float:
    held = zip(brute_force.held_bytes(work, placement), devices, strict=False)
    return sum(max(0.0, each - device.limit) for each, device in held if device.limit is not None)


def test_that_one_layer_that_fits_nowhere_names_the_device_that_lacks_least() -> None:
    work = chain_of(state=[100.0])
    found = place(work, [Device("GPU:0", 60.0), Device("GPU:1", 90.0)], "fastest", [1])
    assert found == (Lack("GPU:1", 10.0),)


def test_that_nothing_to_place_or_nowhere_to_place_it_is_refused() -> None:
    with pytest.raises(ValueError, match="1 layers cannot be placed on 0 devices"):
        place(chain_of(state=[1.0]), [], "fastest", [1])


def chain_of(state: list[float]) -> Work:
    count = len(state)
    one = np.ones((2, count))
    inputs = tuple((place - 1,) if place else () for place in range(count))
    names = tuple(f"layer_{place}" for place in range(count))
    third = np.full(count, 1 / 3)
    return Work(names, inputs, one, one, one, third, np.ones(count), np.zeros(count), np.array(state), batch=1)


def test_that_many_layers_on_devices_of_unlike_speed_come_within_what_is_proven() -> None:
    random = np.random.default_rng(7)
    base = random.random(300)
    speeds = np.array([1.0, 1.7, 2.3, 3.1])
    inputs = tuple((place - 1,) if place else () for place in range(300))
    per_sample, nothing, none = speeds[:, None] * base, np.zeros((4, 300)), np.zeros(300)
    names = tuple(f"layer_{place}" for place in range(300))
    work = Work(names, inputs, nothing, per_sample, nothing, none, none, none, none, batch=8)
    found = place(work, [Device(f"GPU:{place}") for place in range(4)], "fastest", [8])
    assert isinstance(found, Found)
    assert found.bound <= found.seconds <= found.bound * 1.08
