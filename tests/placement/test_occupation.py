"""How long devices work and wait, and a predicted step next to a measured one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.comparison import DeviceShares, compare
from gpu_studio.placement.occupation import bubble_of, busy_seconds, covered
from gpu_studio.placement.schedule import StageTask, StepTimeline

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


def test_that_a_prediction_stands_beside_what_was_measured_device_by_device() -> None:
    tasks = (StageTask(0, (0,), 0, "forward", 0.0, 1.0), StageTask(1, (1,), 0, "forward", 1.0, 4.0))
    found = compare(
        StepTimeline(tasks, 4.0, 0.5),
        ("CPU:0", "CPU:1", "CPU:2"),
        {"CPU:0": 2.0, "CPU:1": 4.0},
        5.0,
    )
    assert found.devices == (DeviceShares("CPU:0", 0.25, 0.4), DeviceShares("CPU:1", 0.75, 0.8))
    assert (found.predicted_seconds, found.measured_seconds, found.predicted_bubble) == (
        4.0,
        5.0,
        0.5,
    )
    assert found.measured_bubble == pytest.approx(0.4)


def test_that_a_device_that_worked_though_nothing_was_predicted_for_it_is_told() -> None:
    found = compare(StepTimeline((), 0.0, 0.0), ("CPU:0", "CPU:1"), {"CPU:1": 1.0}, 2.0)
    assert found.devices == (DeviceShares("CPU:1", 0.0, 0.5),)
