from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS, WITHOUT_CARDS

from gpu_studio.plan.carving import equal_slices
from gpu_studio.plan.starter import OUTSIDE_MIB, STEP_MIB

counts = st.integers(1, 8)


@given(counts)
def test_that_slices_of_the_cpu_have_no_limit(count: int) -> None:
    assert equal_slices("CPU:0", count, WITHOUT_CARDS) == (0,) * count


@given(count=counts, used=st.integers(0, 24_276))
def test_that_slices_are_equal_whole_steps_of_what_is_free(count: int, used: int) -> None:
    machine = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=used),))
    slices = equal_slices("GPU:0", count, machine)
    assert len(slices) == count
    assert len(set(slices)) == 1
    assert slices[0] % STEP_MIB == 0
    room = (machine.cards[0].free_mib or 0) - OUTSIDE_MIB
    assert sum(slices) <= max(room, count * STEP_MIB)
    assert room - sum(slices) < count * STEP_MIB


def test_that_a_card_whose_use_is_not_known_gets_the_smallest_slices() -> None:
    machine = replace(TWO_CARDS, cards=(replace(TWO_CARDS.cards[0], used_mib=None),))
    assert equal_slices("GPU:0", 2, machine) == (STEP_MIB, STEP_MIB)
