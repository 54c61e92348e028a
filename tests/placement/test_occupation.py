"""How long devices work and wait in a step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.schedule import bubble_of, busy_seconds, covered

SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 10)).map(lambda pair: (pair[0], pair[0] + pair[1]))
)


@given(SPANS)
def test_that_what_is_covered_is_counted_once(spans) -> None:
    assert covered(spans) == len({second for begin, end in spans for second in range(begin, end)})


@given(SPANS.filter(bool))
def test_that_a_device_is_busy_while_any_of_its_spells_lasts(spans) -> None:
    busy = busy_seconds((place % 2, span) for place, span in enumerate(spans))
    assert busy[0] == covered(spans[::2])
    assert busy.get(1, 0) == covered(spans[1::2])


def test_that_the_bubble_is_the_share_in_which_devices_wait() -> None:
    assert bubble_of([3.0, 1.0], 4.0) == pytest.approx(0.5)
    assert bubble_of([], 4.0) == 0.0
    assert bubble_of([0.0], 0.0) == 0.0
