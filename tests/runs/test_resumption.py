from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_machines import TWO_CARDS
from made_runs import Script, make_run
from real_runs import PLAN

from gpu_studio.contract.directory import Resume, RunDirectory, SavedCheckpoint, checkpoints
from gpu_studio.plan import Machine, Plan, with_settings
from gpu_studio.runs.resume import other_draws, problems_of, trained_batch

FREE = (
    "devices.memory_growth=true",
    "devices.carve=[{ device = 'CPU:0', slices_mib = [0, 0] }]",
    "distribution.strategy=mirrored",
    "distribution.placed.micro_batches=4",
    "training.learning_rate=0.5",
    "training.schedule=cosine",
    "training.steps_per_call=7",
    "training.tf32=false",
    "training.jit_compile=true",
    "training.validation_freq=2",
    "training.checkpoint.keep=9",
    "training.early_stopping.patience=2",
    "training.epochs=5",
    "name=another",
)
KEPT = (
    ("model.name=lenet", "model"),
    ("model.options={ hidden = [7] }", "model.options.hidden"),
    ("data.name=mnist", "data.name"),
    ("data.validation_fraction=0.3", "data.validation_fraction"),
    ("training.optimizer=sgd", "training.optimizer"),
    ("training.options={ beta_1 = 0.5 }", "training.options.beta_1"),
    ("training.mixed_precision=true", "training.mixed_precision"),
    ("training.loss=mse", "training.loss"),
    ("training.shuffle=false", "training.shuffle"),
    ("training.metrics=['accuracy']", "training.metrics"),
    ("training.seed=3", "training.seed"),
)
NOWHERE = Resume(
    RunDirectory(Path("/nowhere")), SavedCheckpoint(Path("/nowhere/step-00000006"), epoch=1, step=6)
)


def fields(after: Plan, machine: Machine | None = None, resume: Resume = NOWHERE) -> list[str]:
    return [problem.field for problem in problems_of(resume, PLAN, after, machine)]


@given(st.sets(st.sampled_from(FREE)))
def test_that_devices_strategy_and_length_may_change_in_any_mixture(settings: set[str]) -> None:
    assert fields(with_settings(PLAN, sorted(settings))) == []


@pytest.mark.parametrize(("setting", "field"), KEPT)
def test_that_model_data_and_optimizer_are_refused_at_their_field_with_the_reason(
    setting: str, field: str
) -> None:
    problems = problems_of(NOWHERE, PLAN, with_settings(PLAN, [setting]), None)
    assert problems
    assert all(problem.field.startswith(field) for problem in problems)
    assert all("because a resumed run keeps it" in problem.advice for problem in problems)


@given(
    st.sets(st.sampled_from([setting for setting, _ in KEPT]), min_size=1),
    st.sets(st.sampled_from(FREE)),
)
def test_that_what_may_change_never_hides_what_may_not(kept: set[str], free: set[str]) -> None:
    assert fields(with_settings(PLAN, [*sorted(kept), *sorted(free)]))


def test_that_a_checkpoint_trained_to_the_last_epoch_asks_for_more() -> None:
    done = Resume(NOWHERE.run, replace(NOWHERE.checkpoint, epoch=2))
    assert fields(PLAN, resume=done) == ["training.epochs"]
    assert fields(with_settings(PLAN, ["training.epochs=3"]), resume=done) == []


@pytest.fixture
def trained(runs_dir: Path) -> Resume:
    """A run with a global batch of 256."""
    run = make_run(runs_dir, Script(epochs=2, trained=1.0, ending="stopped"))
    assert trained_batch(run) == 256
    return Resume(run, checkpoints(run)[-1])


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        (["training.batch_size=256"], False),
        (["training.batch_size=128"], True),
        (
            [
                "training.batch_size=128",
                "training.batch_scope=replica",
                "distribution.strategy=mirrored",
            ],
            False,
        ),
        (
            [
                "training.batch_size=256",
                "training.batch_scope=replica",
                "distribution.strategy=mirrored",
            ],
            True,
        ),
        (["training.batch_size=256", "training.batch_scope=replica"], False),
    ],
)
def test_that_the_batch_may_be_written_otherwise_as_long_as_a_step_has_as_many_samples(
    trained: Resume, settings: list[str], refused: bool
) -> None:
    problems = problems_of(trained, PLAN, with_settings(PLAN, settings), TWO_CARDS)
    assert [problem.field for problem in problems] == ["training.batch_size"] * refused
    assert all("256" in problem.advice for problem in problems)


def test_that_a_batch_for_each_replica_is_held_against_more_replicas(trained: Resume) -> None:
    before = with_settings(PLAN, ["training.batch_size=256", "training.batch_scope=replica"])
    after = with_settings(before, ["distribution.strategy=mirrored"])
    (problem,) = problems_of(trained, before, after, TWO_CARDS)
    assert problem.received == "256 a replica, 512 samples a step"
    assert "training.batch_scope to global and this to 256" in problem.advice


def test_that_a_run_which_told_of_no_batch_is_held_against_its_plan() -> None:
    after = with_settings(PLAN, ["training.batch_size=64"])
    assert trained_batch(NOWHERE.run) is None
    assert fields(after) == ["training.batch_size"]
    unknown = with_settings(PLAN, ["training.batch_scope=replica"])
    assert fields(unknown) == []
    assert fields(unknown, TWO_CARDS) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], ["training.epochs=9"], ""),
        ([], ["distribution.strategy=mirrored"], "in 2 parts now, not in 1"),
        (["distribution.strategy=mirrored"], ["distribution.strategy=central_storage"], ""),
        (
            ["distribution.strategy=mirrored"],
            ["distribution.strategy=one_device"],
            "in 1 part now, not in 2",
        ),
        (
            [],
            ["distribution.strategy=placed", "distribution.placed.micro_batches=4"],
            "in 4 parts now, not in 1",
        ),
    ],
)
def test_that_random_layers_which_will_draw_other_numbers_are_told_of_before_the_start(
    before, after, told
):
    was, now = with_settings(PLAN, before), with_settings(with_settings(PLAN, before), after)
    said = other_draws(was, now, TWO_CARDS)
    assert told in said
    assert bool(told) == bool(said)


@pytest.mark.parametrize(
    ("before", "recorded", "after", "told"),
    [
        # Of runs from before there was "auto" the checkpoints say nothing, and the plan all.
        ("auto", None, "auto", ""),
        ("auto", None, "true", "now"),
        ("true", None, "true", ""),
        ("true", None, "auto", "no longer"),
        ("auto", True, "auto", ""),
        ("auto", False, "auto", ""),
        ("auto", False, "true", "now"),
        ("auto", True, "false", "no longer"),
        ("auto", True, "true", ""),
        ("true", False, "true", ""),  # on practice cards
    ],
)
def test_that_resuming_with_xla_or_no_longer_with_it_is_said_to_draw_other_numbers(
    before, recorded, after, told
):
    was, now = (with_settings(Plan(), [f"training.jit_compile={each}"]) for each in (before, after))
    said = other_draws(was, now, TWO_CARDS, replace(NOWHERE.checkpoint, xla=recorded))
    assert said.startswith(f"XLA compiles the steps {told}: dropout and" if told else "")
    assert said.endswith("to the same losses, but for rounding." if told else "")
    assert bool(said) == bool(told)
