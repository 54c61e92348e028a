"""A run that was stopped or killed, and resumed, trains exactly as one never stopped.

With GPU_STUDIO_WHOLE_PARITY=1 runs over replicas are killed, too.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import made_data
import numpy as np
import pytest
from parity_jobs import WHOLE
from training_runs import PLAIN_STEPS, UNJUDGED, Finished, running, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.contract.directory import Resume
from gpu_studio.plan import Plan
from gpu_studio.runs.lineage import read_history
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

# Calls of one step, so that there is a call at which to hold in mid-epoch; dropout, so that random
# state matters; two phases, so that a checkpoint holds the optimizer of one of them.
SETTINGS = (
    "training.batch_size=96",
    "data.test_fraction=0",
    "training.steps_per_call=1",
    "training.epochs=3",
    "training.learning_rate=0.003",
    "model.options={ hidden = [64, 64], dropout = 0.3 }",
    'training.schedule={ name = "cosine" }',
    "training.phases=[{ after = 1, learning_rate = 0.001, frozen = ['dense'] }]",
)
MIRRORED = ("distribution.strategy=mirrored", 'distribution.devices=["CPU:0", "CPU:1"]')


@pytest.fixture(
    scope="module",
    params=[(), pytest.param(MIRRORED, marks=pytest.mark.whole(__file__))],
    ids=["none", "mirrored"],
)
def strategy(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(request.param)


@pytest.fixture(scope="module")
def whole(strategy: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run that was never stopped."""
    run = trained(small_plan(*SETTINGS, *strategy), tmp_path_factory.mktemp("whole"))
    assert run.code == 0, run.log
    return run


def resumed(first: Finished, runs: Path, *settings: str, of: str | None = None) -> Finished:
    run = trained(small_plan(*SETTINGS, *settings), runs, resume=choose(first.directory, of))
    assert run.code == 0, run.log
    return run


def steps_per_epoch(run: Finished) -> int:
    return run.one(events.Model).steps_per_epoch


def test_that_a_run_stopped_in_mid_epoch_goes_on_as_if_it_had_not(
    whole: Finished, strategy: tuple[str, ...], tmp_path: Path
) -> None:
    first = stopped_at(20, small_plan(*SETTINGS, *strategy), tmp_path)
    second = resumed(first, tmp_path, *strategy)
    assert min(second.losses) == 20
    assert first.losses | second.losses == pytest.approx(whole.losses, rel=1e-6)
    assert second.epochs[-1] == pytest.approx(whole.epochs[-1], rel=1e-6)
    assert (first.epochs + second.epochs)[1] == pytest.approx(whole.epochs[1], rel=1e-6)
    told = second.of(events.Epoch)[0]
    trained_here = sum(
        event.samples for event in second.of(events.Steps) if event.epoch == told.epoch
    )
    assert told.samples_per_second * told.seconds == pytest.approx(trained_here)


@pytest.mark.parametrize("strategy", [(), *([MIRRORED] if WHOLE else [])], indirect=True)
def test_that_a_killed_run_goes_on_from_its_last_checkpoint(
    whole: Finished, strategy: tuple[str, ...], tmp_path: Path
) -> None:
    often = "training.checkpoint={ every_steps = 5, keep = 20 }"
    # The border at which the second phase begins, or the next one, over which slots are kept.
    epochs = 2 if strategy == MIRRORED else 1
    with running(small_plan(*SETTINGS, *strategy, often), tmp_path, hold_at=37) as run:
        run.wait_until_held()
        run.kill()
        first = run.finish()
    assert not first.of(events.Finished)
    assert first.of(events.PhaseBegan)
    assert [event.seq for event in first.events] == list(range(len(first.events)))
    border = epochs * steps_per_epoch(first)
    at_border = resumed(first, tmp_path, *strategy, of=f"step-{border:08d}")
    assert min(at_border.losses) == border
    assert len(at_border.of(events.PhaseBegan)) == 1
    wanted = {step: loss for step, loss in whole.losses.items() if step in at_border.losses}
    assert at_border.losses == pytest.approx(wanted, rel=1e-6)
    if strategy == MIRRORED:
        return  # which checkpoint is the last is found before there is a strategy
    second = resumed(first, tmp_path, *strategy)
    begun = min(second.losses)
    assert begun % 5 == 0 or begun % steps_per_epoch(first) == 0
    kept = {step: loss for step, loss in first.losses.items() if step < begun}
    assert kept | second.losses == pytest.approx(whole.losses, rel=1e-6)
    history = read_history(second.directory)
    assert history.state == "finished"


PLAIN = (*SETTINGS, "model.options={ hidden = [64, 64] }")
FOUR = ("distribution.strategy=mirrored",)
PLACED = (
    "distribution.strategy=placed",
    "distribution.placed.micro_batches=4",
    (
        'distribution.placed.layers={ dense = "CPU:3", dense_1 = ["CPU:0", '
        '"CPU:1"], outputs = "CPU:2" }'
    ),
)


@pytest.mark.whole(__file__)
def test_that_a_run_paused_on_two_devices_goes_on_on_four_and_then_placed_as_if_never_paused(
    tmp_path: Path,
) -> None:
    whole = trained(small_plan(*PLAIN), tmp_path)
    first = stopped_at(9, small_plan(*PLAIN, *MIRRORED), tmp_path)
    second = stopped_at(21, small_plan(*PLAIN, *FOUR), tmp_path, resume=choose(first.directory))
    third = trained(small_plan(*PLAIN, *PLACED), tmp_path, resume=choose(second.directory))
    chain = (first, second, third)
    ways = [
        (run.one(events.Devices).strategy, len(run.one(events.Devices).replicas)) for run in chain
    ]
    assert ways == [("mirrored", 2), ("mirrored", 4), ("placed", 4)]
    assert all(run.losses for run in chain)
    assert first.losses | second.losses | third.losses == pytest.approx(whole.losses, rel=1e-5)
    assert third.epochs[-1] == pytest.approx(whole.epochs[-1], rel=1e-5)


def stopped_at(step: int, plan: Plan, runs: Path, *, resume: Resume | None = None) -> Finished:
    """Train up to a step in mid-epoch, pause there, and stop with a checkpoint."""
    with running(plan, runs, resume=resume, hold_at=step) as run:
        ended = run.stop_where_held()
    assert ended.one(events.Finished).reason == "stopped", ended.log
    assert ended.one(events.Finished).step == step
    assert step % steps_per_epoch(ended), "stopped between two epochs: it shows nothing"
    return ended


def test_that_what_is_saved_does_not_change_while_steps_go_on() -> None:
    from gpu_studio.trainer.callbacks.kept import KeptAttributes
    from gpu_studio.trainer.meters import Tally

    meters = Mock(running=[np.zeros(1)], nothing=lambda: [[np.zeros(2)]])
    tally = Tally(meters)
    saved = tally.arrays()
    tally.add(1.0, 1, [[np.ones(2)]])
    meters.running[0] += 1.0
    assert not any(array.any() for array in saved.values())
    callback = SimpleNamespace(seen=np.zeros(2))
    kept = KeptAttributes(callback)
    callback.seen[0] = 1.0
    arrays: dict[str, np.ndarray] = {}
    kept.state(arrays, "0")
    callback.seen += 1.0
    assert arrays["0/seen"].tolist() == [1.0, 0.0]


def test_that_other_data_start_the_epoch_anew_and_say_so(tmp_path: Path) -> None:
    first = stopped_at(20, small_plan(*SETTINGS), tmp_path)
    second = resumed(first, tmp_path, "training.seed=7")
    (warning,) = second.of(events.Warned)
    assert "seed" in warning.message
    assert second.of(events.Steps)[0].first_step == first.one(events.Finished).step
    assert second.of(events.Epoch)[0].epoch == first.one(events.Finished).epoch + 1


def test_that_another_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    first = trained(small_plan("training.epochs=1", *PLAIN_STEPS, *UNJUDGED), tmp_path)
    second = trained(
        small_plan("model.options={ hidden = [33] }", "training.epochs=4"),
        tmp_path,
        resume=choose(first.directory),
    )
    assert second.code == 1
    assert "another model" in second.one(events.Failed).message


@pytest.mark.parametrize(
    ("before", "random", "told"),
    [(1, True, 1), (4, True, 0), (None, True, 0), (1, False, 0)],
    ids=["other parts", "as many parts", "an older checkpoint", "nothing random"],
)
def test_that_a_resume_that_draws_other_random_numbers_says_so(
    before: int | None, random: bool, told: int
) -> None:
    import keras

    from gpu_studio.trainer.training import other_draws

    # A recurrent layer without dropout keeps a random state, from which it never draws.
    layers = [keras.layers.LSTM(2, dropout=0.5 if random else 0.0), keras.layers.Dense(1)]
    session: Any = SimpleNamespace(
        cut=SimpleNamespace(replicas=4),
        dataset=made_data.values((3, 2)),
        model=keras.Sequential([keras.Input((3, 2)), *layers]),
        program=SimpleNamespace(by_xla=False),
    )
    warned = list(other_draws({} if before is None else {"parts": before}, session))
    assert len(warned) == told
    assert all("in 4 parts now, before the checkpoint in 1" in each.message for each in warned)
