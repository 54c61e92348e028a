"""How much less is held for a layer on a card where others are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpu_studio.placement.apart import MOST, OTHERS, Apart, Lying, Moments, apart_from, less_apart


def noted(*some: tuple[int, Mapping[Lying, int]]) -> Moments:
    moments = Moments()
    for each in some:
        moments.note(*each)
    return moments


def test_that_what_lies_with_others_counts_where_any_of_them_is_on_the_card() -> None:
    known = (Apart(90, ((("far", "trunk"), 50), (("side",), 30))),)
    assert less_apart(known, {"layer"}) == 90
    assert less_apart(known, {"layer", "trunk"}) == less_apart(known, {"layer", "far"}) == 40
    assert less_apart(known, {"layer", "trunk", "far", "side"}) == 10


def test_that_the_moment_counts_in_which_least_is_spared_and_none_spares_less_than_nothing() -> (
    None
):
    known = (Apart(90, ((("side",), 80),)), Apart(60))
    assert less_apart(known, {"layer"}) == 60
    assert less_apart(known, {"layer", "side"}) == 10
    assert less_apart((Apart(10, ((("side",), 80),)),), {"side"}) == 0
    assert less_apart((), {"layer"}) == 0


def test_that_moments_stay_that_may_be_the_fullest_somewhere() -> None:
    first = 100, {("one",): 10}
    assert list(noted(first, (90, {("one",): 5}))) == [first]
    assert list(noted((90, {("one",): 5}), first)) == [first]
    assert list(noted(first, (80, {("two",): 20}))) == [first]  # 100 where both are there
    assert len(list(noted(first, (80, {("two",): 40})))) == 2


@pytest.mark.parametrize("one", range(MOST + 2))
def test_that_of_many_moments_some_are_joined_so_that_nothing_is_lost(one: int) -> None:
    every = [(100 - place, {(f"{place}",): 50 + place}) for place in range(MOST + 2)]
    found = apart_from([(200, noted(*every))])
    assert len(found) == MOST
    assert less_apart(found, {f"{one}"}) <= 200 - (100 - one + 50 + one)
    assert less_apart(found, set()) == 100


def test_that_the_smallest_of_many_others_count_as_there_in_any_case() -> None:
    others = {(f"{place}",): 10 + place for place in range(OTHERS + 1)}
    (found,) = apart_from([(500, noted((100, others)))])
    assert found.less == 500 - 100 - 10
    assert dict(found.others) == {key: size for key, size in others.items() if key != ("0",)}


def test_that_nothing_is_told_if_as_much_may_be_held_alone() -> None:
    assert apart_from([(150, noted((100, {("one",): 50})))]) == (Apart(50, ((("one",), 50),)),)
    late = 170, noted((170, {}))
    assert apart_from([(150, noted((100, {("one",): 50}))), late]) == ()
