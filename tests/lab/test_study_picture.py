"""What a study is drawn as, its one figure, the plan of its verdict, and axes as they are typed."""

from __future__ import annotations

import numpy as np
import pytest
from made_studies import PLAN, amdahl, made_study

from gpu_studio.lab.axis_text import text_of, typed_axis, values_in
from gpu_studio.lab.outcome import chosen_plan, figure_of, words_of_plan
from gpu_studio.lab.study import SEED, axis_of
from gpu_studio.lab.study_picture import HEADINGS, picture_of, rows_of, step_parts
from gpu_studio.lab.verdict import PointGroup, verdict_of
from gpu_studio.plan import Plan


def groups_of(opened, times, **more) -> list[PointGroup]:
    """A group for each point, of two runs whose steps took these seconds."""
    return [
        PointGroup(
            point.group,
            point.x,
            tuple(64 / second for second in (took, took * 1.01)),
            (took, took * 1.01),
            (0.5, 0.4),
            **more,
        )
        for point, took in zip(opened.points, times, strict=True)
    ]


def seen(opened, groups):
    verdict = verdict_of(opened.study, groups, 64)
    return verdict, picture_of(opened.study, groups, verdict)


@pytest.fixture
def scaling(tmp_path):
    opened = made_study(tmp_path)
    return opened, groups_of(opened, [amdahl(count) for count in (1, 2, 3, 4)])


def test_that_scaling_is_drawn_as_speed_up_with_the_law_its_band_and_the_ideal(scaling):
    opened, groups = scaling
    verdict, picture = seen(opened, groups)
    assert (picture.title, picture.unit, picture.by_name) == ("Speed-up", " ×", False)
    assert [point.x for point in picture.points] == [1, 2, 3, 4]
    assert picture.points[0].mean == pytest.approx(1.0)
    assert picture.points[3].mean == pytest.approx(amdahl(1) / amdahl(4))
    assert picture.ideal.y.tolist() == [1, 2, 3, 4]
    assert picture.fitted.name == "Amdahl with communication"
    assert np.all(picture.fitted.low <= picture.fitted.high + 1e-9)
    assert picture.fitted.y[-1] == pytest.approx(picture.points[3].mean, rel=0.01)
    assert "4 devices: 2.88 ×" in picture.words
    assert figure_of(opened.study, groups, verdict) == "2.9 × on 4"


def test_that_weak_scaling_grows_with_the_devices(tmp_path):
    opened = made_study(tmp_path, "scaling-weak")
    groups = [
        PointGroup(point.group, point.x, (64 * point.x / 0.01,) * 2, (0.01,) * 2)
        for point in opened.points
    ]
    _, picture = seen(opened, groups)
    assert picture.points[-1].mean == pytest.approx(4.0)
    assert picture.fitted.y[-1] == pytest.approx(4.0, rel=0.02)


def test_that_strategies_stand_one_below_the_other_and_numbers_far_apart_are_logarithmic(tmp_path):
    opened = made_study(tmp_path, "strategies")
    _, picture = seen(opened, groups_of(opened, [0.01] * len(opened.points)))
    assert (picture.by_name, picture.title, picture.fitted) == (True, "Samples a second", None)
    assert [point.x for point in picture.points] == list(range(len(opened.points)))
    batches = made_study(tmp_path, "batch")
    _, picture = seen(batches, groups_of(batches, [0.01] * 6))
    assert (picture.by_name, picture.log) == (False, True)


def test_that_a_sweep_is_drawn_by_its_losses_and_two_axes_by_their_names(tmp_path):
    opened = made_study(tmp_path, "sweep")
    labels = dict.fromkeys(point.group for point in opened.points)
    groups = [
        PointGroup(label, 10.0**place, (100.0,), (0.01,), (0.5 - 0.1 * place,))
        for place, label in enumerate(labels)
    ]
    verdict, picture = seen(opened, groups)
    assert (picture.title, picture.losses) == ("Loss", True)
    assert figure_of(opened.study, groups, verdict) == "0.1000"
    axes = (*opened.study.axes, axis_of("training.batch_size", [16, 32]))
    two = made_study(tmp_path, "sweep", axes=axes)
    assert seen(two, groups)[1].by_name


def test_that_nothing_is_drawn_before_something_is_measured(scaling):
    opened, _ = scaling
    empty = [PointGroup(point.group, point.x, failed="Out of memory.") for point in opened.points]
    assert seen(opened, empty)[1] is None
    assert step_parts(empty) == []
    rows = list(rows_of(empty))
    assert rows[0] == ("1 device", 1.0, "", "", "", "", "Out of memory.")
    assert len(rows[0]) == len(HEADINGS)


def test_that_the_parts_of_a_step_add_up_to_its_seconds(tmp_path):
    opened = made_study(tmp_path)
    shares = {"computing": 0.7, "communication": 0.2, "input": 0.1}
    groups = groups_of(opened, [0.01, 0.006, 0.005, 0.004], shares=shares)
    parts = step_parts(groups)
    assert parts[0].seconds == pytest.approx(0.01005)
    assert parts[0].parts["communication"] == pytest.approx(0.00201)


def test_that_the_plan_of_the_verdict_keeps_what_only_the_study_shortened(scaling):
    opened, groups = scaling
    verdict, _ = seen(opened, groups)
    assert words_of_plan(opened.study, verdict, opened.points) == "Plan with four devices"
    made = chosen_plan(opened.study, PLAN, verdict, opened.points)
    assert isinstance(made, Plan)
    assert (made.name, made.training.epochs) == (PLAN.name, PLAN.training.epochs)
    assert made.training.checkpoint == PLAN.training.checkpoint
    assert made.distribution.strategy == "mirrored"
    assert len(made.distribution.devices) == 4
    assert made.training.batch_scope == "global"


def test_that_the_plan_of_a_sweep_has_the_best_value_and_its_own_seed(tmp_path):
    opened = made_study(tmp_path, "sweep")
    best = opened.points[4]
    groups = [
        PointGroup(label, 1.0, (1.0,), (1.0,), (0.1 if label == best.group else 0.9,))
        for label in dict.fromkeys(point.group for point in opened.points)
    ]
    verdict = verdict_of(opened.study, groups)
    made = chosen_plan(opened.study, PLAN, verdict, opened.points)
    assert made.training.learning_rate == best.plan.training.learning_rate
    assert made.training.seed == PLAN.training.seed
    assert chosen_plan(opened.study, PLAN, verdict_of(opened.study, []), opened.points) is None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.001, 0.01", [0.001, 0.01]),
        ("adam, sgd", ["adam", "sgd"]),
        ('"a, b", "c"', ["a, b", "c"]),
        ("true, false", [True, False]),
        ("[64], [64, 32]", [[64], [64, 32]]),
        ("1, two", [1, "two"]),
        (" ", []),
    ],
)
def test_that_values_are_read_as_they_are_typed(text, values):
    assert values_in(text) == values


@pytest.mark.parametrize("text", ["[1, 2", "1]\nb = [2", "a = 1"])
def test_that_what_is_no_list_of_values_is_told(text):
    with pytest.raises(ValueError, match="commas between them"):
        values_in(text)


def test_that_an_axis_is_typed_as_it_was_written_and_needs_a_field():
    axis = axis_of("training.learning_rate", [0.1, 0.01])
    assert typed_axis("training.learning_rate", text_of(axis)) == axis
    assert len(typed_axis(SEED, "1, 1, 2").choices) == 2
    assert text_of(axis_of("distribution.devices", [["CPU:0"]])) is None
    with pytest.raises(ValueError, match="Name a field"):
        typed_axis(" ", "1")
