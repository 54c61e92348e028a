"""Marks and spans: which are drawn, and the text about those near a point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_studio.ui.kit.plots.axes import TIME, StepRuler, TrainingTime
from gpu_studio.ui.kit.plots.backdrop import MEANINGS, PlotMarks, PlotSpan, texts_at


def made(kind, times):
    return PlotMarks(kind, np.array(times, dtype=float), lambda number: f"{kind} {number}")


@given(
    st.lists(st.floats(0, 800), max_size=300), st.sampled_from(["warning", "checkpoint", "epoch"])
)
def test_that_drawn_marks_stand_apart_and_those_far_from_others_are_all_there(times, kind):
    times = sorted(times)
    drawn = made(kind, times).drawn(0, np.array(times))
    assert len(drawn) <= 800 / 8 + 2
    assert set(drawn) <= set(range(len(times)))
    if len(times) == 1:
        assert drawn.tolist() == [0]


@given(st.integers(1, 100_000), st.floats(50, 2000))
def test_that_epochs_are_marked_by_a_round_number_of_them(count, width):
    pixels = np.linspace(0, width, count)
    drawn = made("epoch", pixels).drawn(0, pixels)
    steps = set(np.diff(drawn).tolist())
    assert len(steps) <= 1
    for step in steps:
        assert str(step).strip("0") in {"1", "2", "5"}
        assert step * width / max(count - 1, 1) >= 15.9


def test_that_the_marks_near_a_place_are_told_and_of_many_the_first_and_the_last():
    marks = [made("epoch", range(100)), made("warning", [50.2])]
    spans = [
        PlotSpan("paused", 40.0, 60.0, "paused for 20 s"),
        PlotSpan("throttled", 70.0, 80.0, "power cap"),
    ]
    assert texts_at(marks, spans, TIME, 50.0, 0.5) == ["epoch 50", "warning 0", "paused for 20 s"]
    assert texts_at(marks, spans, TIME, 69.7, 0.5) == ["epoch 70", "power cap"]
    assert texts_at(marks, spans, TIME, 30.0, 3.0) == ["7 marks from “epoch 27” to “epoch 33”"]
    assert texts_at(marks, spans, TIME, 200.0, 1.0) == []


@pytest.mark.parametrize("kind", [kind for kind in MEANINGS if kind not in ("paused", "throttled")])
def test_that_no_kind_of_mark_is_told_outside_the_window(kind):
    first, places = made(kind, [-1.0, 5.0, 11.0]).seen(TIME, 0.0, 10.0)
    assert (first, places.tolist()) == (1, [5.0])


def steps_with_pauses(lengths):
    """A ruler of steps that took so long each; zero-step reports stand for pauses."""
    times = 5.0 + np.cumsum([each for each, _ in lengths])
    steps = np.cumsum([trained for _, trained in lengths]).astype(float)
    return StepRuler(kind="step", times=times, steps=steps, origin=0.0, first=0.0)


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.integers(0, 3)), min_size=1, max_size=40),
    st.lists(st.floats(-5, 300), max_size=80),
    st.floats(-5, 60),
    st.floats(0.5, 60),
)
def test_that_the_marks_seen_are_all_whose_places_are_in_the_window(lengths, times, start, span):
    rulers = [
        TIME,
        steps_with_pauses(lengths),
        TrainingTime(first=5.0, begins=np.array([20.0, 90.0]), ends=np.array([60.0, np.inf])),
    ]
    marks = made("epoch", sorted(times))
    for ruler in rulers:
        places = ruler.places(marks.times)
        inside = np.flatnonzero((places >= start) & (places <= start + span))
        first, found = marks.seen(ruler, start, start + span)
        assert found.tolist() == places[inside].tolist()
        assert not len(inside) or first == inside[0]


def test_that_of_many_marks_only_those_near_the_window_are_placed():
    placed = []

    class Counting(StepRuler):
        def places(self, seconds):
            placed.append(len(seconds))
            return super().places(seconds)

    times = np.arange(100_000.0)
    ruler = Counting(kind="step", times=times, steps=times, origin=0.0, first=0.0)
    first, found = made("epoch", times).seen(ruler, 500.0, 600.0)
    assert (first, len(found)) == (500, 101)
    assert sum(placed) < 120
