"""The search against every placement there is, and the time it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import brute_force
import numpy as np
import pytest
from brute_force import Holds, Tried
from long_proofs import examples
from made_graphs import held_as_predicted, model_of, with_kernels, work_on

from gpu_studio.placement.search import OBJECTIVES, FoundPlacement, Lack, Objective, place
from gpu_studio.placement.work import Device, Work

pytestmark = pytest.mark.slow

COUNTS = (1, 2, 4, 7)
CHAINS, GRAPHS, KNOWN = map(examples, (500, 200, 40))


@dataclass(frozen=True)
class Case:
    """A model and devices for it, and every placement there is, each with what comes of it."""

    work: Work
    devices: list[Device]
    count: int
    recompute: bool
    every: list[Tried]
    holds: Holds | None = None

    @cached_property
    def allowed(self) -> list[Tried]:
        """Those for which there is room."""
        return [each for each in self.every if each.fits(self.devices)]

    def place(
        self, objective: Objective, *, overlap: bool = True
    ) -> FoundPlacement | tuple[Lack, ...]:
        """What the search finds."""
        return place(
            self.work,
            self.devices,
            objective,
            [self.count],
            overlap=overlap,
            recompute=self.recompute,
        )

    def found(self, objective: Objective) -> tuple[FoundPlacement, Tried]:
        """What the search finds where there is room, and what comes of it."""
        found = self.place(objective)
        assert isinstance(found, FoundPlacement)
        reached = next(each for each in self.allowed if each.placement == found.devices)
        assert found.seconds == pytest.approx(reached.seconds, rel=1e-9)
        return found, reached


def case(seed: int, *, chain: bool, recompute: bool) -> Case:
    random = np.random.default_rng(seed)
    work = brute_force.random_work(random, chain=chain)
    devices = brute_force.random_devices(random, work)
    count = COUNTS[seed % len(COUNTS)]
    return Case(
        work,
        devices,
        count,
        recompute,
        brute_force.every(work, devices, count, recompute=recompute),
    )


def known_case(seed: int, *, recompute: bool) -> Case:
    """A model of which all is known, and each device of each placement as a plan is predicted."""
    random = np.random.default_rng(seed)
    model = with_kernels(model_of(random), random)
    count, batch = COUNTS[seed % len(COUNTS)], int(random.integers(1, 200))
    names = [f"GPU:{place}" for place in range(int(random.integers(2, 5)))]
    made = [Device(name, None, 1e8 * (1 + random.random())) for name in names]
    work = work_on(model, made, batch, random)
    holds = held_as_predicted(model, made, batch, count, recompute=recompute)
    whole = holds([0] * len(work.names), 0)
    limits = [whole * random.random() if random.random() < 0.6 else None for _ in made]
    devices = [replace(each, limit=limit) for each, limit in zip(made, limits, strict=True)]
    every = brute_force.every(work, devices, count, recompute=recompute, holds=holds)
    return Case(work, devices, count, recompute, every, holds)


@pytest.fixture(scope="module", params=[False, True], ids=["kept", "recomputed"])
def cases(request: pytest.FixtureRequest) -> list[Case]:
    """Chains and graphs, of unlike layers on unlike devices, most of these with limits.

    And graphs of which all is known that the prediction of a plan counts.
    """
    seeds = [*((seed, True) for seed in range(CHAINS)), *((seed, False) for seed in range(GRAPHS))]
    made = [case(seed, chain=chain, recompute=request.param) for seed, chain in seeds]
    return [*made, *(known_case(seed, recompute=request.param) for seed in range(KNOWN))]


def test_that_the_cases_have_limits_that_bind_branches_and_skips(cases: list[Case]) -> None:
    room = [len(each.allowed) / len(each.every) for each in cases]
    assert sum(0 < share < 1 for share in room) > len(cases) / 2
    assert sum(share == 0 for share in room) > len(cases) / 20
    graphs = [each.work.inputs for each in cases[CHAINS : CHAINS + GRAPHS]]
    skips = [
        any(producer < layer - 1 for layer, into in enumerate(each) for producer in into)
        for each in graphs
    ]
    taken = [[producer for into in each for producer in into] for each in graphs]
    assert sum(skips) > GRAPHS * 0.7
    assert sum(len(set(each)) < len(each) for each in taken) > GRAPHS * 0.7
    assert all(np.ptp(each.work.fixed, axis=0).all() for each in cases)


def test_that_fastest_is_what_an_exhaustive_search_finds(cases: list[Case]) -> None:
    for each in cases:
        if each.allowed:
            found, _ = each.found("fastest")
            best = min(other.seconds for other in each.allowed)
            assert found.seconds == pytest.approx(best, rel=1e-9)


def test_that_least_memory_leaves_the_fullest_device_as_empty_as_can_be_and_is_the_fastest_of_those(
    cases: list[Case],
) -> None:
    for each in cases:
        if each.allowed:
            assert_emptiest(each)


def test_that_a_block_fits_which_holds_less_than_it_keeps_where_others_are_elsewhere() -> None:
    for seed in (5221, 5426):
        each = known_case(seed, recompute=True)
        assert any(each.work.apart)
        assert_emptiest(each)


def assert_emptiest(each: Case) -> None:
    """No placement leaves the fullest device emptier, and none of those that do is faster."""
    found, reached = each.found("least_memory")
    shares = [other.fullest(each.devices) for other in each.allowed]
    least = min(shares)
    assert reached.fullest(each.devices) <= least * (1 + 2e-9)
    ties = [o for o, share in zip(each.allowed, shares, strict=True) if share <= least * (1 + 1e-9)]
    assert found.seconds == pytest.approx(min(other.seconds for other in ties), rel=1e-9)


def test_that_fewest_transfers_sends_as_little_as_can_be_and_is_the_fastest_of_those(
    cases: list[Case],
) -> None:
    for each in cases:
        if each.allowed:
            found, reached = each.found("fewest_transfers")
            least = min(other.sent for other in each.allowed)
            assert reached.sent == least
            best = min(other.seconds for other in each.allowed if other.sent == least)
            assert found.seconds == pytest.approx(best, rel=1e-9)


def test_that_what_is_lacking_is_as_little_as_can_be_where_there_is_no_room(
    cases: list[Case],
) -> None:
    for each in cases:
        if not each.allowed:
            found = each.place(OBJECTIVES[len(each.work.names) % len(OBJECTIVES)])
            assert isinstance(found, tuple)
            least = min(other.lacking(each.devices) for other in each.every)
            assert sum(lack.missing for lack in found) == pytest.approx(least)
            assert {lack.device for lack in found} <= {device.name for device in each.devices}


def test_that_where_one_device_works_at_a_time_the_least_work_is_the_fastest(
    cases: list[Case],
) -> None:
    for each in cases[:: 1 + len(cases) // 100]:
        if each.allowed:
            found = each.place("fastest", overlap=False)
            assert isinstance(found, FoundPlacement)
            one = brute_force.every(
                each.work,
                each.devices,
                each.count,
                recompute=each.recompute,
                overlap=False,
                holds=each.holds,
            )
            least = min(other.seconds for other in one if other.fits(each.devices))
            assert found.seconds == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("recompute", [False, True])
def test_that_the_best_number_of_micro_batches_is_chosen(recompute: bool) -> None:
    for seed in range(40):
        first = case(seed, chain=True, recompute=recompute)
        found = place(first.work, first.devices, "fastest", COUNTS, recompute=recompute)
        every = [
            brute_force.every(first.work, first.devices, count, recompute=recompute)
            for count in COUNTS
        ]
        allowed = [each for some in every for each in some if each.fits(first.devices)]
        if allowed:
            assert isinstance(found, FoundPlacement)
            assert found.seconds == pytest.approx(min(each.seconds for each in allowed), rel=1e-9)
        else:
            assert isinstance(found, tuple)
            least = min(each.lacking(first.devices) for some in every for each in some)
            assert sum(lack.missing for lack in found) == pytest.approx(least)


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
    return Work(
        names,
        inputs,
        one,
        one,
        one,
        third,
        np.ones(count),
        *[np.zeros(count)] * 3,
        np.array(state),
        np.zeros(count),
        batch=1,
    )


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("count", [3, 8])
def test_that_of_many_layers_with_skips_on_unlike_devices_no_placement_is_better(
    count: int, recompute: bool
) -> None:
    random = np.random.default_rng(count)
    work = brute_force.random_work(random, chain=False, layers=36, devices=4)
    limit = brute_force.whole_bytes(work) / 2.5
    devices = [Device(f"GPU:{place}", limit * (1 + random.random()), 2e8) for place in range(4)]
    found = place(work, devices, "fastest", [count], recompute=recompute)
    assert isinstance(found, FoundPlacement)
    least = brute_force.least_seconds(work, devices, count, recompute=recompute)
    assert found.seconds == pytest.approx(least, rel=1e-9)
    reached = brute_force.tried(work, devices, found.devices, count, recompute=recompute)
    assert reached.fits(devices)
    assert reached.seconds == pytest.approx(least, rel=1e-9)
