"""A study's file, its points, and their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_studio.lab.study import (
    axis_of,
    dumps_study,
    in_drawn_order,
    load_study,
    loads_study,
    points_of,
)
from gpu_studio.lab.templates import study_from
from gpu_studio.plan import Machine, PlanError, loads, validate
from gpu_studio.plan.cluster_values import Cluster
from gpu_studio.plan.edits.distribution import set_strategy

MACHINE = Machine(cpu_cores=4, memory_mib=8192)
PLAN = loads(
    """
version = 1
name = "digits"
[[devices.carve]]
device = "CPU:0"
slices_mib = [0, 0, 0]
[model]
name = "mlp"
[data]
name = "digits"
[training]
epochs = 3
batch_size = 64
"""
)
SWEEP = """
version = 1
name = "rates"
plan = "digits.plan.toml"
repeats = 2
seed = 5
[set]
training.epochs = 2
[[axes]]
field = "training.learning_rate"
values = [0.1, 0.01]
[[axes]]
name = "size"
choices = [
  { "model.options.hidden" = [32], "training.batch_size" = 32 },
  { "model.options.hidden" = [64], "training.batch_size" = 64 },
]
"""
TEMPLATES = ("scaling-strong", "scaling-weak", "strategies", "batch", "sweep")


@pytest.mark.parametrize("template", TEMPLATES)
def test_that_every_template_makes_points_that_the_rules_accept_and_reads_as_written(template):
    study = study_from(template, PLAN, "digits.plan.toml", MACHINE)
    assert loads_study(dumps_study(study)) == study
    points = points_of(study, PLAN)
    assert len(points) > 2
    assert [problem for point in points for problem in validate(point.plan, MACHINE)] == []
    assert len({point.label for point in points}) == len(points)


def test_that_strong_scaling_holds_the_global_batch_and_weak_that_of_a_replica():
    scopes = {}
    for template in TEMPLATES[:2]:
        points = points_of(study_from(template, PLAN, "p", MACHINE), PLAN)
        scopes[template] = {point.plan.training.batch_scope for point in points}
        assert [point.x for point in points] == [1, 2, 3]
        assert {point.plan.distribution.strategy for point in points} == {"mirrored"}
    assert scopes == {"scaling-strong": {"global"}, "scaling-weak": {"replica"}}


@pytest.mark.parametrize("template", TEMPLATES)
def test_that_a_plan_of_servers_is_studied_by_points_that_the_rules_accept(template):
    plan = replace(set_strategy(PLAN, "parameter_server"), cluster=Cluster(servers=1))
    points = points_of(study_from(template, plan, "p", MACHINE), plan)
    assert [problem for point in points for problem in validate(point.plan, MACHINE)] == []


@pytest.mark.parametrize(
    ("samples", "epochs", "steps"),
    [(0, 6, None), (1437, 23, None), (60, 200, None), (64_000, 6, 100)],
)
def test_that_runs_are_as_long_as_a_measurement_needs_whatever_the_data(samples, epochs, steps):
    study = study_from("strategies", PLAN, "digits.plan.toml", MACHINE, samples=samples)
    assert study.fields["training.epochs"] == epochs
    assert study.fields.get("training.steps_per_epoch") == steps


def test_that_points_are_the_grid_of_the_axes_over_the_fixed_fields():
    points = points_of(loads_study(SWEEP), PLAN)
    assert [point.label for point in points] == [
        "learning rate 0.1, [32], 32",
        "learning rate 0.1, [64], 64",
        "learning rate 0.01, [32], 32",
        "learning rate 0.01, [64], 64",
    ]
    assert {point.plan.training.epochs for point in points} == {2}
    assert points[3].plan.model.options == {"hidden": [64]}


def test_that_the_order_is_drawn_by_the_seed_and_every_point_comes_before_a_repeat():
    study = loads_study(SWEEP)
    points = points_of(study, PLAN)
    order = in_drawn_order(study, points)
    assert order == in_drawn_order(study, points)
    assert [repeat for _, repeat in order] == [0] * 4 + [1] * 4
    assert {point.key for point, _ in order[:4]} == {point.key for point in points}
    assert [point for point, _ in order[:4]] != list(points)


def test_that_a_random_search_draws_as_many_points_as_its_budget_by_its_seed():
    text = SWEEP.replace("repeats = 2", 'search = "random"\nbudget = 3')
    points = points_of(loads_study(text), PLAN)
    assert len({point.key for point in points}) == 3
    assert points == points_of(loads_study(text), PLAN)
    others = [
        points_of(loads_study(text.replace("seed = 5", f"seed = {seed}")), PLAN)
        for seed in range(6)
    ]
    assert any(other != points for other in others)


def test_that_points_that_differ_in_the_seed_alone_are_one_group():
    study = study_from("sweep", PLAN, "p", MACHINE)
    groups = {point.group for point in points_of(study, PLAN)}
    assert len(groups) == 5
    assert "learning rate 0.001" in groups


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "version = 1",
            "version = 3",
            "this GPU Studio reads version 2 of studies: update GPU Studio",
        ),
        ("repeats = 2", "repeats = 0", "repeats is 0 (a whole number): give a whole number from 1"),
        ("repeats = 2", "repeets = 2", "did you mean repeats?"),
        ('plan = "digits.plan.toml"', "", "plan is missing"),
        ("seed = 5", 'template = "scaling-strnog"', "did you mean scaling-strong?"),
        ("seed = 5", 'hold = "batch"', "hold is"),
        ("seed = 5", 'search = "random"', "say how many points are drawn"),
        ("repeats = 2", 'repeats = 9999\nsearch = "random"\nbudget = 9', "10,000 are the most"),
        ("seed = 5", "budget = 5", 'leave it out, or write search = "random"'),
        ("values = [0.1, 0.01]", "values = []", "a list with at least one value"),
        ("values = [0.1, 0.01]", "value = 3", "a table with field and value"),
        ("values = [0.1, 0.01]", "values = [0.1, 0.01", "not TOML"),
    ],
)
def test_that_a_wrong_file_is_refused_in_words(before, after, words):
    with pytest.raises(PlanError, match="study cannot be used") as caught:
        loads_study(SWEEP.replace(before, after))
    assert words in str(caught.value)


def test_that_a_grid_from_which_nothing_can_be_drawn_is_refused_in_words():
    axes = "".join(
        f'[[axes]]\nfield = "training.{place}"\nvalues = [1, 2]\n' for place in range(70)
    )
    with pytest.raises(PlanError, match="nothing can be drawn from so many"):
        loads_study(f'name = "a"\nplan = "b"\nsearch = "random"\nbudget = 3\n{axes}')


@pytest.mark.parametrize("value", ["inf", "nan", "1" + "0" * 400])
def test_that_a_number_without_a_place_on_an_axis_has_none(value):
    study = loads_study(SWEEP.replace("0.01]", f"{value}]"))
    assert [each.x for each in study.axes[0].choices] == [0.1, None]


def test_that_an_empty_and_a_missing_file_say_what_to_do(tmp_path):
    for make in (lambda: loads_study(" \n"), lambda: load_study(tmp_path / "a.study.toml")):
        with pytest.raises(PlanError, match="gpu-studio study new"):
            make()


def test_that_a_field_that_no_plan_has_and_a_value_of_the_wrong_kind_are_refused_by_the_plan():
    wrong = SWEEP.replace("training.learning_rate", "training.learning_rat")
    with pytest.raises(PlanError, match="did you mean learning_rate"):
        points_of(loads_study(wrong), PLAN)
    with pytest.raises(PlanError, match="give a number, without quotes"):
        points_of(loads_study(SWEEP.replace("0.01]", '"ten"]')), PLAN)


def test_that_a_plan_with_one_device_cannot_be_scaled():

    plan = loads('version = 1\nname = "x"\n[model]\nname = "mlp"\n[data]\nname = "digits"\n')

    with pytest.raises(PlanError, match="a CPU can be carved into several"):
        study_from("scaling-strong", plan, "p", MACHINE)


def test_that_a_key_of_very_many_words_in_a_study_is_refused_before_it_takes_all_memory():
    with pytest.raises(PlanError, match="nested too deeply"):
        loads_study(".".join(["set"] * 100_000) + " = 1\n")


def test_that_amounts_in_labels_are_written_as_everywhere_and_seeds_as_in_the_plan():
    batches = axis_of("training.batch_size", [512, 1024])
    assert [each.label for each in batches.choices] == ["batch size 512", "batch size 1,024"]
    (seed,) = axis_of("training.seed", [1024]).choices
    assert seed.label == "seed 1024"


def test_that_a_long_value_is_short_in_a_label_and_points_still_differ():
    texts = [f'"{"x" * 100_000}{end}:build"' for end in "ab"]
    lists = [f"[{', '.join(['1000000'] * 50)}, {last}]" for last in (1, 2)]
    for field, values in (("model.python", texts), ("model.options.hidden", lists)):
        text = SWEEP.replace("training.learning_rate", field).replace(
            "0.1, 0.01", ", ".join(values)
        )
        labels = [choice.label for choice in loads_study(text).axes[0].choices]
        assert len(set(labels)) == 2
        assert max(map(len, labels)) < 150


@pytest.mark.parametrize("name", ['"rates"', '"size"'])
def test_that_an_endless_name_is_refused(name):
    with pytest.raises(PlanError, match="write it in 200 letters at most") as refused:
        loads_study(SWEEP.replace(name, f'"{"x" * 100_000}"'))
    assert len(str(refused.value)) < 500
