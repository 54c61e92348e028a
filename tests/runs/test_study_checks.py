"""What a study would be, before anything of it runs."""

from __future__ import annotations

from dataclasses import replace

from made_studies import MACHINE, PLAN, made_study, write_runs

from gpu_studio.lab.study import axis_of, dumps_study, loads_study
from gpu_studio.runs.study_checks import checked


def test_that_a_sound_study_is_counted_and_its_time_goes_by_a_run_that_is_alike(runs_dir, tmp_path):
    opened = made_study(tmp_path)
    first = checked(opened.study, opened.plan, tmp_path, MACHINE, runs_dir)
    assert (first.points, first.runs, first.problems, first.seconds) == (4, 12, (), None)
    (run,) = write_runs(runs_dir, opened, most=1)
    then = checked(opened.study, opened.plan, tmp_path, MACHINE, runs_dir)
    # A run of 1.6 s has 3 epochs, and each of the 12 has 6.
    assert then.seconds is not None
    assert round(then.seconds) == round(1.6 / 3 * 6 * 12)
    assert then.like.removeprefix("#1 ").startswith("1 device · Scaling")
    other = replace(opened.plan, data=replace(PLAN.data, name="spirals"))
    assert checked(opened.study, other, tmp_path, MACHINE, runs_dir).seconds is None
    assert run.exists()


def test_that_every_refusal_is_told_in_the_words_of_the_rules(runs_dir, tmp_path):
    opened = made_study(tmp_path, "batch")
    wrong = replace(opened.study, axes=(axis_of("training.batch_size", [16, -1]),))
    found = checked(wrong, opened.plan, tmp_path, MACHINE, runs_dir)
    assert [each.startswith("batch size -1: training.batch_size is -1") for each in found.problems]
    unknown = replace(opened.study, axes=(axis_of("training.speed", [1, 2]),))
    found = checked(unknown, opened.plan, tmp_path, MACHINE, runs_dir)
    assert any("training.speed" in each for each in found.problems)
    assert found.runs == 0


def test_that_code_that_is_not_allowed_yet_is_no_problem_and_a_missing_file_is(runs_dir, tmp_path):
    (tmp_path / "models.py").write_text("def build(): ...\n")
    plan = replace(PLAN, model=replace(PLAN.model, name=None, python="models.py:build"))
    opened = made_study(tmp_path, plan=plan)
    assert checked(opened.study, plan, tmp_path, MACHINE, runs_dir).problems == ()
    (tmp_path / "models.py").unlink()
    found = checked(opened.study, plan, tmp_path, MACHINE, runs_dir).problems
    assert "there is no such file" in found[0]


def test_that_what_is_checked_without_a_problem_can_be_read_once_it_is_written(runs_dir, tmp_path):
    opened = made_study(tmp_path, "batch")
    drawn = replace(opened.study, seed=2**31 - 1, search="random", budget=3)
    assert checked(drawn, opened.plan, tmp_path, MACHINE, runs_dir).problems == ()
    assert loads_study(dumps_study(drawn)) == drawn
    twice = replace(opened.study, axes=opened.study.axes * 2)
    found = checked(twice, opened.plan, tmp_path, MACHINE, runs_dir)
    assert found.problems == (
        "axes is twice about training.batch_size: write its values in one axis.",
    )


def test_that_more_runs_than_can_be_are_refused_and_long_lists_are_cut(runs_dir, tmp_path):
    opened = made_study(tmp_path, "batch")
    many = replace(opened.study, repeats=10_000)
    found = checked(many, opened.plan, tmp_path, MACHINE, runs_dir)
    assert "good for 60,000 runs: 10,000 are the most" in found.problems[-1]
    axes = (axis_of("training.batch_size", list(range(-20, 0))),)
    found = checked(replace(opened.study, axes=axes), opened.plan, tmp_path, MACHINE, runs_dir)
    assert len(found.problems) == 6
    assert found.problems[-1].endswith("more")
