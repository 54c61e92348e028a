"""Real runs train, validate and test on the very samples that the plan's way of splitting names.

The rate is so small that no weight changes, and a batch is one sample: the loss of each step tells
which sample it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from training_runs import Finished, small_plan, trained

from gpu_studio.contract import events
from gpu_studio.runs.resume import choose

pytestmark = pytest.mark.slow

SEED = 3
SAMPLES, TESTED = 50, 10
SETTINGS = (
    "data.test_fraction=0.2",
    "data.validation_fraction=0.25",
    f"training.seed={SEED}",
    "training.batch_size=1",
    "training.steps_per_call=10",
    "training.optimizer=sgd",
    "training.learning_rate=1e-30",
    "training.checkpoint={ every_steps = 20, keep = 9 }",
    "model.options={ hidden = [] }",
)
# No share is cut off for validation: early stopping goes by the samples that the file brings for
# it.
BY_PATIENTS = (
    "data.groups=patients",
    "data.validation_fraction=0",
    'training.early_stopping={ monitor = "val_loss", patience = 9 }',
)
NUMBERS = np.random.default_rng(0)
X = NUMBERS.normal(size=(SAMPLES, 3)).astype(np.float32)
Y = NUMBERS.permutation(np.repeat([0, 1, 2], [30, 15, 5]))
PATIENTS = NUMBERS.permutation(
    np.repeat(["ann", "bob", "cy", "di", "eve", "fay"], [14, 11, 9, 7, 6, 3])
)
OWN_X, OWN_Y = NUMBERS.normal(size=(7, 3)).astype(np.float32), np.array([0, 1, 2, 0, 1, 2, 0])


def drawn(count: int) -> list[int]:
    """The order in which the seed draws so many things."""
    return np.random.Generator(np.random.PCG64([0x5B117, SEED])).permutation(count).tolist()


def stratified() -> tuple[set[int], set[int]]:
    """Of each class a fifth is tested, and a quarter of the rest validates."""
    held: set[int] = set()
    tested: set[int] = set()
    for each, share in enumerate((6, 3, 1)):
        members = [sample for sample in drawn(SAMPLES) if Y[sample] == each]
        tested.update(members[:share])
        held.update(members[share : 2 * share])
    return held, tested


def ordered() -> tuple[set[int], set[int]]:
    return set(range(30, 40)), set(range(40, 50))


def patients_to_test() -> set[int]:
    """Patients are tested as drawn, if they have no more samples than are left to take."""
    names = sorted(set(PATIENTS.tolist()))
    tested: list[int] = []
    for name in [names[place] for place in drawn(len(names))]:
        members = np.flatnonzero(name == PATIENTS).tolist()
        tested += members if len(tested) + len(members) <= TESTED else []
    return set(tested)


def losses_of(run: Finished, x: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """The loss of each sample, by the weights that the run had from its beginning to its end."""
    kernel, bias = sorted(run.weights().values(), key=lambda each: -each.ndim)
    scores = x.astype(float) @ kernel.astype(float) + bias
    return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]


def seen(run: Finished) -> list[int]:
    """The sample of each step."""
    of_each = losses_of(run, X, Y)
    told = np.array([run.losses[step] for step in sorted(run.losses)], float)
    far = np.abs(told[:, None] - of_each)
    assert (np.sort(far)[:, 0] < 3e-6).all()
    assert (np.sort(far)[:, 1] > 1e-5).all(), "two samples look alike: the test shows nothing"
    return far.argmin(axis=1).tolist()


def run_of(way: str, folder: Path, **settings: Any) -> Finished:
    own = {"x_val": OWN_X, "y_val": OWN_Y} if way == "grouped" else {}
    np.savez(folder / "mine.npz", x=X, y=Y, patients=PATIENTS, **own)
    data = f'data={{ file = "{folder / "mine.npz"}", split = "{way}" }}'
    run = trained(
        small_plan(data, *SETTINGS, *(BY_PATIENTS if way == "grouped" else ())), folder, **settings
    )
    assert run.code == 0, run.log
    return run


@pytest.fixture(scope="module")
def by_patients(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return run_of("grouped", tmp_path_factory.mktemp("grouped"))


@pytest.mark.parametrize(("way", "parts"), [("stratified", stratified()), ("ordered", ordered())])
def test_that_a_run_trains_on_the_samples_that_its_split_names(
    way: str, parts: tuple[set[int], set[int]], tmp_path: Path
) -> None:
    held, tested = parts
    run = run_of(way, tmp_path)
    epoch = sorted(set(range(SAMPLES)) - held - tested)
    assert [sorted(seen(run)[:30]), sorted(seen(run)[30:])] == [epoch, epoch]
    of_each = losses_of(run, X, Y)
    assert [each["val_loss"] for each in run.epochs] == pytest.approx(
        [of_each[sorted(held)].mean()] * 2, rel=1e-5
    )
    tests = run.one(events.Finished).metrics
    assert tests["test_loss"] == pytest.approx(of_each[sorted(tested)].mean(), rel=1e-5)


def test_that_a_run_with_validation_samples_of_its_own_keeps_groups_aside_for_testing_only(
    by_patients: Finished,
) -> None:
    tested = patients_to_test()
    epoch = sorted(set(range(SAMPLES)) - tested)
    assert [sorted(seen(by_patients)[: len(epoch)]), sorted(seen(by_patients)[len(epoch) :])] == [
        epoch,
        epoch,
    ]
    held = losses_of(by_patients, OWN_X, OWN_Y).mean()
    assert [each["val_loss"] for each in by_patients.epochs] == pytest.approx([held] * 2, rel=1e-5)
    tests = losses_of(by_patients, X, Y)[sorted(tested)].mean()
    assert by_patients.one(events.Finished).metrics["test_loss"] == pytest.approx(tests, rel=1e-5)


def test_that_a_resumed_run_goes_on_with_the_same_split(by_patients: Finished) -> None:
    """In another process, which makes the split anew."""
    chosen = choose(by_patients.directory, "step-00000060")
    second = run_of("grouped", by_patients.directory.path.parent, resume=chosen)
    warned = [[each.message for each in run.of(events.Warned)] for run in (by_patients, second)]
    assert warned[0] == warned[1]
    assert second.of(events.Steps)[0].first_step == 60
    assert seen(second) == seen(by_patients)[60:]
    assert second.epochs == by_patients.epochs[1:]
    assert second.one(events.Finished).metrics == by_patients.one(events.Finished).metrics
