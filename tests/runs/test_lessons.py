from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made_runs import Script, make_run, tell

from gpu_studio.common.guide import guide
from gpu_studio.contract import events
from gpu_studio.plan import Carve, DeviceSettings, Distribution, Machine, Placed, Plan, Training
from gpu_studio.plan.validation import validate
from gpu_studio.runs.lessons import LessonRuns, LessonSight, SeenRun, Until, WantedRun, lessons

MACHINE = Machine((), 8, 32_000)
PLAN = Plan(training=Training(batch_size=64))
DONE = SeenRun(PLAN, "finished", "completed", epochs=2)


def test_that_there_are_eight_lessons_in_their_order():
    assert list(lessons()) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("number", range(1, 9))
def test_that_each_plan_is_sound_and_every_step_can_be_done_to_it(number):
    lesson = lessons()[number]
    plan = lesson.plan()
    assert validate(plan, MACHINE) == []
    for step in lesson.steps:
        before, plan = plan, step.edited(plan, MACHINE, "/own.py")
        if step.edits and step.until is not None:
            wanted = replace(LessonSight(plan=plan), cards=1, resuming=True, allowed=True)
            left = step.until.without_window.missing(wanted)
            assert all(words.startswith(("a run", "the newest run")) for words in left)
            if not step.until.runs:
                assert step.until.missing(replace(wanted, plan=before)) != []
    assert lesson.plan_at(0, MACHINE) == lesson.plan()


@pytest.mark.parametrize("number", range(1, 9))
def test_that_what_a_lesson_points_to_in_the_guide_is_there(number):
    lesson = lessons()[number]
    texts = "\n".join(f"{step.text}\n{step.then}" for step in lesson.steps)
    links = [link.replace(".md", "") for link in re.findall(r"\]\(([^)]+)\)", texts)]
    assert [place for place in (lesson.about, *links) if guide().section(place) is None] == []


@pytest.mark.parametrize(
    ("until", "seen"),
    [
        (Until(plan={"training.batch_size": 64}), LessonSight(plan=PLAN)),
        (Until(given=("model.python",)), LessonSight(plan=lessons()[3].plan())),
        (
            Until(slices=2),
            LessonSight(plan=Plan(devices=DeviceSettings(carve=(Carve("CPU:0", (0, 0)),)))),
        ),
        (
            Until(placed_on=2),
            LessonSight(
                plan=Plan(
                    distribution=Distribution(
                        placed=Placed(layers={"a": ("CPU:0",), "b": ("CPU:1",)})
                    )
                )
            ),
        ),
        (Until(cards=True), LessonSight(cards=1)),
        (Until(page="plan", part="Layers"), LessonSight(page="plan", part="Layers")),
        (Until(chosen=2), LessonSight(chosen=2)),
        (Until(allowed=True), LessonSight(allowed=True)),
        (Until(resuming=True), LessonSight(resuming=True)),
        (Until(runs=(WantedRun(states=("finished",)),)), LessonSight(runs=(DONE,))),
        (Until(runs=(WantedRun(epochs=2),)), LessonSight(runs=(DONE,))),
        (Until(runs=(WantedRun(plan={"training.batch_size": 64}),)), LessonSight(runs=(DONE,))),
        (Until(runs=(WantedRun(resumed=True),)), LessonSight(runs=(replace(DONE, resumed=True),))),
        (
            Until(runs=(WantedRun(reason="out of memory"),)),
            LessonSight(runs=(replace(DONE, state="failed", reason="out of memory on GPU:0"),)),
        ),
    ],
)
def test_that_each_condition_waits_and_then_holds(until, seen):
    assert len(until.missing(LessonSight())) >= 1
    assert until.missing(seen) == []


def test_that_the_newest_run_alone_counts_where_it_is_meant():
    wanted = Until(runs=(WantedRun(states=("finished",), newest=True),))
    failed = replace(DONE, state="failed")
    assert wanted.missing(LessonSight(runs=(failed, DONE))) == ["the newest run that is finished"]
    assert wanted.missing(LessonSight(runs=(DONE, failed))) == []


def test_that_only_runs_of_the_lesson_since_it_was_begun_are_seen(tmp_path):
    run = make_run(tmp_path, Script(name="lesson", ending="completed", epochs=2, trained=2))
    make_run(tmp_path, Script(name="another", ending="completed", epochs=1, trained=1))
    (seen,) = LessonRuns(tmp_path, "lesson", 0.0).look()
    assert (seen.state, seen.epochs, seen.resumed) == ("finished", 2, False)
    assert seen.plan == run.load_plan()
    assert LessonRuns(tmp_path, "lesson", 1e11).look() == ()
    assert LessonRuns(tmp_path / "missing", "lesson", 0.0).look() == ()


def test_that_a_run_seen_before_its_trainer_has_the_lock_is_looked_at_again(tmp_path):
    run = make_run(tmp_path, Script(name="lesson", epochs=2, trained=2))
    runs = LessonRuns(tmp_path, "lesson", 0.0)
    assert [seen.state for seen in runs.look()] == ["lost"]
    tell(run, events.Finished(reason="completed", seconds=1.0, epoch=2, step=400, metrics={}))
    assert [seen.state for seen in runs.look()] == ["finished"]
