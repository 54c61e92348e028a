"""Tasks that overlap are drawn side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.placement.schedule import StageTask
from gpu_studio.ui.kit.step_view import tracks_of


def task(begin: float, end: float) -> StageTask:
    return StageTask(0, (0,), 0, "forward", begin, end)


def test_that_tasks_one_after_the_other_have_one_track() -> None:
    assert tracks_of([task(0, 1), task(1, 2), task(2.5, 3)]) == (0, 0, 0)
    assert tracks_of([]) == ()


def test_that_a_track_is_taken_again_when_it_is_free() -> None:
    assert tracks_of([task(0, 2), task(0, 1), task(1, 3), task(2, 4)]) == (0, 1, 1, 0)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 5))))
def test_that_no_two_tasks_of_a_track_overlap_and_no_track_is_wasted(
    spans: list[tuple[float, float]],
) -> None:
    tasks = [task(begin, begin + length) for begin, length in sorted(spans)]
    tracks = tracks_of(tasks)
    for one, first in zip(tracks, tasks, strict=True):
        for other, second in zip(tracks, tasks, strict=True):
            if first is not second and one == other:
                assert first.end <= second.begin + 1e-9 or second.end <= first.begin + 1e-9
    most = max(
        (sum(each.begin <= at.begin < each.end for each in tasks) for at in tasks), default=0
    )
    assert len(set(tracks)) <= most
